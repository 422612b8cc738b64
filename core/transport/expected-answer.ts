import type { PatternSearch } from '../http/assertion-check.ts';
import type { TransportSpec } from '../monitor.ts';
import { quote } from '../quoted.ts';
import { containsText } from '../text-search.ts';

/** The part of a transport that an answer is held against. */
export type AnswerExpectation = Pick<TransportSpec, 'expect' | 'expectMode'>;

/** True when an answer has what is expected of it: as a case-sensitive substring, or under `regex` as an unanchored RE2 search. Where nothing is expected every answer will do. */
export function isExpectedAnswer({ expect, expectMode }: AnswerExpectation, answer: string, search: PatternSearch): boolean {
  if (!expect) return true;
  return expectMode === 'regex' ? search(expect, answer) : containsText(answer, expect);
}

/** What an answer lacks, as the end of a sentence that begins with it. It says what was expected and never what came, which may hold secrets of the payload. */
export function explainMismatch({ expect = '', expectMode }: AnswerExpectation): string {
  return `does not ${expectMode === 'regex' ? 'match' : 'contain'} ${quote(expect)}`;
}
