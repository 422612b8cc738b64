import { createHash } from 'node:crypto';
import type { Agent } from 'node:http';
import { z } from 'zod';
import { cleanText, parseJson } from '../../core/foreign-text.ts';
import type { HttpClient } from '../../net/http-client.ts';
import { excerptResponse, strikeOut } from '../attempt-result.ts';

/** Bot name in links while the installation has no bot: such a channel stays pending. */
const PLACEHOLDER_BOT = 'spotcheck_bot';

/**
 * Builds the links that finish connecting a Telegram channel, to a person and to a group (D-55). `botName` may begin
 * with @; null if no bot is configured.
 */
export function buildTelegramLinks(code: string, botName: string | null): { deepLink: string; groupDeepLink: string } {
  const bot = `https://t.me/${encodeURIComponent((botName ?? PLACEHOLDER_BOT).replace(/^@/, ''))}`;
  return { deepLink: `${bot}?start=${code}`, groupDeepLink: `${bot}?startgroup=${code}` };
}

/** The installation's bot, and its Bot API server; `apiUrl` has no trailing slash. The token is part of every URL. */
export type TelegramBot = { token: string; apiUrl: string; http: HttpClient };

/** One call of a method. `deadlineMs` spans the whole exchange; destroying `agent` ends it at once. */
type BotCall = { method: BotMethod; parameters: object; deadlineMs: number; agent?: Agent };

type BotMethod = 'getUpdates' | 'setWebhook' | 'deleteWebhook' | 'sendMessage' | 'editMessageText';

/**
 * Result of a call. `refused`: the Bot API returned an error. `unreachable`: no response arrived, or one that is not
 * the Bot API's, such as a proxy's. No text in it contains the bot's token; `response` is the start of the response as
 * stored with an attempt.
 */
export type BotAnswer =
  | { outcome: 'done'; statusCode: number; result: unknown; response: string | null }
  | {
      outcome: 'refused';
      statusCode: number;
      description: string;
      retryAfterMs: number | null;
      movedTo: string | null;
      response: string | null;
    }
  | { outcome: 'unreachable'; statusCode: number | null; reason: string; response: string | null };

/** Maximum size of a response, in bytes; a full set of updates is far smaller. */
const RESPONSE_LIMIT = 8 * 1024 * 1024;

const MAX_DESCRIPTION = 300;

const ANSWER = z.union([
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({
    ok: z.literal(false),
    error_code: z.int().min(100).max(599),
    description: z.string().catch('no description'),
    parameters: z
      .object({
        retry_after: z.number().nonnegative().transform(Math.ceil).optional().catch(undefined),
        migrate_to_chat_id: z.int().optional().catch(undefined),
      })
      .optional()
      .catch(undefined),
  }),
]);

/**
 * Calls a method of the Bot API. Failures of the other side are values; rejects only if this machine lacks resources.
 */
export async function callBot(
  bot: TelegramBot,
  { method, parameters, deadlineMs, agent }: BotCall,
): Promise<BotAnswer> {
  const exchange = await bot.http({
    url: new URL(`${bot.apiUrl}/bot${bot.token}/${method}`),
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': 'Spotcheck/1 (telegram)',
    },
    body: JSON.stringify(parameters),
    deadlineMs,
    bodyLimit: () => RESPONSE_LIMIT,
    ...(agent && { agent }),
  });
  if (exchange.outcome === 'failed')
    return { outcome: 'unreachable', statusCode: null, reason: exchange.reason, response: null };
  const { status: statusCode, body } = exchange;
  const response = excerptResponse(body, secretsOf(bot));
  const answer = ANSWER.safeParse(parseJson(body.toString('utf8'))).data;
  if (answer === undefined)
    return {
      outcome: 'unreachable',
      statusCode,
      reason: `The server of TELEGRAM_API_URL responded with ${statusCode}, but not like the Bot API`,
      response,
    };
  if (answer.ok) return { outcome: 'done', statusCode, result: answer.result, response };
  const { error_code: code, description, parameters: hints } = answer;
  return {
    outcome: 'refused',
    statusCode: code,
    description: cleanText(strikeOut(description.slice(0, 2 * MAX_DESCRIPTION), secretsOf(bot), true), MAX_DESCRIPTION),
    retryAfterMs: hints?.retry_after === undefined ? null : hints.retry_after * 1000,
    movedTo: hints?.migrate_to_chat_id === undefined ? null : String(hints.migrate_to_chat_id),
    response,
  };
}

/**
 * Returns a bot's name, which is the same in every process and does not reveal its token; empty if the process has no
 * token.
 */
export function nameBot(token: string | null): string {
  return token === null ? '' : createHash('sha256').update(token).digest('hex').slice(0, 16);
}

/** Returns the token, whole and without the bot's id that begins it; the id alone is public. */
function secretsOf({ token }: TelegramBot): string[] {
  return [token, token.slice(token.indexOf(':') + 1)];
}
