import { setTimeout as sleep } from 'node:timers/promises';
import { listDueChecks } from '../../models/checks.ts';
import { registerSharedAgent, touchAgent } from '../../models/agents.ts';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { createProbe } from '../../probes/index.ts';
import { checkQueueName } from '../../queues/names.ts';
import type { CheckJob } from '../../queues/payloads.ts';
import { phaseBeginsAt } from '../../queues/schedules.ts';
import { createGate } from '../check/gate.ts';
import { createResultBatcher } from '../check/result-batcher.ts';
import { createChecker, type CompletedCheck } from '../check/run-checks.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

export type CheckProcessOptions = { region: string; version: string; allowPrivateNetwork: boolean };

/** Ticks in hand at a time: they mostly wait for their probes' moments. */
const JOBS_AT_ONCE = 300;

/** Probes under way at a time; beyond that they start late rather than exhaust the machine's sockets. */
const PROBES_AT_ONCE = 2000;

/** A killed worker's ticks go to another one after this; a phase whose next tick was not yet added stands still until then. */
const LOCK_MS = 15_000;

/** Results on their way to the evaluator: good ones in large batches, the others soon; delays in milliseconds. */
const BATCH = { maxResults: 500, maxDelayMs: 1500, urgentDelayMs: 50 } as const;

/** A sign of life of the agent, every so often, in milliseconds. */
const TOUCH_EVERY_MS = 15_000;

/** Completed ticks of a region that stay on the board. */
const KEEP_COMPLETED = 500;

/** Starts the probes of one shared agent, which registers itself by its region. */
export async function startCheck(runtime: Runtime, options: CheckProcessOptions): Promise<RunningProcess> {
  const { database, backend, queues, metrics, now } = runtime;
  const { region, version } = options;
  const agent = await registerSharedAgent(database, { newId: runtime.newId('agt'), region, version, arch: process.arch, nowMs: now() });
  const log = runtime.log.child({ region, agent_id: agent.id });
  const check = createChecker({
    listDueChecks: (place) => listDueChecks(database, place),
    probe: createProbe({ allowPrivateNetwork: options.allowPrivateNetwork }),
    search: createPatternSearch(),
    gate: createGate(PROBES_AT_ONCE),
    batcher: createResultBatcher({ ...BATCH, submit: (results) => queues.enqueueResults(results), pause: (ms) => sleep(ms) }),
    now,
    waitUntil: (atMs) => untilMoment(atMs, now),
    onCheck(completed) {
      const { check: due, result, latenessMs } = completed;
      metrics.checkCompleted({ type: due.target.type, verdict: result.verdict, latenessMs });
      if (log.isLevelEnabled('debug')) log.debug(checkFields(completed), 'check.completed');
    },
    onCrash: (due, error) => log.error({ err: error, monitor_id: due.monitorId }, 'check.crashed'),
  });
  const worker = backend.createWorker<CheckJob>(checkQueueName(region), (job) => check(job.data, phaseBeginsAt(job.id ?? '')), {
    concurrency: JOBS_AT_ONCE,
    lockDurationMs: LOCK_MS,
    keepCompleted: KEEP_COMPLETED,
  });
  worker.on('failed', (job, error) => log.error({ err: error, job_id: job?.id }, 'tick.failed'));
  const touching = setInterval(() => {
    touchAgent(database, agent.no, now()).catch((error: unknown) => log.warn({ err: error }, 'agent.not_touched'));
  }, TOUCH_EVERY_MS);
  return {
    name: `check ${region}`,
    async stop() {
      clearInterval(touching);
      await worker.close();
    },
  };
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
