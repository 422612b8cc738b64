import { VERDICT_CODES } from '../../core/checks/verdict.ts';
import { TIMING_NAMES } from '../../core/incidents/evidence.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { sqlStateOf, type Run } from '../sql.ts';

/** A monitor at one of its sources: what a roll-up is of. */
export type SourceKey = { monitorNo: number; agentNo: number };

/** A source whose hour or day could not be rolled up, and why. */
export type FailedSource = SourceKey & { error: unknown };

/** An hour of a source that could not be rolled up; `attempts` failed so far. */
export type SetAsideHour = FailedSource & { atMs: number; attempts: number };

/** The hour or day to roll up, of every monitor and source, or of these only. */
type RollupScope = { atMs: number; only?: readonly SourceKey[] };

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
 * Classes of SQLSTATE that blame what is stored, and not PostgreSQL's state: data, constraints, limits of values,
 * triggers, damaged pages.
 */
const OF_THE_DATA = new Set(['21', '22', '23', '54', 'P0', 'XX']);

/** A missing partition has the state of a constraint, and is missing for all sources. */
const OF_ALL = new Set(['23514']);

/** As many sources of one hour fail by themselves at the most: beyond it something else is wrong. */
const MAX_FAILED = 5000;

/**
 * Makes roll-ups of all sources but those of which that fails because of what is stored, and returns these. All at once
 * first; then halves, down to the single sources that fail. Any other failure is thrown. Runs in the caller's
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

/** The first retry comes after this, the next ones after twice as long each, up to the longest, in milliseconds. */
const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 6 * HOUR_MS;

/** Sets hours of sources aside until their next try, in the transaction that makes the hours of the others. */
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

/** How many hours of sources are set aside. */
export async function countSetAside(run: Run): Promise<number> {
  const [row] = await run<{ count: number }>('SELECT count(*) AS count FROM set_aside_hours');
  return row?.count ?? 0;
}

/**
 * Whether a row is of one of the sources that are made alone, by `keyColumns`. The first half narrows each partition by
 * its index.
 */
const IS_AMONG_KEYS =
  'monitor_no = ANY ($3::int[]) AND (monitor_no, agent_no) IN (SELECT * FROM unnest($3::int[], $4::int[]))';

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

/**
 * SQL of what roll-ups keep of the timings of a row of `observed_results`. For each timing, in the order of
 * `TIMING_NAMES`, there are two elements: its milliseconds and whether it happened. Null where its timings were not
 * kept.
 */
export function timingsOfCheck(): string {
  const elements = TIMING_NAMES.map(
    (_, index) => `coalesce(phases[${index + 1}], 0), (phases[${index + 1}] IS NOT NULL)::integer`,
  );
  return `CASE WHEN is_timed(verdict) AND phases IS NOT NULL THEN ARRAY[${elements.join(', ')}] END`;
}

/**
 * A sum of milliseconds takes a second element, behind all others, for what is beyond this. An `integer` holds less
 * than a day of an abusive source can add up to.
 */
export const WIDE = 2 ** 31;

/**
 * SQL of the milliseconds of a timing, by its index, summed up over rows that have elements as `phases`. Only elements
 * of roll-ups can be wide ones.
 */
function sumOfMs(index: number, from: 'checks' | 'rollups'): string {
  const low = `sum(phases[${2 * index + 1}])`;
  return from === 'checks'
    ? low
    : `(${low} + ${WIDE} * coalesce(sum(phases[${2 * TIMING_NAMES.length + index + 1}]), 0))`;
}

/**
 * SQL of the elements summed up over rows that have them as `phases`, as `bigint`, two for each timing; null where no
 * row has any.
 */
export function summedTimings(): string {
  const elements = TIMING_NAMES.flatMap((_, index) => [sumOfMs(index, 'rollups'), `sum(phases[${2 * index + 2}])`]);
  return `CASE WHEN count(phases) > 0 THEN ARRAY[${elements.join(', ')}]::bigint[] END`;
}

/**
 * SQL of the same as a roll-up stores it: as `integer`, a third element for each timing behind the others where a sum
 * needs it.
 */
function storedTimings(from: 'checks' | 'rollups'): string {
  const sums = TIMING_NAMES.map((_, index) => sumOfMs(index, from));
  const elements = sums.flatMap((sum, index) => [`${sum} % ${WIDE}`, `sum(phases[${2 * index + 2}])`]);
  const beyond = sums.map((sum) => `${sum} / ${WIDE}`);
  return `CASE WHEN count(phases) > 0 THEN ARRAY[${elements.join(', ')}]::integer[]
            || CASE WHEN greatest(${sums.join(', ')}) >= ${WIDE} THEN ARRAY[${beyond.join(', ')}]::integer[]
              ELSE '{}' END END`;
}
