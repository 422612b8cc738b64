import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isFulfilled } from '../../core/time.ts';
import { withConnection } from '../../postgres/client.ts';

const POLL_MS = 25;

/**
 * Reports whether a session with these credentials works; false for a server that is still starting and for another
 * program on its port.
 */
export async function canConnect(databaseUrl: string): Promise<boolean> {
  return await isFulfilled(withConnection(databaseUrl, (client) => client.query('SELECT 1')));
}

/**
 * Waits until sessions are accepted. Returns false as soon as `isAlive` reports that the server is gone, or at the
 * deadline.
 */
export async function awaitConnection(
  databaseUrl: string,
  options: { timeoutMs: number; isAlive: () => boolean },
): Promise<boolean> {
  const deadline = performance.now() + options.timeoutMs;
  while (options.isAlive() && performance.now() < deadline) {
    if (await canConnect(databaseUrl)) return true;
    await delay(POLL_MS);
  }
  return false;
}

/** Exists from a start until its clean stop; survives a kill, as the server does. */
const RUNTIME_FILE = 'runtime.json';

/**
 * Publishes the database's URL for other commands on the same data directory; only its owner may read it, because the
 * URL contains the password.
 */
export async function writeRuntime(dataDir: string, runtime: { databaseUrl: string }): Promise<void> {
  const draft = join(dataDir, `${RUNTIME_FILE}.${process.pid}`);
  await writeFile(draft, JSON.stringify(runtime), { mode: 0o600 });
  await rename(draft, join(dataDir, RUNTIME_FILE));
}

export async function removeRuntime(dataDir: string): Promise<void> {
  await rm(join(dataDir, RUNTIME_FILE), { force: true });
}

/** Returns the URL of the embedded database that `npm start` runs on this data directory; null if none responds. */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  const text = await readFile(join(dataDir, RUNTIME_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const { databaseUrl }: { databaseUrl: string } = JSON.parse(text);
  return (await canConnect(databaseUrl)) ? databaseUrl : null;
}
