import { Agent } from 'node:https';
import { createHttpClient } from '../../net/http-client.ts';
import type { WebhookSending } from './attempt.ts';

/**
 * How long an unused connection is kept, in milliseconds. That is well below what any server waits before it closes
 * one, so that a request never meets its end on the way. One that did would have to be sent again, and it would be
 * unknown whether it had been taken.
 */
const IDLE_MS = 1000;

/**
 * Makes the pool of connections that a process's webhook attempts share, so that a burst to one receiver pays for few
 * handshakes.
 */
export function createWebhookAgent(): Agent {
  return new Agent({ keepAlive: true, timeout: IDLE_MS });
}

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
