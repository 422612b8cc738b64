import { HOUR_MS } from '../../core/time.ts';
import { createRandom } from './random.ts';
import { SCENARIOS, type Scenario, type ScenarioName } from './scenario.ts';
import { createScorer, type Score } from './score.ts';
import type { Setting } from './setting.ts';
import { simulateMonitor } from './simulation.ts';

/**
 * A scenario under a setting; `scale` multiplies its hours, and `stream` separates the random numbers of two settings.
 */
export type Cell = { seed: number; scenario: ScenarioName; setting: Setting; stream: number; scale: number };

/** Length of a history: a week. */
const HISTORY_HOURS = 168;

/** Start of every history, Unix milliseconds; any whole day would do. */
const START_MS = 1_700_006_400_000;

/**
 * Simulates a scenario under a setting, week by week, until its hours are full. Events depend only on the seed, the
 * scenario and the number of locations, so that all settings see the same outages.
 */
export function simulateCell({ seed, scenario, stream, scale, ...cell }: Cell): Score {
  const { hours, unfold, slotChoice = 'together' }: Scenario = SCENARIOS[scenario];
  const setting = { ...cell.setting, slotChoice };
  const scenarioNo = Object.keys(SCENARIOS).indexOf(scenario);
  const span = { startMs: START_MS, endMs: START_MS + HISTORY_HOURS * HOUR_MS };
  const scorer = createScorer();
  for (let week = 0; week < Math.ceil((hours * scale) / HISTORY_HOURS); week += 1) {
    const { scripts, faults } = unfold(setting, createRandom([seed, scenarioNo, week, setting.sources]), span);
    const random = createRandom([seed, scenarioNo, week, stream, 1]);
    scorer.add({ ...span, faults }, simulateMonitor({ ...span, scripts }, { setting, random, everyStep: false }));
  }
  return scorer.score();
}
