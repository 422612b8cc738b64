import type { Vote } from './verdict.ts';

/**
 * The newest results of so many monitors are compared. They are few, so that an outage shows after two or three results
 * where there are many a second.
 */
const MONITORS_COMPARED = 5;

/**
 * What a result says of our own network holds so long, in milliseconds. An agent with few monitors sees each result
 * alone and suspects every turn.
 */
const RECENT_MS = 10_000;

/**
 * With this many confirmed results in a row a source is bad whatever its threshold (`down_after_failures`). Until then
 * each of them may be the one that decides.
 */
const CONFIRMED_ENOUGH = 5;

/** Monitors with confirmed results at most; with more all are forgotten, which costs one question each. */
const MOST_CONFIRMED = 10_000;

/**
 * What an agent remembers of its own results, to tell an outage of its own from one of a target (D-48). Monitors go by
 * any key of their own. Results have turned mostly bad when at least half of the monitors compared have turned: bad,
 * and not known to be really so. Those that are known to be bad say nothing, nor does a no vote; degraded is an answer,
 * and thus good. A suspect result that turns out to be no vote leaves its monitor turned, so that the suspicion lasts
 * as long as the outage.
 */
export class RecentResults {
  readonly #confirmed = new Map<string | number, number>();
  #recent: { monitor: string | number; turned: boolean; atMs: number }[] = [];

  /** Takes in a result of now; true where it is suspect: results have turned mostly bad at once. */
  add({ monitor, verdict }: { monitor: string | number; verdict: Vote }, nowMs: number): boolean {
    if (verdict === 'none') return false;
    const isBad = verdict === 'down';
    if (!isBad) this.#confirmed.delete(monitor);
    const others = this.#recent.filter((result) => result.monitor !== monitor && nowMs - result.atMs < RECENT_MS);
    const isKnown = (this.#confirmed.get(monitor) ?? 0) >= CONFIRMED_ENOUGH;
    this.#recent =
      isBad && isKnown ? others : [...others, { monitor, turned: isBad, atMs: nowMs }].slice(-MONITORS_COMPARED);
    const turned = this.#recent.filter((result) => result.turned).length;
    return isBad && !isKnown && turned > 0 && turned * 2 >= this.#recent.length;
  }

  /**
   * A monitor's bad result is real, as this agent could reach others after it. Once that was so often enough in a row
   * it is no sign of an outage of ours, until it is good again.
   */
  confirm(monitor: string | number): void {
    if (this.#confirmed.size >= MOST_CONFIRMED) this.#confirmed.clear();
    this.#confirmed.set(monitor, (this.#confirmed.get(monitor) ?? 0) + 1);
  }
}
