import { PING_EXPIRES_MS } from '../../core/system/canary.ts';
import { createHttpClient } from '../../net/http-client.ts';
import { unsuccessful, type AttemptResult } from '../attempt-result.ts';
import type { WebhookDelivery } from './attempt.ts';

type PingSending = { deadlineMs: number; publicUrl: string; now: () => number };

type Ping = Pick<WebhookDelivery, 'url' | 'message'>;

/** Maximum bytes read of a response: only its status matters. */
const RESPONSE_LIMIT = 1024;

/**
 * Creates the function that pings the canary's addresses: one POST, at private addresses as well, because the operator
 * chose them. It is never retried, since the next change brings the next ping, and a ping that waited too long is not
 * sent: its proof is outdated.
 */
export function openPingSending({ deadlineMs, publicUrl, now }: PingSending): (ping: Ping) => Promise<AttemptResult> {
  const http = createHttpClient({ allowPrivateNetwork: true, purpose: 'notifications' });
  return async ({ url, message }) => {
    const startedAtMs = performance.now();
    const ageMs = now() - message.event_at * 1000;
    if (ageMs > PING_EXPIRES_MS)
      return unsuccessful('failed', `The ping was ${Math.round(ageMs / 1000)} s late, and was not sent`);
    const exchange = await http({
      url: new URL(url),
      method: 'POST',
      headers: { 'Content-Type': 'text/plain', 'User-Agent': 'Spotcheck/1 (ping)', 'Accept-Encoding': 'identity' },
      body: `Spotcheck at ${publicUrl}: schedules, probes, decisions and deliveries work\n`,
      deadlineMs,
      bodyLimit: () => RESPONSE_LIMIT,
    });
    const durationMs = Math.round(performance.now() - startedAtMs);
    if (exchange.outcome === 'failed') return { ...unsuccessful('failed', exchange.reason), durationMs };
    const { status } = exchange;
    return status >= 200 && status < 300
      ? { outcome: 'delivered', statusCode: status, durationMs, error: null, response: null }
      : { ...unsuccessful('failed', `The address responded with ${status}`), statusCode: status, durationMs };
  };
}
