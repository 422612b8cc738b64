import { runServiceClock, type ClockName } from '../../models/system/service-clock.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/**
 * Starts keeping the service's time in a worker process, before anything goes by it. A clock that was set is logged,
 * counted and passed to the listeners. `settles` is for the process that does the chores: it mends what a setting
 * leaves behind.
 */
export async function startServiceClock(
  { database, log, clockListeners }: Runtime,
  { count, settles }: { count: (clock: ClockName) => void; settles: boolean },
): Promise<RunningProcess> {
  const { stop } = await runServiceClock(database, {
    settles,
    onStep(clock, byMs) {
      count(clock);
      log.warn({ clock, by_ms: byMs }, 'clock.stepped');
      for (const listener of clockListeners) listener(clock, byMs);
    },
    onFailure: (error) => log.warn({ err: error }, 'clock.not_compared'),
  });
  return { name: 'service clock', stop };
}
