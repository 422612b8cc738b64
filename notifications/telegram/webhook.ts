/** Below which path Telegram hands us updates, where it does so by webhook. */
export const TELEGRAM_PATH = '/telegram';

/** The header in which Telegram shows the second secret, in lower case. */
export const SECRET_HEADER = 'x-telegram-bot-api-secret-token';

/**
 * What the two secrets of the webhook are derived for: one is the end of its path, the other comes in a header (D-55).
 */
export const WEBHOOK_SECRETS = { path: 'telegram:webhook-path', header: 'telegram:webhook-header' } as const;

/** Telegram takes webhooks with https only; without one updates are asked for. */
export function canTakeWebhooks(publicUrl: string): boolean {
  return publicUrl.startsWith('https://');
}
