import { judgeHeartbeat } from '../../core/heartbeats/judge.ts';
import type { MeasuredResult } from '../../models/checks/check-results.ts';
import {
  deleteObservations,
  listPendingObservations,
  pollHeartbeats,
  takeMissed,
  type PendingObservation,
} from '../../models/heartbeats/watch.ts';
import { runOn } from '../../models/sql.ts';
import { PartlyEvaluated, type EvaluationOutcome } from '../incidents/evaluate.ts';
import type { Runtime } from '../runtime.ts';
import type { WorkerMetrics } from '../system/metrics.ts';

type WatchDependencies = Pick<Runtime, 'database' | 'now'> & {
  metrics: Pick<WorkerMetrics, 'heartbeatsMissed' | 'resultsStored'>;
  evaluate: (results: readonly MeasuredResult[]) => Promise<EvaluationOutcome>;
  /** Announces the outcome; the round does not wait for it. */
  announce: (outcome: EvaluationOutcome) => void;
};

/**
 * Result of a round: missed deadlines, and decided observations. `isAwake`: there are heartbeats that wait for pings.
 */
export type WatchRound = { missed: number; decided: number; isAwake: boolean };

/**
 * Maximum deadlines taken in one round, of all accounts, earliest first. It is several times the number decided in one:
 * taken deadlines are decided by turns of the accounts, while the others wait for all earlier ones, of any account.
 */
const MAX_TAKEN = 5000;

/** Maximum observations that one round decides. */
const MAX_A_ROUND = 500;

/**
 * Maximum observations of one account in a round: half of them, so that a round of a single account takes half as long.
 * Later observations wait for the end of the round.
 */
const MAX_OF_ACCOUNT = 250;

/** Duration that a longer run is shown with: the limit of a result's latency, in milliseconds (24 days). */
const MAX_LATENCY_MS = 2_147_483_647;

/**
 * Polls once for missed deadlines and decides every observation of heartbeats (D-29). It uses only PostgreSQL, so it
 * works while the queues are away. A round that is interrupted, or simultaneous with another process's, is harmless:
 * results are identified by their time.
 */
export async function watchHeartbeats(dependencies: WatchDependencies): Promise<WatchRound> {
  const status = await pollHeartbeats(dependencies.database);
  if (status !== 'due') return { missed: 0, decided: 0, isAwake: status === 'quiet' };
  const run = runOn(dependencies.database.pool);
  const missed = await takeMissed(run, MAX_TAKEN);
  if (missed > 0) dependencies.metrics.heartbeatsMissed(missed);
  const pending = await listPendingObservations(run, { limit: MAX_A_ROUND, ofAccount: MAX_OF_ACCOUNT });
  if (pending.length > 0) {
    const outcome = await dependencies.evaluate(pending.map(resultOf)).catch((error: unknown) => {
      if (!(error instanceof PartlyEvaluated)) throw error;
      dependencies.announce(error.outcome);
      throw error.cause;
    });
    await deleteObservations(run, pending);
    const oldestMs = Math.min(...pending.map(({ observation }) => observation.startedAt));
    dependencies.metrics.resultsStored({ count: outcome.stored, lagMs: dependencies.now() - oldestMs });
    dependencies.announce(outcome);
  }
  return { missed, decided: pending.length, isAwake: true };
}

/** Reports whether more may be waiting than one round takes. */
export function isFull({ missed, decided }: Pick<WatchRound, 'missed' | 'decided'>): boolean {
  return missed === MAX_TAKEN || decided >= MAX_OF_ACCOUNT;
}

function resultOf({ monitorNo, agentNo, checksVersion, observation, settings }: PendingObservation): MeasuredResult {
  const { verdict, cause, reason } = judgeHeartbeat({ observation, settings });
  const latencyMs = observation.latencyMs === null ? null : Math.min(observation.latencyMs, MAX_LATENCY_MS);
  return {
    monitorNo,
    agentNo,
    checksVersion,
    dueAtMs: observation.startedAt,
    verdict,
    cause,
    reason,
    latencyMs,
    httpStatus: null,
    phases: null,
    answer: null,
  };
}
