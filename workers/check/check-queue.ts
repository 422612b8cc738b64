import { setTimeout as sleep } from 'node:timers/promises';
import { listDueChecks } from '../../models/checks.ts';
import type { Probe } from '../../probes/index.ts';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { checkQueueName } from '../../queues/names.ts';
import type { CheckJob } from '../../queues/payloads.ts';
import { phaseBeginsAt } from '../../queues/schedules.ts';
import type { Runtime } from '../runtime.ts';
import { createGate } from './gate.ts';
import { createResultBatcher } from './result-batcher.ts';
import { createChecker, type CompletedCheck } from './run-checks.ts';

/** Ticks in hand at a time: they mostly wait for their probes' moments. */
const JOBS_AT_ONCE = 300;

/** Probes under way at a time; beyond that they start late rather than exhaust the machine's sockets. */
const PROBES_AT_ONCE = 2000;

/** A killed worker's ticks go to another one after this; a phase whose next tick was not yet added stands still until then. */
const LOCK_MS = 15_000;

/** Results on their way to the evaluator: good ones in large batches, the others soon; delays in milliseconds. */
const BATCH = { maxResults: 500, maxDelayMs: 1500, urgentDelayMs: 50 } as const;

/** Completed ticks of a region that stay on the board. */
const KEEP_COMPLETED = 500;

/** Works on the check queue of a region with the given probe. `stop` takes no new tick and lets those in hand finish. */
export function workOnChecks(runtime: Runtime, { region, probe }: { region: string; probe: Probe }): { stop: () => Promise<void> } {
  const { database, backend, queues, metrics, log, now } = runtime;
  const check = createChecker({
    listDueChecks: (place) => listDueChecks(database, place),
    probe,
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
  return { stop: () => worker.close() };
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
