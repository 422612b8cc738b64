import { quote } from '../foreign-text.ts';
import type { Assertion } from '../monitors/monitor.ts';
import type { AssertionOutcome } from './http/assertion-check.ts';
import type { Judgement, FixedCause } from './verdict.ts';

/** The processor time that all conditions of one check have together, in milliseconds (D-300). */
export const JUDGING_BUDGET_MS = 50;

/**
 * How one condition of an http check fares; `unjudged` where the check's budget was over before. The reason is null
 * where it holds.
 */
export type JudgedCondition = { outcome: AssertionOutcome | 'unjudged'; reason: string | null };

/**
 * The verdict on one observation. `conditions`: `body_match`, then the assertions as listed; empty unless they were
 * judged. `isOverBudget` where the budget decided the verdict.
 */
export type Judged = { judgement: Judgement; conditions: readonly JudgedCondition[]; isOverBudget: boolean };

/**
 * The judging of one observation. `run` may be broken off at any moment and called again: it goes on with the
 * condition that it was at. `judged` says what came of it so far, as over budget where it is not done.
 */
export type Judging = { run: () => void; judged: () => Judged };

/** No vote for a check whose budget was over while it was judged. */
export function overBudget(where: string, remedy: string): Judged {
  return { judgement: noVote(explainOverBudget(where, remedy)), conditions: [], isOverBudget: true };
}

/** No vote for a check whose monitor was over its budget a moment ago, and so is not judged again yet. */
export function notJudgedAgainYet({ reason }: Judgement): Judgement {
  return noVote(`Not evaluated again yet. ${reason ?? ''}`.trimEnd());
}

/** No vote for a check that could not be judged because too many others take long to judge. */
export const CROWDED_OUT: Judgement = noVote(
  'There was no CPU time left to evaluate this check: too many checks are slow to evaluate. Simplify its ' +
    'patterns, or request smaller responses',
);

/** One sentence on a budget that was over, and what helps. */
function explainOverBudget(where: string, remedy: string): string {
  return `The check used up its ${JUDGING_BUDGET_MS} ms of CPU time at ${where}: ${remedy}`;
}

/** Which assertion the budget was over at, and what helps. */
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
 * The verdict on a probe that could not talk to its target: down. No vote where our own guard refused it or it cannot
 * be asked at all, which says nothing of the target (D-20).
 */
export function judgeFailure({ cause, reason }: { cause: FixedCause; reason: string }): Judgement {
  const isOurs = cause === 'blocked_target' || cause === 'unsupported';
  return { verdict: isOurs ? 'none' : 'down', cause, reason };
}
