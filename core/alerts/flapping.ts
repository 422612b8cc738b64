import { spend, type SteadyRate } from '../steady-rate.ts';
import { HOUR_MS, MINUTE_MS } from '../time.ts';
import type { EventState } from './event.ts';

/**
 * How many messages about one monitor a channel that summarizes flapping gets. Two at once, and one more every 15
 * minutes, so in any time 2 + minutes / 15.
 */
const MESSAGE_RATE: SteadyRate = { burst: 2, everyMs: 15 * MINUTE_MS };

/** A monitor is stable again after so long without a change, in milliseconds; trouble that lasts is news sooner. */
const STABLE_MS = 15 * MINUTE_MS;
const LASTING_MS = 5 * MINUTE_MS;

/** The furthest that messages may be ahead. */
const LONGEST_MS = 24 * HOUR_MS;

/**
 * What an alert says of a monitor that is unstable: since when (Unix seconds), changes, the longest trouble in seconds.
 */
export type Flapping = {
  since: number;
  changes: number;
  longest_seconds: number;
  /** It has not changed for as long as it takes to be stable, or trouble to last. */
  is_stable: boolean;
};

/**
 * What a channel has been sent of a monitor. `usedUpMs` is the mark of the rate, null = nothing was sent; `isUnstable`:
 * the last message said that it is unstable; `unstableDueMs` and `stableDueMs`: when the message that says so, and the
 * one that ends it, are due, null = none waits. Unix milliseconds.
 */
export type FlappingMessages = {
  usedUpMs: number | null;
  isUnstable: boolean;
  unstableDueMs: number | null;
  stableDueMs: number | null;
};

/** What becomes of a change: `isSent` at once by itself, or it is said by the messages that wait. */
export type FlappingPlan = Pick<FlappingMessages, 'unstableDueMs' | 'stableDueMs'> & {
  isSent: boolean;
  usedUpMs: number;
  /**
   * Whether the message that waits as `unstableDueMs` will say that it is over: nothing has changed for long by then.
   */
  endsThen: boolean;
};

/**
 * Plans what a channel is sent of a change of a monitor (D-537). Within the rate each change is sent. The next one
 * waits for its turn and says that the monitor is unstable; what follows waits until it has been stable for 15 minutes,
 * or down, degraded or unknown for 5. The newest state is always said in the end.
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
 * What the newest changes of a monitor, oldest first, come to: those that followed one another within 15 minutes up to
 * the last one. Trouble that goes on counts up to `nowMs`.
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
    since: Math.floor((recent[0]?.atMs ?? nowMs) / 1000),
    changes: recent.length,
    longest_seconds: Math.round(Math.max(0, ...troubles) / 1000),
    is_stable: isStable,
  };
}
