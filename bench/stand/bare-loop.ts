import { setTimeout as delay } from 'node:timers/promises';
import { forkChild } from './program.ts';
import type { WithStand } from './stand.ts';
import { startTarget } from './target.ts';

export type BareLoop = { perSecond: number; warmUpMs: number; measureMs: number };

/** CPU seconds per request of a bare `http.get(agent: false)` loop at a rate. */
export async function measureBareLoop(
  withStand: WithStand,
  { perSecond, warmUpMs, measureMs }: BareLoop,
): Promise<number> {
  return await withStand(async (stand) => {
    const { urls } = await startTarget(stand);
    const loop = await forkChild<null>(stand, 'bare-loop', { urls, perSecond });
    const read = () => loop.ask<{ cpuSeconds: number; answered: number }>({});
    await delay(warmUpMs);
    const before = await read();
    await delay(measureMs);
    const after = await read();
    return (after.cpuSeconds - before.cpuSeconds) / (after.answered - before.answered);
  });
}
