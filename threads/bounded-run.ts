import { getPriority, setPriority } from 'node:os';
import { Script } from 'node:vm';

/** The longest that a run is begun for, on a machine that has hardly any time for it, in milliseconds. */
const LONGEST_RUN_MS = 10_000;

/**
 * Clocks differ by this share: one that was broken off after less of its processor time was so because others had the
 * processor.
 */
const NEARLY = 0.75;

const script = new Script('globalThis.boundedWork()');

/** How much nicer than the event loop, which everybody waits for, a thread is that computes. */
const NICER = 2;
const NICEST = 19;

/**
 * Lets the event loop go before this thread where both want a processor. Linux counts niceness for each thread,
 * others for the whole process.
 */
export function giveWay(): void {
  if (process.platform === 'linux') setPriority(Math.min(NICEST, getPriority() + NICER));
}

/** Processor time of this thread in milliseconds: what others on the machine take away does not count. */
export function threadMs(): number {
  const spent = process.threadCpuUsage();
  return (spent.user + spent.system) / 1000;
}

/**
 * Runs work for at most so much processor time of this thread, in milliseconds; true when it was done by then. Work
 * that is broken off is left as it stands, its `finally` included. It may be run again from there: the clock that
 * breaks it off is the wall's, and one that came too early, because others had the processor, breaks off another run
 * later. It blocks, so it belongs into a thread.
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
