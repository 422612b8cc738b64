import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { lchown, link, lstat, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { identifyProcess } from './processes.ts';

/**
 * The process that holds a lock. A pid alone proves nothing: after a restart, especially in a container, another
 * process may have it. `socket` is a file beside the lock on which the process listens while it lives: processes in
 * other containers connect to it (D-810). Locks of older releases have none, nor have those outside Linux.
 */
type Holder = { pid: number; identity: string; socket?: string };

const ATTEMPTS = 20;

/** Age from which files of processes that never got the lock are removed, in milliseconds. */
const LEFT_BEHIND_MS = 60_000;

/**
 * Takes a lock, a file at `path`, for this process and returns its release. Throws `refusal` with the holder's pid
 * while the holder lives; a dead process's lock is taken over.
 */
export async function lockExclusively(path: string, refusal: (pid: number) => Error): Promise<() => Promise<void>> {
  const identity = (await identifyProcess(process.pid)) ?? '';
  // It listens before the lock appears: until then, others would take this process for dead.
  const listener = await listenBeside(path);
  const mine: Holder = { pid: process.pid, identity, ...(listener !== null && { socket: listener.socket }) };
  try {
    await takeOver(path, mine, refusal);
  } catch (error) {
    await listener?.close();
    throw error;
  }
  // The next holder tries again.
  if (listener !== null) await removeLeftBehind(path, listener.socket).catch(() => undefined);
  return async () => {
    await rm(path, { force: true });
    await listener?.close();
  };
}

async function takeOver(path: string, mine: Holder, refusal: (pid: number) => Error): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await take(path, mine)) return;
    const lock = await readLock(path);
    if (lock === null) continue;
    const holder = parseHolder(lock);
    if (holder !== null && (await isAlive(path, holder))) throw refusal(holder.pid);
    await removeDead(path, lock, refusal);
  }
  throw new Error(`${path} cannot be read or taken over: delete it by hand if its process is gone`);
}

/** Reports whether the holder of the lock at `path` lives. In another container, its pid proves nothing. */
async function isAlive(path: string, { pid, identity, socket }: Holder): Promise<boolean> {
  if ((await identifyProcess(pid)) === identity) return true;
  if (socket === undefined) return false;
  return await isListening(join(dirname(path), socket));
}

/** Reports whether a process listens on a socket; also true if that cannot be found out, as without `/proc`. */
async function isListening(file: string): Promise<boolean> {
  return await withShortPath(file, async (shortPath) => {
    const connection = createConnection(shortPath);
    return await once(connection, 'connect')
      .then(
        () => true,
        async ({ code }: NodeJS.ErrnoException) => {
          if (code !== 'ENOENT') return code !== 'ECONNREFUSED';
          return await stat(file).then(
            () => true,
            (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
          );
        },
      )
      .finally(() => connection.destroy());
  });
}

/**
 * Removes the sockets and drafts of processes that were killed before they got the lock at `path`. `socket` was just
 * created: its time is now.
 */
async function removeLeftBehind(path: string, socket: string): Promise<void> {
  const folder = dirname(path);
  const { mtimeMs: nowMs } = await lstat(join(folder, socket));
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !/\.(?:socket|new)$/.test(name)) continue;
    const file = join(folder, name);
    const { mtimeMs } = await lstat(file).catch(() => ({ mtimeMs: nowMs }));
    if (mtimeMs >= nowMs - LEFT_BEHIND_MS || (await isListening(file))) continue;
    // Left where it cannot be removed: it does no harm.
    await rm(file, { force: true }).catch(() => undefined);
  }
}

/**
 * Listens on a socket beside a lock, for as long as this process lives: a stopped one is still reachable, a killed one
 * is not. Null outside Linux, where there are no containers, and where a socket cannot be created or given away.
 */
async function listenBeside(path: string): Promise<{ socket: string; close: () => Promise<void> } | null> {
  if (process.platform !== 'linux') return null;
  const file = `${path}.${randomUUID()}.socket`;
  const server = createServer((connection) => connection.destroy()).unref();
  const hasBegun = await withShortPath(file, async (shortPath) => {
    server.listen(shortPath);
    return await once(server, 'listening').then(
      () => true,
      () => false,
    );
  });
  if (!hasBegun) return null;
  // A process without free file descriptors cannot accept a connection, but it can still be reached.
  server.on('error', () => undefined);
  const close = async () => {
    server.close();
    await rm(file, { force: true });
  };
  try {
    await giveToFolderOwner(file);
  } catch {
    await close();
    return null;
  }
  return { socket: basename(file), close };
}

/** Runs a function with a path of a file that is short enough for a socket's, at most 107 bytes. */
async function withShortPath<Result>(path: string, use: (path: string) => Promise<Result>): Promise<Result> {
  const folder = await open(dirname(path));
  return await use(`/proc/self/fd/${folder.fd}/${basename(path)}`).finally(() => folder.close());
}

/**
 * Gives a file of root to the owner of its folder, who could not tell otherwise whether the holder of a lock lives. The
 * owner may put a link in its place, whose target must stay root's.
 */
async function giveToFolderOwner(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dirname(path));
  await lchown(path, uid, gid);
}

/**
 * Links the file so that it appears with its content: an empty file would look like a dead process's lock. The draft's
 * name is random, because a process in another container may have the same pid.
 */
async function take(path: string, holder: Holder): Promise<boolean> {
  const draft = `${path}.${randomUUID()}.new`;
  try {
    await writeFile(draft, JSON.stringify(holder), { mode: 0o600 });
    await giveToFolderOwner(draft);
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
    if ((await readLock(path)) !== judged) return;
    await rm(path, { force: true });
    const socket = parseHolder(judged)?.socket;
    if (socket !== undefined) await rm(join(dirname(path), socket), { force: true });
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
    const { pid, identity, socket }: Partial<Holder> = JSON.parse(lock);
    if (typeof pid !== 'number' || typeof identity !== 'string') return null;
    return { pid, identity, ...(typeof socket === 'string' && { socket: basename(socket) }) };
  } catch {
    return null;
  }
}
