import { Agent } from 'node:https';

/** How long an unused connection is kept, in milliseconds: below the 5 s after which many servers close theirs. */
const IDLE_MS = 4000;

/** Makes the pool of connections that a process's webhook attempts share, so that a burst to one receiver pays for few handshakes. */
export function createWebhookAgent(): Agent {
  return new Agent({ keepAlive: true, timeout: IDLE_MS });
}
