/** The bot that links name while the installation has none of its own: such a channel stays pending. */
const PLACEHOLDER_BOT = 'spotcheck_bot';

/**
 * The links that finish connecting a Telegram channel, to a person and to a group (D-55). `botName`, with @ or without;
 * null = no bot is set up.
 */
export function buildTelegramLinks(code: string, botName: string | null): { deepLink: string; groupDeepLink: string } {
  const bot = `https://t.me/${encodeURIComponent((botName ?? PLACEHOLDER_BOT).replace(/^@/, ''))}`;
  return { deepLink: `${bot}?start=${code}`, groupDeepLink: `${bot}?startgroup=${code}` };
}
