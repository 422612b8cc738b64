import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { withConnection } from '../../postgres/client.ts';

const POLL_MS = 25;

const CONNECT_TIMEOUT_MS = 5000;

/** Runs one piece of work on a connection of its own, for which it waits 5 s by default. */
export async function withClient<T>(
  databaseUrl: string,
  work: (client: Client) => Promise<T>,
  timeoutMs = CONNECT_TIMEOUT_MS,
): Promise<T> {
  return await withConnection(databaseUrl, work, { connectionTimeoutMillis: timeoutMs });
}

/**
 * True when a session with these credentials works; false for a server that is still starting and for a stranger on its
 * port.
 */
export async function canConnect(databaseUrl: string): Promise<boolean> {
  return withClient(databaseUrl, (client) => client.query('SELECT 1')).then(
    () => true,
    () => false,
  );
}

/** Waits until sessions are accepted. False as soon as `isAlive` says that the server is gone, or at the deadline. */
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

/** There from a start to the clean stop after it; outlives a kill, and so does the server. */
const RUNTIME_FILE = 'runtime.json';

/**
 * Tells other commands on the same data directory where the database runs; only its owner may read it, the URL holds
 * the password.
 */
export async function writeRuntime(dataDir: string, runtime: { databaseUrl: string }): Promise<void> {
  const draft = join(dataDir, `${RUNTIME_FILE}.${process.pid}`);
  await writeFile(draft, JSON.stringify(runtime), { mode: 0o600 });
  await rename(draft, join(dataDir, RUNTIME_FILE));
}

export async function removeRuntime(dataDir: string): Promise<void> {
  await rm(join(dataDir, RUNTIME_FILE), { force: true });
}

/** The URL of the embedded database that `npm start` runs on this data directory; null when none answers. */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  const text = await readFile(join(dataDir, RUNTIME_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const { databaseUrl }: { databaseUrl: string } = JSON.parse(text);
  return (await canConnect(databaseUrl)) ? databaseUrl : null;
}
