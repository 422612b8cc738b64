import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Vote } from '../../core/checks/verdict.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { SharedCalls } from '../../core/shared-calls.ts';
import { GAP_KINDS, type GapKind } from '../../core/statistics/service-gaps.ts';
import { within } from '../../core/time.ts';
import type { OverdueDeliveries } from '../../models/alerts/deliveries.ts';
import { MAIL_TROUBLES } from '../../notifications/email/outcome.ts';
import { CHORES } from '../../queues/job-queues.ts';
import { QUEUES } from '../../queues/payloads.ts';

/** Metrics of the workers. Names are a contract with dashboards. */
export type WorkerMetrics = {
  checkCompleted(check: { type: MonitorType; verdict: Vote; region: string; latenessMs: number }): void;
  checksDropped(count: number): void;
  resultsStored(stored: { count: number; lagMs: number }): void;
  transitioned(to: string): void;
  deliveryAttempted(outcome: string, durationMs: number): void;
  mailServerFailed(trouble: string): void;
  choreCompleted(chore: string, outcome: { durationMs: number; failed: boolean }): void;
  schedulesMended(count: number): void;
  hoursRolled(rolled: { hours: number; lagMs: number }): void;
  rollupSourcesFailed(count: number): void;
  rollupsSetAside(count: number): void;
  deliveriesMended(count: number): void;
  serviceGapBegan(kind: GapKind): void;
  serviceGapEnded(kind: GapKind, durationMs: number): void;
  selfCheckChanged(reachesAny: boolean): void;
  heartbeatsMissed(count: number): void;
  agentsChanged(to: 'offline' | 'online', count: number): void;
  /** `count` 0 initializes the count of a queue, so that the first reopening is a change. */
  workerReopened(queue: string, count?: number): void;
};

/** The two metrics that are also shown to operators. */
export const LATENESS = 'spotcheck_check_lateness_seconds';
export const EVALUATION_LAG = 'spotcheck_evaluation_lag_seconds';

/** Returns the end of the oldest hour that is not rolled up, in Unix milliseconds; null if there is none. */
type UnrolledSince = () => Promise<number | null>;

