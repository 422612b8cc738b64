import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The process that a lock belongs to. A number alone proves nothing: after a restart, in a container above all, another process may have it. */
type Holder = { pid: number; startedAt: string };

const ATTEMPTS = 20;

/** Thrown where another agent that runs has the folder. */
export class FolderInUse extends Error {
  override name = 'FolderInUse';
}

/** Makes this process the one user of a folder and returns the release. Throws `FolderInUse` while another one lives; what a killed one left is taken over. */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'lock.json');
  const mine: Holder = { pid: process.pid, startedAt: (await startOf(process.pid)) ?? '' };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await take(path, mine)) return () => rm(path, { force: true });
    const holder = await readHolder(path);
    if (holder !== null && (await startOf(holder.pid)) === holder.startedAt) {
      throw new FolderInUse(`Another agent with this token is running here (process ${holder.pid}); stop that one first, or give this one a token of its own`);
    }
    await putAside(path, holder);
  }
  throw new Error(`${path} could not be taken over from a process that is gone; remove it by hand`);
}

/** A link makes the file appear with its content: one that is still empty would look like a dead process's. */
async function take(path: string, holder: Holder): Promise<boolean> {
  const draft = `${path}.${process.pid}`;
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

/** Of two that find the same dead holder the slower one must not remove the faster one's new lock: what was moved is looked at again, and put back. */
async function putAside(path: string, judged: Holder | null): Promise<void> {
  const aside = `${path}.${process.pid}.old`;
  const isMoved = await rename(path, aside).then(() => true, () => false);
  if (!isMoved) return;
  const moved = await readHolder(aside);
  const isJudged = moved?.pid === judged?.pid && moved?.startedAt === judged?.startedAt;
  await (isJudged ? rm(aside, { force: true }) : rename(aside, path));
}

/** Null for a file that is gone or damaged. */
async function readHolder(path: string): Promise<Holder | null> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    const { pid, startedAt }: Partial<Holder> = JSON.parse(text);
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : null;
  } catch {
    return null;
  }
}

/** What tells a process from a later one of the same number: on Linux its start in clock ticks since boot (proc(5) stat, field 22), elsewhere nothing. Null when none runs. */
async function startOf(pid: number): Promise<string | null> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return null;
  }
  if (process.platform !== 'linux') return '';
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  // The name, in brackets, may hold spaces and brackets; a zombie is no process.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return fields[0] === undefined || fields[0] === 'Z' ? null : (fields[19] ?? null);
}
