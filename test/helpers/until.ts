import { setTimeout as delay } from 'node:timers/promises';

const DEFAULT_TIMEOUT_MS = 120_000;

/**
 * Waits between polls grow by a quarter each, between these: many questions are requests, and several tests wait at a
 * time.
 */
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 100;
const GROWTH = 1.25;

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>;

/**
 * Asks again and again until the answer is truthy, and returns it; throws at the deadline, with what the last answer
 * was. With `intervalMs` the polls are as far apart.
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
