import { accepted, refused, type Parsed, quote } from '../../foreign-text.ts';

/**
 * Status codes that count as good: each either three digits or a digit and `xx`, in lower case, at least one (D-13).
 */
type ExpectedStatus = readonly string[];

/** Default of an http monitor's expected status (D-10). */
export const DEFAULT_EXPECTED_STATUS = '2xx';

/** Statuses of redirects. */
export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const MAX_LENGTH = 128;
const TOKEN = /^(?:\d{3}|\dxx)$/;

/**
 * Parses a status expression such as `200`, `2xx` or `200,301` (D-13; at most 128 characters, D-15); the message names
 * the invalid part.
 */
export function parseExpectedStatus(expression: string): Parsed<ExpectedStatus> {
  if (expression.length > MAX_LENGTH) {
    return refused(`expected_status must have at most ${MAX_LENGTH} characters, got ${expression.length}`);
  }
  const tokens = expression
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '');
  if (tokens.length === 0) return refused('expected_status must name at least one status such as 200 or 2xx');

  const unreadable = tokens.find((token) => !TOKEN.test(token));
  if (unreadable !== undefined) {
    return refused(
      `expected_status must be statuses such as 200 or 2xx, separated by commas, got ${quote(unreadable)}`,
    );
  }
  return accepted(tokens);
}

/** Reports whether the expression covers a status code of 100..999. */
export function matchesStatus(expected: ExpectedStatus, status: number): boolean {
  const exact = String(status);
  return expected.includes(exact) || expected.includes(`${exact.charAt(0)}xx`);
}
