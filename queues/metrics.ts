import { Gauge, type Registry } from 'prom-client';
import { within } from '../core/time.ts';
import type { JobQueues } from './job-queues.ts';

/**
 * Registers gauges of which queues can be reached, and of their depth by state, read at each scrape. A queue that is
 * away has no depth.
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

/** Timeout for reading the regions from the database, in milliseconds; without an answer only open queues count. */
const REGIONS_MS = 1000;

/** Creates the function that lists the unavailable queues, including those of regions not yet used in this process. */
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
 * Creates the function that reads all queues, including those of regions not yet used in this process; null while one
 * of them does not respond.
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
