import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { TestAuthority } from '../../test/helpers/certificates.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { startHttpServer } from '../../test/helpers/http-server.ts';
import { ON_CALL } from './channels.ts';

/**
 * A message as it arrived; accepted if it was answered with 2xx. `channel` is the channel's name if it is not the first
 * one; `reminder` is the number of a reminder, 0 for any other message.
 */
export type Received = {
  atMs: number;
  channel: string;
  deliveryId: string;
  event: string;
  monitorId: string;
  sequence: number;
  reminder: number;
  isAccepted: boolean;
};

/** One message to a chat, or an edit of one. */
export type ChatReceived = { atMs: number; chatId: string; isAccepted: boolean };

/** Token of the bot that writes to chats. */
export const BOT_TOKEN = '110201543:chaos';

/** Time that a poll for people's messages to the bot is held, in milliseconds: there never are any. */
const POLL_HELD_MS = 10_000;

/** Response of the receiver to a request: accept, answer 500, hold, or reset. */
export type Manner = 'good' | 'error' | 'hang' | 'reset';

export type Receiver = {
  url: string;
  caFile: string;
  received: readonly Received[];
  chats: readonly ChatReceived[];
  behave: (manner: Manner) => void;
};

type Message = {
  delivery_id: string;
  event: string;
  test?: boolean;
  monitor: { id: string } | null;
  reminder?: { number: number };
  detail: { sequence?: number };
};

/** Starts the receiver of all events; senders must trust `caFile`, which is below the folder. */
export async function startReceiver(harness: Harness, folder: string): Promise<Receiver> {
  const authority = await TestAuthority.create();
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, authority.pem);
  const received: Received[] = [];
  const chats: ChatReceived[] = [];
  let manner: Manner = 'good';

  const takeWebhook = (path: string, body: string): void => {
    const message: Message = JSON.parse(body);
    if (message.test !== true) {
      const { delivery_id: deliveryId, event, monitor, reminder, detail } = message;
      received.push({
        atMs: Date.now(),
        channel: decodeURIComponent(path.split('/')[2] ?? '') || ON_CALL,
        deliveryId,
        event,
        monitorId: monitor?.id ?? '',
        sequence: detail.sequence ?? 0,
        reminder: reminder?.number ?? 0,
        isAccepted: manner === 'good',
      });
    }
  };

  const take = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const path = request.url ?? '';
    if (path.endsWith('/getUpdates')) {
      setTimeout(() => response.end('{"ok":true,"result":[]}'), POLL_HELD_MS).unref();
      return;
    }
    const isOfChat = path.startsWith('/bot');
    if (isOfChat) chats.push({ atMs: Date.now(), chatId: chatOf(body), isAccepted: manner === 'good' });
    else takeWebhook(path, body);
    if (manner === 'reset') request.socket.destroy();
    else if (manner === 'good' && isOfChat) response.end(`{"ok":true,"result":{"message_id":${chats.length}}}`);
    else if (manner !== 'hang') response.writeHead(manner === 'good' ? 204 : 500).end();
  };

  const { port } = await startHttpServer(
    harness,
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => take(request, response, Buffer.concat(chunks).toString('utf8')));
    },
    await authority.issue({ hosts: ['127.0.0.1'] }),
  );
  return {
    url: `https://127.0.0.1:${port}/hook`,
    caFile,
    received,
    chats,
    behave(next) {
      manner = next;
    },
  };
}

function chatOf(body: string): string {
  const { chat_id: chatId }: { chat_id: string | number } = JSON.parse(body);
  return String(chatId);
}
