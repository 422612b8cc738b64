import { VERDICT_CODES } from '../../core/checks/verdict.ts';
import { TIMING_NAMES } from '../../core/incidents/evidence.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { sqlStateOf, type Run } from '../sql.ts';

/** A monitor and one of its sources, which a roll-up covers. */
export type SourceKey = { monitorNo: number; agentNo: number };

/** A source whose hour or day could not be rolled up, and the error. */
export type FailedSource = SourceKey & { error: unknown };

/** An hour of a source that could not be rolled up; `attempts` is the number of failures so far. */
export type SetAsideHour = FailedSource & { atMs: number; attempts: number };

/** The hour or day to roll up, for all monitors and sources, or only these. */
type RollupScope = { atMs: number; only?: readonly SourceKey[] };

/** Makes the roll-ups of an hour, except for the sources that fail. */
export async function rollHourWithoutFaulty(
  run: Run,
  { atMs, only }: RollupScope,
): Promise<{ rows: number; failed: FailedSource[] }> {
  return await makeWithoutFaulty(run, {
    list: async () => (only === undefined ? await listSourcesOfHour(run, atMs) : [...only]),
    make: (some = only) => rollHour(run, { atMs, ...(some && { only: some }) }),
  });
}

/** Makes the roll-ups of a day, except for the sources that fail. */
export async function rollDayWithoutFaulty(
  run: Run,
  { atMs, only }: RollupScope,
): Promise<{ rows: number; failed: FailedSource[] }> {
  return await makeWithoutFaulty(run, {
    list: async () => (only === undefined ? await listSourcesOfDay(run, atMs) : [...only]),
    make: (some = only) => rollDay(run, { atMs, ...(some && { only: some }) }),
  });
}

/** Removes all but one failure of each source. */
export function uniqueSources<Key extends SourceKey>(keys: readonly Key[]): Key[] {
  return [...new Map(keys.map((key) => [`${key.monitorNo}/${key.agentNo}`, key])).values()];
}

/** Lists the sources of an hour, reading only columns that cannot be corrupt. */
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
 * SQLSTATE classes that blame the stored data rather than PostgreSQL's state: data, constraints, limits of values,
 * triggers, damaged pages.
 */
const OF_THE_DATA = new Set(['21', '22', '23', '54', 'P0', 'XX']);

/** Excluded: a missing partition has the state of a constraint, but concerns all sources. */
const OF_ALL = new Set(['23514']);

/** Maximum number of sources of one hour that fail individually: beyond it something else is wrong. */
const MAX_FAILED = 5000;

/**
 * Makes roll-ups of all sources except those that fail because of their stored data, and returns these. Tries all at
 * once first, then halves, down to the single sources that fail. Throws any other error. Runs in the caller's
 * transaction.
 */
async function makeWithoutFaulty(
  run: Run,
  { list, make }: { list: () => Promise<SourceKey[]>; make: (only?: readonly SourceKey[]) => Promise<number> },
): Promise<{ rows: number; failed: FailedSource[] }> {
  const whole = await attempt(run, () => make());
  if ('rows' in whole) return { rows: whole.rows, failed: [] };
  const failed: FailedSource[] = [];
  let rows = 0;
  const waiting: SourceKey[][] = halves(await list());
  for (let keys = waiting.pop(); keys !== undefined; keys = waiting.pop()) {
    const part = keys;
    const made = await attempt(run, () => make(part));
    const [only] = part;
    if ('rows' in made) rows += made.rows;
    else if (part.length > 1 || only === undefined) waiting.push(...halves(part));
    else failed.push({ ...only, error: made.error });
    if (failed.length > MAX_FAILED) throw whole.error;
  }
  if (failed.length === 0) throw whole.error;
  return { rows, failed };
}

type Attempt = { rows: number } | { error: unknown };

async function attempt(run: Run, make: () => Promise<number>): Promise<Attempt> {
  await run('SAVEPOINT rollup');
  try {
    const rows = await make();
    await run('RELEASE SAVEPOINT rollup');
    return { rows };
  } catch (error) {
    if (!isOfTheData(error)) throw error;
    await run('ROLLBACK TO SAVEPOINT rollup');
    return { error };
  }
}

function isOfTheData(error: unknown): boolean {
  const state = sqlStateOf(error) ?? '';
  return OF_THE_DATA.has(state.slice(0, 2)) && !OF_ALL.has(state);
}

function halves(keys: readonly SourceKey[]): SourceKey[][] {
  const middle = Math.ceil(keys.length / 2);
  return [keys.slice(0, middle), keys.slice(middle)].filter((half) => half.length > 0);
}

/** Delay of the first retry, doubled for each next one, and the maximum, in milliseconds. */
const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 6 * HOUR_MS;

