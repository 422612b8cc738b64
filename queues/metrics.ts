import { Gauge, type Registry } from 'prom-client';
import type { JobQueues } from './job-queues.ts';

/** Registers the depth of every open queue by state, read when metrics are asked for; a queue that is away reports nothing. */
export function registerQueueMetrics(registry: Registry, queues: JobQueues): void {
  registry.registerMetric(
    new Gauge({
      name: 'spotcheck_queue_jobs',
      help: 'Jobs by queue and state',
      labelNames: ['queue', 'state'],
      registers: [],
      async collect() {
        this.reset();
        const depths = await Promise.allSettled(queues.all().map(async (queue) => ({ queue: queue.name, counts: await queue.getJobCounts('waiting', 'active', 'delayed', 'failed') })));
        for (const depth of depths) {
          if (depth.status === 'rejected') continue;
          for (const [state, count] of Object.entries(depth.value.counts)) this.set({ queue: depth.value.queue, state }, count);
        }
      },
    }),
  );
}
