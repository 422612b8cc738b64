import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { spreadBetween, type Bucket } from '../../core/statistics/latency-histogram.ts';
import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { countOverdueDeliveries } from '../../models/alerts/deliveries.ts';
import { closeDatabase, openDatabase } from '../../models/database.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { createSecretBox, type SecretKey } from '../../models/secrets/secret-box.ts';
import { runOn } from '../../models/sql.ts';
import { unrolledSinceMs } from '../../models/statistics/rollups.ts';
import { lastServiceGaps } from '../../models/statistics/service-gaps.ts';
import { listCanaryAddresses } from '../../models/system/canary-addresses.ts';
import { recordProcess, type ProcessFigures } from '../../models/system/processes.ts';
import { runServiceClock, type ClockName } from '../../models/system/service-clock.ts';
import { upsertActivity, type Activity } from '../../models/system/service-marks.ts';
import { Judge } from '../../probes/judging/judge.ts';
import { openQueueBackend } from '../../queues/connection.ts';
import { JobQueues } from '../../queues/job-queues.ts';
import { registerQueueMetrics } from '../../queues/metrics.ts';
import type { Telemetry, TelemetryOptions } from '../../telemetry/start.ts';
import { ThrottledRecorder, type RunningProcess, type Runtime } from '../runtime.ts';
import {
  EVALUATION_LAG,
  LATENESS,
  createWorkerMetrics,
  registerCanaryMetric,
  registerServiceMetrics,
} from '../system/metrics.ts';

/** Starts telemetry, whose code is loaded only if it is configured; null without settings. */
export async function openTelemetry(
  settings: TelemetryOptions['settings'] | null,
  options: Omit<TelemetryOptions, 'settings'>,
): Promise<Telemetry | null> {
  if (settings === null) return null;
  const { startTelemetry } = await import('../../telemetry/start.ts');
  return startTelemetry({ ...options, settings });
}

/**
 * Starts keeping the service's time in a worker process, before any part uses it. A clock that was set is logged,
 * counted and passed to the listeners. `settles` is for the process that does the chores: it repairs the consequences.
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
 * Keeps the row of a worker process up to date for operators. It records how late its checks and how far behind its
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

/**
 * Creates the function that reads a histogram, all of its labels together: its observations since the previous reading.
 */
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

/** Registers the metrics that one process shows for the whole service, from PostgreSQL. */
export function showServiceMetrics({ database, now }: Pick<Runtime, 'database' | 'now'>, registry: Registry): void {
  registerServiceMetrics(registry, {
    readOverdue: () => countOverdueDeliveries(database, now()),
    readLastGaps: () => lastServiceGaps(runOn(database.pool), now()),
  });
}

type RuntimeOptions = {
  databaseUrl: string;
  /** Null for queues in PostgreSQL. */
  redisUrl: string | null;
  /** Prefix of Redis keys; only tests share a Redis. */
  queuePrefix?: string;
  secretKeys: readonly SecretKey[];
  publicUrl: string;
  log: Logger;
  registry: Registry;
  /** Absent or null if spans of failed checks are not sent. */
  recordFailedCheck?: Runtime['recordFailedCheck'];
  /**
   * Timeout of a connection, and of a queue's call, in milliseconds; only tests set it, on machines that are
   * temporarily slow.
   */
  acquireTimeoutMs?: number;
};

/** Maximum connections, opened on demand: in an alert storm dozens of attempts and the evaluator share them. */
const POOL_SIZE = 12;

/** Opens the runtime of worker processes; call `close` after they have stopped. Connections are opened on demand. */
export function openRuntime(options: RuntimeOptions): { runtime: Runtime; close: () => Promise<void> } {
  const { databaseUrl, redisUrl, log, registry } = options;
  const database = openDatabase({
    databaseUrl,
    secrets: createSecretBox(options.secretKeys),
    poolSize: POOL_SIZE,
    ...(options.acquireTimeoutMs !== undefined && { acquireTimeoutMs: options.acquireTimeoutMs }),
    onError: (error) => log.warn({ err: error }, 'database.connection_lost'),
  });
  const metrics = createWorkerMetrics(registry, () => unrolledSinceMs(runOn(database.pool)));
  registerCanaryMetric(registry, () => listCanaryAddresses(database));
  const backend = openQueueBackend({
    databaseUrl,
    redisUrl,
    ...(options.queuePrefix !== undefined && { prefix: options.queuePrefix }),
    ...(options.acquireTimeoutMs !== undefined && { commandTimeoutMs: options.acquireTimeoutMs }),
    onError: (error) => log.warn({ err: error }, 'queue.error'),
    onWorkerReopened(queue) {
      log.warn({ queue }, 'queue.worker_reopened');
      metrics.workerReopened(queue);
    },
  });
  const queues = new JobQueues(backend);
  registerQueueMetrics(registry, queues, () => listCheckRegions(database));
  const judge = new Judge();
  const activities = new ThrottledRecorder<Activity>({
    store: (name, nowMs) => upsertActivity(database, name, nowMs),
    onFailure: (error) => log.warn({ err: error }, 'service.activity_not_recorded'),
  });
  const runtime = {
    database,
    backend,
    queues,
    judge,
    log,
    metrics,
    recordActivity: (name: Activity, nowMs: number) => activities.record(name, nowMs),
    recordFailedCheck: options.recordFailedCheck ?? null,
    newId: createIdSource(),
    now: Date.now,
    publicUrl: options.publicUrl,
    clockListeners: new Set<(clock: ClockName, byMs: number) => void>(),
  };
  return {
    runtime,
    async close() {
      await judge.close();
      await queues.close();
      await backend.close();
      await closeDatabase(database);
    },
  };
}
