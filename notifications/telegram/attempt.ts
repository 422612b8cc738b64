import type { ChatMessage } from '../../core/chat/message.ts';
import { MAX_RETRY_AFTER_MS, NOTHING_MORE, type ChatAttempt } from '../chat-attempt.ts';
import { callBot, type BotAnswer, type TelegramBot } from './bot-api.ts';
import { renderTelegramMessage } from './message.ts';

/** What attempts at Telegram chats are made with; `deadlineMs` spans each whole attempt. */
export type TelegramSending = { bot: TelegramBot; deadlineMs: number; now: () => number };

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
  const error = `Telegram answered ${answer.statusCode}: ${description}`;
  if (answer.statusCode === 429)
    return { ...made, outcome: 'retry', error, retryAfterMs: Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) };
  if (answer.statusCode >= 500) return { ...made, outcome: 'retry', error };
  if (answer.statusCode === 401 || answer.statusCode === 404)
    return {
      ...made,
      outcome: 'retry',
      error: `Telegram does not know this installation's bot: it answered ${answer.statusCode}`,
    };
  const isLost = answer.statusCode === 403 || CHAT_IS_LOST.test(description);
  return {
    ...made,
    outcome: 'failed',
    error,
    ...(isLost && { channelProblem: `${error}. Write /start to the bot in that chat once it may write there again` }),
  };
}
