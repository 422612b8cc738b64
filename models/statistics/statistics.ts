import { VERDICT_CODES, type Timings } from '../../core/checks/verdict.ts';
import { TIMING_NAMES } from '../../core/incidents/evidence.ts';
import { NO_LATENCIES, mergeHistograms, type Histogram } from '../../core/statistics/latency-histogram.ts';
import { cutWindow, type Span, type Spans } from '../../core/statistics/rollup-spans.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';
import { WIDE, summedTimings, timingsOfCheck } from './make-rollups.ts';
import { rolledUntilMs } from './rollups.ts';

/**
 * Totals of checks in a time range. `none` are those without a verdict. `latency` covers the checks that were up or
 * degraded. `timings` are the means of those of them with stored timings, in milliseconds, without timings that none of
 * them had; `timingChecks` is the number of checks in each.
 */
export type Tally = {
  up: number;
  degraded: number;
  down: number;
  none: number;
  latency: Histogram;
  timings: PerTiming;
  timingChecks: PerTiming;
};

/** A number for each timing that has one. */
type PerTiming = Partial<Record<keyof Timings, number>>;

/**
 * The tally of one source in one step of a series, which begins at `atMs` (Unix milliseconds, a multiple of the step).
 */
export type SeriesPoint = { atMs: number; agentNo: number; tally: Tally };

/**
 * Possible steps of a series, in milliseconds; those below an hour are computed from single results, and available for
 * as long as these.
 */
export const SERIES_STEPS_MS = [60_000, 300_000, HOUR_MS, DAY_MS] as const;
export type SeriesStepMs = (typeof SERIES_STEPS_MS)[number];

/** A tally as the database returns it; `phases` are arrays in the form of roll-ups. */
export type TallyRow = {
  up: number;
  degraded: number;
  down: number;
  none: number;
  buckets: number[] | null;
  counts: number[] | null;
  phases: number[] | null;
};

/** Returns a tally of no checks. */
export function noTally(): Tally {
  return { up: 0, degraded: 0, down: 0, none: 0, latency: NO_LATENCIES, timings: {}, timingChecks: {} };
}

/**
 * Returns the totals of checks of these monitors, all sources together, in `[fromMs, toMs)`; every requested monitor
 * has an entry. Days and hours that are rolled up are read from roll-ups, the rest from single results as far as those
 * still exist.
 */
export async function sumTallies(
  database: Pick<Database, 'pool'>,
  { monitorNos, fromMs, toMs, nowMs }: { monitorNos: readonly number[]; fromMs: number; toMs: number; nowMs: number },
): Promise<Map<number, Tally>> {
  const sums = new Map(monitorNos.map((no) => [no, noTally()]));
  const run = runOn(database.pool);
  const spans = cutWindow(
    { fromMs, toMs: Math.min(toMs, nowMs + HOUR_MS) },
    { rolledUntilMs: await rolledUntilMs(run), coarsest: 'day' },
  );
  const { sql, bind } = tallySql(spans, { monitorNos, keys: { monitor_no: 'monitor_no' } });
  if (sql === null) return sums;
  for (const row of await run<TallyRow & { monitor_no: number }>(sql, bind)) sums.set(row.monitor_no, tallyOf(row));
  return sums;
}

/**
 * Returns one statement that sums the counts and the latencies by bucket, over all spans and by the keys. Keys are
 * given with their SQL expressions. Null if there is nothing to read.
 */
export function tallySql(
  spans: Spans,
  { monitorNos, keys }: { monitorNos: readonly number[]; keys: Readonly<Record<string, string>> },
): { sql: string | null; bind: unknown[] } {
  const bind: unknown[] = [monitorNos];
  const names = Object.keys(keys).join(', ');
  const sources = sourcesOf(spans, (value) => `$${bind.push(value)}::bigint`);
  if (sources.length === 0 || monitorNos.length === 0) return { sql: null, bind };
  const unite = (part: (source: Source) => string): string => sources.map(part).join(' UNION ALL ');
  const select = Object.entries(keys)
    .map(([name, expression]) => `${expression} AS ${name}`)
    .join(', ');
  const sql = `
    SELECT ${names}, up, degraded, down, none, buckets, l.counts, to_json(phases) AS phases
    FROM (SELECT ${names}, sum(up)::bigint AS up, sum(degraded)::bigint AS degraded, sum(down)::bigint AS down,
      sum(none)::bigint AS none, ${summedTimings()} AS phases
          FROM (${unite(({ tallies }) => `SELECT ${select}, ${tallies}`)}) v GROUP BY ${names}) c
    LEFT JOIN (SELECT ${names}, json_agg(bucket ORDER BY bucket) AS buckets, json_agg(n ORDER BY bucket) AS counts
               FROM (SELECT ${names}, bucket, sum(n)::bigint AS n
                 FROM (${unite(({ latencies }) => `SELECT ${select}, ${latencies}`)}) l GROUP BY ${names}, bucket) l
               GROUP BY ${names}) l USING (${names})`;
  return { sql, bind };
}

