import { extractAnswerEvidence } from '../core/answer-evidence.ts';
import { discountStall } from '../core/own-stall.ts';
import type { Judgement } from '../core/verdict.ts';
import { holdingBodies, OutOfBodyMemory } from '../net/body-budget.ts';
import type { Judge } from '../probes/judging/judge.ts';
import type { Probe } from '../probes/probe.ts';
import type { SelfCheck } from '../probes/self-check.ts';
import type { StallWatch } from '../probes/stall-watch.ts';
import type { Assignment } from './assignment.ts';
import type { Measurement } from './result.ts';

export type CheckOptions = {
  probe: Probe;
  judge: Judge;
  watchStalls: StallWatch;
  /** Null = bad results are never suspect. */
  selfCheck: SelfCheck | null;
  now: () => number;
  /** Called when a probe crashed: our bug, and no vote. */
  onCrash: (assignment: Assignment, error: unknown) => void;
};

/**
 * Measures an assignment once and judges what was observed; never rejects. What cannot be checked here is no vote
 * (D-20), nor is what this agent's own outage explains (D-48) or its own stand-still.
 */
export function createCheck({
  probe,
  judge,
  watchStalls,
  selfCheck,
  now,
  onCrash,
}: CheckOptions): (assignment: Assignment) => Promise<Measurement> {
  return async (assignment) => {
    const { monitorId, target, inability } = assignment;
    const startedAtMs = now();
    if (target === null)
      return { monitorId, startedAtMs, observation: null, judgement: noVote(inability ?? ''), answer: null };
    try {
      // All monitors are one customer's: here each has a share of its own.
      const { observation, ownTime, judged } = await holdingBodies(monitorId, async () => {
        const { result, ...seen } = await watchStalls(() => probe(target));
        const of = { target, observation: result, account: monitorId, check: assignment.identity };
        return { ...seen, observation: result, judged: await judge(of) };
      });
      const measured = discountStall(judged.judgement, observation, ownTime);
      const judgement =
        selfCheck === null ? measured : await selfCheck({ monitor: monitorId, type: target.type }, measured);
      const isFailure = judgement.verdict === 'down' || judgement.verdict === 'degraded';
      return {
        monitorId,
        startedAtMs,
        observation,
        judgement,
        answer: isFailure ? extractAnswerEvidence({ target, observation }) : null,
      };
    } catch (error) {
      const isShort = error instanceof OutOfBodyMemory;
      if (!isShort) onCrash(assignment, error);
      const judgement = noVote(isShort ? error.message : 'The check could not be run here');
      return { monitorId, startedAtMs, observation: null, judgement, answer: null };
    }
  };
}

function noVote(reason: string): Judgement {
  return { verdict: 'none', cause: null, reason };
}