/** Sets hours of sources aside until their next retry, in the transaction that makes the hours of the others. */
export async function setAside(run: Run, hours: readonly SetAsideHour[], nowMs: number): Promise<void> {
  if (hours.length === 0) return;
  await run(
    `INSERT INTO set_aside_hours (at, monitor_no, agent_no, attempts, retry_at)
     SELECT h."atMs", h."monitorNo", h."agentNo", h.attempts, h."retryAtMs"
     FROM json_to_recordset($1::json) AS h ("atMs" bigint, "monitorNo" integer, "agentNo" integer, attempts integer,
       "retryAtMs" bigint)
     ON CONFLICT (at, monitor_no, agent_no) DO UPDATE SET attempts = excluded.attempts, retry_at = excluded.retry_at`,
    [
      JSON.stringify(
        hours.map(({ error: _error, ...hour }) => ({
          ...hour,
          retryAtMs: nowMs + Math.min(FIRST_RETRY_MS * 2 ** (hour.attempts - 1), LONGEST_RETRY_MS),
        })),
      ),
    ],
  );
}

/** Counts the hours of sources that are set aside. */
export async function countSetAside(run: Run): Promise<number> {
  const [row] = await run<{ count: number }>('SELECT count(*) AS count FROM set_aside_hours');
  return row?.count ?? 0;
}

/**
 * SQL: whether a row belongs to one of the given sources, bound by `keyColumns`. The first condition uses each
 * partition's index.
 */
const IS_AMONG_KEYS =
  'monitor_no = ANY ($3::int[]) AND (monitor_no, agent_no) IN (SELECT * FROM unnest($3::int[], $4::int[]))';

/** Makes the roll-ups of an hour from all its results, in place of the previous ones; returns the number written. */
export async function rollHour(run: Run, { atMs, only }: RollupScope): Promise<number> {
  const { up, degraded, down, none } = VERDICT_CODES;
  const checks = `observed_results($1, $2) ${only === undefined ? '' : `WHERE ${IS_AMONG_KEYS}`}`;
  return await store(run, {
    table: 'hourly_rollups',
    from: 'checks',
    bind: [atMs, atMs + HOUR_MS, ...keyColumns(only)],
    // Each check is read once: whether it has a latency is part of the grouping.
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

/** Makes the roll-ups of a day from those of its hours, in place of the previous ones; returns the number written. */
export async function rollDay(run: Run, { atMs, only }: RollupScope): Promise<number> {
  const where = `h.at >= $1::bigint AND h.at < $2::bigint ${only === undefined ? '' : `AND ${IS_AMONG_KEYS}`}`;
  return await store(run, {
    table: 'daily_rollups',
    from: 'rollups',
    bind: [atMs, atMs + DAY_MS, ...keyColumns(only)],
    // Each hour has a row for its verdicts, without a bucket, and one for each of its buckets.
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
 * Writes roll-ups in place of the previous ones, in one statement, and returns their number.
 * 1. `checks`: the verdicts of each source, and its histogram as two arrays, from rows that are grouped by bucket.
 * 2. `timed`: the sums of each source's timings.
 * 3. `stored`: writes both together as rows.
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

/**
 * Returns SQL for the timings of a row of `observed_results` in the form of roll-ups. Each timing, in the order of
 * `TIMING_NAMES`, has two elements: its milliseconds and whether it happened. Null if its timings were not stored.
 */
export function timingsOfCheck(): string {
  const elements = TIMING_NAMES.map(
    (_, index) => `coalesce(phases[${index + 1}], 0), (phases[${index + 1}] IS NOT NULL)::integer`,
  );
  return `CASE WHEN is_timed(verdict) AND phases IS NOT NULL THEN ARRAY[${elements.join(', ')}] END`;
}

/**
 * Value from which a sum of milliseconds needs a second element, after all others. An `integer` cannot store a day's
 * sum of an abusive source.
 */
export const WIDE = 2 ** 31;

/**
 * Returns SQL for the milliseconds of a timing, by its index, summed over rows with elements in `phases`. Only elements
 * of roll-ups can be wide.
 */
function sumOfMs(index: number, from: 'checks' | 'rollups'): string {
  const low = `sum(phases[${2 * index + 1}])`;
  return from === 'checks'
    ? low
    : `(${low} + ${WIDE} * coalesce(sum(phases[${2 * TIMING_NAMES.length + index + 1}]), 0))`;
}

/**
 * Returns SQL for the elements summed over rows with them in `phases`, as `bigint`, two for each timing; null if no row
 * has any.
 */
export function summedTimings(): string {
  const elements = TIMING_NAMES.flatMap((_, index) => [sumOfMs(index, 'rollups'), `sum(phases[${2 * index + 2}])`]);
  return `CASE WHEN count(phases) > 0 THEN ARRAY[${elements.join(', ')}]::bigint[] END`;
}

/**
 * Returns SQL for the same as roll-ups store it: as `integer`. If a sum needs it, each timing has a third element after
 * the others.
 */
function storedTimings(from: 'checks' | 'rollups'): string {
  const sums = TIMING_NAMES.map((_, index) => sumOfMs(index, from));
  const elements = sums.flatMap((sum, index) => [`${sum} % ${WIDE}`, `sum(phases[${2 * index + 2}])`]);
  const beyond = sums.map((sum) => `${sum} / ${WIDE}`);
  return `CASE WHEN count(phases) > 0 THEN ARRAY[${elements.join(', ')}]::integer[]
            || CASE WHEN greatest(${sums.join(', ')}) >= ${WIDE} THEN ARRAY[${beyond.join(', ')}]::integer[]
              ELSE '{}' END END`;
}
