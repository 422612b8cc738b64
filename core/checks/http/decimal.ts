/** A decimal number held exactly, as an integer and how many of its digits stand behind the point. */
export type Decimal = { digits: bigint; scale: number };

// The lengths keep a megabyte of digits from being taken for a number, whose conversion would be slow.
const DECIMAL = /^([+-]?\d{1,64})(?:\.(\d{1,64}))?$/;

/**
 * The number that a plain decimal text stands for; null for any other text (an exponent, blanks or a unit included).
 */
export function parseDecimal(text: string): Decimal | null {
  const parts = DECIMAL.exec(text);
  if (parts === null) return null;
  const [, whole = '', fraction = ''] = parts;
  return { digits: BigInt(whole + fraction), scale: fraction.length };
}

// A larger exponent would make a number of more digits than any condition compares.
const JSON_NUMBER = /^(-?\d{1,64})(?:\.(\d{1,64}))?[eE]([+-]?\d{1,3})$/;

/** The number that a JSON number stands for, with an exponent or without; null for any other text. */
export function parseJsonNumber(text: string): Decimal | null {
  const parts = JSON_NUMBER.exec(text);
  if (parts === null) return parseDecimal(text);
  const [, whole = '', fraction = '', exponent = ''] = parts;
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

/**
 * Below zero when a is the smaller, above zero when it is the greater, 0 when both are the same number (`1.50` and
 * `1.5` are). Exact: ids and nanoseconds have more digits than a double holds.
 */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale);
  const difference = rescale(a, scale) - rescale(b, scale);
  return difference === 0n ? 0 : difference > 0n ? 1 : -1;
}

function rescale({ digits, scale }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale);
}
