import { addProblem, isRecord, kindOf, type Check } from './checks.ts';

const MAX_NAME = 256;
const MAX_VALUE = 8192;
const NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Most headers of one request, plain and secret together (D-15). */
export const MAX_HEADERS = 50;

/**
 * Header names and values that can be sent as they are (D-15, RFC 9110). Values are never shown: half of them are
 * secrets.
 */
export const headerMap: Check<Record<string, string>> = (value, field, problems) => {
  if (!isRecord(value))
    return addProblem(problems, field, { expected: 'an object of header names and values', got: kindOf(value) });
  const before = problems.length;
  for (const [name, content] of Object.entries(value)) {
    if (name.length > MAX_NAME || !NAME.test(name)) {
      addProblem(problems, field, {
        expected: `an object of header names (RFC 9110 tokens of at most ${MAX_NAME} characters) and values`,
        got: JSON.stringify(name.slice(0, 60)),
      });
    } else {
      headerValue(content, `${field}.${name}`, problems);
    }
  }
  // Nothing but texts is left where no entry was complained about.
  return problems.length === before ? { ...(value as Record<string, string>) } : undefined;
};

/** A value that fits into a header line (RFC 9110, section 5.5): no line break, no other control character. */
export const headerValue: Check<string> = (value, field, problems) => {
  if (typeof value !== 'string') return addProblem(problems, field, { expected: 'a text', got: kindOf(value) });
  if (value.length > MAX_VALUE)
    return addProblem(problems, field, {
      expected: `a text of at most ${MAX_VALUE} characters`,
      got: String(value.length),
    });
  if (!VALUE.test(value))
    return addProblem(problems, field, {
      expected: 'a header value of Latin-1 characters without line breaks',
      got: 'others',
    });
  return value;
};

/** The first name that occurs twice when case does not count, in the order given; null when all differ. */
export function findRepeatedName(names: readonly string[]): string | null {
  const known = new Set<string>();
  for (const name of names) {
    const lower = name.toLowerCase();
    if (known.has(lower)) return name;
    known.add(lower);
  }
  return null;
}
