import { chown, link, readFile, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identifyProcess } from './processes.ts';

/**
 * The process that holds a lock. A pid alone proves nothing: after a restart, especially in a container, another
 * process may have it. `namespace` is where the pid is valid; a lock of an older release has none.
 */
type Holder = { pid: number; identity: string; namespace?: string };

const ATTEMPTS = 20;

/** Interval at which a holder renews its lock, in milliseconds: other containers cannot see whether it lives. */
const RENEW_EVERY_MS = 2000;

/** Time after which a lock of another namespace that was not renewed is dead, in milliseconds. */
const DEAD_AFTER_MS = 5000;
const POLL_MS = 100;

/**
 * Takes a lock, a file at `path`, for this process and returns its release. Throws `refusal` with the holder's pid
 * while the holder lives; a dead process's lock is taken over.
 */
export async function lockExclusively(path: string, refusal: (pid: number) => Error): Promise<() => Promise<void>> {
  const [identity, namespace] = await Promise.all([identifyProcess(process.pid), readNamespace()]);
  const mine: Holder = { pid: process.pid, identity: identity ?? '', namespace };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await take(path, mine)) return keep(path);
    const lock = await readLock(path);
    if (lock === null) continue;
    const holder = parseHolder(lock);
    if (holder !== null && (await isAlive(holder, { namespace, path }))) throw refusal(holder.pid);
    await removeDead(path, lock, refusal);
  }
  throw new Error(`${path} cannot be read or taken over: delete it by hand if its process is gone`);
}

/** Returns the machine and, on Linux, the container or other namespace in which this process has its pid. */
async function readNamespace(): Promise<string> {
  return `${hostname()} ${await readlink('/proc/self/ns/pid').catch(() => '')}`;
}

/** Renews a lock until its release, which is returned. */
function keep(path: string): () => Promise<void> {
  const timer = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), RENEW_EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await rm(path, { force: true });
  };
}

/** Reports whether the holder of a lock lives: in another container or machine, whether it renews the lock. */
async function isAlive(holder: Holder, { namespace, path }: { namespace: string; path: string }): Promise<boolean> {
  if (holder.namespace === undefined || holder.namespace === namespace)
    return (await identifyProcess(holder.pid)) === holder.identity;
  const changedAtMs = await readChangeMs(path);
  // Polls are counted, not time: a machine that was suspended suspended the holder as well.
  for (let poll = 0; poll < DEAD_AFTER_MS / POLL_MS; poll += 1) {
    await delay(POLL_MS);
    const nowChangedAtMs = await readChangeMs(path);
    if (nowChangedAtMs === null) return false;
    if (nowChangedAtMs !== changedAtMs) return true;
  }
  return false;
}

/** Reads when a file was last changed, in Unix milliseconds; null if it is gone. */
async function readChangeMs(path: string): Promise<number | null> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );
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
    const { pid, identity, namespace }: Partial<Holder> = JSON.parse(lock);
    if (typeof pid !== 'number' || typeof identity !== 'string') return null;
    return typeof namespace === 'string' ? { pid, identity, namespace } : { pid, identity };
  } catch {
    return null;
  }
}
