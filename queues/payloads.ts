import type { StoredAnswers } from '../core/checks/dns/judge.ts';
import type { Timings, Vote } from '../core/checks/verdict.ts';
import type { AnswerEvidence } from '../core/incidents/evidence.ts';

/** Names of all queues. Checks have a queue per shared agent, so that a region's work can live in its own Redis. */
export const QUEUES = { evaluate: 'evaluate', deliver: 'deliver', maintain: 'maintain', lookup: 'look-up' } as const;

/**
 * Name of the region for the service itself, which checks domain, dns and vendor monitors; no shared agent may use it.
 */
export const SERVICE_REGION = 'service';

/** Returns the name of the queue of the shared agent in `region`. */
export function checkQueueName(region: string): string {
  return `check-${region}`;
}

/*
 * Jobs keep the field names of earlier releases, which may still run beside this one: `phase` is a slot, `looks` marks
 * rechecks, `trialId` is a preview's id.
 */

/** A tick of one slot of an agent's interval: the worker reads which monitors are in the slot. */
export type CheckJob = { agentNo: number; intervalSeconds: number; phase: number };

/** Rechecks of an agent, which do not wait for its ticks: the worker reads which monitors have one due. */
type RecheckJob = { agentNo: number; looks: true };

/**
 * One probe of a draft, for a request that waits for its outcome until `untilMs` (Unix milliseconds). It is not stored,
 * so the job contains the whole target, sealed, and its return value is the outcome, also sealed.
 */
export type PreviewJob = { trialId: string; tenantId?: string; sealedTarget: string; untilMs: number };
export type PreviewReturn = { sealedOutcome: string };

/** The verdict that a location is to answer with in a drill (D-546), instead of making a check. */
export type DrillJob = { drillId: string; agentNo: number; verdict: 'down' | 'up' };

/** Jobs of a region's check queue. */
export type RegionJob = CheckJob | RecheckJob | PreviewJob | DrillJob;

/**
 * Summary of a check job for the queue board: checks by verdict, and the names of the first 20 monitors. `dropped`:
 * checks skipped because their tick came too late or was superseded, or the previous check still waited.
 */
export type CheckOutcome = {
  checks: number;
  up: number;
  degraded: number;
  down: number;
  none: number;
  dropped: number;
  monitors: string[];
};

/**
 * One measured result on its way to the evaluator. Times are Unix milliseconds, `latencyMs` and `phases` are rounded.
 * `phases` are present only if they are stored (core/incidents/evidence.ts), `answer` only if it can be the first
 * failure of its source.
 */
export type ResultPayload = {
  monitorNo: number;
  agentNo: number;
  checksVersion: number;
  dueAtMs: number;
  finishedAtMs: number;
  verdict: Vote;
  cause: string | null;
  reason: string | null;
  latencyMs: number | null;
  httpStatus: number | null;
  phases: Timings | null;
  answer: AnswerEvidence | null;
  /** Of dns checks, present where timings would be stored. */
  dnsAnswers?: StoredAnswers;
  /**
   * The drill that this answers, which makes it no check: `monitorNo` is 0, so that an evaluator of an older release
   * drops it.
   */
  drillId?: string;
};

/** A result in the queue, with its answer sealed. A job of an older version may have it in `answer`. */
export type SealedResult = Omit<ResultPayload, 'answer'> & { answer: null; sealedAnswer?: string };

/**
 * Results are the only payload with more than ids, since only the evaluator stores them. `readyAtMs` (Unix
 * milliseconds) is when a batch that waited for more results was complete.
 */
export type EvaluateJob = { results: (ResultPayload & { sealedAnswer?: string })[]; readyAtMs?: number };

/**
 * Channels that have deliveries due from `dueAtMs` on (Unix milliseconds). The worker reads those from the database:
 * the ids, at most the first 20, are for readers of the board. `isRetry`: each was attempted before; absent in jobs of
 * an older release.
 */
export type DeliverJob = { channelIds: string[]; dueAtMs: number; deliveryIds: string[]; isRetry?: true };

/**
 * A lookup that the monitor form waits for, of a vendor target (an id or a page's URL). Stored results count for the
 * tenant; a web process of an older release names none.
 */
export type LookupJob = { target: string; tenantId?: string };

/** One run of a chore. */
export type MaintainJob = Record<string, never>;
