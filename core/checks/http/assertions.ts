import { accepted, refused, type Parsed, quote } from '../../foreign-text.ts';
import { type Assertion, type AssertionSource } from '../../monitors/monitor.ts';
import { parsePattern } from '../pattern.ts';
import { parseJsonPath } from './json-path.ts';

/** Operators of assertions on a text or number. */
export const ASSERTION_OPS = [
  'exists',
  'equals',
  'not_equals',
  'contains',
  'not_contains',
  'gt',
  'lt',
  'matches',
] as const;
export type AssertionOp = (typeof ASSERTION_OPS)[number];

const FIELD_OPS = ['exists', 'equals', 'not_equals', 'contains', 'gt', 'lt', 'matches'] as const;

/** Operators allowed for each source (D-22). */
export const OPS_BY_SOURCE = {
  text_body: ['contains', 'not_contains', 'matches'],
  json_body: FIELD_OPS,
  header: FIELD_OPS,
  response_time: ['lt', 'gt'],
  cert_expiry: ['lt', 'gt'],
} as const satisfies Record<AssertionSource, readonly AssertionOp[]>;

/** An assertion as sent by a customer. */
export type AssertionInput = { source: AssertionSource; op: string; value?: string; path?: string; name?: string };

const MAX_HEADER_NAME = 256;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;

/**
 * Normalises an assertion to its stored form, with the keys of its source only (D-22); the message names the field at
 * fault. `isValidPattern` reports whether RE2 accepts a pattern.
 */
export function normaliseAssertion(
  input: AssertionInput,
  isValidPattern: (pattern: string) => boolean,
): Parsed<Assertion> {
  const { source } = input;
  const ops: readonly AssertionOp[] = OPS_BY_SOURCE[source];
  const op = ops.find((known) => known === input.op);
  if (op === undefined) return refused(`op must be one of ${ops.join(', ')} for ${source}, got ${quote(input.op)}`);

  const selector = SELECTORS[source](input);
  if (!selector.ok) return selector;
  const value = normaliseValue(input, op, isValidPattern);
  if (!value.ok) return value;
  return accepted({ source, op, ...value.value, ...selector.value });
}

type Selector = Pick<Assertion, 'path' | 'name'>;

const parseNothing = (): Parsed<Selector> => accepted({});

const SELECTORS = {
  text_body: parseNothing,
  json_body: ({ path }) => {
    if (path === undefined) return refused('path is required for json_body');
    const parsed = parseJsonPath(path);
    return parsed.ok ? accepted({ path }) : parsed;
  },
  header: ({ name }) => {
    if (name === undefined) return refused('name is required for header');
    if (name.length > MAX_HEADER_NAME)
      return refused(`name must have at most ${MAX_HEADER_NAME} characters, got ${name.length}`);
    return HEADER_NAME.test(name)
      ? accepted({ name })
      : refused(`name must be a header name (RFC 9110 token), got ${quote(name)}`);
  },
  response_time: parseNothing,
  cert_expiry: parseNothing,
} satisfies Record<AssertionSource, (input: AssertionInput) => Parsed<Selector>>;

function normaliseValue(
  { source, value }: AssertionInput,
  op: AssertionOp,
  isValidPattern: (pattern: string) => boolean,
): Parsed<Pick<Assertion, 'value'>> {
  if (op === 'exists') return accepted({});
  if (value === undefined) return refused(`value is required for ${op}`);
  if (op === 'matches') {
    const pattern = parsePattern(value, isValidPattern);
    return pattern.ok ? accepted({ value }) : refused(`value ${pattern.message}`);
  }

  const isMeasure = source === 'response_time' || source === 'cert_expiry';
  if (isMeasure && parseDecimal(value) === null)
    return refused(`value must be a decimal number for ${source}, got ${quote(value)}`);
  return accepted({ value });
}

/** An exact decimal number: an integer and the number of its digits after the point. */
export type Decimal = { digits: bigint; scale: number };

// The limits keep a megabyte of digits from being parsed as a number, which would be slow.
const DECIMAL = /^([+-]?\d{1,64})(?:\.(\d{1,64}))?$/;

/** Parses a plain decimal number; null for any other text (with an exponent, blanks or a unit, too). */
export function parseDecimal(text: string): Decimal | null {
  const parts = DECIMAL.exec(text);
  if (parts === null) return null;
  const [, whole = '', fraction = ''] = parts;
  return { digits: BigInt(whole + fraction), scale: fraction.length };
}

// A larger exponent would make a number of more digits than any condition compares.
const JSON_NUMBER = /^(-?\d{1,64})(?:\.(\d{1,64}))?[eE]([+-]?\d{1,3})$/;

/** Parses a JSON number, with or without an exponent; null for any other text. */
export function parseJsonNumber(text: string): Decimal | null {
  const parts = JSON_NUMBER.exec(text);
  if (parts === null) return parseDecimal(text);
  const [, whole = '', fraction = '', exponent = ''] = parts;
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

/**
 * Returns a negative number if a is smaller, a positive one if it is greater, 0 if both are equal (as `1.50` and
 * `1.5`). Exact: ids and nanoseconds have more digits than a double holds.
 */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale);
  const difference = rescale(a, scale) - rescale(b, scale);
  return difference === 0n ? 0 : difference > 0n ? 1 : -1;
}

function rescale({ digits, scale }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale);
}
