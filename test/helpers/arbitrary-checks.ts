import * as fc from 'fast-check';
import type { Timings, Vote } from '../../core/checks/verdict.ts';
import { bucketOf, mergeHistograms } from '../../core/statistics/latency-histogram.ts';
import { storeResults, type MeasuredResult } from '../../models/checks/check-results.ts';
import { isSteady } from '../../models/checks/recent-results.ts';
import type { Database } from '../../models/database.ts';
import { inTransaction, runOn } from '../../models/sql.ts';
import { insertLateHours } from '../../models/statistics/rollups.ts';
import type { Tally } from '../../models/statistics/statistics.ts';
import { createPartitions } from '../../models/system/partitions.ts';

/** A check with only the fields that statistics use. */
export type ArbitraryCheck = {
  monitorNo: number;
  agentNo: number;
  atMs: number;
  verdict: Vote;
  latencyMs: number | null;
  phases: Timings | null;
};

const timing = fc.option(fc.integer({ min: 0, max: 900 }), { nil: null });
const timings = fc.option(
  fc.record({ dnsMs: timing, connectMs: timing, tlsMs: timing, firstByteMs: timing, downloadMs: timing }),
  { nil: null },
);

/** Generates checks of three monitors by two agents, at these times. */
export function arbitraryCheck(atMs: fc.Arbitrary<number>): fc.Arbitrary<ArbitraryCheck> {
  return fc.record({
    monitorNo: fc.integer({ min: 1, max: 3 }),
    agentNo: fc.integer({ min: 1, max: 2 }),
    atMs,
    verdict: fc.constantFrom<Vote>('up', 'up', 'up', 'degraded', 'down', 'none'),
    latencyMs: fc.option(fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20_000 })), {
      nil: null,
      freq: 5,
    }),
    phases: timings,
  });
}

/** Removes repeats of the same monitor, agent and time: the first check counts. */
export function withoutRepeats(checks: readonly ArbitraryCheck[]): ArbitraryCheck[] {
  return [
    ...new Map(
      checks.toReversed().map((check) => [`${check.monitorNo}/${check.agentNo}/${check.atMs}`, check]),
    ).values(),
  ].toReversed();
}

/** Stores checks as the evaluator does at `nowMs`, on the days around it; steady ones for packing, or all as rows. */
export async function storeChecks(
  database: Pick<Database, 'pool'>,
  checks: readonly ArbitraryCheck[],
  { nowMs, isPacked = false }: { nowMs: number; isPacked?: boolean },
): Promise<void> {
  const results = checks.map(resultOf);
  await createPartitions(database, nowMs);
  await inTransaction(database, async (run) => {
    await storeResults(run, results, (result) => isPacked && isSteady(result));
    await insertLateHours(run, results, nowMs);
  });
}

function resultOf({ atMs, ...check }: ArbitraryCheck): MeasuredResult {
  return {
    ...check,
    dueAtMs: atMs,
    checksVersion: 1,
    cause: check.verdict === 'up' ? null : 'timeout',
    reason: null,
    httpStatus: null,
    answer: null,
  };
}

/** Returns the expected statistics of these checks, counted one by one. */
export function tallyOfChecks(checks: readonly ArbitraryCheck[]): Tally {
  const count = (verdict: Vote): number => checks.filter((check) => check.verdict === verdict).length;
  const timed = checks.filter(({ verdict }) => verdict === 'up' || verdict === 'degraded');
  const latencies = timed.flatMap(({ latencyMs }) => (latencyMs === null ? [] : [latencyMs]));
  const names = ['dnsMs', 'connectMs', 'tlsMs', 'firstByteMs', 'downloadMs'] as const;
  const means = names.flatMap((name) => {
    const times = timed.flatMap((check) => check.phases?.[name] ?? []);
    return times.length === 0 ? [] : [[name, times.reduce((sum, ms) => sum + ms, 0) / times.length] as const];
  });
  return {
    up: count('up'),
    degraded: count('degraded'),
    down: count('down'),
    none: count('none'),
    latency: mergeHistograms(latencies.map((ms) => ({ buckets: [bucketOf(ms)], counts: [1] }))),
    timings: Object.fromEntries(means),
    timingChecks: Object.fromEntries(
      means.map(([name]) => [name, timed.flatMap((check) => check.phases?.[name] ?? []).length]),
    ),
  };
}

/** Rounds means, which are doubles that depend on the order of summation, so that equal tallies compare equal. */
export function roundedTally(tally: Tally): Tally {
  return {
    ...tally,
    timings: Object.fromEntries(Object.entries(tally.timings).map(([name, ms]) => [name, Math.round(ms * 1e6) / 1e6])),
  };
}

/** Reads the stored roll-ups as tallies, by `monitor/agent/time`, in that order. */
export async function readRollups(
  database: Pick<Database, 'pool'>,
  table: 'hourly_rollups' | 'daily_rollups',
): Promise<[string, Tally][]> {
  type Row = {
    at: number;
    monitor_no: number;
    agent_no: number;
    up: number;
    degraded: number;
    down: number;
    none: number;
    buckets: number[];
    counts: number[];
    phases: number[] | null;
  };
  const rows = await runOn(database.pool)<Row>(
    `SELECT at, monitor_no, agent_no, up, degraded, down, none, to_json(buckets) AS buckets, to_json(counts) AS counts,
     to_json(phases) AS phases FROM ${table}`,
  );
  const names = ['dnsMs', 'connectMs', 'tlsMs', 'firstByteMs', 'downloadMs'];
  return inOrder(
    rows.map(({ at, monitor_no: monitorNo, agent_no: agentNo, buckets, counts, phases: elements, ...verdicts }) => {
      const means = names.flatMap((name, index) =>
        (elements?.[2 * index + 1] ?? 0) === 0
          ? []
          : [[name, (elements?.[2 * index] ?? 0) / (elements?.[2 * index + 1] ?? 1)]],
      );
      return [
        `${monitorNo}/${agentNo}/${at}`,
        {
          ...verdicts,
          latency: { buckets, counts },
          timings: Object.fromEntries(means),
          timingChecks: Object.fromEntries(
            means.map(([name]) => [name, elements?.[2 * names.indexOf(String(name)) + 1] ?? 0]),
          ),
        },
      ];
    }),
  );
}

/** Returns the expected roll-ups of these checks for steps of this length. */
export function rollupsOfChecks(checks: readonly ArbitraryCheck[], stepMs: number): [string, Tally][] {
  const groups = Map.groupBy(
    checks,
    ({ monitorNo, agentNo, atMs }) => `${monitorNo}/${agentNo}/${Math.floor(atMs / stepMs) * stepMs}`,
  );
  return inOrder([...groups].map(([key, ofKey]) => [key, tallyOfChecks(ofKey)]));
}

function inOrder(tallies: [string, Tally][]): [string, Tally][] {
  return tallies.toSorted(([a], [b]) => (a < b ? -1 : 1));
}
