import { setTimeout as delay } from 'node:timers/promises';

const DEFAULTS = { timeoutMs: 10_000, intervalMs: 10 };

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>;

/** Asks again and again until the answer is truthy, and returns it; throws at the deadline, with what the last answer was. */
export async function until<T>(condition: () => T | Promise<T>, options: Partial<typeof DEFAULTS> = {}): Promise<Truthy<T>> {
  const { timeoutMs, intervalMs } = { ...DEFAULTS, ...options };
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (isTruthy(answer)) return answer;
    if (performance.now() >= deadline) throw new Error(`not true within ${timeoutMs} ms, last answer ${String(answer)}: ${condition.toString()}`);
    await delay(intervalMs);
  }
}

function isTruthy<T>(answer: T): answer is T & Truthy<T> {
  return Boolean(answer);
}
