import { spend, type SteadyRate } from '../steady-rate.ts';
import { HOUR_MS, MINUTE_MS, toUnixSeconds } from '../time.ts';
import type { EventState } from './event.ts';

/**
 * Rate of messages about one monitor to a channel that summarizes flapping. Two at once, and one more every 15 minutes,
 * so 2 + minutes / 15 in any period.
 */
const MESSAGE_RATE: SteadyRate = { burst: 2, everyMs: 15 * MINUTE_MS };

/** Time without a change after which a monitor is stable again, in milliseconds; lasting trouble is reported sooner. */
const STABLE_MS = 15 * MINUTE_MS;
const LASTING_MS = 5 * MINUTE_MS;

/** Limit of how far the rate's mark may be ahead. */
const LONGEST_MS = 24 * HOUR_MS;

/** Alert data of an unstable monitor: since when (Unix seconds), changes, the longest trouble in seconds. */
export type Flapping = {
  since: number;
  changes: number;
  longest_seconds: number;
  /** It has gone without a change long enough to be stable, or its trouble long enough to be lasting. */
  is_stable: boolean;
};

/**
 * Messages that a channel got about a monitor. `usedUpMs` is the mark of the rate, null = none was sent; `isUnstable`:
 * the last message reported it as unstable; `unstableDueMs` and `stableDueMs`: due times of the message that reports
 * so, and of the one that ends it, null = none waits. Unix milliseconds.
 */
export type FlappingMessages = {
  usedUpMs: number | null;
  isUnstable: boolean;
  unstableDueMs: number | null;
  stableDueMs: number | null;
};

/** Outcome of a change: `isSent` by itself at once, or covered by the waiting messages. */
export type FlappingPlan = Pick<FlappingMessages, 'unstableDueMs' | 'stableDueMs'> & {
  isSent: boolean;
  usedUpMs: number;
  /** Whether the message waiting as `unstableDueMs` will also report the end: the monitor will have settled by then. */
  endsThen: boolean;
};

/**
 * Plans the messages to a channel about a change of a monitor (D-537). Within the rate each change is sent. The next
 * one waits for its turn and reports the monitor as unstable; further ones wait until it has been stable for 15
 * minutes, or down, degraded or unknown for 5. The newest state is always reported in the end.
 */
export function planFlapping(
  { usedUpMs, isUnstable, unstableDueMs, stableDueMs }: FlappingMessages,
  { state, nowMs }: { state: EventState; nowMs: number },
): FlappingPlan {
  const settledAtMs = nowMs + (state === 'up' ? STABLE_MS : LASTING_MS);
  let mark = usedUpMs;
  const take = (): number => {
    const spent = spend(MESSAGE_RATE, { usedUpMs: mark, units: 1, nowMs, longestMs: LONGEST_MS });
    mark = spent.usedUpMs;
    return nowMs + spent.waitMs;
  };
  let unstableAtMs = unstableDueMs;
  if (unstableAtMs === null && stableDueMs === null && !isUnstable) {
    const atMs = take();
    if (atMs === nowMs)
      return { isSent: true, usedUpMs: mark ?? 0, unstableDueMs: null, stableDueMs: null, endsThen: false };
    unstableAtMs = atMs;
  }
  if (unstableAtMs !== null && settledAtMs <= unstableAtMs) {
    const back = stableDueMs === null ? 0 : MESSAGE_RATE.everyMs;
    const usedUp = (mark ?? 0) - back;
    return { isSent: false, usedUpMs: usedUp, unstableDueMs: unstableAtMs, stableDueMs: null, endsThen: true };
  }
  if (stableDueMs === null) take();
  const turnMs = (mark ?? 0) - MESSAGE_RATE.burst * MESSAGE_RATE.everyMs;
  return {
    isSent: false,
    usedUpMs: mark ?? 0,
    unstableDueMs: unstableAtMs,
    stableDueMs: Math.max(turnMs, settledAtMs),
    endsThen: false,
  };
}

/** A change of a monitor's state. */
type PastChange = { state: string; atMs: number };

/**
 * Summarizes the newest changes of a monitor, oldest first: those less than 15 minutes apart, up to the last one.
 * Trouble under way counts up to `nowMs`.
 */
export function describeFlapping(
  changes: readonly PastChange[],
  { nowMs, isStable }: { nowMs: number; isStable: boolean },
): Flapping {
  let first = Math.max(0, changes.length - 1);
  while (first > 0 && (changes[first]?.atMs ?? 0) - (changes[first - 1]?.atMs ?? 0) < STABLE_MS) first -= 1;
  const recent = changes.slice(first);
  const troubles = recent.map(({ state, atMs }, index) =>
    state === 'up' ? 0 : (recent[index + 1]?.atMs ?? nowMs) - atMs,
  );
  return {
    since: toUnixSeconds(recent[0]?.atMs ?? nowMs),
    changes: recent.length,
    longest_seconds: Math.round(Math.max(0, ...troubles) / 1000),
    is_stable: isStable,
  };
}
