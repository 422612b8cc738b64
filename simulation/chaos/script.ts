import { drawsOf, type Draws } from './random.ts';

/** Behavior of a target towards a request. */
export type Condition = 'up' | 'degraded' | 'down';

/** A condition from one moment until the next step; milliseconds since the script began. */
export type ScriptStep = { fromMs: number; condition: Condition };

/** One monitor, its settings, and the behavior of its target: the ground truth that the service is compared with. */
export type MonitorScript = {
  index: number;
  intervalSeconds: number;
  downAfterFailures: number;
  /** Locations that check it. */
  regions: readonly string[];
  quorum: number;
  /** The way in which its target fails: by status, by a reset, or by silence. */
  failure: 'status' | 'reset' | 'hang';
  steps: readonly ScriptStep[];
  /** Moments at which the target fails a single request, which must not count as down: that takes two in a row. */
  blipsMs: readonly number[];
  /** Index of the monitor that this one depends on, which holds its alerts; null = none. */
  parent: number | null;
};

export const REGIONS = ['hanoi', 'lima'] as const;

/** Lengths of stretches, in milliseconds: from outages that must be found to those that outlast the longest fault. */
const STRETCH_MS = {
  up: [12_000, 40_000],
  degraded: [15_000, 30_000],
  down: [12_000, 45_000],
} as const satisfies Record<Condition, readonly [number, number]>;

/**
 * Distance of a blip from every step, in milliseconds. It exceeds any interval, so the results before and after are
 * good.
 */
const BLIP_MARGIN_MS = 8000;

/** Final conditions of targets. Most are up, because the runs are about false alarms. */
const LAST: readonly Condition[] = ['up', 'up', 'up', 'up', 'up', 'up', 'up', 'down', 'down', 'degraded'];

/** Writes the script of a seed: each target takes its steps for `seconds`, and then stays as it is. */
export function writeScript(
  seed: number,
  { monitors, seconds }: { monitors: number; seconds: number },
): MonitorScript[] {
  const draws = drawsOf(seed);
  const scripts = Array.from({ length: monitors }, (_, index) => writeMonitor(draws, index, seconds * 1000));
  return scripts.map((script) => dependOn(script, scripts));
}

/**
 * Adds the parent of a monitor. Of each four monitors the second depends on the first and the fourth on the second, and
 * they fail with it. The third depends on the first and fails for reasons of its own.
 */
function dependOn(script: MonitorScript, scripts: readonly MonitorScript[]): MonitorScript {
  const behind = PARENT_BEFORE[script.index % PARENT_BEFORE.length] ?? null;
  const first = scripts[script.index - (script.index % PARENT_BEFORE.length)];
  if (behind === null || first === undefined) return script;
  const parent = script.index - behind.by;
  if (!behind.failsWithFirst) return { ...script, parent };
  const { intervalSeconds, downAfterFailures, steps, blipsMs } = first;
  return { ...script, parent, intervalSeconds, downAfterFailures, steps, blipsMs };
}

/** Distance from each of four monitors back to its parent; null = no parent. */
const PARENT_BEFORE = [
  null,
  { by: 1, failsWithFirst: true },
  { by: 2, failsWithFirst: false },
  { by: 2, failsWithFirst: true },
] as const;

function writeMonitor(draws: Draws, index: number, untilMs: number): MonitorScript {
  const intervalSeconds = draws.pick([2, 3, 5]);
  // A single late response counts as a failure: where one failure is enough, the target gets the longest time to
  // respond.
  const downAfterFailures = intervalSeconds === 5 ? draws.pick([1, 2, 3]) : 2;
  const regions = draws.isHit(0.7) ? REGIONS : [draws.pick(REGIONS)];
  const quorum = draws.between(1, regions.length);
  const failure = draws.pick(['status', 'status', 'reset', 'hang'] as const);
  const steps = drawSteps(draws, { untilMs, canDegrade: intervalSeconds > 3 });
  const blipsMs = downAfterFailures === 1 ? [] : findBlips(draws, steps, untilMs);
  return { index, intervalSeconds, downAfterFailures, regions, quorum, failure, steps, blipsMs, parent: null };
}

function drawSteps(draws: Draws, { untilMs, canDegrade }: { untilMs: number; canDegrade: boolean }): ScriptStep[] {
  const bad = (): Condition => (canDegrade && draws.isHit(0.25) ? 'degraded' : 'down');
  const steps: ScriptStep[] = [{ fromMs: 0, condition: 'up' }];
  let atMs = draws.between(3000, 30_000);
  while (atMs < untilMs) {
    const condition = steps.at(-1)?.condition === 'up' ? bad() : 'up';
    steps.push({ fromMs: atMs, condition });
    const [shortest, longest] = STRETCH_MS[condition];
    atMs += draws.between(shortest, longest);
  }
  const last = draws.pick(LAST);
  const condition = last === 'degraded' && !canDegrade ? 'up' : last;
  if (steps.at(-1)?.condition !== condition) steps.push({ fromMs: untilMs, condition });
  return steps;
}

function findBlips(draws: Draws, steps: readonly ScriptStep[], untilMs: number): number[] {
  return steps.flatMap(({ fromMs, condition }, index) => {
    const room = [fromMs + BLIP_MARGIN_MS, (steps[index + 1]?.fromMs ?? untilMs) - BLIP_MARGIN_MS] as const;
    return condition === 'up' && room[0] < room[1] ? [draws.between(...room)] : [];
  });
}

/** Returns the condition of a target at a moment of the script, ignoring blips. */
export function conditionAt({ steps }: Pick<MonitorScript, 'steps'>, atMs: number): Condition {
  return steps.findLast(({ fromMs }) => fromMs <= atMs)?.condition ?? 'up';
}
