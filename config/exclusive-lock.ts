import { chown, link, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { identifyProcess } from './processes.ts';

/**
 * The process that holds a lock. A pid alone proves nothing: after a restart, especially in a container, another
 * process may have it.
 */
type Holder = { pid: number; identity: string };

const ATTEMPTS = 20;

/**
 * Takes a lock, a file at `path`, for this process and returns its release. Throws `refusal` with the holder's pid
 * while the holder lives; a dead process's lock is taken over.
 */
export async function lockExclusively(path: string, refusal: (pid: number) => Error): Promise<() => Promise<void>> {
  const mine: Holder = { pid: process.pid, identity: (await identifyProcess(process.pid)) ?? '' };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await take(path, mine)) return () => rm(path, { force: true });
    const lock = await readLock(path);
    if (lock === null) continue;
    const holder = parseHolder(lock);
    if (holder !== null && (await identifyProcess(holder.pid)) === holder.identity) throw refusal(holder.pid);
    await removeDead(path, lock, refusal);
  }
  throw new Error(`${path} cannot be read or taken over: delete it by hand if its process is gone`);
}

/**
 * Links the file so that it appears with its content: an empty file would look like a dead process's lock. A lock of
 * root belongs to the owner of its folder, who could not tell otherwise that it is dead.
 */
async function take(path: string, holder: Holder): Promise<boolean> {
  const draft = `${path}.${process.pid}.new`;
  try {
    // A killed process with this pid may have left its draft, which is a link of its lock.
    await rm(draft, { force: true });
    await writeFile(draft, JSON.stringify(holder), { mode: 0o600 });
    if (process.getuid?.() === 0) {
      const { uid, gid } = await stat(dirname(path));
      await chown(draft, uid, gid);
    }
    await link(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Removes a dead holder's lock. The slower of two processes must not remove the faster one's new lock, so they take
 * turns, by a lock of its own, and each removes only the lock that it judged.
 */
async function removeDead(path: string, judged: string, refusal: (pid: number) => Error): Promise<void> {
  const endTurn = await lockExclusively(`${path}.turn`, refusal);
  try {
    if ((await readLock(path)) === judged) await rm(path, { force: true });
  } finally {
    await endTurn();
  }
}

/** Reads a lock; null if it is gone or unreadable. */
async function readLock(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}

/** Parses the holder of a lock; null if the lock is damaged. */
function parseHolder(lock: string): Holder | null {
  try {
    const { pid, identity }: Partial<Holder> = JSON.parse(lock);
    return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity } : null;
  } catch {
    return null;
  }
}
