import {
  CHAT_CAPS,
  CHAT_MARKS,
  escapeShown,
  shorten,
  type ChatFact,
  type ChatMessage,
} from '../../core/alerts/chat/message.ts';
import { cleanText } from '../../core/foreign-text.ts';
import { createHttpClient, readRetryAfter, type HttpClient, type HttpResponse } from '../../net/http-client.ts';
import {
  MAX_RETRY_AFTER_MS,
  NOTHING_MORE,
  OUTCOME_OF_FAILURE,
  RESPONSE_LIMIT,
  excerptResponse,
  unsuccessful,
  type ChannelAttempt,
} from '../attempt-result.ts';

/** Parameters of requests to Slack. `apiUrl` has no trailing slash; `deadlineMs` spans each whole exchange. */
export type SlackSending = { http: HttpClient; apiUrl: string; deadlineMs: number };

/**
 * Opens the connection to Slack. It reaches only `apiUrl` and webhooks that `isWebhookUrl` accepts; a server that the
 * operator put in Slack's place may have a private address despite the guard (D-30).
 */
export function openSlackSending(options: {
  allowPrivateNetwork: boolean;
  apiUrl: string;
  deadlineMs: number;
}): SlackSending {
  const { allowPrivateNetwork, apiUrl, deadlineMs } = options;
  return {
    http: createHttpClient({
      allowPrivateNetwork: allowPrivateNetwork || isOverridden(apiUrl),
      purpose: 'notifications',
    }),
    apiUrl,
    deadlineMs,
  };
}

/** Origin of Slack's incoming webhooks. */
const WEBHOOK_ORIGIN = 'https://hooks.slack.com';

/** Origin of the Web API unless the operator configures another. */
const REAL_API_ORIGIN = 'https://slack.com';

/**
 * Reports whether the operator put another server in Slack's place: it may have a private address, and its webhooks are
 * at its own origin.
 */
export function isOverridden(apiUrl: string): boolean {
  return new URL(apiUrl).origin !== REAL_API_ORIGIN;
}

/**
 * Reports whether messages may be sent to a URL from a Slack response. It must be below https://hooks.slack.com or, if
 * the operator configured another server than Slack's, at the host of `apiUrl`, on any port. No other URL is Slack's.
 */
export function isWebhookUrl(text: string, apiUrl: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return (
    url.origin === WEBHOOK_ORIGIN ||
    (isOverridden(apiUrl) && url.protocol === new URL(apiUrl).protocol && url.hostname === new URL(apiUrl).hostname)
  );
}

/** Maximum length of a header in Slack, in characters. */
const HEADER_LIMIT = 150;

/** Maximum characters of facts, Slack's limit for a text. */
const FACTS_LIMIT = 3000;

/** Words that notify a whole channel where names in a text are resolved. */
const CALLS = /@(?=channel|here|everyone)/gi;
const WORD_JOINER = '\u2060';

type PlainText = { type: 'plain_text'; text: string; emoji: false };
type Run = { type: 'text'; text: string; style?: { bold: true } } | { type: 'link'; url: string; text: string };
type RichText = { type: 'rich_text'; elements: [{ type: 'rich_text_section'; elements: readonly Run[] }] };
type Block = { type: 'header'; text: PlainText } | RichText;

/** The body of one POST to an incoming webhook. */
export type SlackMessage = {
  /** Text for notifications and screen readers. */
  text: string;
  blocks: readonly Block[];
  mrkdwn: false;
  link_names: false;
  unfurl_links: false;
  unfurl_media: false;
};

/**
 * Renders a chat message as Block Kit: header, reason, facts, link. Names and reasons are foreign text, and only go
 * into parts that Slack does not parse: a header is plain, and rich text marks bold and links by its elements. So an
 * asterisk, backtick, emoji name or angle bracket has no effect, and no member is mentioned. Only the notification is
 * text with entities: its markup and name resolution are switched off, and names that notify a whole channel are still
 * broken up.
 */
export function renderSlackMessage({ tone, title, text, facts, link }: ChatMessage): SlackMessage {
  const marked = `${CHAT_MARKS[tone]} ${title}`;
  return {
    text: [escaped(marked, CHAT_CAPS.title), ...(text ? [escaped(text, CHAT_CAPS.text)] : [])].join('\n'),
    blocks: [
      { type: 'header', text: headline(marked) },
      ...richText(words(text ?? '', CHAT_CAPS.text)),
      ...richText(wholeFacts(facts)),
      // There is no button: Slack warns beside one whose app does not answer clicks, and would have to reach the app
      // for that.
      ...(link === null
        ? []
        : richText([{ type: 'link', url: link.url, text: shorten(link.label, CHAT_CAPS.name) || link.url }])),
    ],
    mrkdwn: false,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  };
}

/**
 * Builds the text of a header. Slack does not document whether plain text resolves entities, so angle quotes replace
 * the characters that delimit a mention elsewhere.
 */
function headline(text: string): PlainText {
  return {
    type: 'plain_text',
    text: shorten(withoutCalls(text), HEADER_LIMIT).replaceAll('<', '‹').replaceAll('>', '›'),
    emoji: false,
  };
}

