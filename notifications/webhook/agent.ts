import { Agent } from 'node:https';

/**
 * How long an unused connection is kept, in milliseconds: well below what any server waits before it closes one, so
 * that a request never meets its end on the way. One that did would have to be sent again, and it would be unknown
 * whether it had been taken.
 */
const IDLE_MS = 1000;

/**
 * Makes the pool of connections that a process's webhook attempts share, so that a burst to one receiver pays for few
 * handshakes.
 */
export function createWebhookAgent(): Agent {
  return new Agent({ keepAlive: true, timeout: IDLE_MS });
}
