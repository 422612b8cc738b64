import type { ChatMessage } from '../../core/chat/message.ts';
import { cleanText } from '../../core/clean-text.ts';
import type { HttpAnswer } from '../../net/http-client.ts';
import { excerptAnswer } from '../answer-text.ts';
import { OUTCOME_OF_FAILURE } from '../attempt-result.ts';
import { MAX_RETRY_AFTER_MS, NOTHING_MORE, type ChatAttempt } from '../chat-attempt.ts';
import { renderSlackMessage } from './message.ts';
import type { SlackSending } from './sending.ts';
import { isWebhookUrl } from './webhook-url.ts';

/** How much of an answer's body is stored, in bytes; Slack answers with one word. */
const RESPONSE_LIMIT = 1024;

/**
 * The words with which Slack says that a webhook takes nothing any more, whatever its status; what they mean for its
 * owner.
 */
const PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['invalid_token', 'the app was removed from the workspace, or its webhook was revoked'],
  ['no_active_hooks', 'the webhook was switched off'],
  ['no_service', 'the webhook was removed, or switched off'],
  ['no_service_id', 'the webhook was removed'],
  ['no_team', 'the workspace is gone'],
  ['team_disabled', 'the workspace is switched off'],
  ['channel_not_found', 'the Slack channel is gone'],
  ['channel_is_archived', 'the Slack channel is archived'],
  ['user_not_found', 'the person that it wrote to is gone'],
  ['action_prohibited', 'an administrator of the workspace forbids it'],
  ['posting_to_general_channel_denied', 'an administrator of the workspace forbids posting to this Slack channel'],
]);

/** Statuses that say the same without a word that we know. */
const GONE_STATUSES = new Set([403, 404, 410]);

/**
 * Makes one attempt at a Slack channel's incoming webhook. 2xx is `delivered`; 429, 5xx and what is wrong on the way
 * are `retry`; everything else is `failed`, with a `channelProblem` where the webhook or its channel is gone. Rejects
 * only when our own machine lacks something.
 */
export async function attemptSlack(
  webhookUrl: string,
  message: ChatMessage,
  { http, apiUrl, deadlineMs, now }: SlackSending,
): Promise<ChatAttempt> {
  if (!isWebhookUrl(webhookUrl, apiUrl)) {
    return {
      ...NOTHING_MORE,
      outcome: 'failed',
      statusCode: null,
      durationMs: 0,
      error: 'The webhook of the channel is not at hooks.slack.com',
      response: null,
    };
  }
  const startedAtMs = now();
  const exchange = await http({
    url: new URL(webhookUrl),
    method: 'POST',
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Accept-Encoding': 'identity',
      'User-Agent': 'Spotcheck/1 (slack)',
    },
    body: JSON.stringify(renderSlackMessage(message)),
    deadlineMs,
    bodyLimit: () => RESPONSE_LIMIT,
  });
  const durationMs = Math.max(0, Math.round(now() - startedAtMs));
  if (exchange.outcome === 'answered') {
    // The URL is the secret, and a server may quote the path that it was asked for.
    const response = excerptAnswer(exchange.body, [webhookUrl, new URL(webhookUrl).pathname]);
    return { ...judge(exchange), statusCode: exchange.status, durationMs, response };
  }
  return {
    ...NOTHING_MORE,
    outcome: OUTCOME_OF_FAILURE[exchange.cause],
    statusCode: null,
    durationMs,
    error: exchange.reason,
    response: null,
  };
}

function judge(answer: HttpAnswer): Omit<ChatAttempt, 'statusCode' | 'durationMs' | 'response'> {
  const { status } = answer;
  if (status >= 200 && status < 300) return { ...NOTHING_MORE, outcome: 'delivered', error: null };
  const error = `Slack answered ${status}`;
  if (status === 429) return { ...NOTHING_MORE, outcome: 'retry', error, retryAfterMs: readRetryAfter(answer) };
  if (status >= 500) return { ...NOTHING_MORE, outcome: 'retry', error };
  const word = wordOf(answer);
  const meaning = PROBLEMS.get(word) ?? (GONE_STATUSES.has(status) ? 'the webhook is gone' : null);
  if (meaning === null) return { ...NOTHING_MORE, outcome: 'failed', error };
  return {
    ...NOTHING_MORE,
    outcome: 'failed',
    error: `${error}: ${meaning}`,
    channelProblem: `Slack takes no messages for this channel any more: ${meaning}`,
  };
}

function wordOf({ body }: HttpAnswer): string {
  return cleanText(body.toString('utf8'), RESPONSE_LIMIT);
}

/** Slack gives whole seconds. */
function readRetryAfter({ headers }: HttpAnswer): number | null {
  const given = headers['retry-after'] ?? '';
  return /^\d{1,9}$/.test(given) ? Math.min(Number(given) * 1000, MAX_RETRY_AFTER_MS) : null;
}
