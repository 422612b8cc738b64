import { Gauge, type Registry } from 'prom-client';
import { within } from '../core/time.ts';
import type { JobQueues } from './job-queues.ts';

/**
 * Registers which queues can be reached, and how deep they are by state, read when metrics are asked for. Of a queue
 * that is away no depth is known.
 */
export function registerQueueMetrics(
  registry: Registry,
  queues: JobQueues,
  listRegions: () => Promise<Map<number, string>>,
): void {
  const findAway = createAwayReading(queues, listRegions);
  registry.registerMetric(
    new Gauge({
      name: 'spotcheck_queue_available',
      help: '1 if the queue accepts writes, 0 if it is unavailable',
      labelNames: ['queue'],
      registers: [],
      async collect() {
        this.reset();
        const away = await findAway();
        for (const { name } of queues.all()) this.set({ queue: name }, away.includes(name) ? 0 : 1);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'spotcheck_queue_jobs',
      help: 'Jobs, by queue and state',
      labelNames: ['queue', 'state'],
      registers: [],
      async collect() {
        this.reset();
        const away = await findAway();
        const there = queues.all().filter(({ name }) => !away.includes(name));
        const depths = await Promise.allSettled(
          there.map(async (queue) => ({
            queue: queue.name,
            counts: await queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
          })),
        );
        for (const depth of depths) {
          if (depth.status === 'rejected') continue;
          for (const [state, count] of Object.entries(depth.value.counts))
            this.set({ queue: depth.value.queue, state }, count);
        }
      },
    }),
  );
}

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
