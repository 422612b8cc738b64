import { schedule } from 'node-cron';
import { CHORES, type Chore } from '../../queues/job-queues.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/**
 * Schedules of the chores, as cron with seconds, in UTC. A second clock by accident is harmless: a waiting chore is not
 * added twice.
 */
const TIMETABLE = {
  sweep: '*/10 * * * * *',
  reconcile: '5-59/10 * * * * *',
  partitions: '7 17 * * * *',
  retention: '7 27 * * * *',
  advisories: '17 * * * * *',
  registries: '7 37 4 * * *',
  rollups: '47 * * * * *',
  reports: '40 */5 * * * *',
  maintenance: '27 * * * * *',
  drills: '2-59/10 * * * * *',
  canary: '3-59/5 * * * * *',
} as const satisfies Record<Chore, string>;

/** Starts the clock, which only enqueues; every chore also runs once at the start. */
export function startClock({ queues, log, clockListeners }: Runtime): RunningProcess {
  const enqueue = (chore: Chore) =>
    queues.enqueueChore(chore).catch((error: unknown) => {
      log.warn({ err: error, chore }, 'chore.not_queued');
    });
  for (const chore of CHORES) void enqueue(chore);
  const arrange = () =>
    CHORES.map((chore) => schedule(TIMETABLE[chore], () => enqueue(chore), { timezone: 'Etc/UTC' }));
  let tasks = arrange();
  // Cron uses the machine's clock and waits for the next time it has computed: after the clock is set back, that much
  // longer.
  const arrangeAnew = () => {
    for (const task of tasks) void task.destroy();
    tasks = arrange();
  };
  clockListeners.add(arrangeAnew);
  return {
    name: 'clock',
    async stop() {
      clockListeners.delete(arrangeAnew);
      await Promise.all(tasks.map((task) => task.destroy()));
    },
  };
}
