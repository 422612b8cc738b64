import type { Job } from 'bullmq';
import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { openAnswers } from '../../models/checks/sealed-jobs.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import { createRegionCache } from '../../queues/enqueue-committed.ts';
import { QUEUES, type EvaluateJob, type ResultPayload } from '../../queues/payloads.ts';
import { evaluateDrills } from '../alerts/drills.ts';
import { PartlyEvaluated, createEvaluator, type EvaluationOutcome } from '../incidents/evaluate.ts';
import { announce, announceRechecks } from '../incidents/record-changes.ts';
import { SharedTransactions } from '../incidents/shared-transactions.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/** Maximum running jobs, which share transactions; those of a killed evaluator wait for their locks to expire. */
const JOBS_AT_ONCE = 64;

/**
 * Time until a killed evaluator's batch goes to another one, in milliseconds; both may process it, because repeats
 * change nothing (D-40).
 */
const LOCK_MS = 15_000;

/** Starts evaluating: batches of results become stored rows, transitions, incidents and deliveries. */
export async function startEvaluate(runtime: Runtime): Promise<RunningProcess> {
  const { database, backend, queues, log, metrics, now, recordActivity } = runtime;
  await createPartitions(database, now());
  const evaluate = createEvaluator({ database, now, newId: runtime.newId, publicUrl: runtime.publicUrl });
  const findRegions = createRegionCache(() => listCheckRegions(database));
  const open = ({ data: { results: sealed, readyAtMs }, id }: Job<EvaluateJob>): OpenedJob => {
    const results = openAnswers(database, sealed, (error, { monitorNo }) =>
      log.warn({ err: error, monitor_no: monitorNo, job_id: id }, 'evaluation.answer_not_opened'),
    );
    // Collecting a batch takes time by design, which does not count as lag.
    return { results, readyAtMs: readyAtMs ?? Math.min(...results.map((result) => result.finishedAtMs)) };
  };
  const transactions = new SharedTransactions(async (jobs: readonly OpenedJob[]) => {
    const { drills = [], checks = [] } = Object.groupBy(
      jobs.flatMap(({ results }) => results),
      ({ drillId }) => (drillId ? 'drills' : 'checks'),
    );
    const handOn = async (outcome: EvaluationOutcome) => {
      const readyAtMs = Math.min(...jobs.map((job) => job.readyAtMs));
      metrics.resultsStored({ count: outcome.stored, lagMs: now() - readyAtMs });
      await announce(runtime, outcome);
      await announceRechecks({ log, queues, findRegions }, outcome.rechecks);
    };
    const outcome = await evaluate(checks).catch(async (error: unknown) => {
      if (!(error instanceof PartlyEvaluated)) throw error;
      await handOn(error.outcome);
      throw error.cause;
    });
    await handOn(outcome);
    await evaluateDrills(runtime, drills);
    await recordActivity('evaluation', now());
    const { stored, transitions, rechecks } = outcome;
    return { jobs: jobs.length, stored, transitions: transitions.length, rechecks: rechecks.length };
  });
  const worker = backend.createWorker<EvaluateJob>(QUEUES.evaluate, async (job) => await transactions.add(open(job)), {
    concurrency: JOBS_AT_ONCE,
    lockDurationMs: LOCK_MS,
    onFailed: (job, error) =>
      log.error({ err: error, job_id: job?.id, attempt: job?.attemptsMade }, 'evaluation.failed'),
  });
  return { name: 'evaluate', stop: () => worker.close() };
}

/** Results of a job, with their answers; `readyAtMs` (Unix milliseconds) is when the batch was complete. */
type OpenedJob = { results: ResultPayload[]; readyAtMs: number };
