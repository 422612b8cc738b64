import type { Assertion, AssertionSource } from '../../monitors/monitor.ts';
import { DAY_MS } from '../../time.ts';
import { containsText } from '../pattern.ts';
import { compareDecimals, parseDecimal, parseJsonNumber, type AssertionOp, type Decimal } from './assertions.ts';
import { findJsonSource, jsonValueText, parseJsonPath, readJsonPath, type JsonPath } from './json-path.ts';
import type { HttpAnswered } from './observation.ts';

/**
 * Maximum nesting of a value to be compared (RFC 8259, 9, allows parsers to set a limit). A far deeper one can be
 * parsed, but not serialized again.
 */
const MAX_DEPTH = 1000;

/**
 * Reports whether arrays and objects of a JSON value are nested more than 1000 deep. Walks level by level, because such
 * values are made to break recursion.
 */
export function isDeeplyNested(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    level = level.flatMap(contentsOf);
    if (level.length === 0) return false;
  }
  return true;
}

function contentsOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

/** Reports whether an RE2 pattern matches anywhere in a text. */
export type PatternSearch = (pattern: string, text: string) => boolean;

/**
 * A response and further inputs of its assertions: `readJson` returns the body as a JSON value, undefined if it is not
 * JSON.
 */
export type AssertedAnswer = { answer: HttpAnswered; readJson: () => unknown; search: PatternSearch };

/**
 * Outcome of an assertion: `missing` if the response lacks its subject, which fails every op, `exists` and `not_equals`
 * included (D-22).
 */
export type AssertionOutcome = 'holds' | 'differs' | 'missing';

/** Checks a normalised assertion against a response. */
export function checkAssertion(assertion: Assertion, asserted: AssertedAnswer): AssertionOutcome {
  const actual = SUBJECTS[assertion.source](assertion, asserted);
  if (actual === null) return 'missing';
  // Stored assertions are normalised, so the op is in the table.
  const test = TESTS[assertion.op as AssertionOp];
  const { text, parse } = typeof actual === 'string' ? { text: actual, parse: parseDecimal } : actual;
  return test({ actual: text, expected: assertion.value ?? '', parse, search: asserted.search }) ? 'holds' : 'differs';
}

/**
 * Returns the days from the start of the probe to the certificate's end, with fractions, negative once it has expired;
 * null without TLS.
 */
export function certificateDaysLeft({ certificate, startedAt }: HttpAnswered): number | null {
  return certificate === null ? null : (certificate.validTo * 1000 - startedAt) / DAY_MS;
}

const SUBJECTS = {
  text_body: (_, { answer }) => answer.body,
  json_body: readJsonText,
  header: readHeader,
  response_time: (_, { answer }) => answer.latencyMs.toFixed(3),
  cert_expiry: (_, { answer }) => certificateDaysLeft(answer)?.toFixed(3) ?? null,
} satisfies Record<AssertionSource, (assertion: Assertion, asserted: AssertedAnswer) => string | JsonNumber | null>;

/** Parser of both sides of a numeric comparison: null = the text is not a number. */
type Parse = (text: string) => Decimal | null;

/** A JSON number as written in the response; a string that resembles one is not a number (D-67). */
type JsonNumber = { text: string; parse: Parse };

type Comparison = { actual: string; expected: string; parse: Parse; search: PatternSearch };

const TESTS = {
  exists: () => true,
  equals: isEqual,
  not_equals: (comparison) => !isEqual(comparison),
  contains: ({ actual, expected }) => containsText(actual, expected),
  not_contains: ({ actual, expected }) => !containsText(actual, expected),
  gt: (comparison) => (compareNumbers(comparison) ?? 0) > 0,
  lt: (comparison) => (compareNumbers(comparison) ?? 0) < 0,
  matches: ({ actual, expected, search }) => search(expected, actual),
} satisfies Record<AssertionOp, (comparison: Comparison) => boolean>;

function readJsonText({ path = '$' }: Assertion, { answer, readJson }: AssertedAnswer): string | JsonNumber | null {
  const parsed = parseJsonPath(path);
  if (!parsed.ok) return null;
  const value = readJsonPath(readJson(), parsed.value);
  if (typeof value === 'number')
    return { text: readNumberText(value, { body: answer.body ?? '', path: parsed.value }), parse: parseJsonNumber };
  if (value === undefined || isDeeplyNested(value)) return null;
  const isStructure = typeof value === 'object' && value !== null;
  return isStructure ? readStructureText(value, { body: answer.body ?? '', path: parsed.value }) : jsonValueText(value);
}

/** A number that may change when parsed into a double and written again. */
const CHANGEABLE_NUMBER = /\d{16}|\d[.eE]/;

/** Creates a number that is serialized as it was parsed. TypeScript's library lacks it so far; Node.js has it. */
const { rawJSON } = JSON as typeof JSON & { rawJSON: (text: string) => unknown };

/** Returns the compact text of a list or an object, with each number as written in the response (D-67). */
function readStructureText(value: object, { body, path }: { body: string; path: JsonPath }): string {
  const source = CHANGEABLE_NUMBER.test(body) ? findJsonSource(body, path) : null;
  if (source === null || !CHANGEABLE_NUMBER.test(source)) return jsonValueText(value);
  const keepNumber = (_key: string, inner: unknown, context?: { source: string }) =>
    typeof inner === 'number' && context !== undefined ? rawJSON(context.source) : inner;
  return JSON.stringify(JSON.parse(source, keepNumber));
}

/**
 * Bodies up to this many characters are parsed again for any number; longer ones only for numbers that a double may
 * have changed.
 */
const SHORT_BODY = 65_536;

/** A double has at least 15 decimal digits. */
const EXACT_BELOW = 1e15;

function readNumberText(value: number, { body, path }: { body: string; path: JsonPath }): string {
  const isSurelyExact = Number.isInteger(value) && value !== 0 && Math.abs(value) < EXACT_BELOW;
  if (body.length > SHORT_BODY && isSurelyExact) return String(value);
  return findJsonSource(body, path) ?? String(value);
}

// Own keys only: a header called `constructor` must not be found in every response.
function readHeader({ name = '' }: Assertion, { answer }: AssertedAnswer): string | null {
  const key = name.toLowerCase();
  if (!Object.hasOwn(answer.headers, key)) return null;
  const value = answer.headers[key] ?? '';
  return typeof value === 'string' ? value : value.join(', ');
}

function isEqual(comparison: Comparison): boolean {
  const order = compareNumbers(comparison);
  return order === null ? comparison.actual === comparison.expected : order === 0;
}

/** Compares two decimal numbers; null unless both sides are numbers. */
function compareNumbers({ actual, expected, parse }: Comparison): number | null {
  const a = parse(actual);
  const b = parse(expected);
  return a === null || b === null ? null : compareDecimals(a, b);
}
