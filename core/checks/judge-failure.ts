import type { FixedCause, Judgement } from './verdict.ts';

/**
 * The verdict on a probe that could not talk to its target: down, but no vote where our own guard refused it or it
 * cannot be asked at all, which says nothing of the target (D-20).
 */
export function judgeFailure({ cause, reason }: { cause: FixedCause; reason: string }): Judgement {
  const isOurs = cause === 'blocked_target' || cause === 'unsupported';
  return { verdict: isOurs ? 'none' : 'down', cause, reason };
}
