import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestAuthority } from '../../test/helpers/certificates.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';
import { forkChild } from './child.ts';

/** The first arrival of a delivery at a path, in Unix milliseconds. */
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
  const authority = await TestAuthority.create();
  const caFile = join(await temporaryFolder(harness), 'ca.pem');
  await writeFile(caFile, authority.pem);
  const child = await forkChild<string>(harness, 'sink', await authority.issue({ hosts: ['127.0.0.1'] }));
  return { pid: child.pid, url: (path) => `${child.ready}${path}`, caFile, read: () => child.ask({}) };
}
