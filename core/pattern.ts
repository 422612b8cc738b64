import { accepted, refused } from './parsed.ts';
import type { Parsed } from './parsed.ts';
import { quote } from './quoted.ts';

/** The longest that a pattern may be with its repetitions written out: to compile it then takes a fraction of a second and a few megabytes. */
const MAX_UNFOLDED_LENGTH = 10_000;

// In this order each token is: quoted text, flags (which match nothing), an escape, a class, a repetition, any other character.
const TOKEN = /\\Q([^]*?)(?:\\E|$)|(\(\?[a-zA-Z^-]*\))|\\[^]|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[^]/gu;

/**
 * Whether a text is a pattern that checks can search for (D-22): RE2 takes it, and it is not too large for a process that others share. The
 * message is the rest of a sentence that begins with the field. A pattern that is too large never reaches RE2.
 */
export function parsePattern(pattern: string, isValidPattern: (pattern: string) => boolean): Parsed<string> {
  const length = unfoldedLength(pattern);
  if (length > MAX_UNFOLDED_LENGTH) return refused(`must be a regular expression of at most ${MAX_UNFOLDED_LENGTH} characters with its repetitions written out, got ${length}`);
  return isValidPattern(pattern) ? accepted(pattern) : refused(`must be a regular expression in RE2 syntax, got ${quote(pattern)}`);
}

/**
 * How long a pattern is with each `{n,m}` written out as m copies, which is what compiling does: thirty characters can stand for a million.
 * Of a pattern that RE2 refuses it is some number.
 */
function unfoldedLength(pattern: string): number {
  const outer: number[] = [];
  let length = 0;
  let last = 0;
  for (const [token, quoted, flags, least, most] of pattern.matchAll(TOKEN)) {
    if (flags !== undefined || quoted === '') continue;
    if (least !== undefined) {
      const copies = Math.max(Number(least), Number(most ?? 0), 1);
      length += last * (copies - 1);
      last *= copies;
    } else if (token === '(') {
      outer.push(length);
      length = 0;
    } else if (token === ')') {
      // The parentheses themselves are steps, too.
      last = length + 2;
      length = last + (outer.pop() ?? 0);
    } else {
      last = quoted === undefined ? 1 : quoted.length;
      length += last;
    }
  }
  return length;
}
