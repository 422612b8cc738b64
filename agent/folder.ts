import { createHash } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folder of the agent that has this token; a function of the two, so that agents of one data directory never share
 * anything.
 */
export function folderOf(dataDir: string, token: string): string {
  return join(dataDir, 'agents', createHash('sha256').update(token).digest('hex').slice(0, 16));
}

/** Makes the folder, for its owner only. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}