/** Registers the workers' metrics. The lag of roll-ups is read with each scrape. */
export function createWorkerMetrics(registry: Registry, unrolledSinceMs: UnrolledSince): WorkerMetrics {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  type Own<Label> = { buckets: number[]; labelNames?: Label[] };
  const histogram = <Label extends string = never>(name: string, help: string, own: Own<Label>) =>
    new Histogram({ name, help, ...own, registers });
  const checks = counter('spotcheck_checks_total', 'Checks, by monitor type and verdict', ['type', 'verdict']);
  const dropped = counter(
    'spotcheck_checks_dropped_total',
    'Checks skipped because the next check of the monitor was closer or already due',
  );
  const lateness = histogram(LATENESS, 'Delay between the due time of a check and the start of its probe', {
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 60],
    labelNames: ['region'],
  });
  const stored = counter('spotcheck_results_stored_total', 'Check results stored');
  const lag = histogram(EVALUATION_LAG, 'Time from a complete batch of results to its evaluation and storage', {
    buckets: [0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 5, 15, 60],
  });
  const transitions = counter('spotcheck_transitions_total', 'Monitor status changes', ['to']);
  const deliveries = counter('spotcheck_delivery_attempts_total', 'Delivery attempts, by outcome', ['outcome']);
  for (const outcome of ['delivered', 'retry', 'failed']) deliveries.inc({ outcome }, 0);
  const deliverySeconds = histogram('spotcheck_delivery_attempt_seconds', 'Duration of delivery attempts', {
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 8, 10],
  });
  const mailFailures = counter(
    'spotcheck_mail_server_failures_total',
    'Emails that the mail server did not take for a reason of its own, by reason',
    ['trouble'],
  );
  for (const trouble of MAIL_TROUBLES) mailFailures.inc({ trouble }, 0);
  const chores = counter('spotcheck_chores_total', 'Maintenance chores, by outcome', ['chore', 'outcome']);
  for (const chore of CHORES) chores.inc({ chore, outcome: 'failed' }, 0);
  const choreSeconds = gauge('spotcheck_chore_seconds', 'Duration of the last run of a maintenance chore', ['chore']);
  const mended = counter('spotcheck_schedules_mended_total', 'Job schedulers added or removed by the reconcile chore');
  const rolled = counter('spotcheck_rollups_total', 'Hourly roll-ups written');
  const rollupLag = createRollupLag(registers, unrolledSinceMs);
  const rollupFailures = counter(
    'spotcheck_rollup_failures_total',
    'Failed roll-ups of one hour of one source, including repeated failures',
  );
  const setAside = gauge('spotcheck_rollups_set_aside', 'Hours of one source whose failed roll-up will be retried');
  const mendedDeliveries = counter(
    'spotcheck_deliveries_mended_total',
    'Overdue deliveries enqueued again by the reconcile chore',
  );
  const gaps = counter('spotcheck_service_gaps_total', 'Monitoring gaps of the service itself, counted when detected', [
    'kind',
  ]);
  const gapSeconds = counter(
    'spotcheck_service_gap_seconds_total',
    'Duration of monitoring gaps of the service itself, counted when they end',
    ['kind'],
  );
  for (const kind of GAP_KINDS) for (const each of [gaps, gapSeconds]) each.inc({ kind }, 0);
  const cutOff = counter(
    'spotcheck_self_check_failures_total',
    'Failed self-checks: a check process could reach none of its reference hosts',
  );
  const missed = counter(
    'spotcheck_heartbeats_missed_total',
    'Heartbeat deadlines that passed: missed pings and overlong runs',
  );
  const agents = counter('spotcheck_agent_changes_total', 'Agents that went offline or came back online', ['to']);
  const reopened = counter(
    'spotcheck_queue_workers_reopened_total',
    'Redis workers reopened because they took no jobs while jobs were waiting',
    ['queue'],
  );
  for (const queue of Object.values(QUEUES)) reopened.inc({ queue }, 0);
  return {
    checkCompleted({ type, verdict, region, latenessMs }) {
      checks.inc({ type, verdict });
      lateness.observe({ region }, Math.max(0, latenessMs) / 1000);
    },
    checksDropped: (count) => dropped.inc(count),
    resultsStored({ count, lagMs }) {
      stored.inc(count);
      lag.observe(Math.max(0, lagMs) / 1000);
    },
    transitioned: (to) => transitions.inc({ to }),
    deliveryAttempted(outcome, durationMs) {
      deliveries.inc({ outcome });
      deliverySeconds.observe(durationMs / 1000);
    },
    mailServerFailed: (trouble) => mailFailures.inc({ trouble }),
    choreCompleted(chore, { durationMs, failed }) {
      chores.inc({ chore, outcome: failed ? 'failed' : 'done' });
      choreSeconds.set({ chore }, durationMs / 1000);
    },
    schedulesMended: (count) => mended.inc(count),
    hoursRolled({ hours, lagMs }) {
      rolled.inc(hours);
      rollupLag.learn(Date.now() - lagMs);
    },
    rollupSourcesFailed: (count) => rollupFailures.inc(count),
    rollupsSetAside: (count) => setAside.set(count),
    deliveriesMended: (count) => mendedDeliveries.inc(count),
    serviceGapBegan: (kind) => gaps.inc({ kind }),
    serviceGapEnded: (kind, durationMs) => gapSeconds.inc({ kind }, durationMs / 1000),
    selfCheckChanged: (reachesAny) => cutOff.inc(reachesAny ? 0 : 1),
    heartbeatsMissed: (count) => missed.inc(count),
    agentsChanged: (to, count) => agents.inc({ to }, count),
    workerReopened: (queue, count = 1) => reopened.inc({ queue }, count),
  };
}

/** Returns when a ping last arrived at each address of the canary, in Unix milliseconds; null if never. */
type CanaryPings = () => Promise<readonly { name: string; pingedAtMs: number | null }[]>;

/**
 * Registers when pings of the canary last arrived, read with each scrape: if pings stop, only the age of this value
 * shows it.
 */