/** Inputs of the two sums for a part of the window, after their keys. */
type Source = { tallies: string; latencies: string };

function sourcesOf({ raw, hours, days }: Spans, parameter: (value: unknown) => string): Source[] {
  const rolled =
    (table: string) =>
    ({ fromMs, toMs }: Span) =>
      rolledSource(table, { from: parameter(fromMs), to: parameter(toMs) });
  return [
    ...days.map(rolled('daily_rollups')),
    ...hours.map(rolled('hourly_rollups')),
    ...raw.map(({ fromMs, toMs }) => rawSource({ from: parameter(fromMs), to: parameter(toMs) })),
  ];
}

function rolledSource(table: string, { from, to }: { from: string; to: string }): Source {
  const where = `WHERE monitor_no = ANY($1::int[]) AND at >= ${from} AND at < ${to}`;
  return {
    tallies: `up, degraded, down, none, phases FROM ${table} ${where}`,
    latencies: `h.bucket, h.n FROM ${table}, unnest(buckets, counts) AS h (bucket, n) ${where}`,
  };
}

function rawSource({ from, to }: { from: string; to: string }): Source {
  const checks = `observed_results(${from}, ${to}) WHERE monitor_no = ANY($1::int[])`;
  const { up, degraded, down, none } = VERDICT_CODES;
  return {
    tallies: `(verdict = ${up})::int AS up, (verdict = ${degraded})::int AS degraded, (verdict = ${down})::int AS down,
        (verdict = ${none})::int AS none,
              ${timingsOfCheck()} AS phases FROM ${checks}`,
    latencies: `latency_bucket(latency_ms) AS bucket, 1 AS n FROM ${checks}
      AND is_timed(verdict) AND latency_ms IS NOT NULL`,
  };
}

/** Returns the mean timings of several tallies together. */
export function meanTimings(tallies: readonly Tally[]): PerTiming {
  const means = TIMING_NAMES.flatMap((name) => {
    const checks = tallies.reduce((sum, { timingChecks }) => sum + (timingChecks[name] ?? 0), 0);
    const ms = tallies.reduce(
      (sum, { timings, timingChecks }) => sum + (timings[name] ?? 0) * (timingChecks[name] ?? 0),
      0,
    );
    return checks === 0 ? [] : [[name, ms / checks] as const];
  });
  return Object.fromEntries(means);
}

/** Converts a row to a tally: timings become means. */
function tallyOf({ up, degraded, down, none, buckets, counts, phases }: TallyRow): Tally {
  const measured = TIMING_NAMES.flatMap((name, index) => {
    const [ms = 0, checks = 0] = phases?.slice(2 * index, 2 * index + 2) ?? [];
    const beyond = phases?.[2 * TIMING_NAMES.length + index] ?? 0;
    return checks === 0 ? [] : [{ name, ms: ms + WIDE * beyond, checks }];
  });
  return {
    up,
    degraded,
    down,
    none,
    latency: buckets === null || counts === null ? NO_LATENCIES : { buckets, counts },
    timings: Object.fromEntries(measured.map(({ name, ms, checks }) => [name, ms / checks])),
    timingChecks: Object.fromEntries(measured.map(({ name, checks }) => [name, checks])),
  };
}

/** Totals of a monitor's checks, and by step and source in this order. Steps without checks are absent. */
type MonitorStatistics = { total: Tally; points: SeriesPoint[] };

/** Counts of one source from a time on: a rolled-up hour or day, or a step of single results. */
type CountedRow = TallyRow & { at: number; agent_no: number };

