import type { ApiServer } from './api-server.ts';

/** Begins a period of a rate limit that lasts ten minutes instead of one, so that it outlasts the test. */
export async function beginLongPeriod({ database }: ApiServer, counter: string, key: string): Promise<void> {
  await database.pool.query('INSERT INTO rate_limits (key, points, expire) VALUES ($1, 0, $2)', [
    `spotcheck-${counter}:${key}`,
    Date.now() + 600_000,
  ]);
}

/**
 * Makes every period of a rate limit that begins from now on last at least an hour. A slow machine may need minutes for
 * requests that are limited per minute.
 */
export async function lengthenPeriods({ database }: ApiServer): Promise<void> {
  await database.pool.query(
    `CREATE OR REPLACE FUNCTION lengthen() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         NEW.expire = greatest(NEW.expire, (extract(epoch FROM now()) * 1000)::bigint + 3600000);
         RETURN NEW;
       END $$;
     CREATE OR REPLACE TRIGGER lengthen BEFORE INSERT ON rate_limits FOR EACH ROW EXECUTE FUNCTION lengthen()`,
  );
}
