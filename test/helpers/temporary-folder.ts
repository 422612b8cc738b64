import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Harness } from './harness.ts';

/** Creates a folder that is deleted with the harness. */
export async function temporaryFolder(t: Harness): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
