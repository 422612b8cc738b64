import type { Harness } from '../../test/helpers/harness.ts';
import { forkChild, type Child } from './child.ts';

/**
 * Loopback addresses that the target listens on, so that no pair of address and port is reused while it still lingers.
 */
const ADDRESSES = 8;

/** A Node http server in its own process, which no CPU figure includes; each URL ends with `/m/`. */
export type Target = { urls: string[]; child: Child<string[]> };

/** Starts a target that answers 200 with 100 bytes; after the message `failEvery` n, it fails on every nth path. */
export async function startTarget(harness: Harness): Promise<Target> {
  const child = await forkChild<string[]>(harness, 'target', { addresses: ADDRESSES, bodyBytes: 100 });
  return { urls: child.ready, child };
}
