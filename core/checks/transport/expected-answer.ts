import type { TransportSpec } from '../../monitors/monitor.ts';
import { quote } from '../../quoted.ts';
import type { PatternSearch } from '../http/assertion-check.ts';
import { containsText } from '../text-search.ts';
import { decodePayload } from './payload.ts';

/** The part of a transport that an answer is held against. */
export type AnswerExpectation = Pick<TransportSpec, 'expect' | 'expectMode' | 'payloadEncoding'>;

/** What arrived, read as UTF-8, and byte by byte as Latin-1. */
export type ArrivedAnswer = { text: string; bytes: string };

/**
 * True when an answer has what is expected of it: as a case-sensitive substring, beside a payload in hex as a run of
 * bytes (D-65), or under `regex` as an unanchored RE2 search. Where nothing is expected every answer will do.
 */
export function isExpectedAnswer(
  expectation: AnswerExpectation,
  { text, bytes }: ArrivedAnswer,
  search: PatternSearch,
): boolean {
  const { expect, expectMode } = expectation;
  if (!expect) return true;
  if (expectMode === 'regex') return search(expect, text);
  const expectedBytes = readExpectedBytes(expectation);
  return expectedBytes === null ? containsText(text, expect) : containsText(bytes, expectedBytes);
}

/**
 * The bytes that an answer must contain, as Latin-1; null where text or a pattern is expected, as in digits that are no
 * hex.
 */
export function readExpectedBytes({ expect, expectMode, payloadEncoding }: AnswerExpectation): string | null {
  if (!expect || expectMode === 'regex' || payloadEncoding !== 'hex') return null;
  const read = decodePayload(expect, 'hex');
  return read.ok ? String.fromCharCode(...read.value) : null;
}

/**
 * What an answer lacks, as the end of a sentence that begins with it. It says what was expected and never what came,
 * which may hold secrets of the payload.
 */
export function explainMismatch({ expect = '', expectMode }: AnswerExpectation): string {
  return `does not ${expectMode === 'regex' ? 'match' : 'contain'} ${quote(expect)}`;
}
