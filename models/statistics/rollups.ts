import { VERDICT_CODES } from '../../core/checks/verdict.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { LATE_AFTER_MS, requireRecentResults } from '../checks/recent-results.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { makeWithoutFaulty, setAside, type FailedSource, type SetAsideHour, type SourceKey } from './rollup-faults.ts';
import { storedTimings, timingsOfCheck } from './timing-sums.ts';

/** Name of the mark up to which checks are rolled up, in hours and days. */
const MARK = 'rollups';

/** Name of the mark that is there while runs fail as a whole, and says since when. */
const FAILING_MARK = 'rollups_failing';

/** An hour is rolled up this long after its end, in milliseconds. */
export const SETTLED_AFTER_MS = 90_000;

/**
 * Longer than any transaction of ours takes: then an hour does not wait for those that are still open, in milliseconds.
 */
const PATIENCE_MS = 600_000;

/**
 * How long the hour of a large installation may take, in milliseconds, and room to sort and hash it: for these
 * transactions only.
 */
const MAX_STATEMENT_MS = 600_000;
const ROOM = [`SET LOCAL statement_timeout = ${MAX_STATEMENT_MS}`, "SET LOCAL work_mem = '64MB'"];

/**
 * Whether a row is of one of the sources that are made alone, by `keyColumns`. The first half narrows each partition by
 * its index.
 */
const IS_AMONG_KEYS =
  'monitor_no = ANY ($3::int[]) AND (monitor_no, agent_no) IN (SELECT * FROM unnest($3::int[], $4::int[]))';

/** The hour or day to roll up, of every monitor and source, or of these only. */
export type RollupScope = { atMs: number; only?: readonly SourceKey[] };

/**
 * The outcome of a request for the next hour. `rolled`: it was rolled up, but for the sources that were set aside.
 * `early`: it is not over yet, or open transactions may hold results of it. `busy`: another process is at it.
 */
export type NextHour =
  | { outcome: 'rolled'; atMs: number; rows: number; setAside: SetAsideHour[] }
  | { outcome: 'early' | 'busy' };

/**
 * Until when all hours are rolled up, and all days that ended by then, in Unix milliseconds: a whole hour; 0 before the
 * first one.
 */
export async function rolledUntilMs(run: Run): Promise<number> {
  const [row] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [MARK]);
  return row?.at ?? 0;
}

/** What the database's clock says, in Unix milliseconds: by it a result is late or not. */
export async function databaseNowMs(run: Run): Promise<number> {
  const [row] = await run<{ at: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at');
  return row?.at ?? 0;
}

/**
 * When the oldest hour was over, or will be, that is not rolled up, in Unix milliseconds. Before the first run that is
 * the hour of the oldest result; null where there is none.
 */
export async function unrolledSinceMs(run: Run): Promise<number | null> {
  const untilMs = await rolledUntilMs(run);
  if (untilMs > 0) return untilMs + HOUR_MS;
  const [row] = await run<{ at: number | null }>(
    'SELECT least((SELECT min(due_at) FROM single_results), (SELECT min(at) FROM heartbeat_pings)) AS at',
  );
  return row === undefined || row.at === null ? null : Math.floor(row.at / HOUR_MS) * HOUR_MS + HOUR_MS;
}

/**
 * Records that a whole run failed at `nowMs`, unless the previous one did already, or that a run succeeded. Unix
 * milliseconds.
 */
export async function recordRollupRun(run: Run, { failed, nowMs }: { failed: boolean; nowMs: number }): Promise<void> {
  if (failed)
    await run('INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING', [
      FAILING_MARK,
      nowMs,
    ]);
  else await run('DELETE FROM service_marks WHERE name = $1', [FAILING_MARK]);
}

/** Since when every run has failed, in Unix milliseconds; null if the last one succeeded. */
export async function rollupsFailingSinceMs(run: Run): Promise<number | null> {
  const [row] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [FAILING_MARK]);
  return row?.at ?? null;
}

/** Says from which hour on there is something to roll up, where that was never said. */
export async function beginRollups(run: Run, fromMs: number): Promise<void> {
  const hourMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS;
  await run('INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING', [
    MARK,
    hourMs,
  ]);
}

/**
 * Rolls up the oldest hour that is not, and its day with the last of its hours. One transaction with the mark: whatever
 * breaks it off leaves nothing, and the hour is made the next time. Of two processes that do so at once one finds the
 * other busy.
 */
