import { z } from 'zod';
import { CHAT_CAPS, CHAT_MARKS, escapeShown, type ChatMessage } from '../../core/alerts/chat/message.ts';
import { createHttpClient } from '../../net/http-client.ts';
import { MAX_RETRY_AFTER_MS, NOTHING_MORE, type ChannelAttempt } from '../attempt-result.ts';
import { callBot, type BotAnswer, type TelegramBot } from './bot-api.ts';

/** Parameters of attempts at Telegram chats; `deadlineMs` spans each whole attempt, `editedId` is a message to edit. */
type TelegramSending = { bot: TelegramBot; deadlineMs: number; editedId?: number };

/** Refusals that are not the message's fault: the chat is gone, or the bot may not write there. Every 403 is one. */
const CHAT_IS_LOST = new RegExp(
  [
    'chat not found',
    'user not found',
    'chat_id is empty',
    'peer_id_invalid',
    'not enough rights',
    'have no rights',
    'administrator rights',
    'write_forbidden',
    'chat_restricted',
    'topic_closed',
    'not a member',
    '(?:chat|group) (?:was|is) (?:deactivated|deleted)',
  ].join('|'),
  'i',
);

/**
 * Makes one attempt at a Telegram chat (D-50, D-55), following it to its new id if it has one, within one deadline.
 * Missing responses and those that are not Telegram's, 5xx, 429 with the wait it requests, and an unknown bot, which
 * the operator can fix, are retried; a chat that cannot be reached ends with a `channelProblem`. Rejects only if this
 * machine lacks resources.
 */
export async function attemptTelegram(
  chatId: string,
  message: ChatMessage,
  sending: TelegramSending,
): Promise<ChannelAttempt> {
  const startedAtMs = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedAtMs);
  if (sending.editedId !== undefined) {
    const edit = await editMessage(chatId, message, { ...sending, editedId: sending.editedId });
    if (!CANNOT_EDIT.test(edit.outcome === 'refused' ? edit.description : '')) return judgeEdit(edit, elapsedMs());
  }
  const send = (to: string, deadlineMs: number) =>
    callBot(sending.bot, { method: 'sendMessage', parameters: renderTelegramMessage(to, message), deadlineMs });
  const answer = await send(chatId, Math.max(1, sending.deadlineMs - elapsedMs()));
  const movedTo = answer.outcome === 'refused' ? answer.movedTo : null;
  if (movedTo === null) return judge(answer, elapsedMs());
  const second = await send(movedTo, Math.max(1, sending.deadlineMs - elapsedMs()));
  return { ...judge(second, elapsedMs()), movedTo };
}

/**
 * Refusals of an edit after which the message is sent anew: the old one is gone or too old, or the chat's id changed.
 * Other refusals are those of a new message.
 */
const CANNOT_EDIT = /message to edit not found|message can't be edited|message_id_invalid|migrate|upgraded/i;

async function editMessage(
  chatId: string,
  message: ChatMessage,
  { bot, deadlineMs, editedId }: TelegramSending & { editedId: number },
): Promise<BotAnswer> {
  const parameters = { ...renderTelegramMessage(chatId, message), message_id: editedId };
  return await callBot(bot, { method: 'editMessageText', parameters, deadlineMs });
}

/**
 * Judges an edit. One that an earlier attempt made before its response was lost is reported as unchanged, which counts
 * as delivered.
 */
function judgeEdit(answer: BotAnswer, durationMs: number): ChannelAttempt {
  const isMade = answer.outcome === 'refused' && /message is not modified/i.test(answer.description);
  if (!isMade) return { ...judge(answer, durationMs), chatMessageId: null };
  const { statusCode, response } = answer;
  return { ...NOTHING_MORE, outcome: 'delivered', statusCode, durationMs, response, error: null };
}

const SENT = z.object({ message_id: z.int() });

