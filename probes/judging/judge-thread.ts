import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { beginJudging } from '../../core/checks/judge.ts';
import { JUDGING_BUDGET_MS, type Judged } from '../../core/checks/judging.ts';
import type { Observation } from '../../core/checks/observation.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { giveWay, runWithin, threadMs } from '../../threads/bounded-run.ts';
import type { ThreadAnswer } from '../../threads/compute-thread.ts';
import { createPatternSearch } from '../pattern-search.ts';

/** An observation to judge, without the parts that judging does not need. */
export type JudgingTask = { target: CheckTarget; observation: Observation };

/**
 * Limit of the heap, in bytes, beyond which all compiled patterns are discarded: they grow with the texts they search.
 */
const MAX_HEAP = 96 * 1024 * 1024;

giveWay();

let search = createPatternSearch();

parentPort?.on('message', (task: JudgingTask) => {
  const beganMs = threadMs();
  const outcome = judge(task);
  if (getHeapStatistics().used_heap_size > MAX_HEAP) search = createPatternSearch();
  parentPort?.postMessage({ ...outcome, spentMs: threadMs() - beganMs } satisfies ThreadAnswer<Judged>, []);
});

function judge({
  target,
  observation,
}: JudgingTask): { outcome: 'done'; result: Judged } | { outcome: 'threw'; message: string } {
  try {
    const judging = beginJudging({ target, observation, search });
    runWithin(JUDGING_BUDGET_MS, () => judging.run());
    return { outcome: 'done', result: judging.judged() };
  } catch (error) {
    return { outcome: 'threw', message: String(error) };
  }
}
