import { accepted, quote, refused, type Parsed } from '../foreign-text.ts';

/** The largest pattern (`measurePattern`): to compile it takes a fraction of a second and a few megabytes. */
const MAX_SIZE = 10_000;

/** The largest that all patterns of a monitor may be together. */
const MAX_TOTAL_SIZE = 20_000;

/** Below this patterns of a request together take less than the rest of it. */
const NOTICEABLE_SIZE = 500;

const WRITTEN_OUT = 'repetitions, Unicode classes and wide ranges written out';

/**
 * Whether a text is a pattern that checks can search for (D-22). RE2 takes it, and it is not too large for a process
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

// In this order each token is: quoted text, flags (which match nothing), a class of Unicode, an escape, a class, a
// repetition, any other character. What is left open goes to the end: looking for its end again from each next
// character would take the square of the length.
const TOKEN = new RegExp(
  [
    String.raw`\\Q([^]*?)(?:\\E|$)`,
    String.raw`(\(\?[a-zA-Z^-]*\))`,
    String.raw`(\\[pP](?:\{\^?\w{0,40}\}|[^]))`,
    String.raw`\\[^]`,
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

/** What a class of Unicode takes to compile, as many characters: it stands for hundreds of ranges. */
const UNICODE_CLASS_SIZE = 40;

/**
 * Where case does not count, each character of a range is looked up. This many of them take as long as one character of
 * a pattern.
 */
const RANGE_PER_CHARACTER = 30;
/** The last character that has another case: RE2 looks no further. */
const LAST_CASED = 0x1e943;

/**
 * How much work it is to compile a pattern, in plain characters (a few microseconds each). Each `{n,m}` counts as m
 * copies, for thirty characters can stand for a million, and classes count for what they stand for. Of a pattern that
 * RE2 refuses it is some number. Takes time in proportion to the length.
 */
export function measurePattern(pattern: string): number {
  const ignoresCase = IGNORES_CASE.test(pattern);
  const outer: number[] = [];
  let length = 0;
  let last = 0;
  // Of classes copies are cheap: they are made once.
  let classes = 0;
  for (const [token, quoted, flags, unicode, inBrackets, least, most] of pattern.matchAll(TOKEN)) {
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
      if (unicode !== undefined) classes += UNICODE_CLASS_SIZE;
      if (inBrackets !== undefined) classes += measureClass(inBrackets, ignoresCase);
    }
  }
  return length + classes;
}

function measureClass(inBrackets: string, ignoresCase: boolean): number {
  let size = 0;
  for (const [, from = '', to] of inBrackets.slice(1, -1).matchAll(CLASS_PART)) {
    if (UNICODE_CLASS.test(from)) size += UNICODE_CLASS_SIZE;
    else size += to !== undefined && ignoresCase ? 1 + Math.ceil(widthOf(from, to) / RANGE_PER_CHARACTER) : 1;
  }
  return size;
}

/** How many characters of a range may have another case; of an end in an unusual spelling the most that it can be. */
function widthOf(from: string, to: string): number {
  return Math.max(0, Math.min(codePointOf(to) ?? LAST_CASED, LAST_CASED) - (codePointOf(from) ?? 0));
}

function codePointOf(item: string): number | null {
  const hexadecimal = CODE_POINT.exec(item)?.[1];
  if (hexadecimal !== undefined) return Number.parseInt(hexadecimal, 16);
  return item.startsWith('\\') ? null : (item.codePointAt(0) ?? null);
}

/**
 * Up to this many characters of the text times those of what is sought, the engine's own search is used. It is much the
 * faster one with most texts, and takes the product of both lengths with some (0.4 ns each).
 */
const MAX_NATIVE_WORK = 8 * 1024 * 1024;

/**
 * True when a text contains another, letter for letter, in time proportional to their lengths. A body of 1 MiB can be
 * made so that the usual search for a thousand characters of it takes half a second, in which no other check goes on.
 */
export function containsText(text: string, sought: string): boolean {
  if (text.length < linearSearchFrom(sought.length)) return text.includes(sought);
  return containsLinearly(text, sought);
}

/** The shortest text in which a search for this many characters is linear. */
export function linearSearchFrom(soughtLength: number): number {
  return Math.floor(MAX_NATIVE_WORK / Math.max(1, soughtLength)) + 1;
}

/**
 * Knuth, Morris and Pratt (1977): what has matched says how far to go back in what is sought, and the text is read
 * once.
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

/** For each beginning of the text: how long the longest shorter beginning is that it ends in. */
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
