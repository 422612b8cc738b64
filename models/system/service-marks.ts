import { setTimeout as delay } from 'node:timers/promises';
import { SharedCalls } from '../../core/shared-calls.ts';
import { CANARY } from '../../core/system/canary.ts';
import { isFulfilled, within } from '../../core/time.ts';
import type { Database } from '../database.ts';
import type { Run } from '../sql.ts';

/** The service's own activities whose newest time is stored: self-watch, checks, batches of results, and due checks. */
export const MARKS = { sweep: 'sweep', checks: 'checks', evaluation: 'evaluation', due: 'due' } as const;

/** Activities that processes record. */
export type Activity = 'checks' | 'evaluation';

/** Returns the time of the last self-watch, in Unix milliseconds; null = never. */
export async function findLastSweep(run: Run): Promise<number | null> {
  const [mark] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [MARKS.sweep]);
  return mark?.at ?? null;
}

/**
 * Records an activity (Unix milliseconds); never moves back. Not flushed to disk: a mark lost in a crash of PostgreSQL
 * is outdated only by activity whose effects were lost too.
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
 * Reports whether the first start of the installation is over, permanently, regardless of its data. If not, records
 * that it has begun. An installation with a tenant had its first start before that was recorded.
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

/** Records that everything that the first start creates exists, and was printed. */
export async function recordFirstStartOver(database: Pick<Database, 'pool'>, nowMs: number): Promise<void> {
  await database.pool.query('UPDATE service_marks SET at = $2 WHERE name = $1', [FIRST_START, nowMs]);
}

/** Validity of a proof, in milliseconds; the next one begins no sooner. */
const HOLDS_MS = 1000;

/** Time limit for PostgreSQL to store it, in milliseconds. */
const PATIENCE_MS = 1000;

/**
 * Stores a mark and uses additional disk space; rejects if either fails. A changed row reuses the space of its older
 * versions, and would succeed on a full disk. A temporary file needs new space and leaves nothing to clean up.
 */
export async function storeProof({ pool }: Pick<Database, 'pool'>): Promise<void> {
  // One message without values is one transaction, so the setting applies only to it.
  await pool.query(
    `SET LOCAL work_mem = '64kB';
     SELECT count(*) FROM generate_series(1, 10000);
     INSERT INTO service_marks (name, at, resumed_at) VALUES ('ready', extract(epoch FROM clock_timestamp()) * 1000, 0)
     ON CONFLICT (name) DO UPDATE SET at = excluded.at`,
  );
}

/**
 * Makes the check whether PostgreSQL accepts writes, within a second. It stores at most one mark a second: callers in
 * between get the last result if it was good, and otherwise wait for the next one.
 */
export function createWriteProof(database: Pick<Database, 'pool'>): () => Promise<boolean> {
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let isProven = false;

  const proofs = new SharedCalls(async (waitMs: number): Promise<void> => {
    await delay(waitMs);
    beganAtMs = performance.now();
    isProven = await isFulfilled(storeProof(database));
  });

  return async () => {
    const waitMs = Math.max(0, beganAtMs + HOLDS_MS - performance.now());
    if (isProven && waitMs > 0) return true;
    isProven = false;
    await within(waitMs + PATIENCE_MS, proofs.run(waitMs), null);
    return isProven;
  };
}
