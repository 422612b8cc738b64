import { statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';

/** Linux's file system in memory. */
const IN_MEMORY = '/dev/shm';

/** What a run takes at the most there, several times over, in bytes. Containers often have 64 MiB. */
const ROOM = 2 * 1024 ** 3;

/**
 * Where a run keeps its PostgreSQL: in memory where there is room, for a disk takes ten times as long over the hundreds
 * of small files that each test's database is; else in the temporary directory.
 */
export async function findDataDirectory(): Promise<string> {
  const there = await statfs(IN_MEMORY).catch(() => null);
  return there !== null && there.bavail * there.bsize >= ROOM && freemem() >= ROOM ? IN_MEMORY : tmpdir();
}
