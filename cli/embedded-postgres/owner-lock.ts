import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identifyProcess } from './processes.ts';

type Owner = { pid: number; identity: string };

const ATTEMPTS = 20;

/**
 * Makes this process the one owner of a data directory and returns the release. Throws while another owner lives; the lock of a dead one
 * is taken over.
 */
export async function lockDataDir(dataDir: string): Promise<() => Promise<void>> {
  const path = join(dataDir, 'owner.json');
  const mine: Owner = { pid: process.pid, identity: (await identifyProcess(process.pid)) ?? '' };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await createLock(path, mine)) return () => rm(path, { force: true });
    const owner = await readOwner(path);
    if (owner !== null && (await isAlive(owner))) {
      throw new Error(`${dataDir} is in use by another Spotcheck (process ${owner.pid}); stop that one first, or give this one a DATA_DIR of its own`);
    }
    await removeStale(path, owner);
  }
  throw new Error(`${path} could not be taken over from a process that is gone; remove it by hand`);
}

/** The file appears with its content, by a link: an empty one in the making would look like a dead owner's. */
async function createLock(path: string, owner: Owner): Promise<boolean> {
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, JSON.stringify(owner), { mode: 0o600 });
  try {
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
 * Two processes can find the same dead owner and the slower one could then remove the faster one's new lock. So the file is moved aside
 * first and put back when it turns out not to be the one that was judged.
 */
async function removeStale(path: string, judged: Owner | null): Promise<void> {
  const aside = `${path}.${process.pid}.old`;
  const isMoved = await rename(path, aside).then(() => true, () => false);
  if (!isMoved) return;
  const moved = await readOwner(aside);
  const isJudged = moved?.pid === judged?.pid && moved?.identity === judged?.identity;
  await (isJudged ? rm(aside, { force: true }) : rename(aside, path));
}

/** Null for a file that is gone or was damaged. */
async function readOwner(path: string): Promise<Owner | null> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    const value: Partial<Owner> = JSON.parse(text);
    return typeof value.pid === 'number' && typeof value.identity === 'string' ? { pid: value.pid, identity: value.identity } : null;
  } catch {
    return null;
  }
}

async function isAlive(owner: Owner): Promise<boolean> {
  return (await identifyProcess(owner.pid)) === owner.identity;
}
