import { accepted, refused, type Parsed } from '../parsed.ts';
import { quote } from '../quoted.ts';
import { measurePattern } from './pattern-size.ts';

/** The largest pattern (`measurePattern`): to compile it takes a fraction of a second and a few megabytes. */
const MAX_SIZE = 10_000;

/** The largest that all patterns of a monitor may be together. */
const MAX_TOTAL_SIZE = 20_000;

/** Below this patterns of a request together take less than the rest of it. */
const NOTICEABLE_SIZE = 500;

const WRITTEN_OUT = 'repetitions, Unicode classes and wide ranges written out';

/**
 * Whether a text is a pattern that checks can search for (D-22): RE2 takes it, and it is not too large for a process
 * that others share. The message is the rest of a sentence that begins with the field. A pattern that is too large
 * never reaches RE2.
 */
export function parsePattern(pattern: string, isValidPattern: (pattern: string) => boolean): Parsed<string> {
  const size = measurePattern(pattern);
  if (size > MAX_SIZE)
    return refused(
      `must be a regular expression of at most ${MAX_SIZE} characters with its ${WRITTEN_OUT}, got ${size}`,
    );
  return isValidPattern(pattern)
    ? accepted(pattern)
    : refused(`must be a regular expression in RE2 syntax, got ${quote(pattern)}`);
}

/**
 * Null when patterns are small enough together for each to be read; otherwise the rest of a sentence that begins with
 * their field.
 */
export function refuseTogether(patterns: readonly string[]): string | null {
  const size = measureTogether(patterns);
  return size <= MAX_TOTAL_SIZE
    ? null
    : `must have regular expressions of at most ${MAX_TOTAL_SIZE} characters together with their ${WRITTEN_OUT}, ` +
        `got ${size}`;
}

/** How large patterns are together (`measurePattern`). */
function measureTogether(patterns: readonly string[]): number {
  // As they are written first: what is too long for that is not worth measuring.
  const written = patterns.reduce((sum, { length }) => sum + length, 0);
  return written > MAX_TOTAL_SIZE ? written : patterns.reduce((sum, pattern) => sum + measurePattern(pattern), 0);
}

/**
 * What it costs to compile patterns, in plain characters; 0 where it is negligible. No request costs more than all
 * patterns of a monitor.
 */
export function costOfPatterns(patterns: readonly string[]): number {
  const size = measureTogether(patterns);
  return size < NOTICEABLE_SIZE ? 0 : Math.min(size, MAX_TOTAL_SIZE);
}
