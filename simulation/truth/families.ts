import { DAY_MS } from '../../core/time.ts';
import type { Agent } from '../../models/agents/agents.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { openTestRuntime } from '../../test/helpers/runtime.ts';
import { FAMILY_MS, FAMILY_SCENARIOS, type FamilyScenario, type FamilyScenarioName } from './family-scenario.ts';
import { scoreFamilies, type FamilyScore, type PlayedFamily } from './family-score.ts';
import { simulateFamily } from './family-simulation.ts';
import { createRandom } from './random.ts';
import { DEFAULT_SETTING } from './setting.ts';

/** Names of the scenarios of families. */
export const FAMILY_NAMES = Object.keys(FAMILY_SCENARIOS).filter(
  (name): name is FamilyScenarioName => name in FAMILY_SCENARIOS,
);

/**
 * Plays families of these scenarios one after the other on one database with a continuous clock; the same seed gives
 * the same figures. Each family is a separate case: a storm counts the changes within 30 s.
 */
export async function simulateFamilies(
  harness: Harness,
  { seed, families, names }: { seed: number; families: number; names: readonly FamilyScenarioName[] },
): Promise<{ scenario: FamilyScenario; score: FamilyScore }[]> {
  const runtime = await openTestRuntime(harness);
  const agents: Agent[] = [];
  for (let no = 0; no < DEFAULT_SETTING.sources; no += 1) agents.push(await runtime.addAgent(`location-${no}`));
  let startMs = Math.ceil(Date.now() / DAY_MS) * DAY_MS + DAY_MS;
  const scores: { scenario: FamilyScenario; score: FamilyScore }[] = [];
  for (const name of names) {
    const scenario: FamilyScenario = FAMILY_SCENARIOS[name];
    const played: PlayedFamily[] = [];
    for (let familyNo = 0; familyNo < families; familyNo += 1) {
      const span = { startMs, endMs: startMs + FAMILY_MS };
      const seeds = [seed, FAMILY_NAMES.indexOf(name), familyNo];
      const family = scenario.unfold(createRandom(seeds), span);
      const record = await simulateFamily(
        { runtime, agents },
        {
          family,
          span,
          seeds: [...seeds, 1],
          childFailures: scenario.childFailures,
        },
      );
      played.push({ family, record });
      startMs = span.endMs;
    }
    scores.push({ scenario, score: scoreFamilies(played) });
  }
  return scores;
}
