import { setTimeout as delay } from 'node:timers/promises';
import type { WithHarness } from '../../test/helpers/harness.ts';
import { forkChild } from './child.ts';
import { startTarget } from './target.ts';

export type BareLoop = { perSecond: number; warmUpMs: number; measureMs: number };

/** Measures the CPU seconds per request of a bare `http.get(agent: false)` loop at a rate. */
export async function measureBareLoop(
  withHarness: WithHarness,
  { perSecond, warmUpMs, measureMs }: BareLoop,
): Promise<number> {
  return await withHarness(async (harness) => {
    const { urls } = await startTarget(harness);
    const loop = await forkChild<null>(harness, 'bare-loop', { urls, perSecond });
    const read = () => loop.ask<{ cpuSeconds: number; answered: number }>({});
    await delay(warmUpMs);
    const before = await read();
    await delay(measureMs);
    const after = await read();
    return (after.cpuSeconds - before.cpuSeconds) / (after.answered - before.answered);
  });
}
