import { statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Linux's in-memory file system. */
const IN_MEMORY = '/dev/shm';

/** Space that a test run may need, several times over, in bytes. Containers often have 64 MiB. */
const ROOM = 2 * 1024 ** 3;

/**
 * Folder in which Node.js keeps code compiled for tests from one run to the next. Every test file is a process that
 * loads much the same code. A changed file replaces its entry.
 */
export const COMPILE_CACHE =
  process.env['NODE_COMPILE_CACHE'] ??
  fileURLToPath(new URL('../node_modules/.cache/spotcheck-tests/', import.meta.url));

/**
 * Chooses the folder of a test run's PostgreSQL: in memory if there is room, else in the temporary directory. A disk
 * takes ten times as long for the hundreds of small files of each test's database.
 */
export async function findDataDirectory(): Promise<string> {
  const there = await statfs(IN_MEMORY).catch(() => null);
  return there !== null && there.bavail * there.bsize >= ROOM && freemem() >= ROOM ? IN_MEMORY : tmpdir();
}
