import { within } from '../core/time.ts';
import type { JobQueues } from './job-queues.ts';

/** Jobs of a queue by state. */
export type QueueDepth = { name: string; waiting: number; active: number; delayed: number; failed: number };

/** Without the database the queues of regions are those that are known; it has so long to say, in milliseconds. */
const REGIONS_MS = 1000;

/** Makes what names the queues that are away, those of regions that this process has not spoken of yet included. */
export function createAwayReading(
  queues: JobQueues,
  listRegions: () => Promise<Map<number, string>>,
): () => Promise<string[]> {
  return async () => {
    const none = new Map<number, string>();
    const regions = await within(
      REGIONS_MS,
      listRegions().catch(() => none),
      none,
    );
    for (const region of regions.values()) queues.checkQueue(region);
    return await queues.findAway();
  };
}

/**
 * Makes what reads all queues, those of regions that this process has not spoken of yet included; null while one of
 * them does not answer.
 */
export function createQueueReading(
  queues: JobQueues,
  listRegions: () => Promise<Map<number, string>>,
): () => Promise<{ depths: QueueDepth[]; oldestResultsAtMs: number | null } | null> {
  return async () => {
    for (const region of (await listRegions()).values()) queues.checkQueue(region);
    try {
      const depths = await Promise.all(
        queues.all().map(async (queue) => {
          const {
            waiting = 0,
            active = 0,
            delayed = 0,
            failed = 0,
          } = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
          return { name: queue.name, waiting, active, delayed, failed };
        }),
      );
      return {
        depths: depths.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        oldestResultsAtMs: await queues.oldestResultsAtMs(),
      };
    } catch {
      return null;
    }
  };
}