export async function rollNextHour(database: Pick<Database, 'pool'>, nowMs: number): Promise<NextHour> {
  return await inTransaction(database, async (_, client) => {
    const run = runOn(client, MAX_STATEMENT_MS);
    const atMs = await holdMark(run);
    if (atMs === null) return { outcome: 'busy' };
    const endMs = atMs + HOUR_MS;
    if (nowMs < endMs + SETTLED_AFTER_MS) return { outcome: 'early' };
    if (nowMs < endMs + PATIENCE_MS && (await isOpenSince(run, endMs + LATE_AFTER_MS))) return { outcome: 'early' };
    for (const setting of ROOM) await run(setting);
    const { rows, failed } = await rollHourWithoutFaulty(run, { atMs });
    const ofDay = endMs % DAY_MS === 0 ? (await rollDayWithoutFaulty(run, { atMs: endMs - DAY_MS })).failed : [];
    const hours = uniqueSources([...failed, ...ofDay]).map((source) => ({ ...source, atMs, attempts: 1 }));
    await setAside(run, hours, nowMs);
    await run('UPDATE service_marks SET at = $2 WHERE name = $1', [MARK, endMs]);
    return { outcome: 'rolled', atMs, rows, setAside: hours };
  });
}

/**
 * Takes the right to make roll-ups for the caller's transaction, and returns until when they are made, in Unix
 * milliseconds. Null where another process has it, or no beginning was ever recorded. Throws where the newest results
 * are lost: they would be missing for good.
 */
export async function holdMark(run: Run): Promise<number | null> {
  await requireRecentResults(run);
  const [mark] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1 FOR UPDATE SKIP LOCKED', [
    MARK,
  ]);
  return mark?.at ?? null;
}

/**
 * Whether a transaction of ours is open that began before this moment, in Unix milliseconds by the database's clock.
 */
