import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';

/** Parameters with which the bot sent a message. */
export type SentMessage = {
  chat_id: number;
  text: string;
  parse_mode?: string;
  link_preview_options?: { is_disabled?: boolean };
};

/** An error in the format of the Bot API. */
export type Refusal = {
  error_code: number;
  description: string;
  parameters?: { retry_after?: number; migrate_to_chat_id?: number };
};

/** A call of a method; `path` is the requested one, including the token. */
export type Call = { method: string; path: string; parameters: Record<string, unknown>; atMs: number };

/**
 * A fake Bot API of one bot, with users who talk to it. Formats and texts follow https://core.telegram.org/bots/api.
 */
export type TelegramServer = {
  url: string;
  token: string;
  /** Messages that arrived in chats, in order. */
  sent: SentMessage[];
  calls: Call[];
  /** Responses to the next calls of sendMessage, in order, regardless of the chat. */
  refusals: Refusal[];
  webhook: { url: string; secret_token?: string; allowed_updates?: string[] } | null;
  /** Opens a chat to the bot: a user has a positive id, a group a negative one. */
  open(chatId: number): void;
  /** Sends a message from a user in a chat, which opens it. */
  write(chatId: number, message: string): void;
  /** Blocks the bot as a user, or removes it from a group. */
  block(chatId: number): void;
  /** Turns a group into a supergroup with another id. */
  migrate(from: number, to: number): void;
  /** While true, each poll gets every update at once, confirmed or not, unlike the real API. */
  stuck: boolean;
  /** Sends the latest update again, confirmed or not. */
  repeat(): void;
  /** Returns the number of open long polls. */
  polls(): number;
  messagesTo(chatId: number): string[];
  /** Returns the visible messages of a chat, as edited, without deleted ones. */
  shownIn(chatId: number): string[];
  /** Deletes all messages of a chat, as a member can. */
  clear(chatId: number): void;
};

const TOKEN = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';
const MAX_TEXT = 4096;
const TAGS = new Set(['b', 'i', 'u', 's', 'a', 'code', 'pre']);

type Update = { update_id: number } & Record<string, unknown>;

