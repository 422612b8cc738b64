import { createHttpClient } from '../../net/http-client.ts';
import { createWebhookAgent } from './agent.ts';
import type { WebhookSending } from './attempt.ts';

/**
 * Opens what webhook attempts of a process are made with; `deadlineMs` spans each whole exchange. Without
 * `allowPrivateNetwork` only public addresses are reached (D-30). Destroy its `agent` when the last attempt is over.
 */
export function openWebhookSending(options: { allowPrivateNetwork: boolean; deadlineMs: number }): WebhookSending {
  const { allowPrivateNetwork, deadlineMs } = options;
  return {
    http: createHttpClient({ allowPrivateNetwork, purpose: 'notifications' }),
    agent: createWebhookAgent(),
    deadlineMs,
    now: Date.now,
  };
}
