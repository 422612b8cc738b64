import { accepted, quote, refused, type Parsed } from '../foreign-text.ts';

/** Maximum size of a pattern (`measurePattern`): compiling it takes a fraction of a second and a few megabytes. */
const MAX_SIZE = 10_000;

/** Maximum total size of all patterns of a monitor. */
const MAX_TOTAL_SIZE = 20_000;

/** Total size below which the patterns of a request cost less than the rest of it. */
const NOTICEABLE_SIZE = 500;

/** Maximum nesting of groups: RE2 walks a nesting again at each repetition in it. */
const MAX_NESTED = 100;

/** Sizes above this one are not told apart. */
const MILLION = 1_000_000;

const WRITTEN_OUT = 'repetitions, Unicode classes and wide ranges written out';

/**
 * Validates a pattern of checks (D-22): RE2 accepts it, and it is not too large for a shared process. The message is
 * the rest of a sentence that begins with the field. A pattern that is too large never reaches RE2.
 */
export function parsePattern(pattern: string, isValidPattern: (pattern: string) => boolean): Parsed<string> {
  const size = measurePattern(pattern);
  if (size === Infinity) return refused(`must be a regular expression with at most ${MAX_NESTED} nested groups`);
  if (size > MAX_SIZE)
    return refused(
      `must be a regular expression of at most ${MAX_SIZE} characters with its ${WRITTEN_OUT}, got ${showSize(size)}`,
    );
  return isValidPattern(pattern)
    ? accepted(pattern)
    : refused(`must be a regular expression in RE2 syntax, got ${quote(pattern)}`);
}

/**
 * Returns null if patterns are small enough together for each to be compiled; otherwise the rest of a sentence that
 * begins with their field.
 */
export function refuseTogether(patterns: readonly string[]): string | null {
  const size = measureTogether(patterns);
  if (size === Infinity) return `must have regular expressions with at most ${MAX_NESTED} nested groups`;
  return size <= MAX_TOTAL_SIZE
    ? null
    : `must have regular expressions of at most ${MAX_TOTAL_SIZE} characters together with their ${WRITTEN_OUT}, ` +
        `got ${showSize(size)}`;
}

function showSize(size: number): string {
  return size > MILLION ? `more than ${MILLION}` : String(size);
}

/** Returns the total size of patterns (`measurePattern`). */
function measureTogether(patterns: readonly string[]): number {
  // The written length is checked first: patterns above the limit need no measuring.
  const written = patterns.reduce((sum, { length }) => sum + length, 0);
  return written > MAX_TOTAL_SIZE ? written : patterns.reduce((sum, pattern) => sum + measurePattern(pattern), 0);
}

/**
 * Returns the cost of compiling patterns, in plain characters; 0 if negligible. No request costs more than all patterns
 * of a monitor.
 */
export function costOfPatterns(patterns: readonly string[]): number {
  const size = measureTogether(patterns);
  return size < NOTICEABLE_SIZE ? 0 : Math.min(size, MAX_TOTAL_SIZE);
}

// Tokens in this order: quoted text, flags (which match nothing), a Unicode class, an escape, a class, a repetition,
// any other character. An unclosed one extends to the end: searching for its end again from each next character would
// take quadratic time.
const TOKEN = new RegExp(
  [
    String.raw`\\Q([^]*?)(?:\\E|$)`,
    String.raw`(\(\?[a-zA-Z^-]*\))`,
    String.raw`(\\[pP](?:\{\^?\w{0,40}\}|[^]))`,
    String.raw`\\(?:x\{[\da-fA-F]{1,8}\}|[^])`,
    String.raw`(\[\^?\]?(?:\\(?:[^]|$)|\[:\^?\w+:\]|[^\]\\])*(?:\]|$))`,
    String.raw`\{(\d+)(?:,(\d*))?\}`,
    '[^]',
  ].join('|'),
  'gu',
);

