import { recheckAfterMs, type RecheckedSource } from '../recheck.ts';
import { stepSource, type VotedResult } from '../source-state.ts';

/**
 * After how many milliseconds from the start of its newest probe a source shall check again (D-47); null where it need
 * not. The results are those that come in together, in any order: the older ones count before the newest, as if they
 * had come by themselves.
 */
export function hintRecheck({ state, rule }: RecheckedSource, results: readonly VotedResult[]): number | null {
  const ordered = results.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  const newest = ordered.pop();
  if (newest === undefined) return null;
  const before = ordered.reduce((stepped, result) => stepSource(stepped, result, rule), state);
  return recheckAfterMs({ state: before, rule }, newest);
}
