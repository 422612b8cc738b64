import { getHeapStatistics } from 'node:v8';
import { beginJudging } from '../../core/checks/judge.ts';
import { JUDGING_BUDGET_MS, type Judged } from '../../core/checks/judging.ts';
import type { Observation } from '../../core/checks/observation.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { answerTasks, runWithin } from '../../threads/bounded-run.ts';
import { createPatternSearch } from '../pattern-search.ts';

/** An observation to judge, without the parts that judging does not need. */
export type JudgingTask = { target: CheckTarget; observation: Observation };

/**
 * Limit of the heap, in bytes, beyond which all compiled patterns are discarded: they grow with the texts they search.
 */
const MAX_HEAP = 96 * 1024 * 1024;

let search = createPatternSearch();

answerTasks(({ target, observation }: JudgingTask): Judged => {
  try {
    const judging = beginJudging({ target, observation, search });
    runWithin(JUDGING_BUDGET_MS, () => judging.run());
    return judging.judged();
  } finally {
    if (getHeapStatistics().used_heap_size > MAX_HEAP) search = createPatternSearch();
  }
});
