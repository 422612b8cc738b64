import { createHttpClient, type HttpClient } from '../../net/http-client.ts';

/** What Slack is spoken to with. `apiUrl` without a slash at its end; `deadlineMs` spans each whole exchange. */
export type SlackSending = { http: HttpClient; apiUrl: string; deadlineMs: number; now: () => number };

/**
 * Opens the way to Slack. It leads nowhere but to `apiUrl` and to webhooks that `isWebhookUrl` accepts; a server that
 * the operator put in Slack's place may be at a private address whatever the guard says (D-30).
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
    now: Date.now,
  };
}

/** Where Slack's incoming webhooks live. */
const WEBHOOK_ORIGIN = 'https://hooks.slack.com';

/** Where the Web API is unless the operator names another address. */
const REAL_API_ORIGIN = 'https://slack.com';

/**
 * Whether the operator put another server in Slack's place: it may be at a private address, and its webhooks are at its
 * own origin.
 */
export function isOverridden(apiUrl: string): boolean {
  return new URL(apiUrl).origin !== REAL_API_ORIGIN;
}

/**
 * Whether messages may be sent to a URL that an answer of Slack's named. It must be below https://hooks.slack.com, or
 * at the host of `apiUrl`, whatever the port, where the operator chose another than Slack's. Anything else is not
 * Slack, whatever says so.
 */
export function isWebhookUrl(text: string, apiUrl: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return (
    url.origin === WEBHOOK_ORIGIN ||
    (isOverridden(apiUrl) && url.protocol === new URL(apiUrl).protocol && url.hostname === new URL(apiUrl).hostname)
  );
}
