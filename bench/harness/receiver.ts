import type { Harness } from '../../test/helpers/harness.ts';
import { forkHttps } from './child.ts';
import type { Installation } from './installation.ts';
import type { Service } from './running-service.ts';

/** First arrival of a target's `monitor.down` at a path, in Unix milliseconds. */
export type Arrival = { path: string; target: string; atMs: number };

/**
 * An https receiver in its own process; senders must trust `caFile`. Paths that begin with `hang` are never answered.
 */
export type Receiver = { url: (path: string) => string; caFile: string; arrivals: () => Promise<Arrival[]> };

export async function startReceiver(harness: Harness): Promise<Receiver> {
  const { child, caFile } = await forkHttps(harness, 'receiver');
  return { url: (path) => `${child.ready}${path}`, caFile, arrivals: () => child.ask<Arrival[]>({}) };
}

/** Creates a webhook channel for all monitors through the API. */
export async function addChannel({ token }: Installation, service: Service, url: string): Promise<void> {
  const created = await fetch(`${service.url}/v1/channels`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'webhook', name: 'On call', url }),
  });
  if (created.status !== 201)
    throw new Error(`The channel was answered with ${created.status}: ${await created.text()}`);
}
