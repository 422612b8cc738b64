import { Gauge, type Registry } from 'prom-client';
import type { JobQueues } from './job-queues.ts';

/** Registers the depth of every open queue by state, read when metrics are asked for; a queue that is away reports nothing. */
export function registerQueueMetrics(registry: Registry, queues: JobQueues, listRegions: () => Promise<Map<number, string>>): void {
  registry.registerMetric(
    new Gauge({
      name: 'spotcheck_queue_jobs',
      help: 'Jobs by queue and state',
      labelNames: ['queue', 'state'],
      registers: [],
      async collect() {
        this.reset();
        // The queues of regions that this process has not spoken of yet count as well; without the database those known are shown.
        for (const region of (await listRegions().catch(() => new Map<number, string>())).values()) queues.checkQueue(region);
        const depths = await Promise.allSettled(queues.all().map(async (queue) => ({ queue: queue.name, counts: await queue.getJobCounts('waiting', 'active', 'delayed', 'failed') })));
        for (const depth of depths) {
          if (depth.status === 'rejected') continue;
          for (const [state, count] of Object.entries(depth.value.counts)) this.set({ queue: depth.value.queue, state }, count);
        }
      },
    }),
  );
}
