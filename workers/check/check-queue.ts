import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from 'bullmq';
import type { ScheduleSlot } from '../../core/schedule.ts';
import { updateBehindAt } from '../../models/agents.ts';
import { storeCertificates } from '../../models/certificates.ts';
import { listDueChecks, claimRechecks, type DueCheck } from '../../models/checks.ts';
import { sealAnswers } from '../../models/sealed-answers.ts';
import type { HostPort } from '../../net/host-port.ts';
import type { Probe } from '../../probes/index.ts';
import { openSelfCheck, type SelfCheck } from '../../probes/self-check.ts';
import { createStallWatch } from '../../probes/stall-watch.ts';
import { checkQueueName } from '../../queues/names.ts';
import type { RegionJob } from '../../queues/payloads.ts';
import { RECHECK_EARLY_MS } from '../../queues/rechecks.ts';
import { slotBeginsAt } from '../../queues/schedules.ts';
import type { Runtime } from '../runtime.ts';
import { createThrottledRecorder } from '../throttled-recorder.ts';
import { createCertificateRecorder } from './certificate-recorder.ts';
import { createConcurrencyLimiter } from './concurrency-limiter.ts';
import { createPreviewRunner } from './previews.ts';
import { createResultBatcher } from './result-batcher.ts';
import { createChecker, createRechecker, type CompletedCheck } from './run-checks.ts';

/**
 * Ticks in hand at a time: they mostly wait for their probes' moments and answers. More than slow targets of an account
 * can hold: a tick that is not in hand has no place in the line.
 */
const JOBS_AT_ONCE = 10_000;

/**
 * Probes under way at a time; beyond that they start late rather than exhaust the machine's sockets. Where as many wait
 * besides, ticks read no more of them.
 */
const PROBES_AT_ONCE = 2000;

/** Probes begun in one turn of the event loop: some 20 ms of work. */
const PROBES_PER_TURN = 50;

/** Rechecks that are claimed together: what a killed worker had taken waits for its tick. */
const RECHECKS_AT_ONCE = 500;

/**
 * A killed worker's ticks go to another one after this; a slot whose next tick was not yet added stands still until
 * then.
 */
const LOCK_MS = 15_000;

/** Results on their way to the evaluator: good ones in large batches, the others soon; delays in milliseconds. */
const BATCH = { maxResults: 500, maxDelayMs: 3000, urgentDelayMs: 50, urgentGapMs: 150 } as const;

/** New certificates are stored together, this many milliseconds after the first. */
const CERTIFICATES_WAIT_MS = 5000;

/** Completed ticks of a region that stay on the board. */
const KEEP_COMPLETED = 500;

/**
 * `selfCheckHosts` are asked before bad results count where most have just turned bad (D-48); none: never.
 * `probesAtOnce` is how many run at a time.
 */
export type CheckWork = {
  region: string;
  probe: Probe;
  selfCheckHosts?: readonly HostPort[] | undefined;
  probesAtOnce?: number | undefined;
};

/**
 * Works on the check queue of a region with the given probe. `stop` takes no new tick and lets those in hand finish.
 */
export function workOnChecks(
  runtime: Runtime,
  { region, probe, selfCheckHosts = [], probesAtOnce = PROBES_AT_ONCE }: CheckWork,
): { stop: () => Promise<void> } {
  const { database, backend, queues, judge, metrics, log, now, recordActivity } = runtime;
  const certificates = createCertificateRecorder({
    store: (observed) => storeCertificates(database, observed),
    waitMs: CERTIFICATES_WAIT_MS,
    onFailure: (error) => log.warn({ err: error }, 'certificates.not_stored'),
    now,
  });
  const recordBehind = createThrottledRecorder<number>({
    async record(agentNo, nowMs) {
      log.warn({}, 'checks.behind');
      await updateBehindAt(database, agentNo, nowMs);
    },
    onFailure: (error) => log.warn({ err: error }, 'checks.behind_not_recorded'),
  });
  const dependencies = {
    listDueChecks: (entry: ScheduleSlot) => listDueChecks(database, entry),
    probe,
    judge,
    watchStalls: createStallWatch(),
    selfCheck: openSelfCheckOf(runtime, selfCheckHosts),
    limiter: createConcurrencyLimiter({ concurrency: probesAtOnce, perTurn: PROBES_PER_TURN }),
    batcher: createResultBatcher({
      ...BATCH,
      submit: (results) => queues.enqueueResults(sealAnswers(database, results)),
      pause: (ms) => sleep(ms),
    }),
    now,
    waitUntil: (atMs: number) => untilMoment(atMs, now),
    onCheck(completed: CompletedCheck) {
      const { check: due, result, observation, latenessMs } = completed;
      certificates.record({ check: due, agentNo: result.agentNo, observation });
      metrics.checkCompleted({ type: due.target.type, verdict: result.verdict, latenessMs });
      if (log.isLevelEnabled('debug')) log.debug(checkFields(completed), 'check.completed');
    },
    onCrash: (due: DueCheck, error: unknown) => log.error({ err: error, monitor_id: due.monitorId }, 'check.crashed'),
    onBehind: (agentNo: number) => void recordBehind(agentNo, now()),
  };
  const runTick = createChecker(dependencies);
  const recheck = createRechecker(
    (agentNo) => claimRechecks(database, { agentNo, nowMs: now() + RECHECK_EARLY_MS, limit: RECHECKS_AT_ONCE }),
    dependencies,
  );
  const runPreview = createPreviewRunner({
    ...dependencies,
    database,
    onCrash: (error) => log.error({ err: error }, 'preview.crashed'),
  });
  const work = async ({ data, id = '' }: Job<RegionJob>) => {
    if ('trialId' in data) return await runPreview(data);
    const outcome = await ('looks' in data
      ? recheck(data.agentNo)
      : runTick({ agentNo: data.agentNo, intervalSeconds: data.intervalSeconds, slot: data.phase }, slotBeginsAt(id)));
    metrics.checksDropped(outcome.dropped);
    if (outcome.dropped > 0) await recordBehind(data.agentNo, now());
    if (outcome.checks > 0) await recordActivity('checks', now());
    return outcome;
  };
  const worker = backend.createWorker<RegionJob>(checkQueueName(region), work, {
    concurrency: JOBS_AT_ONCE,
    lockDurationMs: LOCK_MS,
    keepCompleted: KEEP_COMPLETED,
    onFailed: (job, error) => log.error({ err: error, job_id: job?.id }, 'tick.failed'),
  });
  return {
    async stop() {
      await worker.close();
      await certificates.close();
    },
  };
}

function openSelfCheckOf({ log, metrics, now }: Runtime, hosts: readonly HostPort[]): SelfCheck | null {
  if (hosts.length === 0) return null;
  return openSelfCheck({
    hosts,
    now,
    onChange(reachesAny) {
      metrics.selfCheckChanged(reachesAny);
      if (reachesAny) log.info({}, 'self_check.passed');
      else log.warn({ hosts: hosts.length }, 'self_check.failed');
    },
  });
}

/** Timers may fire a millisecond early by the wall clock; never a probe. */
function untilMoment(atMs: number, now: () => number): Promise<void> {
  const waitMs = atMs - now();
  return waitMs <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, waitMs));
}

function checkFields({ check, result, latenessMs }: CompletedCheck): object {
  return {
    monitor_id: check.monitorId,
    outcome: result.verdict,
    cause: result.cause,
    duration_ms: result.latencyMs,
    lateness_ms: latenessMs,
    http_status: result.httpStatus,
  };
}
