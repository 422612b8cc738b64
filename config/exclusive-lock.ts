import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { identifyProcess } from './processes.ts';

/**
 * The process that a lock belongs to. A number alone proves nothing: after a restart, in a container above all, another
 * process may have it.
 */
type Holder = { pid: number; identity: string };

const ATTEMPTS = 20;

/**
 * Makes this process the one that holds a lock, a file at `path`, and returns the release. Throws what `refusal` makes
 * of the holder's pid while another one lives; what a killed one left is taken over.
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

/** A link makes the file appear with its content: one that is still empty would look like a dead process's. */
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
 * Of two that find the same dead holder the slower one must not remove the faster one's new lock. What was moved is
 * looked at again, and put back.
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

/** Null for a file that is gone or damaged. */
async function readHolder(path: string): Promise<Holder | null> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    const { pid, identity }: Partial<Holder> = JSON.parse(text);
    return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity } : null;
  } catch {
    return null;
  }
}
