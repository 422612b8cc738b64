import type { Registry } from 'prom-client';
import { type Bucket, spreadBetween } from '../../core/statistics/latency-histogram.ts';
import { type ProcessFigures, recordProcess } from '../../models/system/processes.ts';
import { type ClockName, runServiceClock } from '../../models/system/service-clock.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';
import { EVALUATION_LAG, LATENESS } from '../system/metrics.ts';

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

/**
 * Keeps the row of a worker process up to date for operators. It says how late its checks and how far behind its
 * evaluation were since the last update.
 */
export function startProcessRecord(
  { database, log }: Pick<Runtime, 'database' | 'log'>,
  { kind, version, registry }: { kind: string; version: string; registry: Registry },
): RunningProcess {
  const [readLateness, readLag] = [createReading(registry, LATENESS), createReading(registry, EVALUATION_LAG)];
  const readFigures = async (): Promise<ProcessFigures> => ({
    lateness: await readLateness(),
    evaluationLag: await readLag(),
  });
  const { stop } = recordProcess(database, {
    kind,
    version,
    readFigures,
    onFailure: (error) => log.warn({ err: error }, 'process.not_recorded'),
  });
  return { name: 'process record', stop };
}

/** Makes what reads a histogram, all of its labels together: what was observed since it was read before. */
function createReading(registry: Registry, name: string) {
  let before: Bucket[] = [];
  return async () => {
    const metric = await registry.getSingleMetric(name)?.get();
    const counts = new Map<number, number>();
    for (const { labels, value } of metric?.values ?? []) {
      if (!('le' in labels)) continue;
      const le = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
      counts.set(le, (counts.get(le) ?? 0) + value);
    }
    const after = [...counts].map(([le, count]) => ({ le, count }));
    const spread = spreadBetween(before, after);
    before = after;
    return spread;
  };
}
