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

export type WatchDependencies = Pick<Runtime, 'database' | 'now'> & {
  metrics: Pick<WorkerMetrics, 'heartbeatsMissed' | 'resultsStored'>;
  evaluate: (results: readonly MeasuredResult[]) => Promise<EvaluationOutcome>;
  /** Hands on what was decided; the round does not wait for it. */
  announce: (outcome: EvaluationOutcome) => void;
};

/**
 * What a round did: deadlines that passed, and observations that were decided. `isAwake`: there are heartbeats that
 * wait for pings.
 */
export type WatchRound = { missed: number; decided: number; isAwake: boolean };

/**
 * Deadlines of one round, of all accounts, the earliest first. Several times what is decided in one: what is taken is
 * decided by turns of the accounts, and what is not taken waits for those before it, whosever they are.
 */
const MAX_TAKEN = 5000;

/** Observations that one round decides. */
const MAX_A_ROUND = 500;

/**
 * Observations of one account in a round: half of them, so that a round that is all one account's takes half as long.
 * Whoever comes meanwhile waits for its end.
 */
const MAX_OF_ACCOUNT = 250;

/** A run longer than this shows as this: what a result's latency can hold, in milliseconds (24 days). */
const MAX_LATENCY_MS = 2_147_483_647;

/**
 * Polls once for deadlines that passed and decides every observation of heartbeats (D-29), straight on
 * PostgreSQL: it works while the queues are away. A round that breaks off, or that another process makes at the same
 * time, changes nothing: results are known by their time.
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

/** True where more may be waiting than one round takes. */
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
