import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { openAnswers } from '../../models/checks/sealed-jobs.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import { createRegionCache } from '../../queues/enqueue-committed.ts';
import { QUEUES, type EvaluateJob } from '../../queues/payloads.ts';
import { evaluateDrills } from '../alerts/drills.ts';
import { createEvaluator } from '../incidents/evaluate.ts';
import { announce, announceRechecks } from '../incidents/record-changes.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/** Batches in hand at a time: one computes while the other waits for PostgreSQL. */
const BATCHES_AT_ONCE = 2;

/** A killed evaluator's batch goes to another one after this; both may work on it, repeats change nothing (D-40). */
const LOCK_MS = 15_000;

/** Starts deciding: batches of results become stored rows, transitions, incidents and deliveries. */
export async function startEvaluate(runtime: Runtime): Promise<RunningProcess> {
  const { database, backend, queues, log, metrics, now, recordActivity } = runtime;
  await createPartitions(database, now());
  const evaluate = createEvaluator({ database, now, newId: runtime.newId, publicUrl: runtime.publicUrl });
  const findRegions = createRegionCache(() => listCheckRegions(database));
  const worker = backend.createWorker<EvaluateJob>(
    QUEUES.evaluate,
    async (job) => {
      const results = openAnswers(database, job.data.results, (error, { monitorNo }) =>
        log.warn({ err: error, monitor_no: monitorNo, job_id: job.id }, 'evaluation.answer_not_opened'),
      );
      const { drills = [], checks = [] } = Object.groupBy(results, ({ drillId }) => (drillId ? 'drills' : 'checks'));
      const outcome = await evaluate(checks);
      // The time in which a batch collects results is meant, and no lag.
      const { readyAtMs = Math.min(...results.map((result) => result.finishedAtMs)) } = job.data;
      metrics.resultsStored({ count: outcome.stored, lagMs: now() - readyAtMs });
      await announce(runtime, outcome);
      await announceRechecks({ log, queues, findRegions }, outcome.rechecks);
      await evaluateDrills(runtime, drills);
      await recordActivity('evaluation', now());
      return { stored: outcome.stored, transitions: outcome.transitions.length, rechecks: outcome.rechecks.length };
    },
    {
      concurrency: BATCHES_AT_ONCE,
      lockDurationMs: LOCK_MS,
      onFailed: (job, error) =>
        log.error({ err: error, job_id: job?.id, attempt: job?.attemptsMade }, 'evaluation.failed'),
    },
  );
  return { name: 'evaluate', stop: () => worker.close() };
}
