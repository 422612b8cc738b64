import type { ChatMessage } from '../../core/chat/message.ts';
import { createHttpClient } from '../../net/http-client.ts';
import type { ChatAttempt } from '../chat-attempt.ts';
import { attemptTelegram } from './attempt.ts';
import type { TelegramBot } from './bot-api.ts';

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