function judge(answer: BotAnswer, durationMs: number): ChannelAttempt {
  const { statusCode, response } = answer;
  const made = { ...NOTHING_MORE, statusCode, durationMs, response };
  if (answer.outcome === 'done') {
    const chatMessageId = SENT.safeParse(answer.result).data?.message_id ?? null;
    return { ...made, outcome: 'delivered', error: null, chatMessageId };
  }
  if (answer.outcome === 'unreachable') return { ...made, outcome: 'retry', error: answer.reason };
  const { description, retryAfterMs } = answer;
  const error = `Telegram responded with ${answer.statusCode}: ${description}`;
  if (answer.statusCode === 429)
    return { ...made, outcome: 'retry', error, retryAfterMs: Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) };
  if (answer.statusCode >= 500) return { ...made, outcome: 'retry', error };
  if (answer.statusCode === 401 || answer.statusCode === 404)
    return {
      ...made,
      outcome: 'retry',
      error: `Telegram does not know this installation's bot: it responded with ${answer.statusCode}`,
    };
  const isLost = answer.statusCode === 403 || CHAT_IS_LOST.test(description);
  return {
    ...made,
    outcome: 'failed',
    error,
    ...(isLost && { channelProblem: `${error}. Send /start to the bot in that chat once it can post there again` }),
  };
}

/** The installation's bot, as its operator configured it. `botToken` is null if there is none. */
export type TelegramSettings = { botToken: string | null; botName: string | null; apiUrl: string };

/**
 * Opens the connection to the bot's server; null without a token. The guard does not apply, because the operator chose
 * the server (D-30).
 */
export function openTelegramBot({
  botToken,
  apiUrl,
}: Pick<TelegramSettings, 'botToken' | 'apiUrl'>): TelegramBot | null {
  return botToken === null
    ? null
    : { token: botToken, apiUrl, http: createHttpClient({ allowPrivateNetwork: true, purpose: 'notifications' }) };
}

/** Sends a message to a chat, or edits the message `editedId` if that is not null. */
export type SendTelegram = (chatId: string, message: ChatMessage, editedId?: number | null) => Promise<ChannelAttempt>;

/** Creates the function that sends to Telegram chats, each attempt within `deadlineMs`; null without a bot. */
export function openTelegramSending(
  settings: Pick<TelegramSettings, 'botToken' | 'apiUrl'>,
  deadlineMs: number,
): SendTelegram | null {
  const bot = openTelegramBot(settings);
  return bot === null
    ? null
    : (chatId, message, editedId = null) =>
        attemptTelegram(chatId, message, {
          bot,
          deadlineMs,
          ...(editedId !== null && { editedId }),
        });
}

/** Parameters of one sendMessage. */
export type TelegramMessage = {
  chat_id: number;
  text: string;
  parse_mode: 'HTML';
  link_preview_options: { is_disabled: true };
};

/** Maximum length of a text in Telegram, in characters; tags and entities count here as well. */
const TEXT_LIMIT = 4096;

/** Longer than any URL of this service, escaped; a longer one is left out. */
const MAX_URL = 400;

/** Characters that Telegram turns into a mention or a tappable command; not the slashes of a URL. */
const LIVELY = /(?<=^|[^\w/<>])[@/](?=\w)/g;

/** Has no width and allows no break; after such a character Telegram leaves the text plain. */
const WORD_JOINER = '\u2060';

/**
 * Renders a chat message as Telegram's HTML: title, reason, facts, link, without a preview. Names and reasons are
 * foreign text: they are escaped, and can neither mention people nor offer tappable commands.
 */
export function renderTelegramMessage(
  chatId: string,
  { tone, title, text, facts, link }: ChatMessage,
): TelegramMessage {
  const head = [
    `${CHAT_MARKS[tone]} <b>${shown(title, CHAT_CAPS.title)}</b>`,
    ...(text === null ? [] : [shown(text, CHAT_CAPS.text)]),
  ];
  const url = attribute(link?.url ?? '');
  const foot =
    link === null || url.length > MAX_URL ? [] : [`<a href="${url}">${shown(link.label, CHAT_CAPS.shortName)}</a>`];
  const lines = facts.map(
    ({ label, value }) => `${shown(label, CHAT_CAPS.shortName)}: ${shown(value, CHAT_CAPS.fact)}`,
  );
  const body = wholeLines(lines, TEXT_LIMIT - [...head, ...foot].reduce((sum, { length }) => sum + length + 2, 0));
  return {
    chat_id: Number(chatId),
    text: [head, body, foot]
      .filter((part) => part.length > 0)
      .map((part) => part.join('\n'))
      .join('\n\n'),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  };
}

/** Returns the first lines that fit, each with the break after it. */
function wholeLines(lines: readonly string[], room: number): string[] {
  let left = room;
  return lines.filter(({ length }) => (left -= length + 1) >= 0);
}

function shown(text: string, maxLength: number): string {
  return escapeShown(text.replaceAll(LIVELY, `$&${WORD_JOINER}`), maxLength);
}

function attribute(url: string): string {
  return url.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
