import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning } from '../../config/processes.ts';

/** Path of the library for threaded programs in Debian's package `libfaketime`, by architecture. */
const LIBRARIES = ['x86_64', 'aarch64'].map((name) => `/usr/lib/${name}-linux-gnu/faketime/libfaketimeMT.so.1`);

/** A wall clock that can be set while programs use it. Their monotonic clocks stay correct, as on a real machine. */
export type SettableClock = {
  /** Environment that makes a program use this clock. */
  env: Record<string, string>;
  /** Sets the clock this many seconds ahead of the machine's, or behind it if negative. */
  set: (aheadSeconds: number) => Promise<void>;
  /** Deletes the clock's files. */
  remove: () => Promise<void>;
};

/** Message of the runner if tests that set clocks are skipped. */
export const NO_FAKETIME =
  'libfaketime is not installed: the tests that set clocks did not run (Debian: apt-get install libfaketime)';

/** Returns the path of the library; null if libfaketime is not installed. */
export function findFaketime(): string | null {
  return LIBRARIES.find((path) => existsSync(path)) ?? null;
}

/** Creates a clock that is correct until set; null if libfaketime is not installed. */
export async function makeSettableClock(): Promise<SettableClock | null> {
  const library = findFaketime();
  if (library === null) return null;
  // PostgreSQL may run as another account, which must be able to read the clock.
  const folder = await mkdtemp('/tmp/spotcheck-clock-');
  await chmod(folder, 0o755);
  const path = join(folder, 'ahead');
  const set = async (aheadSeconds: number) => {
    await writeFile(`${path}.new`, `${aheadSeconds < 0 ? '' : '+'}${aheadSeconds}\n`, { mode: 0o644 });
    // The rename is atomic, so that no process reads half of the file.
    await rename(`${path}.new`, path);
  };
  await set(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: path,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_RESET: '1',
    },
    set,
    async remove() {
      await rm(folder, { recursive: true, force: true });
      await removeSharedMemory();
    },
  };
}

const SHARED_MEMORY = '/dev/shm';

/** Removes the library's shared memory of killed programs, which could not remove it themselves. */
async function removeSharedMemory(): Promise<void> {
  for (const name of await readdir(SHARED_MEMORY)) {
    const pid = /^(?:sem\.)?faketime_(?:sem|shm)_(?<pid>\d+)$/.exec(name)?.groups?.['pid'];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(SHARED_MEMORY, name), { force: true });
  }
}