/**
 * Reads the totals of `sumTallies` for one monitor in `[fromMs, toMs)`, and its series by step, at once. Roll-ups are
 * added up here, where histograms cost a tenth of unpacking them in the database. A step that the window cuts contains
 * only the part in the window. `rolledMs` is the result of `rolledUntilMs`.
 */
export async function readStatistics(
  database: Pick<Database, 'pool'>,
  {
    monitorNo,
    fromMs,
    toMs,
    stepMs,
    rolledMs,
    nowMs,
  }: { monitorNo: number; fromMs: number; toMs: number; stepMs: SeriesStepMs; rolledMs: number; nowMs: number },
): Promise<MonitorStatistics> {
  const run = runOn(database.pool);
  const coarsest = stepMs >= DAY_MS ? 'day' : stepMs >= HOUR_MS ? 'hour' : 'raw';
  const spans = cutWindow({ fromMs, toMs: Math.min(toMs, nowMs + HOUR_MS) }, { rolledUntilMs: rolledMs, coarsest });
  const rows = (
    await Promise.all([readRolled(run, monitorNo, spans), readRaw(run, { monitorNo, stepMs, spans })])
  ).flat();
  const steps = Map.groupBy(rows, ({ at, agent_no: agentNo }) => `${Math.floor(at / stepMs)}/${agentNo}`);
  const points = [...steps.values()].flatMap((inStep) => {
    const [first] = inStep;
    return first === undefined
      ? []
      : [{ atMs: Math.floor(first.at / stepMs) * stepMs, agentNo: first.agent_no, tally: addUp(inStep) }];
  });
  return { total: addUp(rows), points: points.toSorted((a, b) => a.atMs - b.atMs || a.agentNo - b.agentNo) };
}

async function readRolled(run: Run, monitorNo: number, { hours, days }: Spans): Promise<CountedRow[]> {
  const bind: number[] = [monitorNo];
  const parts = [
    ...days.map((span) => ({ table: 'daily_rollups', span })),
    ...hours.map((span) => ({ table: 'hourly_rollups', span })),
  ].map(
    ({ table, span }) =>
      `SELECT at, agent_no, up, degraded, down, none, buckets, counts, phases
       FROM ${table} WHERE monitor_no = $1 AND at >= $${bind.push(span.fromMs)} AND at < $${bind.push(span.toMs)}`,
  );
  if (parts.length === 0) return [];
  // The driver reads one document in half the time that it takes for rows.
  const [read] = await run<{ rows: CountedRow[] | null }>(
    `SELECT json_agg(r) AS rows FROM (${parts.join(' UNION ALL ')}) r`,
    bind,
  );
  return read?.rows ?? [];
}

async function readRaw(
  run: Run,
  { monitorNo, stepMs, spans }: { monitorNo: number; stepMs: SeriesStepMs; spans: Spans },
): Promise<CountedRow[]> {
  const { sql, bind } = tallySql(
    { raw: spans.raw, hours: [], days: [] },
    { monitorNos: [monitorNo], keys: { step_at: `at / ${stepMs}::bigint * ${stepMs}::bigint`, agent_no: 'agent_no' } },
  );
  if (sql === null) return [];
  return (await run<TallyRow & { step_at: number; agent_no: number }>(sql, bind)).map(({ step_at: at, ...row }) => ({
    ...row,
    at,
  }));
}

function addUp(rows: readonly CountedRow[]): Tally {
  const [only] = rows;
  if (only === undefined) return noTally();
  if (rows.length === 1) return tallyOf(only);
  const sum = (name: 'up' | 'degraded' | 'down' | 'none') => rows.reduce((total, row) => total + row[name], 0);
  const { buckets, counts } = mergeHistograms(rows.map(latencyOf));
  return tallyOf({
    up: sum('up'),
    degraded: sum('degraded'),
    down: sum('down'),
    none: sum('none'),
    buckets: [...buckets],
    counts: [...counts],
    phases: addElements(rows),
  });
}

function latencyOf({ buckets, counts }: TallyRow): Histogram {
  return buckets === null || counts === null ? NO_LATENCIES : { buckets, counts };
}

/** Adds timings element by element: they are sums and counts. */
function addElements(rows: readonly CountedRow[]): number[] | null {
  const sums: number[] = [];
  for (const { phases } of rows) {
    for (const [index, value] of (phases ?? []).entries()) sums[index] = (sums[index] ?? 0) + value;
  }
  return sums.length === 0 ? null : sums;
}
