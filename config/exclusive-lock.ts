import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
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
    const holder = await readHolder(path);
    if (holder !== null && (await identifyProcess(holder.pid)) === holder.identity) throw refusal(holder.pid);
    await putAside(path, holder);
  }
  throw new Error(`${path} belongs to a process that is gone and could not be taken over: delete it by hand`);
}

/** Links the file so that it appears with its content: an empty file would look like a dead process's lock. */
async function take(path: string, holder: Holder): Promise<boolean> {
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeFile(draft, JSON.stringify(holder), { mode: 0o600 });
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
 * Moves a dead holder's lock aside. The slower of two processes must not remove the faster one's new lock, so the moved
 * file is read again, and put back if it is another.
 */
async function putAside(path: string, judged: Holder | null): Promise<void> {
  const aside = `${path}.${process.pid}.old`;
  const isMoved = await rename(path, aside).then(
    () => true,
    () => false,
  );
  if (!isMoved) return;
  const moved = await readHolder(aside);
  const isJudged = moved?.pid === judged?.pid && moved?.identity === judged?.identity;
  await (isJudged ? rm(aside, { force: true }) : rename(aside, path));
}

/** Reads the holder of a lock; null if the file is gone or damaged. */
async function readHolder(path: string): Promise<Holder | null> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    const { pid, identity }: Partial<Holder> = JSON.parse(text);
    return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity } : null;
  } catch {
    return null;
  }
}
