import { getPriority, setPriority } from 'node:os';
import { Script } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer } from './compute-thread.ts';

/** Longest wall-clock limit of one run, in milliseconds, for a machine with hardly any processor time to spare. */
const LONGEST_RUN_MS = 10_000;

/**
 * Share of the budget that counts as all of it, because clocks differ; a run interrupted after less processor time was
 * waiting for the processor.
 */
const NEARLY = 0.75;

const script = new Script('globalThis.boundedWork()');

/** How much nicer a computing thread is than the event loop, which every request waits for. */
const NICER = 2;
const NICEST = 19;

/**
 * Answers each task that this thread receives with the result of `compute`, or the error that it threw. When both want
 * a processor, the event loop runs before this thread: Linux counts niceness per thread, other systems per process.
 */
export function answerTasks<Task, Result>(compute: (task: Task) => Result): void {
  if (process.platform === 'linux') setPriority(Math.min(NICEST, getPriority() + NICER));
  parentPort?.on('message', (task: Task) => {
    const beganMs = threadMs();
    let answer: ThreadAnswer<Result>;
    try {
      answer = { outcome: 'done', result: compute(task), spentMs: threadMs() - beganMs };
    } catch (error) {
      answer = { outcome: 'threw', message: String(error), spentMs: threadMs() - beganMs };
    }
    parentPort?.postMessage(answer, []);
  });
}

/** Returns the processor time of this thread in milliseconds, without that of other threads and processes. */
function threadMs(): number {
  const spent = process.threadCpuUsage();
  return (spent.user + spent.system) / 1000;
}

/**
 * Runs work for at most `budgetMs` of this thread's processor time; returns true if it finished in time. Interrupted
 * work stops where it is, without running its `finally`. Work may run again after that: the interruption follows the
 * wall clock, and if it came too early because other processes had the processor, the work gets another run. It blocks,
 * so call it in a thread.
 */
export function runWithin(budgetMs: number, work: () => void): boolean {
  for (let wallMs = budgetMs; ;) {
    const beganMs = threadMs();
    if (runOnce(Math.ceil(wallMs), work)) return true;
    const spentMs = threadMs() - beganMs;
    if (spentMs >= NEARLY * budgetMs || wallMs >= LONGEST_RUN_MS) return false;
    wallMs = Math.min(LONGEST_RUN_MS, (wallMs * budgetMs) / Math.max(spentMs, budgetMs / 10));
  }
}

function runOnce(wallMs: number, work: () => void): boolean {
  Reflect.set(globalThis, 'boundedWork', work);
  try {
    script.runInThisContext({ timeout: wallMs });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  }
}
