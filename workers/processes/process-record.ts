import type { Registry } from 'prom-client';
import { spreadBetween, type Bucket } from '../../core/statistics/latency-histogram.ts';
import { recordProcess, type ProcessFigures } from '../../models/system/processes.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';
import { EVALUATION_LAG, LATENESS } from '../system/metrics.ts';

/**
 * Keeps the row of a worker process up to date for operators, with how late its checks and how far behind its
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

/** Makes what reads a histogram without labels: what was observed since it was read before. */
function createReading(registry: Registry, name: string) {
  let before: Bucket[] = [];
  return async () => {
    const metric = await registry.getSingleMetric(name)?.get();
    const after = (metric?.values ?? []).flatMap(({ labels, value }) =>
      'le' in labels
        ? [{ le: labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']), count: value }]
        : [],
    );
    const spread = spreadBetween(before, after);
    before = after;
    return spread;
  };
}
