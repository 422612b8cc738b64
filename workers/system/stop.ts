import { within } from '../../core/time.ts';
import type { RunningProcess } from '../runtime.ts';

/**
 * Stops processes in the given order: those that feed others first, so that what is under way still gets through. True
 * when all stopped within `boundMs`, false when the bound ended the wait: then what is left comes back by its lock.
 */
export async function stopAll(processes: readonly RunningProcess[], boundMs: number): Promise<boolean> {
  const stopped = (async () => {
    for (const process of processes) await process.stop();
    return true;
  })();
  return await within(boundMs, stopped, false);
}