export async function isOpenSince(run: Run, beforeMs: number): Promise<boolean> {
  const rows = await run(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user
       AND split_part(application_name, ':', 1) = split_part(current_setting('application_name'), ':', 1)
       AND pid <> pg_backend_pid() AND xact_start < to_timestamp($1::bigint / 1000.0) LIMIT 1`,
    [beforeMs],
  );
  return rows.length > 0;
}

/** Makes the roll-ups of an hour but for the sources of which that fails. */
export async function rollHourWithoutFaulty(
  run: Run,
  { atMs, only }: RollupScope,
): Promise<{ rows: number; failed: FailedSource[] }> {
  return await makeWithoutFaulty(run, {
    list: async () => (only === undefined ? await listSourcesOfHour(run, atMs) : [...only]),
    make: (some = only) => rollHour(run, { atMs, ...(some && { only: some }) }),
  });
}

/** Makes the roll-ups of a day but for the sources of which that fails. */
export async function rollDayWithoutFaulty(
  run: Run,
  { atMs, only }: RollupScope,
): Promise<{ rows: number; failed: FailedSource[] }> {
  return await makeWithoutFaulty(run, {
    list: async () => (only === undefined ? await listSourcesOfDay(run, atMs) : [...only]),
    make: (some = only) => rollDay(run, { atMs, ...(some && { only: some }) }),
  });
}

/** One failure of each source. */
export function uniqueSources<Key extends SourceKey>(keys: readonly Key[]): Key[] {
  return [...new Map(keys.map((key) => [`${key.monitorNo}/${key.agentNo}`, key])).values()];
}

/** The columns that cannot be broken. */
async function listSourcesOfHour(run: Run, atMs: number): Promise<SourceKey[]> {
  return await run<SourceKey>(
    `SELECT monitor_no AS "monitorNo", agent_no AS "agentNo" FROM results_due($1, $2)
     UNION SELECT monitor_no, (SELECT no FROM agents WHERE kind = 'service') FROM heartbeat_pings WHERE at >= $1
       AND at < $2`,
    [atMs, atMs + HOUR_MS],
  );
}

async function listSourcesOfDay(run: Run, atMs: number): Promise<SourceKey[]> {
  return await run<SourceKey>(
    'SELECT DISTINCT monitor_no AS "monitorNo", agent_no AS "agentNo" FROM hourly_rollups WHERE at >= $1 AND at < $2',
    [atMs, atMs + DAY_MS],
  );
}

/**
 * Makes the roll-ups of an hour of all its results, whole, in place of those that were there; returns how many
 * were written.
 */
export async function rollHour(run: Run, { atMs, only }: RollupScope): Promise<number> {
  const { up, degraded, down, none } = VERDICT_CODES;
  const checks = `observed_results($1, $2) ${only === undefined ? '' : `WHERE ${IS_AMONG_KEYS}`}`;
  return await store(run, {
    table: 'hourly_rollups',
    from: 'checks',
    bind: [atMs, atMs + HOUR_MS, ...keyColumns(only)],
    // Each check is read once: whether it has a latency is part of what it is grouped by.
    grouped: `SELECT monitor_no, agent_no, CASE WHEN is_timed(verdict) THEN latency_bucket(latency_ms) END AS bucket,
                     count(*) FILTER (WHERE verdict = ${up}) AS up,
                       count(*) FILTER (WHERE verdict = ${degraded}) AS degraded,
                     count(*) FILTER (WHERE verdict = ${down}) AS down,
                       count(*) FILTER (WHERE verdict = ${none}) AS none, count(*) AS n
              FROM ${checks} GROUP BY 1, 2, 3`,
    timings: `SELECT monitor_no, agent_no, ${timingsOfCheck()} AS phases FROM (SELECT * FROM ${checks}) r
      WHERE is_timed(verdict) AND phases IS NOT NULL`,
  });
}

/**
 * Makes the roll-ups of a day of those of its hours, in place of those that were there; returns how many were written.
 */
export async function rollDay(run: Run, { atMs, only }: RollupScope): Promise<number> {
  const where = `h.at >= $1::bigint AND h.at < $2::bigint ${only === undefined ? '' : `AND ${IS_AMONG_KEYS}`}`;
  return await store(run, {
    table: 'daily_rollups',
    from: 'rollups',
    bind: [atMs, atMs + DAY_MS, ...keyColumns(only)],
    // A row for the verdicts of an hour, which has no bucket, beside one for each of its buckets.
    grouped: `SELECT monitor_no, agent_no, bucket, sum(up) AS up, sum(degraded) AS degraded, sum(down) AS down,
        sum(none) AS none, sum(n) AS n FROM (
                SELECT h.monitor_no, h.agent_no, NULL::smallint AS bucket, h.up, h.degraded, h.down, h.none, 0 AS n
                  FROM hourly_rollups h WHERE ${where}
                UNION ALL
                SELECT h.monitor_no, h.agent_no, b.bucket, 0, 0, 0, 0, b.n
                  FROM hourly_rollups h, unnest(h.buckets, h.counts) AS b (bucket, n) WHERE ${where}
              ) h GROUP BY 1, 2, 3`,
    timings: `SELECT h.monitor_no, h.agent_no, h.phases FROM hourly_rollups h WHERE ${where} AND h.phases IS NOT NULL`,
  });
}

type Parts = {
  table: 'hourly_rollups' | 'daily_rollups';
  from: 'checks' | 'rollups';
  bind: unknown[];
  grouped: string;
  timings: string;
};

/**
 * Writes roll-ups in place of those that were there, in one statement, and returns how many.
 * 1. `checks`: of each source the verdicts, and its histogram as two arrays, of rows that are grouped by bucket.
 * 2. `timed`: of each source the sums of its timings.
 * 3. `stored`: both together as rows.
 */
async function store(run: Run, { table, from, bind, grouped, timings }: Parts): Promise<number> {
  const [row] = await run<{ rows: number }>(
    `WITH checks AS (
       SELECT monitor_no, agent_no, sum(up) AS up, sum(degraded) AS degraded, sum(down) AS down, sum(none) AS none,
              coalesce(array_agg(bucket ORDER BY bucket) FILTER (WHERE bucket IS NOT NULL), '{}') AS buckets,
              coalesce(array_agg(n::integer ORDER BY bucket) FILTER (WHERE bucket IS NOT NULL), '{}') AS counts
       FROM (${grouped}) g GROUP BY 1, 2
     ), timed AS (
       SELECT monitor_no, agent_no, ${storedTimings(from)} AS phases FROM (${timings}) p GROUP BY 1, 2
     ), stored AS (
       INSERT INTO ${table} (at, monitor_no, agent_no, up, degraded, down, none, buckets, counts, phases)
       SELECT $1, monitor_no, agent_no, up, degraded, down, none, buckets, counts, phases FROM checks LEFT JOIN timed
         USING (monitor_no, agent_no)
       ON CONFLICT (monitor_no, agent_no, at) DO UPDATE SET
         up = excluded.up, degraded = excluded.degraded, down = excluded.down, none = excluded.none,
         buckets = excluded.buckets, counts = excluded.counts, phases = excluded.phases
       RETURNING 1
     )
     SELECT count(*) AS rows FROM stored`,
    bind,
  );
  return row?.rows ?? 0;
}

function keyColumns(only: RollupScope['only']): unknown[] {
  return only === undefined ? [] : [only.map(({ monitorNo }) => monitorNo), only.map(({ agentNo }) => agentNo)];
}
