import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from 'bullmq';
import { DRILL_CAUSE } from '../../core/alerts/drill.ts';
import { describePreview } from '../../core/checks/preview.ts';
import { updateBehindAt } from '../../models/agents/shared-agents.ts';
import { findOpenAnswer } from '../../models/alerts/drills.ts';
import { claimRechecks, listDueChecks, storeCertificates } from '../../models/checks/checks.ts';
import { scheduleRechecks } from '../../models/checks/schedule.ts';
import { openPreviewTarget, sealAnswers, sealPreviewOutcome } from '../../models/checks/sealed-jobs.ts';
import type { Database } from '../../models/database.ts';
import { runOn } from '../../models/sql.ts';
import { machineAheadMs } from '../../models/system/service-clock.ts';
import type { HostPort } from '../../net/host-address.ts';
import { Checker } from '../../probes/checker.ts';
import { createHttpProbe } from '../../probes/http.ts';
import type { Probe } from '../../probes/probe.ts';
import { SelfCheck } from '../../probes/self-check.ts';
import { StallWatch } from '../../probes/stall-watch.ts';
import { giveJobBack } from '../../queues/job-queues.ts';
import {
  checkQueueName,
  type DrillJob,
  type PreviewJob,
  type PreviewReturn,
  type RegionJob,
} from '../../queues/payloads.ts';
import { RECHECK_EARLY_MS, slotBeginsAt } from '../../queues/schedules.ts';
import { ThrottledRecorder, type Runtime } from '../runtime.ts';
import { CertificateRecorder } from './certificate-recorder.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { RESULT_BATCH, ResultBatcher } from './result-batcher.ts';
import { CheckRunner, type TracedSource } from './run-checks.ts';

/** The account charged for previews that an older `web` enqueued, which name none. */
const UNNAMED_ACCOUNT = 'previews';

/**
 * Maximum ticks in progress; they mostly wait. It is more than one account's slow targets can occupy, because a tick
 * beyond the limit cannot wait its turn in `TickQueue`.
 */
const JOBS_AT_ONCE = 10_000;

/**
 * Maximum simultaneous probes; further ones start late rather than exhaust the machine's sockets. If as many wait in
 * addition, ticks read no more of them.
 */
const PROBES_AT_ONCE = 2000;

/** Maximum probes started in one turn of the event loop: some 20 ms of work. */
const PROBES_PER_TURN = 50;

/** Maximum rechecks claimed together: those that a killed worker had claimed wait for their tick. */
const RECHECKS_AT_ONCE = 500;

/**
 * Time until a killed worker's ticks go to another one, in milliseconds; a slot whose next tick was not yet added stops
 * until then.
 */
const LOCK_MS = 15_000;

/** How long new certificates wait to be stored together, in milliseconds after the first. */
const CERTIFICATES_WAIT_MS = 5000;

/** Completed ticks of a region that stay on the board. */
const KEEP_COMPLETED = 500;

/**
 * `selfCheckHosts` are contacted before bad results count when most have just turned bad (D-48); never if there are
 * none. `probesAtOnce` is the maximum of simultaneous probes.
 */
type CheckWork = {
  region: string;
  /** The agent that makes the region's checks. */
  source: TracedSource;
  probe: Probe;
  selfCheckHosts?: readonly HostPort[] | undefined;
  probesAtOnce?: number | undefined;
};

/**
 * Processes the check queue of a region with the given probe. `stop` takes no new tick, starts no check and lets
 * running ones finish; ticks and rechecks that have not begun return to the queue.
 */
export function workOnChecks(
  runtime: Runtime,
  { region, source, probe, selfCheckHosts = [], probesAtOnce = PROBES_AT_ONCE }: CheckWork,
): { stop: () => Promise<void> } {
  const { database, backend, metrics, log, now, recordActivity } = runtime;
  const certificates = new CertificateRecorder({
    store: (observed) => storeCertificates(database, observed),
    waitMs: CERTIFICATES_WAIT_MS,
    onFailure: (error) => log.warn({ err: error }, 'certificates.not_stored'),
    now,
  });
  const behind = openBehindRecorder(runtime);
  const limiter = new ConcurrencyLimiter({ concurrency: probesAtOnce, perTurn: PROBES_PER_TURN });
  const checker = openChecker(runtime, probe, selfCheckHosts);
  const batcher = openBatcher(runtime);
  const stopping = new AbortController();
  const waits = new Waits(now);
  const checks = new CheckRunner({
    listDueChecks: (slot) => listDueChecks(database, slot),
    claimRechecks: (agentNo) =>
      claimRechecks(database, { agentNo, nowMs: now() + RECHECK_EARLY_MS, limit: RECHECKS_AT_ONCE }),
    // The job returns to its queue even if this fails.
    scheduleRechecks: (rechecks) =>
      scheduleRechecks(runOn(database.pool), rechecks).catch((error: unknown) =>
        log.error({ err: error }, 'tick.failed'),
      ),
    limiter,
    checker,
    batcher,
    certificates,
    behind,
    metrics,
    recordFailedCheck: runtime.recordFailedCheck,
    source,
    log,
    now,
    waitUntil: (atMs) => waits.until(atMs),
    stopping: stopping.signal,
  });
  const run = async (job: Job<RegionJob>, token: string | undefined) => {
    const { data, id = '' } = job;
    if ('drillId' in data) return await answerDrill({ limiter, batcher, database, now }, data);
    if ('trialId' in data) return await runPreview({ limiter, checker, database, now }, data);
    const outcome =
      'looks' in data
        ? await checks.runRechecks(data.agentNo)
        : await checks.runTick(
            { agentNo: data.agentNo, intervalSeconds: data.intervalSeconds, slot: data.phase },
            slotBeginsAt(id),
          );
    if (outcome === null) return await giveJobBack(job, token);
    metrics.checksDropped(outcome.dropped);
    if (outcome.dropped > 0) await behind.record(data.agentNo, now());
    if (outcome.checks > 0) await recordActivity('checks', now());
    return outcome;
  };
  metrics.workerReopened(checkQueueName(region), 0);
  const worker = backend.createWorker<RegionJob>(checkQueueName(region), run, {
    concurrency: JOBS_AT_ONCE,
    lockDurationMs: LOCK_MS,
    keepCompleted: KEEP_COMPLETED,
    onFailed: (job, error) => log.error({ err: error, job_id: job?.id }, 'tick.failed'),
  });
  return {
    async stop() {
      const closed = worker.close();
      stopping.abort();
      waits.end();
      await closed;
      await certificates.close();
    },
  };
}

