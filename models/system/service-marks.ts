import { CANARY } from '../../core/system/canary.ts';
import type { Database } from '../database.ts';
import type { Run } from '../sql.ts';

/**
 * The service's own activities whose newest moment is stored: polls of ourselves, checks, batches of results, and what
 * is due.
 */
export const MARKS = { sweep: 'sweep', checks: 'checks', evaluation: 'evaluation', due: 'due' } as const;

/** What a process records of itself. */
export type Activity = 'checks' | 'evaluation';

/** When we last polled ourselves, in Unix milliseconds; null = never. */
export async function findLastSweep(run: Run): Promise<number | null> {
  const [mark] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [MARKS.sweep]);
  return mark?.at ?? null;
}

/**
 * Records that something of the kind was done (Unix milliseconds); never moves back. Not forced to disk: a mark that a
 * crash of PostgreSQL loses is older than the truth by what its clients did not see either.
 */
export async function upsertActivity(database: Database, name: Activity, nowMs: number): Promise<void> {
  await database.pool.query({
    name: 'upsert-activity',
    text: `INSERT INTO service_marks (name, at, resumed_at) SELECT $1::text, $2::bigint, $2::bigint
        WHERE set_config('synchronous_commit', 'off', true) = 'off'
           ON CONFLICT (name) DO UPDATE SET at = greatest(service_marks.at, excluded.at)`,
    values: [name, nowMs],
  });
}

const FIRST_START = 'first start';

/**
 * Whether the first start of the installation is over, for good, whatever becomes of what it made. If not, records that
 * it has begun. An installation with a tenant had its first start before that was recorded.
 */
export async function isFirstStartOver(database: Pick<Database, 'pool'>, nowMs: number): Promise<boolean> {
  const { rows } = await database.pool.query<{ is_over: boolean }>(
    `INSERT INTO service_marks (name, at, resumed_at) SELECT $1, CASE WHEN EXISTS (SELECT 1
     FROM tenants WHERE id <> '${CANARY.tenantId}') THEN $2::bigint ELSE 0 END, $2
     ON CONFLICT (name) DO UPDATE SET name = excluded.name
     RETURNING at > 0 AS is_over`,
    [FIRST_START, nowMs],
  );
  return rows[0]?.is_over === true;
}

/** Records that all that the first start makes is there. */
export async function recordFirstStartOver(database: Pick<Database, 'pool'>, nowMs: number): Promise<void> {
  await database.pool.query('UPDATE service_marks SET at = $2 WHERE name = $1', [FIRST_START, nowMs]);
}
