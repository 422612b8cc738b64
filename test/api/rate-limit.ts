import type { ApiServer } from './api-server.ts';

/** Begins a period of a rate limit that lasts ten minutes instead of one, so that it outlasts the test. */
export async function beginLongPeriod({ database }: ApiServer, counter: string, key: string): Promise<void> {
  await database.pool.query('INSERT INTO rate_limits (key, points, expire) VALUES ($1, 0, $2)', [
    `spotcheck-${counter}:${key}`,
    Date.now() + 600_000,
  ]);
}
