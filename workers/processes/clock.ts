import { schedule } from 'node-cron';
import { CHORES, type Chore } from '../../queues/job-queues.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/** When each chore is due, as cron with seconds, UTC. A second clock by accident adds nothing: a chore that waits is not added twice. */
const TIMETABLE = {
  sweep: '*/10 * * * * *',
  reconcile: '5-59/10 * * * * *',
  partitions: '7 17 * * * *',
  retention: '7 27 * * * *',
  advisories: '17 * * * * *',
  registries: '7 37 4 * * *',
  rollups: '47 * * * * *',
  reports: '40 */5 * * * *',
} as const satisfies Record<Chore, string>;

/** Starts the clock, which only enqueues; every chore also runs once at the start. */
export function startClock({ queues, log }: Runtime): RunningProcess {
  const enqueue = (chore: Chore) =>
    queues.enqueueChore(chore).catch((error: unknown) => {
      log.warn({ err: error, chore }, 'chore.not_queued');
    });
  for (const chore of CHORES) void enqueue(chore);
  const tasks = CHORES.map((chore) => schedule(TIMETABLE[chore], () => enqueue(chore), { timezone: 'Etc/UTC' }));
  return {
    name: 'clock',
    async stop() {
      await Promise.all(tasks.map((task) => task.destroy()));
    },
  };
}
