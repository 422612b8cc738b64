import type { Vote } from './verdict.ts';

/**
 * What an agent remembers of its own results, to tell an outage of its own from one of a target (D-48). Monitors
 * go by any key of their own.
 */
export type RecentResults = {
  /** Takes in a result of now; true where it is suspect: results have turned mostly bad at once. */
  add(result: { monitor: string | number; verdict: Vote }, nowMs: number): boolean;
  /**
   * A monitor's bad result is real, as this agent could reach others after it. Once that was so often enough in a row
   * it is no sign of an outage of ours, until it is good again.
   */
  confirm(monitor: string | number): void;
};

/**
 * The newest results of so many monitors are compared: few, so that an outage shows after two or three results where
 * there are many a second.
 */
const MONITORS_COMPARED = 5;

/**
 * What a result says of our own network holds so long, in milliseconds: an agent with few monitors sees each result
 * alone and suspects every turn.
 */
const RECENT_MS = 10_000;

/**
 * With this many confirmed results in a row a source is bad whatever its threshold (`down_after_failures`): until then
 * each of them may be the one that decides.
 */
const CONFIRMED_ENOUGH = 5;

/** Monitors with confirmed results at most; with more all are forgotten, which costs one question each. */
const MOST_CONFIRMED = 10_000;

/**
 * Makes the memory of one place. Results have turned mostly bad when at least half of the monitors compared have
 * turned: bad, and not known to be really so. Those that are known to be bad say nothing, nor does a no vote; degraded
 * is an answer, and thus good. A suspect result that turns out to be no vote leaves its monitor turned, so that the
 * suspicion lasts as long as the outage.
 */
export function createRecentResults(): RecentResults {
  const confirmed = new Map<string | number, number>();
  const isKnown = (monitor: string | number) => (confirmed.get(monitor) ?? 0) >= CONFIRMED_ENOUGH;
  let recent: { monitor: string | number; turned: boolean; atMs: number }[] = [];
  return {
    add({ monitor, verdict }, nowMs) {
      if (verdict === 'none') return false;
      const isBad = verdict === 'down';
      if (!isBad) confirmed.delete(monitor);
      const others = recent.filter((result) => result.monitor !== monitor && nowMs - result.atMs < RECENT_MS);
      recent =
        isBad && isKnown(monitor)
          ? others
          : [...others, { monitor, turned: isBad, atMs: nowMs }].slice(-MONITORS_COMPARED);
      const turned = recent.filter((result) => result.turned).length;
      return isBad && !isKnown(monitor) && turned > 0 && turned * 2 >= recent.length;
    },
    confirm(monitor) {
      if (confirmed.size >= MOST_CONFIRMED) confirmed.clear();
      confirmed.set(monitor, (confirmed.get(monitor) ?? 0) + 1);
    },
  };
}
