import type { JudgedCondition } from '../core/checks/judging.ts';
import type { Observation } from '../core/checks/observation.ts';
import { discountClock, discountStall } from '../core/checks/own-faults.ts';
import { traceparentOf, type TraceIds } from '../core/checks/trace-context.ts';
import type { Judgement, Verdict } from '../core/checks/verdict.ts';
import { extractAnswerEvidence, isFirstFailure, type AnswerEvidence } from '../core/incidents/evidence.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { CANARY } from '../core/system/canary.ts';
import { OutOfBodyMemory, holdingBodies } from '../net/body-budget.ts';
import { LookupsBusy } from '../net/failure.ts';
import type { Judge } from './judging/judge.ts';
import type { Probe } from './probe.ts';
import type { SelfCheck } from './self-check.ts';
import type { StallWatch } from './stall-watch.ts';

/** A check to run. An `inability`, a sentence, prevents it; without a target there is one. */
export type CheckRequest = {
  target: CheckTarget | null;
  inability: string | null;
  /** Null for a preview, which has no self-check. */
  monitorId: string | null;
  /** Identifies the monitor in its present version; null for a preview. */
  identity: string | null;
  /**
   * Bad verdict that already counts for the monitor's source; null if it has none. The response is evidence if the
   * verdict is new.
   */
  badVote: Verdict | null;
  /** Returns the ids of the check's trace for its start time; absent for a preview, which has none. */
  traceAt?: (startedAtMs: number) => TraceIds;
};

/**
 * A check as it counts; the observation is null if nothing could be observed, the answer if it is not evidence. Times
 * are Unix milliseconds.
 */
export type Checked = {
  startedAtMs: number;
  observation: Observation | null;
  judgement: Judgement;
  conditions: readonly JudgedCondition[];
  answer: AnswerEvidence | null;
};

/** A check before its confirmation: the observation, and the judgement on it alone. */
type Measured = Omit<Checked, 'answer'>;

/** Reason of a check that crashed: a bug in this code, not the target's fault. */
const CRASHED = 'The check could not be run here';

export type CheckerParts = {
  probe: Probe;
  /** Probes the canary, whose target the operator chose; by default like all others. */
  probeCanary?: Probe | undefined;
  judge: Pick<Judge, 'judge'>;
  stallWatch: Pick<StallWatch, 'watch'>;
  /** Null if bad results are never suspect. */
  selfCheck: Pick<SelfCheck, 'apply'> | null;
  now: () => number;
  /** How far the machine's clock is ahead of true time, in milliseconds. */
  aheadMs: () => number;
  /** Called when a check crashed: a bug in this code, and no vote. */
  onCrash: (error: unknown, monitorId: string | null) => void;
};

/**
 * Checks targets for ticks and rechecks, previews and customers' agents alike. It probes, judges the observation,
 * discounts this process's stalls and clock, and determines whether this machine's network is to blame (D-48).
 */
export class Checker {
  readonly #parts: CheckerParts;

  constructor(parts: CheckerParts) {
    this.#parts = parts;
  }

  /** Measures and confirms. Never rejects: a check that cannot run is no vote (D-20). */
  async check(account: string, request: CheckRequest): Promise<Checked> {
    return await this.confirm(request, await this.measure(account, request));
  }

  /** Probes a target and judges the observation; `account` is charged for computing time and memory. */
  async measure(account: string, request: CheckRequest): Promise<Measured> {
    return await holdingBodies(account, () => this.#probeAndJudge(account, request));
  }

  /**
   * Determines whether a bad result counts, and keeps a first failure's response as its evidence. Never rejects either.
   */
  async confirm(request: CheckRequest, measured: Measured): Promise<Checked> {
    try {
      return await this.#confirm(request, measured);
    } catch (error) {
      this.#parts.onCrash(error, request.monitorId);
      return { ...noVote(measured.startedAtMs, CRASHED), answer: null };
    }
  }

  async #confirm({ target, monitorId, badVote }: CheckRequest, measured: Measured): Promise<Checked> {
    const { selfCheck } = this.#parts;
    const { observation } = measured;
    const judgement =
      // The canary turns bad by itself, so the self-check does not apply.
      selfCheck === null || monitorId === null || monitorId === CANARY.monitorId || target === null
        ? measured.judgement
        : await selfCheck.apply({ monitor: monitorId, type: target.type }, measured.judgement);
    const isEvidence = target !== null && observation !== null && isFirstFailure(judgement.verdict, badVote);
    return { ...measured, judgement, answer: isEvidence ? extractAnswerEvidence({ target, observation }) : null };
  }

  async #probeAndJudge(account: string, request: CheckRequest): Promise<Measured> {
    const { probe, probeCanary = probe, judge, stallWatch, now, aheadMs, onCrash } = this.#parts;
    const startedAtMs = now();
    const { target, inability, monitorId, identity } = request;
    if (target === null || inability !== null) return noVote(startedAtMs, inability ?? '');
    try {
      const traced = withTrace(target, request, startedAtMs);
      const { result: observation, ownTime } = await stallWatch.watch(() =>
        monitorId === CANARY.monitorId ? probeCanary(traced) : probe(traced),
      );
      const { judgement, conditions } = await judge.judge({ target, observation, account, check: identity });
      const counted = discountClock(discountStall(judgement, observation, ownTime), aheadMs());
      return { startedAtMs, observation, judgement: counted, conditions };
    } catch (error) {
      if (error instanceof OutOfBodyMemory || error instanceof LookupsBusy) return noVote(startedAtMs, error.message);
      onCrash(error, monitorId);
      return noVote(startedAtMs, CRASHED);
    }
  }
}

/** Returns the target, with the trace ids of this check in its request if its monitor wants them. */
function withTrace(target: CheckTarget, { traceAt }: CheckRequest, startedAtMs: number): CheckTarget {
  if (target.checkSpec.request?.traceparent !== true || traceAt === undefined) return target;
  return { ...target, traceparent: traceparentOf(traceAt(startedAtMs)) };
}

function noVote(startedAtMs: number, reason: string): Measured {
  return { startedAtMs, observation: null, judgement: { verdict: 'none', cause: null, reason }, conditions: [] };
}
