import { createHttpClient, type HttpClient } from '../../net/http-client.ts';
import { isOverridden } from './webhook-url.ts';

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
