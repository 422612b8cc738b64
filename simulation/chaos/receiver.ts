import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { TestAuthority } from '../../test/helpers/certificates.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { startHttpServer } from '../../test/helpers/http-server.ts';

/** One message as it arrived; accepted if it was answered with 2xx. */
export type Received = {
  atMs: number;
  deliveryId: string;
  event: string;
  monitorId: string;
  sequence: number;
  isAccepted: boolean;
};

/** How the receiver treats a request: accept, answer 500, hold, or reset. */
export type Manner = 'good' | 'error' | 'hang' | 'reset';

export type Receiver = {
  url: string;
  caFile: string;
  received: readonly Received[];
  behave: (manner: Manner) => void;
};

type Message = {
  delivery_id: string;
  event: string;
  test?: boolean;
  monitor: { id: string } | null;
  detail: { sequence?: number };
};

/** Starts the receiver of all events; senders must trust `caFile`, which is below the folder. */
export async function startReceiver(harness: Harness, folder: string): Promise<Receiver> {
  const authority = await TestAuthority.create();
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, authority.pem);
  const received: Received[] = [];
  let manner: Manner = 'good';

  const take = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const message: Message = JSON.parse(body);
    if (message.test !== true) {
      const { delivery_id: deliveryId, event, monitor, detail } = message;
      received.push({
        atMs: Date.now(),
        deliveryId,
        event,
        monitorId: monitor?.id ?? '',
        sequence: detail.sequence ?? 0,
        isAccepted: manner === 'good',
      });
    }
    if (manner === 'reset') request.socket.destroy();
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
    behave(next) {
      manner = next;
    },
  };
}
