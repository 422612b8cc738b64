import { beginJudging } from '../../core/judge.ts';
import { CROWDED_OUT, notJudgedAgainYet, type Judged } from '../../core/judging.ts';
import { measureJudging, MS_OF_WORK } from '../../core/judging-work.ts';
import type { CheckTarget } from '../../core/monitor.ts';
import type { Observation } from '../../core/observation.ts';
import type { Judgement } from '../../core/verdict.ts';
import { createPatternSearch } from '../pattern-search.ts';
import { ComputeThread } from './compute-thread.ts';
import type { JudgingTask } from './judge-thread.ts';

/** What was seen, and whose it is: computing time is shared out among accounts. `check` tells one monitor, in its present version, from all others; null for a preview. */
export type SeenCheck = { target: CheckTarget; observation: Observation; account: string; check: string | null };

/** Judges what a check has seen, with at most 50 ms of computing (D-300). Rejects only where the fault is ours. */
export type Judge = (seen: SeenCheck) => Promise<Judged>;

export type OpenJudge = { judge: Judge; close: () => Promise<void> };

/** What is judged on the event loop takes no longer than this at the worst, in milliseconds. */
const ON_THE_LOOP_MS = 1;

/** After a check over budget its monitor is not judged again for the first of these; twice as long each time, up to the second, in milliseconds. */
const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;

/** And for so long for each monitor that rests, so that all of them together have a tenth of the thread's time at the most, in milliseconds. */
const REST_FOR_EACH_MS = 500;

/** Monitors that are remembered to have been over budget. */
const MOST_RESTS = 10_000;

type Rest = { untilMs: number; times: number; judgement: Judgement };

/** Opens the judge that all checks of a process share. What takes next to nothing is judged at once, everything else in a thread, which the first that needs it starts. */
export function openJudge(): OpenJudge {
  const search = createPatternSearch();
  const thread = new ComputeThread<JudgingTask, Judged>(new URL('./judge-thread.ts', import.meta.url));
  const rests = new Map<string, Rest>();

  const noteOutcome = (check: string, { judgement, isOverBudget }: Judged) => {
    const times = (rests.get(check)?.times ?? 0) + (isOverBudget ? 1 : -1);
    rests.delete(check);
    if (times < 1) return;
    // Once may have been chance. Who is over budget again and again gives way to all others like it.
    const forAll = times === 1 ? 0 : rests.size * REST_FOR_EACH_MS;
    const restMs = isOverBudget ? Math.max(forAll, Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (times - 1))) : 0;
    rests.set(check, { untilMs: performance.now() + restMs, times, judgement });
    const [oldest] = rests.keys();
    if (rests.size > MOST_RESTS && oldest !== undefined) rests.delete(oldest);
  };

  return {
    async judge({ target, observation, account, check }) {
      if (measureJudging(target, observation) <= ON_THE_LOOP_MS * MS_OF_WORK) {
        const judging = beginJudging({ target, observation, search });
        judging.run();
        return judging.judged();
      }
      const rest = check === null ? undefined : rests.get(check);
      if (rest !== undefined && performance.now() < rest.untilMs) return unjudged(notJudgedAgainYet(rest.judgement));
      const judged = await thread.run(taskOf(target, observation), { account, size: sizeOf(observation) });
      if (judged === null) return unjudged(CROWDED_OUT);
      if (check !== null) noteOutcome(check, judged);
      return judged;
    },
    close: () => thread.close(),
  };
}

function unjudged(judgement: Judgement): Judged {
  return { judgement, conditions: [], isOverBudget: true };
}

/** Secrets and what was sent stay here. */
function taskOf(target: CheckTarget, observation: Observation): JudgingTask {
  const { request: _request, ...checkSpec } = target.checkSpec;
  return { target: { ...target, checkSpec, secrets: {} }, observation: 'bodyStart' in observation ? { ...observation, bodyStart: null } : observation };
}

function sizeOf(observation: Observation): number {
  return observation.type === 'http' && observation.outcome === 'answered' ? (observation.body?.length ?? 0) : 1024;
}