const ITEM = String.raw`\\[pP](?:\{\^?\w{0,40}\}|[^])|\\x\{[\da-fA-F]{1,8}\}|\\x[\da-fA-F]{2}|\[:\^?\w+:\]|\\[^]|[^]`;
/** An item of a class, or a range of two. */
const CLASS_PART = new RegExp(`(${ITEM})(?:-(${ITEM}))?`, 'gu');
const UNICODE_CLASS = /^\\[pP]./u;
const CODE_POINT = /^\\x\{?([\da-fA-F]+)\}?$/;
const IGNORES_CASE = /\(\?[a-zA-Z]*i/;

/** Cost of compiling a Unicode class, in characters: it stands for hundreds of ranges. */
const UNICODE_CLASS_SIZE = 40;

/**
 * With case ignored, each character of a range is looked up. This many of them cost as much as one character of a
 * pattern.
 */
const RANGE_PER_CHARACTER = 30;
/** The last character with another case: RE2 checks no further. */
const LAST_CASED = 0x1e943;

/**
 * Estimates the work of compiling a pattern, in plain characters (a few microseconds each). Each `{n,m}` counts as m
 * copies, because thirty characters can stand for a million, and classes count as their contents. An unclosed group
 * counts like a closed one: RE2 parses its contents before it rejects it. Returns Infinity if more than `MAX_NESTED`
 * groups are nested, otherwise at most `MILLION` + 1. Takes linear time.
 */
export function measurePattern(pattern: string): number {
  const ignoresCase = IGNORES_CASE.test(pattern);
  const outer: number[] = [];
  let length = 0;
  let last = 0;
  // Copies of classes are cheap: a class is compiled once.
  let classes = 0;
  for (const [token, quoted, flags, unicode, inBrackets, least, most] of pattern.matchAll(TOKEN)) {
    if (flags !== undefined || quoted === '') continue;
    if (least !== undefined) {
      const copies = Math.max(Number(least), Number(most ?? 0), 1);
      length += last * (copies - 1);
      last *= copies;
    } else if (token === '(') {
      if (outer.push(length) > MAX_NESTED) return Infinity;
      length = 0;
    } else if (token === ')') {
      // The parentheses themselves are steps, too.
      last = length + 2;
      length = last + (outer.pop() ?? 0);
    } else {
      last = quoted === undefined ? 1 : quoted.length;
      length += last;
      if (unicode !== undefined) classes += UNICODE_CLASS_SIZE;
      if (inBrackets !== undefined) classes += measureClass(inBrackets, ignoresCase);
    }
  }
  const size = outer.reduce((sum, before) => sum + before, length) + classes;
  // Zero times an infinite count is NaN, for which every comparison is false.
  return size <= MILLION ? size : MILLION + 1;
}

function measureClass(inBrackets: string, ignoresCase: boolean): number {
  let size = 0;
  for (const [, from = '', to] of inBrackets.slice(1, -1).matchAll(CLASS_PART)) {
    if (UNICODE_CLASS.test(from)) size += UNICODE_CLASS_SIZE;
    else size += to !== undefined && ignoresCase ? 1 + Math.ceil(widthOf(from, to) / RANGE_PER_CHARACTER) : 1;
  }
  return size;
}

/**
 * Returns the number of characters of a range that may have another case; an end in an unusual spelling counts as the
 * largest possible.
 */
function widthOf(from: string, to: string): number {
  return Math.max(0, Math.min(codePointOf(to) ?? LAST_CASED, LAST_CASED) - (codePointOf(from) ?? 0));
}

function codePointOf(item: string): number | null {
  const hexadecimal = CODE_POINT.exec(item)?.[1];
  if (hexadecimal !== undefined) return Number.parseInt(hexadecimal, 16);
  return item.startsWith('\\') ? null : (item.codePointAt(0) ?? null);
}

/**
 * Limit of the product of both lengths up to which the engine's own search is used. It is much faster with most texts,
 * but quadratic with some (0.4 ns per pair).
 */
const MAX_NATIVE_WORK = 8 * 1024 * 1024;

/**
 * Reports whether a text contains another, case-sensitively, in linear time. A crafted body of 1 MiB can make the usual
 * search for a thousand characters take half a second, in which no other check runs.
 */
export function containsText(text: string, sought: string): boolean {
  if (text.length < linearSearchFrom(sought.length)) return text.includes(sought);
  return containsLinearly(text, sought);
}

/** Returns the shortest text in which a search for this many characters is linear. */
export function linearSearchFrom(soughtLength: number): number {
  return Math.floor(MAX_NATIVE_WORK / Math.max(1, soughtLength)) + 1;
}

/**
 * Knuth, Morris and Pratt (1977): the matched part determines how far to go back in the search string, and the text is
 * read once.
 */
function containsLinearly(text: string, sought: string): boolean {
  const fallbacks = fallbacksOf(sought);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && code !== sought.charCodeAt(matched)) matched = fallbacks[matched - 1] ?? 0;
    if (code === sought.charCodeAt(matched)) matched += 1;
    if (matched === sought.length) return true;
  }
  return false;
}

/** Returns for each prefix of the text the length of its longest proper prefix that is also its suffix. */
function fallbacksOf(sought: string): Uint32Array {
  const fallbacks = new Uint32Array(sought.length);
  let length = 0;
  for (let at = 1; at < sought.length; at += 1) {
    const code = sought.charCodeAt(at);
    while (length > 0 && code !== sought.charCodeAt(length)) length = fallbacks[length - 1] ?? 0;
    if (code === sought.charCodeAt(length)) length += 1;
    fallbacks[at] = length;
  }
  return fallbacks;
}
