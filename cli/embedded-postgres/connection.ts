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