export function registerCanaryMetric(registry: Registry, read: CanaryPings): void {
  const reading = keepReading<Awaited<ReturnType<CanaryPings>>>(read, []);
  const gauge = new Gauge({
    name: 'spotcheck_canary_last_success_timestamp_seconds',
    help: 'When a ping of the canary last arrived at an address, in Unix seconds; 0 = never',
    labelNames: ['address'],
    registers: [registry],
    async collect() {
      const pings = await reading();
      gauge.reset();
      for (const { name, pingedAtMs } of pings) gauge.set({ address: name }, (pingedAtMs ?? 0) / 1000);
    },
  });
}

/** Readings of `maintain` from PostgreSQL with each scrape. */
type ServiceReadings = {
  readOverdue: () => Promise<OverdueDeliveries>;
  /** Returns when the newest gap of each kind ended, in Unix milliseconds. */
  readLastGaps: () => Promise<readonly { kind: GapKind; endMs: number }[]>;
};

/**
 * Registers metrics that only PostgreSQL has: waiting deliveries that no worker counts, and gaps while no worker ran.
 */
export function registerServiceMetrics(registry: Registry, { readOverdue, readLastGaps }: ServiceReadings): void {
  const registers = [registry];
  // Absent rather than 0 if unknown: `absent()` has its own alert.
  const overdue = keepReading<OverdueDeliveries | null>(() => readOverdue().catch(() => null), null);
  const count = new Gauge({
    name: 'spotcheck_deliveries_overdue',
    help: 'Deliveries due for 10 s or longer that no worker sends, 1000 at most',
    registers,
    async collect() {
      const read = await overdue();
      if (read === null) count.remove();
      else count.set(read.deliveries);
    },
  });
  const oldest = new Gauge({
    name: 'spotcheck_delivery_oldest_overdue_seconds',
    help: 'Seconds for which the oldest overdue delivery has been due; 0 = none',
    registers,
    async collect() {
      const read = await overdue();
      if (read === null) oldest.remove();
      else oldest.set(read.oldestDueAtMs === null ? 0 : Math.max(0, Date.now() - read.oldestDueAtMs) / 1000);
    },
  });
  const gaps = keepReading<Awaited<ReturnType<ServiceReadings['readLastGaps']>>>(readLastGaps, []);
  const lastGap = new Gauge({
    name: 'spotcheck_service_gap_last_timestamp_seconds',
    help: 'When the newest monitoring gap of the service ended, or now while it lasts, in Unix seconds; 0 = never',
    labelNames: ['kind'],
    registers,
    async collect() {
      const ends = new Map((await gaps()).map(({ kind, endMs }) => [kind, endMs]));
      for (const kind of GAP_KINDS) lastGap.set({ kind }, (ends.get(kind) ?? 0) / 1000);
    },
  });
}

/** Shares a reading among the metrics of a scrape; if it fails or takes too long, the previous one stays. */
function keepReading<Reading>(read: () => Promise<Reading>, none: Reading): () => Promise<Reading> {
  let known = none;
  const calls = new SharedCalls(async () => (known = await read().catch(() => known)));
  return async () => await within(READING_WAIT_MS, calls.run(), known);
}

/** How long a scrape waits for PostgreSQL, in milliseconds; after that it uses the last reading. */
const READING_WAIT_MS = 1000;

/**
 * Creates the gauge of the roll-ups' lag, which grows between runs, while they fail, and if there is none at all.
 * `learn` sets a known time.
 */
function createRollupLag(registers: Registry[], ask: UnrolledSince): { learn: (sinceMs: number) => void } {
  let sinceMs: number | null = null;
  const gauge = new Gauge({
    name: 'spotcheck_rollup_lag_seconds',
    help: 'Seconds since the end of the oldest hour without a roll-up; 0 = none',
    registers,
    async collect() {
      sinceMs = await within(
        READING_WAIT_MS,
        ask().catch(() => sinceMs),
        sinceMs,
      );
      gauge.set(sinceMs === null ? 0 : Math.max(0, Date.now() - sinceMs) / 1000);
    },
  });
  return { learn: (newSinceMs) => (sinceMs = newSinceMs) };
}
