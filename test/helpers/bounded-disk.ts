import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';

/** A size-limited disk in memory that can be filled to its last block. */
export type BoundedDisk = {
  path: string;
  /** Fills the disk. */
  fill: () => Promise<void>;
  /** Frees the filled space. */
  free: () => Promise<void>;
  unmount: () => Promise<void>;
};

const run = promisify(execFile);

const MIB = 1024 * 1024;
const BLOCK = 4096;

/**
 * Creates a folder and mounts a disk of the given MiB on it. Returns null if this machine does not allow it, for
 * example without root.
 */
export async function mountBoundedDisk(path: string, mebibytes: number): Promise<BoundedDisk | null> {
  await mkdir(path, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'spotcheck-test', path]);
  } catch {
    return null;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    async fill() {
      const file = await open(ballast, 'a');
      try {
        for (const size of [MIB, BLOCK]) await appendWhilePossible(file, Buffer.alloc(size));
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
    // The lazy unmount lets a process keep its open files until it exits.
    unmount: async () => void (await run('umount', ['-l', path])),
  };
}

async function appendWhilePossible(file: Awaited<ReturnType<typeof open>>, chunk: Buffer): Promise<void> {
  for (;;) {
    try {
      await file.appendFile(chunk);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
      throw error;
    }
  }
}

/** Mounts a bounded disk until the test ends; returns null, and logs that, if the machine does not allow it. */
export async function boundedDisk(t: ExecutionContext, mebibytes: number): Promise<BoundedDisk | null> {
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-disk-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  const disk = await mountBoundedDisk(join(folder, 'disk'), mebibytes);
  if (disk === null) t.log('Left out: a disk of a bounded size can be mounted by root alone');
  else t.teardown(disk.unmount);
  return disk;
}
