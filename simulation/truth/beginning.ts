import { OFFLINE_AFTER_MS } from '../../core/agents/silence.ts';
import { countSlots, evenFraction, slotStartMs } from '../../core/checks/slots.ts';
import { freshnessMs, type DecidedMonitor } from '../../core/incidents/quorum.ts';
import { createLocation, type Location } from './location.ts';
import { createRandom, type Random } from './random.ts';
import type { Period, Script } from './script.ts';
import { timeoutMs, type Setting } from './setting.ts';

/** Events of a monitor from `startMs` to before `endMs` (Unix milliseconds): a script for each location. */
export type History = Stretch & { scripts: readonly Script[] };

export type Stretch = { startMs: number; endMs: number };

/** Duration of a check in milliseconds, increased by the step for each further location. */
const ANSWER_MS = 80;
const ANSWER_STEP_MS = 35;

/**
 * Time for which the sweep runs around the moments at which an absence starts or stops to count, in milliseconds. An
 * interval and a timeout are added to it.
 */
const SWEEP_MARGIN_MS = 30_000;

/** Creates a monitor. */
export function createMonitor(setting: Setting, startMs: number): DecidedMonitor {
  const { intervalSeconds, downAfterFailures, upAfterSuccesses, quorum } = setting;
  return {
    state: 'pending',
    stateSinceMs: startMs,
    intervalSeconds,
    waitsForPings: false,
    quorum,
    downAfterFailures,
    upAfterSuccesses,
    sources: Array.from({ length: setting.sources }, (_, agentNo) => ({
      agentNo,
      name: `location ${agentNo + 1}`,
      online: true,
      newestAtMs: null,
      state: null,
    })),
  };
}

/** Creates its locations, each with its own stream of random numbers and slot. */
export function createLocations({ startMs, scripts }: History, setting: Setting, random: Random): Location[] {
  const { intervalSeconds } = setting;
  const monitorNo = random.below(100_000);
  const seed = random.below(2 ** 31);
  const count = countSlots(intervalSeconds);
  // Only an offset within the slot: waiting for the slot of other locations is not scored here.
  const offsetMs = 10 * Math.floor((evenFraction(monitorNo) * Math.min(5000, (intervalSeconds * 1000) / count)) / 10);
  const drawn = scripts.map(() => random.below(count));
  return scripts.map((script, index) => {
    const turn = setting.slotChoice === 'in turn' ? Math.floor((index * count) / scripts.length) : 0;
    const slot = ((drawn[setting.slotChoice === 'apart' ? index : 0] ?? 0) + turn) % count;
    const answerMs = ANSWER_MS + index * ANSWER_STEP_MS;
    return createLocation({
      tick: { intervalSeconds, slotMs: slotStartMs(intervalSeconds, slot), offsetMs },
      script,
      random: createRandom([seed, index]),
      answerMs,
      timeoutMs: timeoutMs(setting),
      startMs,
    });
  });
}

/**
 * Returns the times at which a sweep may find something, in order: a location goes offline, its last result becomes
 * stale, or it returns.
 */
export function listSweptStretches(locations: readonly Location[], setting: Setting): Stretch[] {
  const { intervalSeconds } = setting;
  const marginMs = intervalSeconds * 1000 + timeoutMs(setting) + SWEEP_MARGIN_MS;
  const around = ({ startMs, endMs }: Period) => [
    { startMs: startMs + OFFLINE_AFTER_MS, endMs: startMs + OFFLINE_AFTER_MS + marginMs },
    {
      startMs: startMs + freshnessMs(intervalSeconds) - marginMs,
      endMs: startMs + freshnessMs(intervalSeconds) + marginMs,
    },
    { startMs: endMs, endMs: endMs + marginMs },
  ];
  return locations.flatMap(({ absences }) => absences.flatMap(around)).toSorted((a, b) => a.startMs - b.startMs);
}
