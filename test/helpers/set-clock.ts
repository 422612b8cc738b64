import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning } from '../../config/processes.ts';

/** Where Debian's package `libfaketime` keeps the library for programs with threads, by architecture. */
const LIBRARIES = ['x86_64', 'aarch64'].map((name) => `/usr/lib/${name}-linux-gnu/faketime/libfaketimeMT.so.1`);

/** A wall clock that can be set while programs run by it. Their monotonic clocks stay true, as on a real machine. */
export type SettableClock = {
  /** The environment that makes a program run by this clock. */
  env: Record<string, string>;
  /** Sets the clock this many seconds ahead of the machine's; below 0 behind it. */
  set: (aheadSeconds: number) => Promise<void>;
  /** Deletes the clock's files. */
  remove: () => Promise<void>;
};

/** What the runner prints where tests that set clocks are left out. */
export const NO_FAKETIME =
  'libfaketime is not installed: the tests that set clocks did not run (Debian: apt-get install libfaketime)';

/** Finds the library; null where libfaketime is not installed. */
export function findFaketime(): string | null {
  return LIBRARIES.find((path) => existsSync(path)) ?? null;
}

/** Makes a clock that is right until it is set; null where libfaketime is not installed. */
export async function makeSettableClock(): Promise<SettableClock | null> {
  const library = findFaketime();
  if (library === null) return null;
  // PostgreSQL may run as another account, which must be able to read it.
  const folder = await mkdtemp('/tmp/spotcheck-clock-');
  await chmod(folder, 0o755);
  const path = join(folder, 'ahead');
  const set = async (aheadSeconds: number) => {
    await writeFile(`${path}.new`, `${aheadSeconds < 0 ? '' : '+'}${aheadSeconds}\n`, { mode: 0o644 });
    // By one rename: no process finds half of it.
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

/** Removes what the library keeps in shared memory of programs that were killed, and so could not remove it. */
async function removeSharedMemory(): Promise<void> {
  for (const name of await readdir(SHARED_MEMORY)) {
    const pid = /^(?:sem\.)?faketime_(?:sem|shm)_(?<pid>\d+)$/.exec(name)?.groups?.['pid'];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(SHARED_MEMORY, name), { force: true });
  }
}