/** Records the agents that dropped checks for lack of time. */
function openBehindRecorder({ database, log }: Runtime): ThrottledRecorder<number> {
  return new ThrottledRecorder({
    async store(agentNo, nowMs) {
      log.warn({}, 'checks.behind');
      await updateBehindAt(database, agentNo, nowMs);
    },
    onFailure: (error) => log.warn({ err: error }, 'checks.behind_not_recorded'),
  });
}

function openBatcher({ database, queues, now }: Runtime): ResultBatcher {
  return new ResultBatcher({
    ...RESULT_BATCH,
    submit: (results, readyAtMs) => queues.enqueueResults(sealAnswers(database, results), readyAtMs),
    now,
    pause: (ms) => sleep(ms),
  });
}

function openChecker(runtime: Runtime, probe: Probe, selfCheckHosts: readonly HostPort[]): Checker {
  const { judge, log, now } = runtime;
  return new Checker({
    probe,
    probeCanary: createHttpProbe({ allowPrivateNetwork: true }),
    judge,
    stallWatch: new StallWatch(),
    selfCheck: openSelfCheckOf(runtime, selfCheckHosts),
    now,
    aheadMs: machineAheadMs,
    onCrash(error, monitorId) {
      if (monitorId === null) log.error({ err: error }, 'preview.crashed');
      else log.error({ err: error, monitor_id: monitorId }, 'check.crashed');
    },
  });
}

function openSelfCheckOf({ log, metrics, now }: Runtime, hosts: readonly HostPort[]): SelfCheck | null {
  if (hosts.length === 0) return null;
  return new SelfCheck({
    hosts,
    now,
    onChange(reachesAny) {
      metrics.selfCheckChanged(reachesAny);
      if (reachesAny) log.info({}, 'self_check.passed');
      else log.warn({ hosts: hosts.length }, 'self_check.failed');
    },
  });
}

/** Waits for given times, and can end all waits at once. */
class Waits {
  readonly #now: () => number;
  readonly #wakeUps = new Set<() => void>();
  #isOver = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Resolves at `atMs` (Unix milliseconds), or a millisecond earlier, because timers use a different clock. */
  async until(atMs: number): Promise<void> {
    const waitMs = atMs - this.#now();
    if (waitMs <= 0 || this.#isOver) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#wakeUps.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      this.#wakeUps.add(wake);
    });
  }

  /** Ends current and future waits. */
  end(): void {
    this.#isOver = true;
    for (const wake of this.#wakeUps) wake();
  }
}

type PreviewParts = {
  limiter: ConcurrencyLimiter;
  checker: Checker;
  database: Pick<Database, 'secrets'>;
  now: () => number;
};

/**
 * Checks the target of a draft once and seals the outcome for the waiting request. It is not stored. Null if the
 * request no longer waits.
 */
async function runPreview(
  { limiter, checker, database, now }: PreviewParts,
  { trialId: previewId, tenantId, sealedTarget, untilMs }: PreviewJob,
): Promise<PreviewReturn | null> {
  if (now() >= untilMs) return null;
  const target = openPreviewTarget(database, previewId, sealedTarget);
  const request = { target, inability: null, monitorId: null, identity: null, badVote: null };
  const account = tenantId ?? UNNAMED_ACCOUNT;
  await limiter.enter(account);
  const { observation, ...judged } = await checker.check(account, request).finally(() => limiter.leave(account));
  return { sealedOutcome: sealPreviewOutcome(database, previewId, describePreview({ target, observation, judged })) };
}

type AnswerParts = {
  limiter: Pick<ConcurrencyLimiter, 'enter' | 'leave'>;
  batcher: Pick<ResultBatcher, 'add'>;
  database: Pick<Database, 'pool'>;
  now: () => number;
};

/**
 * Answers for a location in a drill: submits what a failing check would, where a check would be made (D-546). The
 * target is not contacted. Null if the drill is over, or has the answer.
 */
async function answerDrill(
  { limiter, batcher, database, now }: AnswerParts,
  { drillId, agentNo, verdict }: DrillJob,
): Promise<{ monitors: string[] } | null> {
  const drill = await findOpenAnswer(database, { drillId, agentNo, verdict });
  if (drill === null) return null;
  await limiter.enter(drill.tenantId);
  const atMs = now();
  limiter.leave(drill.tenantId);
  const answer = {
    monitorNo: 0,
    agentNo,
    checksVersion: 0,
    dueAtMs: atMs,
    finishedAtMs: atMs,
    verdict,
    cause: verdict === 'up' ? null : DRILL_CAUSE,
    reason: null,
    latencyMs: null,
    httpStatus: null,
    phases: null,
    answer: null,
    drillId,
  };
  await batcher.add(answer, true);
  return { monitors: [`${drill.name}: drill, ${verdict}`] };
}