/** Starts the Bot API on a free port. */
export async function startTelegramServer(t: Harness): Promise<TelegramServer> {
  const chats = new Set<number>();
  const movedTo = new Map<number, number>();
  const left = new Set<number>();
  const sent: SentMessage[] = [];
  const messages = new Map<string, string>();
  const calls: Call[] = [];
  const refusals: Refusal[] = [];
  let updates: Update[] = [];
  let latest: Update | null = null;
  let nextUpdateId = 880_000_001;
  let nextMessageId = 1;
  let poll: { end: (refusal?: Refusal) => void } | null = null;
  let webhook: TelegramServer['webhook'] = null;

  const push = (content: Record<string, unknown>): void => {
    latest = { update_id: nextUpdateId, ...content };
    updates.push(latest);
    nextUpdateId += 1;
    poll?.end();
  };

  const open = (chatId: number): void => {
    chats.add(chatId);
    left.delete(chatId);
  };

  const sendMessage = (parameters: Record<string, unknown>): object => {
    const refusal = refusals.shift();
    if (refusal !== undefined) return { ok: false, ...refusal };
    const message = parameters as SentMessage;
    const to = movedTo.get(message.chat_id);
    if (to !== undefined)
      return {
        ok: false,
        error_code: 400,
        description: 'Bad Request: group chat was upgraded to a supergroup chat',
        parameters: { migrate_to_chat_id: to },
      };
    if (left.has(message.chat_id))
      return {
        ok: false,
        error_code: 403,
        description:
          message.chat_id > 0
            ? 'Forbidden: bot was blocked by the user'
            : 'Forbidden: bot was kicked from the group chat',
      };
    if (!chats.has(message.chat_id)) return { ok: false, error_code: 400, description: 'Bad Request: chat not found' };
    const shown = message.parse_mode === 'HTML' ? stripHtml(message.text) : message.text;
    if (shown === null) return { ok: false, error_code: 400, description: "Bad Request: can't parse entities" };
    if (shown.length > MAX_TEXT) return { ok: false, error_code: 400, description: 'Bad Request: message is too long' };
    sent.push(message);
    nextMessageId += 1;
    messages.set(`${message.chat_id} ${nextMessageId}`, message.text);
    return { ok: true, result: { message_id: nextMessageId, date: now(), chat: chatOf(message.chat_id), text: shown } };
  };

  const editMessageText = ({ message_id: id, ...parameters }: Record<string, unknown>): object => {
    const refusal = refusals.shift();
    if (refusal !== undefined) return { ok: false, ...refusal };
    const { chat_id: chatId, text: edited } = parameters as SentMessage;
    const key = `${chatId} ${String(id)}`;
    const before = messages.get(key);
    const refuse = (description: string) => ({
      ok: false,
      error_code: 400,
      description: `Bad Request: ${description}`,
    });
    if (before === undefined) return refuse('message to edit not found');
    if (before === edited)
      return refuse(
        'message is not modified: specified new message content and reply markup are exactly the same as a current ' +
          'content and reply markup of the message',
      );
    messages.set(key, edited);
    return { ok: true, result: { message_id: id, date: now(), chat: chatOf(chatId), text: edited } };
  };

  const getUpdates = async (
    { offset = 0, limit = 100, timeout = 0 }: { offset?: number; limit?: number; timeout?: number },
    response: ServerResponse,
  ): Promise<object> => {
    if (webhook !== null)
      return {
        ok: false,
        error_code: 409,
        description:
          "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the " +
          'webhook first',
      };
    poll?.end({
      error_code: 409,
      description: 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
    });
    if (!server.stuck) updates = updates.filter(({ update_id: id }) => id >= offset);
    if (updates.length === 0 && timeout > 0) {
      const ended = await new Promise<Refusal | undefined>((resolve) => {
        const timer = setTimeout(() => resolve(undefined), timeout * 1000);
        poll = {
          end(refusal) {
            clearTimeout(timer);
            poll = null;
            resolve(refusal);
          },
        };
        const mine = poll;
        response.once('close', () => poll === mine && mine.end());
      });
      if (ended !== undefined) return { ok: false, ...ended };
    }
    return { ok: true, result: updates.slice(0, limit) };
  };

  const answer = async ({ method, parameters }: Call, response: ServerResponse): Promise<object> => {
    if (method === 'sendMessage') return sendMessage(parameters);
    if (method === 'editMessageText') return editMessageText(parameters);
    if (method === 'getUpdates') return await getUpdates(parameters, response);
    if (method === 'deleteWebhook') {
      webhook = null;
      return { ok: true, result: true, description: 'Webhook was deleted' };
    }
    if (method !== 'setWebhook') return { ok: false, error_code: 404, description: 'Not Found' };
    const wanted = parameters as NonNullable<TelegramServer['webhook']>;
    if (!wanted.url.startsWith('https://'))
      return {
        ok: false,
        error_code: 400,
        description: 'Bad Request: bad webhook: An HTTPS URL must be provided for webhook',
      };
    webhook = wanted;
    return { ok: true, result: true, description: 'Webhook was set' };
  };

  const { port } = await startHttpServer(t, (request, response) => void respond(request, response));
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const body = await text(request);
    const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    const call = { method, path, parameters: body === '' ? {} : JSON.parse(body), atMs: performance.now() };
    calls.push(call);
    const result =
      token === TOKEN ? await answer(call, response) : { ok: false, error_code: 401, description: 'Unauthorized' };
    if (response.destroyed) return;
    response.writeHead('error_code' in result ? Number(result.error_code) : 200, {
      'Content-Type': 'application/json',
    });
    response.end(JSON.stringify(result));
    await once(response, 'close');
  };

  const server: TelegramServer = {
    url: `http://127.0.0.1:${port}`,
    token: TOKEN,
    sent,
    calls,
    refusals,
    get webhook() {
      return webhook;
    },
    open,
    write(chatId, message) {
      open(chatId);
      nextMessageId += 1;
      push({
        message: {
          message_id: nextMessageId,
          from: person(chatId),
          chat: chatOf(chatId),
          date: now(),
          text: message,
          entities: [{ offset: 0, length: message.split(' ')[0]?.length, type: 'bot_command' }],
        },
      });
    },
    block(chatId) {
      left.add(chatId);
      const member = (status: string) => ({
        user: { id: 110_201_543, is_bot: true, first_name: 'Spotcheck', username: 'spotcheck_bot' },
        status,
      });
      push({
        my_chat_member: {
          chat: chatOf(chatId),
          from: person(chatId),
          date: now(),
          old_chat_member: member('member'),
          new_chat_member: { ...member('kicked'), until_date: 0 },
        },
      });
    },
    migrate(from, to) {
      movedTo.set(from, to);
      open(to);
      nextMessageId += 1;
      push({
        message: {
          message_id: nextMessageId,
          from: person(from),
          chat: chatOf(from),
          date: now(),
          migrate_to_chat_id: to,
        },
      });
    },
    stuck: false,
    repeat() {
      if (latest !== null) updates.push(latest);
      poll?.end();
    },
    polls: () => (poll === null ? 0 : 1),
    shownIn: (chatId) => [...messages].flatMap(([key, message]) => (key.startsWith(`${chatId} `) ? [message] : [])),
    clear(chatId) {
      for (const key of messages.keys()) if (key.startsWith(`${chatId} `)) messages.delete(key);
    },
    messagesTo: (chatId) => sent.filter((message) => message.chat_id === chatId).map((message) => message.text),
  };
  return server;
}

function chatOf(id: number): object {
  return id > 0
    ? { id, first_name: 'Ada', type: 'private' }
    : { id, title: 'On call', type: id < -1_000_000_000_000 ? 'supergroup' : 'group' };
}

function person(chatId: number): object {
  return { id: Math.abs(chatId), is_bot: false, first_name: 'Ada', language_code: 'en' };
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

/** Returns the visible text of HTML in the Bot API's format; null if the API would refuse it. */
export function stripHtml(html: string): string | null {
  const open: string[] = [];
  let shown = '';
  for (const [token] of html.matchAll(/<[^<>]*>|&[^;\s]*;?|[^<&]+|[<&]/gu)) {
    if (token.startsWith('<')) {
      const [, slash, name = ''] = /^<(\/?)(\w+)(?: href="[^"<>]*")?>$/.exec(token) ?? [];
      if (!TAGS.has(name)) return null;
      if (slash === '') open.push(name);
      else if (open.pop() !== name) return null;
    } else if (token.startsWith('&')) {
      const character = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"' }[token];
      if (character === undefined) return null;
      shown += character;
    } else {
      shown += token;
    }
  }
  return open.length === 0 ? shown : null;
}
