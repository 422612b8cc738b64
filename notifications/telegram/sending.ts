import type { ChatMessage } from '../../core/alerts/chat/message.ts';
import { createHttpClient } from '../../net/http-client.ts';
import { type ChatAttempt, MAX_RETRY_AFTER_MS, NOTHING_MORE } from '../attempt-result.ts';
import { type TelegramBot, callBot, type BotAnswer } from './bot-api.ts';
import { renderTelegramMessage } from './message.ts';

/** What attempts at Telegram chats are made with; `deadlineMs` spans each whole attempt. */
type TelegramSending = { bot: TelegramBot; deadlineMs: number; now: () => number };

/**
 * Refusals that are no fault of the message: the chat is gone, or the bot may not write there. Those with 403 all are.
 */
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
 * Makes one attempt at a Telegram chat (D-50, D-55), following it where it has another id by now, within one deadline.
 * Retried are answers that never came or are not Telegram's, 5xx, 429 with the wait that it asks for, and a bot that it
 * does not know, which the operator can mend; a chat that cannot be reached ends with a `channelProblem`. Rejects only
 * when our own machine lacks something.
 */
export async function attemptTelegram(
  chatId: string,
  message: ChatMessage,
  sending: TelegramSending,
): Promise<ChatAttempt> {
  const startedAtMs = sending.now();
  const elapsedMs = () => Math.max(0, Math.round(sending.now() - startedAtMs));
  const send = (to: string, deadlineMs: number) =>
    callBot(sending.bot, { method: 'sendMessage', parameters: renderTelegramMessage(to, message), deadlineMs });
  const answer = await send(chatId, sending.deadlineMs);
  const movedTo = answer.outcome === 'refused' ? answer.movedTo : null;
  if (movedTo === null) return judge(answer, elapsedMs());
  const second = await send(movedTo, Math.max(1, sending.deadlineMs - elapsedMs()));
  return { ...judge(second, elapsedMs()), movedTo };
}

function judge(answer: BotAnswer, durationMs: number): ChatAttempt {
  const { statusCode, response } = answer;
  const made = { ...NOTHING_MORE, statusCode, durationMs, response };
  if (answer.outcome === 'done') return { ...made, outcome: 'delivered', error: null };
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

/** The bot of the installation, as its operator has set it up. `botToken` null = there is none. */
export type TelegramSettings = { botToken: string | null; botName: string | null; apiUrl: string };

/**
 * The way to the bot's server; null without a token. The operator has chosen its server, so that the guard has no say
 * (D-30).
 */
export function openTelegramBot({
  botToken,
  apiUrl,
}: Pick<TelegramSettings, 'botToken' | 'apiUrl'>): TelegramBot | null {
  return botToken === null
    ? null
    : { token: botToken, apiUrl, http: createHttpClient({ allowPrivateNetwork: true, purpose: 'notifications' }) };
}

/** What sends to Telegram chats, each attempt within `deadlineMs`; null without a bot. */
export function openTelegramSending(
  settings: Pick<TelegramSettings, 'botToken' | 'apiUrl'>,
  deadlineMs: number,
): ((chatId: string, message: ChatMessage) => Promise<ChatAttempt>) | null {
  const bot = openTelegramBot(settings);
  return bot === null
    ? null
    : (chatId, message) => attemptTelegram(chatId, message, { bot, deadlineMs, now: Date.now });
}
