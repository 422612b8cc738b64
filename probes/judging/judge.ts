import { forgetOldest } from '../../core/bounded-map.ts';
import { WORK_PER_MS, beginJudging, measureJudging } from '../../core/checks/judge.ts';
import { CROWDED_OUT, notJudgedAgainYet, type Judged } from '../../core/checks/judging.ts';
import type { Observation } from '../../core/checks/observation.ts';
import type { Judgement } from '../../core/checks/verdict.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { ComputeThread, type Computed } from '../../threads/compute-thread.ts';
import { createPatternSearch } from '../pattern-search.ts';
import type { JudgingTask } from './judge-thread.ts';

/**
 * What was observed, and whose it is: computing time is shared out among accounts. `check` tells one monitor, in its
 * present version, from all others; null for a preview.
 */
export type ObservedCheck = { target: CheckTarget; observation: Observation; account: string; check: string | null };

/** What is judged on the event loop takes no longer than this at the worst, in milliseconds. */
const ON_THE_LOOP_MS = 1;

/**
 * After a check over budget its monitor is not judged again for the first of these, in milliseconds. Each time that is
 * twice as long, up to the second.
 */
const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;

/**
 * A monitor rests this long for each other slow monitor, in milliseconds. So all of them together take at most a tenth
 * of the thread's time.
 */
const REST_FOR_EACH_MS = 500;

/** What an observation holds besides a body: the head of an answer is the most of it, at one byte a character. */
const MAX_BYTES_BESIDE_BODY = 64 * 1024;

/** Monitors that are remembered to take long. */
const MAX_SLOW = 10_000;

/**
 * What is known of a monitor that takes long. How often it was over budget of late, and until when it is not judged for
 * that.
 */
type Slow = { times: number; untilMs: number; judgement: Judgement };

/**
 * Judges what the checks of a process have observed. What takes next to nothing is judged at once, everything else in a
 * thread, which the first that needs it starts.
 */
export class Judge {
  readonly #search = createPatternSearch();
  readonly #thread = new ComputeThread<JudgingTask, Judged>(new URL('./judge-thread.ts', import.meta.url));
  /** Monitors that take long, those judged longest ago first. */
  readonly #slow = new Map<string, Slow>();

  /** Judges an observation with at most 50 ms of computing (D-300). Rejects only where the fault is ours. */
  async judge({ target, observation, account, check }: ObservedCheck): Promise<Judged> {
    if (measureJudging(target, observation) <= ON_THE_LOOP_MS * WORK_PER_MS) {
      const judging = beginJudging({ target, observation, search: this.#search });
      judging.run();
      return judging.judged();
    }
    const known = check === null ? undefined : this.#slow.get(check);
    if (known !== undefined && performance.now() < known.untilMs) return unjudged(notJudgedAgainYet(known.judgement));
    const computed = await this.#thread.run(taskOf(target, observation), {
      account,
      bytes: mostBytesOf(observation),
      takesLong: known !== undefined,
    });
    if (computed === null) return unjudged(CROWDED_OUT);
    if (check !== null) this.#recordCost(check, computed);
    return computed.result;
  }

  /** Ends the thread; what it is at is not judged. */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  #recordCost(check: string, { result: { judgement, isOverBudget } }: Computed<Judged>): void {
    const times = Math.max(0, (this.#slow.get(check)?.times ?? 0) + (isOverBudget ? 1 : -1));
    this.#slow.delete(check);
    if (times === 0) return;
    const restMs = isOverBudget ? this.#restMs(times) : 0;
    this.#slow.set(check, { times, untilMs: performance.now() + restMs, judgement });
    forgetOldest(this.#slow, MAX_SLOW);
  }

  /** A single overrun may be chance. A monitor that overruns repeatedly also waits for every other slow one. */
  #restMs(times: number): number {
    const others = times > 1 ? this.#slow.size : 0;
    return Math.max(others * REST_FOR_EACH_MS, Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (times - 1)));
  }
}

function unjudged(judgement: Judgement): Judged {
  return { judgement, conditions: [], isOverBudget: true };
}

/** Secrets and what was sent stay here. */
function taskOf(target: CheckTarget, observation: Observation): JudgingTask {
  const { request: _request, ...checkSpec } = target.checkSpec;
  return {
    target: { ...target, checkSpec, secrets: {} },
    observation: 'bodyStart' in observation ? { ...observation, bodyStart: null } : observation,
  };
}

/** What an observation holds at the most while it waits: V8 may keep each character of a body in two bytes. */
function mostBytesOf(observation: Observation): number {
  const hasBody = observation.type === 'http' && observation.outcome === 'answered';
  return MAX_BYTES_BESIDE_BODY + (hasBody ? 2 * (observation.body?.length ?? 0) : 0);
}
