import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import { beginPackingAt, packNextHour } from '../../../models/checks/packed-results.ts';
import { runOn } from '../../../models/sql.ts';
import { beginRollups, rollNextHour } from '../../../models/statistics/rollups.ts';
import { meanTimings, noTally, readStatistics, sumTallies } from '../../../models/statistics/statistics.ts';
import { createPartitions, dropOldPartitions } from '../../../models/system/partitions.ts';
import {
  arbitraryCheck,
  roundedTally,
  storeChecks,
  tallyOfChecks,
  withoutRepeats,
  type ArbitraryCheck,
} from '../../helpers/arbitrary-checks.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 5 * DAY_MS;
const DAYS = 3;
const END = MIDNIGHT + DAYS * DAY_MS;

/** Checks throughout three days, concentrated at the edges of days and hours. */
const moment = fc
  .tuple(
    fc.oneof(fc.constantFrom(0, 23, 24, 25, 47, 48, 71), fc.integer({ min: 0, max: 71 })),
    fc.oneof(fc.constantFrom(0, HOUR_MS - 1), fc.integer({ min: 0, max: HOUR_MS - 1 })),
  )
  .map(([hour, ms]) => MIDNIGHT + hour * HOUR_MS + ms);
const edge = fc.oneof(
  fc.integer({ min: -2, max: 74 }).map((hour) => MIDNIGHT + hour * HOUR_MS),
  fc.integer({ min: MIDNIGHT - HOUR_MS, max: END + HOUR_MS }),
);

async function prepare(t: ExecutionContext, checks: readonly ArbitraryCheck[], isPacked = false) {
  const { database } = await openTestRuntime(t);
  for (let day = 0; day < DAYS; day += 1) await createPartitions(database, MIDNIGHT + day * DAY_MS);
  await beginRollups(runOn(database.pool), MIDNIGHT);
  await storeChecks(database, checks, { nowMs: MIDNIGHT, isPacked });
  if (isPacked) await beginPackingAt(runOn(database.pool), MIDNIGHT);
  return database;
}

function within({ fromMs, toMs }: { fromMs: number; toMs: number }) {
  return ({ atMs }: ArbitraryCheck) => atMs >= fromMs && atMs < toMs;
}

async function isAsCounted(t: ExecutionContext, isPacked: boolean): Promise<void> {
  const checks = withoutRepeats(fc.sample(arbitraryCheck(moment), { numRuns: 1500, seed: 61 }));
  const database = await prepare(t, checks, isPacked);
  for (let rolled = 0; rolled <= DAYS * 24; rolled += 1) {
    // Some hours are packed before they are rolled up, and some after.
    if (isPacked && rolled % 3 !== 0) await packNextHour(database, END + DAY_MS);
    if (rolled > 0) t.is((await rollNextHour(database, END + DAY_MS)).outcome, 'rolled');
    if (![0, 1, 23, 24, 30, 47, 49, 72].includes(rolled)) continue;
    await fc.assert(
      fc.asyncProperty(edge, edge, async (fromMs, toMs) => {
        const inside = checks.filter(within({ fromMs, toMs }));
        const sums = await sumTallies(database, { monitorNos: [1, 2, 9], fromMs, toMs, nowMs: END + DAY_MS });
        const expected = [1, 2].map(
          (no) => [no, roundedTally(tallyOfChecks(inside.filter(({ monitorNo }) => monitorNo === no)))] as const,
        );
        t.deepEqual(
          [...sums].map(([no, tally]) => [no, roundedTally(tally)]),
          [...expected, [9, noTally()]],
        );
      }),
      { numRuns: 8 },
    );
  }
}

test('any window matches a count of its checks, however far they are rolled up', isAsCounted, false);

test('any window matches a count of its checks with steady results packed', isAsCounted, true);

test('hourly and daily roll-ups outlive the results that they were made of', async (t) => {
  const checks = withoutRepeats(fc.sample(arbitraryCheck(moment), { numRuns: 200, seed: 62 }));
  const database = await prepare(t, checks);
  for (let hour = 0; hour < 2 * 24; hour += 1) await rollNextHour(database, END + DAY_MS);
  const kept = { check_results: 0, packed_results: 0, heartbeat_pings: 0, hourly_rollups: 3650, daily_rollups: 3650 };
  const dropped = await dropOldPartitions(database, END + 2 * DAY_MS, kept);
  // Partitions that are not rolled up are kept at any age.
  t.true(dropped.length > 0 && dropped.every((name) => /^(check_results|packed_results|heartbeat_pings)_/.test(name)));
  const sums = await sumTallies(database, { monitorNos: [1], fromMs: MIDNIGHT, toMs: END, nowMs: END });
  t.deepEqual([...sums.values()].map(roundedTally), [
    roundedTally(tallyOfChecks(checks.filter(({ monitorNo }) => monitorNo === 1))),
  ]);
  const { points } = await readStatistics(database, {
    monitorNo: 1,
    fromMs: MIDNIGHT,
    toMs: MIDNIGHT + DAY_MS,
    stepMs: 60_000,
    rolledMs: MIDNIGHT + 2 * DAY_MS,
    nowMs: END,
  });
  t.deepEqual(points, []);
});

test('no monitors or an empty window give empty statistics', async (t) => {
  const database = await prepare(t, []);
  t.is((await sumTallies(database, { monitorNos: [], fromMs: MIDNIGHT, toMs: END, nowMs: END })).size, 0);
  t.deepEqual(
    [...(await sumTallies(database, { monitorNos: [4], fromMs: END, toMs: MIDNIGHT, nowMs: END })).values()],
    [noTally()],
  );
});

test('the mean of a timing over several tallies counts each check with that timing once, and no others', (t) => {
  const tallies = [
    { ...noTally(), timings: { dnsMs: 10, tlsMs: 7 }, timingChecks: { dnsMs: 3, tlsMs: 1 } },
    { ...noTally(), timings: { dnsMs: 30 }, timingChecks: { dnsMs: 1 } },
    noTally(),
  ];
  t.deepEqual(meanTimings(tallies), { dnsMs: 15, tlsMs: 7 });
  t.deepEqual(meanTimings([]), {});
});
