import type { Database } from './database.ts';
import { withClient } from './sql.ts';

/**
 * Does the work while holding a lock of that name over all processes; null, without doing it, when another process
 * holds it. The lock ends with the work, however that ends, and with its connection, so that a killed holder leaves
 * nothing behind.
 */
export async function withAdvisoryLock<Result>(
  database: Database,
  name: string,
  work: () => Promise<Result>,
): Promise<Result | null> {
  return await withClient(database, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS locked',
      [name],
    );
    if (rows[0]?.locked !== true) return null;
    const unlock = () => client.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', [name]);
    const result = await work().catch(async (error: unknown) => {
      // Where the connection is gone the lock is as well.
      await unlock().catch(() => undefined);
      throw error;
    });
    await unlock();
    return result;
  });
}
