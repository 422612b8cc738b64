import test from 'ava';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import { runOn } from '../../../models/sql.ts';
import { beginRollups, rollNextHour, rolledUntilMs } from '../../../models/statistics/rollups.ts';
import {
  SERIES_STEPS_MS,
  noTally,
  readStatistics,
  sumTallies,
  type SeriesPoint,
} from '../../../models/statistics/statistics.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import {
  arbitraryCheck,
  roundedTally,
  storeChecks,
  tallyOfChecks,
  withoutRepeats,
  type ArbitraryCheck,
} from '../../helpers/arbitrary-checks.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 4 * DAY_MS;
const END = MIDNIGHT + 2 * DAY_MS;

function seriesOf(checks: readonly ArbitraryCheck[], stepMs: number): SeriesPoint[] {
  const groups = Map.groupBy(checks, ({ atMs, agentNo }) => `${Math.floor(atMs / stepMs) * stepMs} ${agentNo}`);
  const points = [...groups].map(([key, ofKey]) => ({
    atMs: Number(key.split(' ')[0]),
    agentNo: Number(key.split(' ')[1]),
    tally: tallyOfChecks(ofKey),
  }));
  return points.toSorted((a, b) => a.atMs - b.atMs || a.agentNo - b.agentNo);
}

function roundedPoints(points: readonly SeriesPoint[]): SeriesPoint[] {
  return points.map((point) => ({ ...point, tally: roundedTally(point.tally) }));
}

test('one read matches the sum and a count of the checks, in total and by step, however far rolled up', async (t) => {
  const { database } = await openTestRuntime(t);
  const checks = withoutRepeats(fc.sample(arbitraryCheck(fc.integer({ min: MIDNIGHT, max: END - 1 })), 1000));
  for (const dayMs of [MIDNIGHT, MIDNIGHT + DAY_MS]) await createPartitions(database, dayMs);
  await beginRollups(runOn(database.pool), MIDNIGHT);
  await storeChecks(database, checks, { nowMs: MIDNIGHT });
  const edge = fc.oneof(
    fc.integer({ min: -1, max: 49 }).map((hour) => MIDNIGHT + hour * HOUR_MS),
    fc.integer({ min: MIDNIGHT - HOUR_MS, max: END + HOUR_MS }),
  );
  for (const rollHours of [0, 7, 17, 23, 1]) {
    for (let hour = 0; hour < rollHours; hour += 1)
      t.is((await rollNextHour(database, END + DAY_MS)).outcome, 'rolled');
    await fc.assert(
      fc.asyncProperty(edge, edge, fc.constantFrom(...SERIES_STEPS_MS), async (fromMs, toMs, stepMs) => {
        const window = { fromMs, toMs, nowMs: END + DAY_MS };
        const rolledMs = await rolledUntilMs(runOn(database.pool));
        const { total, points } = await readStatistics(database, { monitorNo: 2, stepMs, rolledMs, ...window });
        const inside = checks.filter(({ atMs, monitorNo }) => monitorNo === 2 && atMs >= fromMs && atMs < toMs);
        t.deepEqual(roundedTally(total), roundedTally(tallyOfChecks(inside)));
        t.deepEqual(
          roundedTally(total),
          roundedTally((await sumTallies(database, { monitorNos: [2], ...window })).get(2) ?? noTally()),
        );
        t.deepEqual(roundedPoints(points), roundedPoints(seriesOf(inside, stepMs)));
      }),
      { numRuns: 24 },
    );
  }
});
