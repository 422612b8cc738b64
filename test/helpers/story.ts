import type { ApiClient } from './api-client.ts';
import { until } from './until.ts';
import type { Received, Receiver } from './webhook-receiver.ts';

/**
 * Settings of a monitor that is checked often. It stays up although its target, which is in the test's process, does
 * not respond for 15 s: that is less than five timeouts.
 */
export const PATIENTLY = { interval_seconds: 4, timeout_ms: 3900, down_after_failures: 5 };

/**
 * Creates a webhook channel to the receiver and a monitor of the target, checked every second. Returns the monitor's
 * id.
 */
export async function watchTarget(
  call: ApiClient,
  { receiver, target }: { receiver: Receiver; target: string },
): Promise<string> {
  const channel = await call('POST', '/channels', { type: 'webhook', name: 'On call', url: receiver.url });
  const monitor = await call('POST', '/monitors', { name: 'Shop', target, interval_seconds: 1 });
  if (channel.status !== 201 || monitor.status !== 201) throw new Error(JSON.stringify([channel.json, monitor.json]));
  return monitor.json['id'];
}

/** Returns the messages about monitors, without the test delivery. */
export function eventsAt(receiver: Receiver): Received[] {
  return receiver.received.filter(({ json }) => json['test'] !== true);
}

/**
 * Waits for an event that arrives after the call, and returns it. The time limit suits a busy machine; benchmarks
 * measure delays. A delivery that is repeated because a process was killed does not count.
 */
export async function nextEvent(receiver: Receiver, event: string, timeoutMs = 120_000): Promise<Received> {
  const idOf = ({ json }: Received) => json['delivery_id'];
  const before = new Set(eventsAt(receiver).map(idOf));
  return await until(
    () => eventsAt(receiver).find((message) => message.event === event && !before.has(idOf(message))),
    {
      timeoutMs,
    },
  );
}