function escaped(text: string, maxLength: number): string {
  return escapeShown(withoutCalls(text), maxLength);
}

function withoutCalls(text: string): string {
  return text.replaceAll(CALLS, `@${WORD_JOINER}`);
}

/** Builds a block, or none without elements: Slack refuses empty ones. */
function richText(elements: readonly Run[]): RichText[] {
  return elements.length === 0 ? [] : [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }];
}

/** Builds the elements of a text; Slack refuses an empty element. */
function words(text: string, maxLength: number): Run[] {
  const shown = shorten(text, maxLength);
  return shown === '' ? [] : [{ type: 'text', text: shown }];
}

/** Builds a line per fact, its label bold; as many as Slack accepts. */
function wholeFacts(facts: readonly ChatFact[]): Run[] {
  let length = 0;
  const lines: Run[] = [];
  for (const fact of facts) {
    const label = `${lines.length === 0 ? '' : '\n'}${shorten(fact.label, CHAT_CAPS.shortName)}: `;
    const value = words(fact.value, CHAT_CAPS.fact);
    length += label.length + value.reduce((sum, { text }) => sum + text.length, 0);
    if (length > FACTS_LIMIT) break;
    lines.push({ type: 'text', text: label, style: { bold: true } }, ...value);
  }
  return lines;
}

/** Maximum length of a word in Slack's response, in characters. */
const WORD_LIMIT = 100;

/** Minimum length of a path segment that counts as a key, in characters; shorter ones are words. */
const SHORTEST_KEY = 8;

/** Words in a 4xx response that mean that a webhook is dead, with explanations for its owner. */
const PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['invalid_token', 'the app was removed from the workspace, or its webhook was revoked'],
  ['no_active_hooks', 'the webhook was disabled'],
  ['no_service', 'the webhook was removed or disabled'],
  ['no_service_id', 'the webhook was removed'],
  ['no_team', 'the workspace no longer exists'],
  ['team_disabled', 'the workspace is disabled'],
  ['channel_not_found', 'the Slack channel no longer exists'],
  ['channel_is_archived', 'the Slack channel is archived'],
  ['user_not_found', 'the recipient no longer exists'],
  ['action_prohibited', 'a workspace administrator forbids it'],
  ['posting_to_general_channel_denied', 'a workspace administrator forbids posting to this Slack channel'],
]);

/** Statuses that mean the same without a known word. */
const GONE_STATUSES = new Set([403, 404, 410]);

/**
 * Makes one attempt at a Slack channel's incoming webhook. Statuses of 2xx are `delivered`; 429, 5xx and network errors
 * are `retry`; everything else is `failed`, with a `channelProblem` if the webhook or its channel is gone. Rejects only
 * if this machine lacks resources.
 */
export async function attemptSlack(
  webhookUrl: string,
  message: ChatMessage,
  { http, apiUrl, deadlineMs }: SlackSending,
): Promise<ChannelAttempt> {
  if (!isWebhookUrl(webhookUrl, apiUrl))
    return unsuccessful('failed', 'The webhook of the channel is not at hooks.slack.com');
  const startedAtMs = performance.now();
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
  const durationMs = Math.round(performance.now() - startedAtMs);
  if (exchange.outcome === 'failed')
    return { ...unsuccessful(OUTCOME_OF_FAILURE[exchange.cause], exchange.reason), durationMs };
  // The URL is the secret, and a server may quote the requested path.
  const response = excerptResponse(exchange.body, secretsOf(webhookUrl));
  return { ...judge(exchange), statusCode: exchange.status, durationMs, response };
}

function secretsOf(webhookUrl: string): string[] {
  const { pathname } = new URL(webhookUrl);
  const token = pathname.split('/').at(-1) ?? '';
  return [webhookUrl, pathname, ...(token.length >= SHORTEST_KEY ? [token] : [])];
}

function judge(response: HttpResponse): Omit<ChannelAttempt, 'statusCode' | 'durationMs' | 'response'> {
  const { status } = response;
  if (status >= 200 && status < 300) return { ...NOTHING_MORE, outcome: 'delivered', error: null };
  const error = `Slack responded with ${status}`;
  if (status === 429) {
    const requestedMs = readRetryAfter(response, Date.now());
    const retryAfterMs = requestedMs === null ? null : Math.min(requestedMs, MAX_RETRY_AFTER_MS);
    return { ...NOTHING_MORE, outcome: 'retry', error, retryAfterMs };
  }
  if (status >= 500) return { ...NOTHING_MORE, outcome: 'retry', error };
  const word = wordOf(response);
  const meaning = PROBLEMS.get(word) ?? (GONE_STATUSES.has(status) ? 'the webhook no longer exists' : null);
  if (meaning === null) return { ...NOTHING_MORE, outcome: 'failed', error };
  return {
    ...NOTHING_MORE,
    outcome: 'failed',
    error: `${error}: ${meaning}`,
    channelProblem: `Slack no longer accepts messages for this channel: ${meaning}`,
  };
}

function wordOf({ body }: HttpResponse): string {
  return cleanText(body.toString('utf8'), WORD_LIMIT);
}
