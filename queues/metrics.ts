import { Gauge, type Registry } from 'prom-client';
import { createAwayReading } from './depths.ts';
import type { JobQueues } from './job-queues.ts';

/**
 * Registers which queues can be reached, and how deep they are by state, read when metrics are asked for; of a queue
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
      help: '1 where the queue can be written to, 0 where it is away',
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
      help: 'Jobs by queue and state',
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
