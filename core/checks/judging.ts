import { quote } from '../foreign-text.ts';
import type { Assertion } from '../monitors/monitor.ts';
import type { AssertionOutcome } from './http/assertion-check.ts';
import type { Judgement, FixedCause } from './verdict.ts';

/** Processor time shared by all conditions of one check, in milliseconds (D-300). */
export const JUDGING_BUDGET_MS = 50;

/**
 * Outcome of one condition of an http check; `unjudged` if the check's budget ran out before. The reason is null if it
 * holds.
 */
export type JudgedCondition = { outcome: AssertionOutcome | 'unjudged'; reason: string | null };

/**
 * Verdict on one observation. `conditions`: `body_match`, then the assertions as listed; empty unless they were judged.
 * `isOverBudget` if the budget decided the verdict.
 */
export type Judged = { judgement: Judgement; conditions: readonly JudgedCondition[]; isOverBudget: boolean };

/**
 * Judging of one observation. `run` may be interrupted at any moment and called again: it resumes with the same
 * condition. `judged` returns the result so far, as over budget if it is not complete.
 */
export type Judging = { run: () => void; judged: () => Judged };

/** Returns no vote for a check whose budget ran out during judging. */
export function overBudget(where: string, remedy: string): Judged {
  return { judgement: noVote(explainOverBudget(where, remedy)), conditions: [], isOverBudget: true };
}

/** Returns no vote for a check whose monitor exceeded its budget a moment ago, and so is not judged again yet. */
export function notJudgedAgainYet({ reason }: Judgement): Judgement {
  return noVote(`Not evaluated again yet. ${reason ?? ''}`.trimEnd());
}

/** No vote for a check that could not be judged because too many others are slow to judge. */
export const CROWDED_OUT: Judgement = noVote(
  'There was no CPU time left to evaluate this check: too many checks are slow to evaluate. Simplify its ' +
    'patterns, or request smaller responses',
);

/** Explains in one sentence where a budget ran out, and the remedy. */
function explainOverBudget(where: string, remedy: string): string {
  return `The check used up its ${JUDGING_BUDGET_MS} ms of CPU time at ${where}: ${remedy}`;
}

/** Explains at which assertion the budget ran out, and the remedy. */
export function explainUnjudged({ source, op, value, path, name }: Assertion): string {
  const what = [
    source,
    name ?? (path === undefined ? undefined : quote(path)),
    op,
    value === undefined ? undefined : quote(value),
  ];
  return explainOverBudget(what.filter((part) => part !== undefined).join(' '), remedyFor({ source, op }));
}

function remedyFor({ source, op }: Pick<Assertion, 'source' | 'op'>): string {
  if (op === 'matches')
    return source === 'json_body'
      ? 'simplify the pattern or narrow the path, or use fewer'
      : 'simplify the pattern, or use fewer';
  return source === 'json_body'
    ? 'narrow the path or request a smaller document, or use fewer'
    : 'request a smaller response, or use fewer';
}

function noVote(reason: string): Judgement {
  return { verdict: 'none', cause: null, reason };
}

/**
 * Judges a probe that could not reach its target: down. No vote if the service's own guard refused it or it cannot be
 * probed at all, which proves nothing about the target (D-20).
 */
export function judgeFailure({ cause, reason }: { cause: FixedCause; reason: string }): Judgement {
  const isOurs = cause === 'blocked_target' || cause === 'unsupported';
  return { verdict: isOurs ? 'none' : 'down', cause, reason };
}
