import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** A folder that is gone after the test. */
export async function temporaryFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-agent-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
