import type { Harness } from '../../test/helpers/harness.ts';
import { forkHttps } from './child.ts';

/** First arrival of a delivery at a path, in Unix milliseconds. */
export type SinkArrival = { path: string; id: string; atMs: number };

/**
 * An https receiver in its own process; senders must trust `caFile`. Paths that begin with `hang` are answered after 8
 * s.
 */
export type Sink = {
  pid: number;
  url: (path: string) => string;
  caFile: string;
  read: () => Promise<{ arrivals: SinkArrival[]; connections: number }>;
};

export async function startSink(harness: Harness): Promise<Sink> {
  const { child, caFile } = await forkHttps(harness, 'sink');
  return { pid: child.pid, url: (path) => `${child.ready}${path}`, caFile, read: () => child.ask({}) };
}
