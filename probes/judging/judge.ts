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
 * An observation and its account, because accounts share computing time. `check` identifies one monitor in its present
 * version; null for a preview.
 */
type ObservedCheck = { target: CheckTarget; observation: Observation; account: string; check: string | null };

/** Maximum duration of judging on the event loop, in milliseconds. */
const ON_THE_LOOP_MS = 1;

/**
 * Rests of a monitor after a check over budget, in milliseconds. Each is twice as long as the previous one, up to the
 * second value.
 */
const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;

/**
 * Rest of a monitor for each other slow monitor, in milliseconds. All of them together thus take at most a tenth of the
 * thread's time.
 */
const REST_FOR_EACH_MS = 500;

/**
 * Maximum size of an observation without a body, in bytes: most of it is the head of a response, at one byte a
 * character.
 */
const MAX_BYTES_BESIDE_BODY = 64 * 1024;

/** Maximum slow monitors that are remembered. */
const MAX_SLOW = 10_000;

/** State of a slow monitor: how often it was over budget recently, and until when it is therefore not judged. */
type Slow = { times: number; untilMs: number; judgement: Judgement };

/**
 * Judges the observations of a process's checks. Cheap ones are judged at once, all others in a thread, which starts on
 * first use.
 */
export class Judge {
  readonly #search = createPatternSearch();
  readonly #thread = new ComputeThread<JudgingTask, Judged>(new URL('./judge-thread.ts', import.meta.url));
  /** Slow monitors, those judged longest ago first. */
  readonly #slow = new Map<string, Slow>();

  /** Judges an observation with at most 50 ms of computing (D-300). Rejects only for a fault of this process. */
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

  /** Ends the thread; an observation that it is judging remains unjudged. */
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

  /**
   * Returns the rest after an overrun. A single overrun may be chance; a monitor that overruns repeatedly also waits
   * for every other slow one.
   */
  #restMs(times: number): number {
    const others = times > 1 ? this.#slow.size : 0;
    return Math.max(others * REST_FOR_EACH_MS, Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (times - 1)));
  }
}

function unjudged(judgement: Judgement): Judged {
  return { judgement, conditions: [], isOverBudget: true };
}

/** Returns the task for the thread, without secrets and the sent request. */
function taskOf(target: CheckTarget, observation: Observation): JudgingTask {
  const { request: _request, ...checkSpec } = target.checkSpec;
  return {
    target: { ...target, checkSpec, secrets: {} },
    observation: 'bodyStart' in observation ? { ...observation, bodyStart: null } : observation,
  };
}

/** Returns the maximum size of a waiting observation: V8 may store each character of a body in two bytes. */
function mostBytesOf(observation: Observation): number {
  const hasBody = observation.type === 'http' && observation.outcome === 'answered';
  return MAX_BYTES_BESIDE_BODY + (hasBody ? 2 * (observation.body?.length ?? 0) : 0);
}
