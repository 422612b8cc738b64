import { setTimeout as delay } from 'node:timers/promises';

const DEFAULT_TIMEOUT_MS = 120_000;

/**
 * Bounds of the wait between polls, which grows by a quarter each time: many polls are requests, and several tests wait
 * at a time.
 */
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 100;
const GROWTH = 1.25;

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>;

/**
 * Polls until the condition is truthy, and returns its value; throws at the deadline, with the last value. `intervalMs`
 * sets a constant interval.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = DEFAULT_TIMEOUT_MS, intervalMs }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<Truthy<T>> {
  let waitMs = intervalMs ?? FIRST_WAIT_MS;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (isTruthy(answer)) return answer;
    if (performance.now() >= deadline)
      throw new Error(`not true within ${timeoutMs} ms, last answer ${String(answer)}: ${condition.toString()}`);
    await delay(waitMs);
    if (intervalMs === undefined) waitMs = Math.min(waitMs * GROWTH, LONGEST_WAIT_MS);
  }
}

function isTruthy<T>(answer: T): answer is T & Truthy<T> {
  return Boolean(answer);
}
