import type { StoredAnswers } from '../core/checks/dns/judge.ts';
import type { Timings, Vote } from '../core/checks/verdict.ts';
import type { AnswerEvidence } from '../core/incidents/evidence.ts';

/** Every queue's name. Checks have a queue per shared agent, so that a region's work can live on a Redis of its own. */
export const QUEUES = { evaluate: 'evaluate', deliver: 'deliver', maintain: 'maintain', lookup: 'look-up' } as const;

/**
 * The region that stands for the service itself, which checks domain, dns and vendor monitors; no shared agent may be
 * called so.
 */
export const SERVICE_REGION = 'service';

/** The queue of the shared agent in `region`. */
export function checkQueueName(region: string): string {
  return `check-${region}`;
}

/*
 * Jobs keep the field names of earlier releases, which may still run beside this one: `phase` is a slot, `looks` marks
 * rechecks, `trialId` is a preview's id.
 */

/** A tick of one slot of an agent's interval: the worker reads which monitors stand in it. */
export type CheckJob = { agentNo: number; intervalSeconds: number; phase: number };

/** Rechecks of an agent, which do not wait for its ticks: the worker reads which monitors wait. */
export type RecheckJob = { agentNo: number; looks: true };

/**
 * One probe of a draft, for a request that waits for what it sees until `untilMs` (Unix milliseconds). It is stored
 * nowhere, so that the whole target is in the job, sealed, and what came of it is the job's return value, sealed as
 * well.
 */
export type PreviewJob = { trialId: string; tenantId?: string; sealedTarget: string; untilMs: number };
export type PreviewReturn = { sealedOutcome: string };

/** What a location is to answer in a drill (D-546), in place of a check. */
export type DrillJob = { drillId: string; agentNo: number; verdict: 'down' | 'up' };

/** What a region's check queue holds. */
export type RegionJob = CheckJob | RecheckJob | PreviewJob | DrillJob;

/**
 * What a check job came to, shown on the queue board: checks by verdict, and the names of the first 20 monitors.
 * `dropped`: checks left out because their tick came too late or was superseded, or the check before still waited.
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
 * `phases` only where they are stored (core/incidents/evidence.ts), `answer` only where it can be the first
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
  /** Of dns checks, where timings would be stored. */
  dnsAnswers?: StoredAnswers;
  /** An answer in this drill, and no check's: `monitorNo` is 0, so that an evaluator of an older release drops it. */
  drillId?: string;
};

/** A result in the queue: what it saw of an answer is sealed. A job of an older version may have it in `answer`. */
export type SealedResult = Omit<ResultPayload, 'answer'> & { answer: null; sealedAnswer?: string };

/**
 * Results are the only payload that is more than ids: they are not stored before the evaluator stores them. `readyAtMs`
 * (Unix milliseconds) is when a batch that waited for company was complete.
 */
export type EvaluateJob = { results: (ResultPayload & { sealedAnswer?: string })[]; readyAtMs?: number };

/**
 * These channels have deliveries that are due from `dueAtMs` on (Unix milliseconds). Which, the database says: the ids,
 * the first 20 at most, are there for people who look at the board. `isRetry`: each was attempted before; absent in
 * jobs of an older release.
 */
export type DeliverJob = { channelIds: string[]; dueAtMs: number; deliveryIds: string[]; isRetry?: true };

/**
 * What the form of a monitor needs at once: what stands at this vendor target (an id or a page's
 * URL). What is stored of it counts for the tenant; a web process of an older release names none.
 */
export type LookupJob = { target: string; tenantId?: string };

/** One run of a chore. */
export type MaintainJob = Record<string, never>;
