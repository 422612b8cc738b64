import { createRandom } from './random.ts';
import { createScorer, type Score } from './score.ts';
import type { Setting } from './setting.ts';
import { simulateMonitor } from './simulation.ts';
import { WORLDS, type World, type WorldName } from './world.ts';

/** A world under a setting; `scale` multiplies its hours, `stream` keeps the chances of two settings apart. */
export type Cell = { seed: number; world: WorldName; setting: Setting; stream: number; scale: number };

/** A history is a week. */
const HISTORY_HOURS = 168;
const HOUR_MS = 3_600_000;

/** The beginning of every history, Unix milliseconds; any whole day would do. */
const START_MS = 1_700_006_400_000;

/**
 * Simulates a world under a setting, week by week, until its hours are full. What happens depends on the seed, the
 * world and the number of locations only: settings see the same outages.
 */
export function simulateCell({ seed, world, stream, scale, ...cell }: Cell): Score {
  const { hours, unfold, slotChoice = 'together' }: World = WORLDS[world];
  const setting = { ...cell.setting, slotChoice };
  const worldNo = Object.keys(WORLDS).indexOf(world);
  const span = { startMs: START_MS, endMs: START_MS + HISTORY_HOURS * HOUR_MS };
  const scorer = createScorer();
  for (let week = 0; week < Math.ceil((hours * scale) / HISTORY_HOURS); week += 1) {
    const { scripts, happenings } = unfold(setting, createRandom([seed, worldNo, week, setting.sources]), span);
    const random = createRandom([seed, worldNo, week, stream, 1]);
    scorer.add({ ...span, happenings }, simulateMonitor({ ...span, scripts }, { setting, random, everyStep: false }));
  }
  return scorer.score();
}
