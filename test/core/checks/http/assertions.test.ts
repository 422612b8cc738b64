import test from 'ava';
import * as fc from 'fast-check';
import {
  ASSERTION_OPS,
  compareDecimals,
  normaliseAssertion,
  OPS_BY_SOURCE,
  parseDecimal,
  parseJsonNumber,
  type AssertionInput,
} from '../../../../core/checks/http/assertions.ts';
import { ASSERTION_SOURCES, type AssertionSource } from '../../../../core/monitors/monitor.ts';

const anyPattern = (): boolean => true;

/** Fields that each source needs besides its op, with a value that suits every op. */
const REST: Record<AssertionSource, Partial<AssertionInput>> = {
  text_body: { value: '5' },
  json_body: { value: '5', path: '$.a' },
  header: { value: '5', name: 'X-A' },
  response_time: { value: '5' },
  cert_expiry: { value: '5' },
};

for (const source of ASSERTION_SOURCES) {
  for (const op of ASSERTION_OPS) {
    const allowed = (OPS_BY_SOURCE[source] as readonly string[]).includes(op);
    test(`${source} ${op} is ${allowed ? 'accepted' : 'refused'}`, (t) => {
      const { value, ...selector } = REST[source];
      const normalised = normaliseAssertion({ source, op, ...REST[source] }, anyPattern);
      if (allowed)
        t.deepEqual(normalised, {
          ok: true,
          value: { source, op, ...(op !== 'exists' && { value }), ...selector } as never,
        });
      else t.regex(normalised.ok ? '' : normalised.message, /^op must be one of /);
    });
  }
}

test('each source supports exactly the documented operators', (t) => {
  t.deepEqual(OPS_BY_SOURCE.text_body, ['contains', 'not_contains', 'matches']);
  t.deepEqual(OPS_BY_SOURCE.json_body, ['exists', 'equals', 'not_equals', 'contains', 'gt', 'lt', 'matches']);
  t.deepEqual(OPS_BY_SOURCE.header, OPS_BY_SOURCE.json_body);
  t.deepEqual(OPS_BY_SOURCE.response_time, ['lt', 'gt']);
  t.deepEqual(OPS_BY_SOURCE.cert_expiry, ['lt', 'gt']);
});

const NORMALISED: Record<string, { input: AssertionInput; stored: object }> = {
  'a value with exists is dropped': {
    input: { source: 'header', op: 'exists', name: 'ETag', value: 'x' },
    stored: { source: 'header', op: 'exists', name: 'ETag' },
  },
  'a path with a header is dropped': {
    input: { source: 'header', op: 'equals', name: 'ETag', value: 'x', path: 'nonsense' },
    stored: { source: 'header', op: 'equals', name: 'ETag', value: 'x' },
  },
  'a name with a json_body is dropped': {
    input: { source: 'json_body', op: 'equals', name: 'no token', value: 'x', path: '$' },
    stored: { source: 'json_body', op: 'equals', value: 'x', path: '$' },
  },
  'path and name with a text_body are dropped': {
    input: { source: 'text_body', op: 'contains', name: 'a', value: '', path: '$' },
    stored: { source: 'text_body', op: 'contains', value: '' },
  },
};

for (const [what, { input, stored }] of Object.entries(NORMALISED)) {
  test(what, (t) => {
    t.deepEqual(normaliseAssertion(input, anyPattern), { ok: true, value: stored as never });
  });
}

const REFUSED: Record<string, { input: AssertionInput; message: RegExp }> = {
  'an operator of other sources': {
    input: { source: 'text_body', op: 'gt', value: 'x' },
    message: /^op must be one of contains, not_contains, matches for text_body/,
  },
  'a missing value': { input: { source: 'text_body', op: 'contains' }, message: /^value is required for contains/ },
  'a missing path': { input: { source: 'json_body', op: 'exists' }, message: /^path is required for json_body/ },
  'an invalid path': { input: { source: 'json_body', op: 'exists', path: 'a.b' }, message: /^path must start with \$/ },
  'a missing name': { input: { source: 'header', op: 'exists' }, message: /^name is required for header/ },
  'an empty name': { input: { source: 'header', op: 'exists', name: '' }, message: /^name must be a header name/ },
  'a name with a space': {
    input: { source: 'header', op: 'exists', name: 'X A' },
    message: /^name must be a header name/,
  },
  'a name with a colon': {
    input: { source: 'header', op: 'exists', name: 'X:A' },
    message: /^name must be a header name/,
  },
  'a name of 257 characters': {
    input: { source: 'header', op: 'exists', name: 'x'.repeat(257) },
    message: /^name must have at most 256/,
  },
  'a time that is not a number': {
    input: { source: 'response_time', op: 'lt', value: 'fast' },
    message: /^value must be a decimal number for response_time/,
  },
  'a time with a unit': {
    input: { source: 'response_time', op: 'lt', value: '500ms' },
    message: /^value must be a decimal/,
  },
  'days with an exponent': {
    input: { source: 'cert_expiry', op: 'gt', value: '1e1' },
    message: /^value must be a decimal number for cert_expiry/,
  },
};

for (const [what, { input, message }] of Object.entries(REFUSED)) {
  test(`${what} is refused with a message that names the field`, (t) => {
    const normalised = normaliseAssertion(input, anyPattern);
    t.regex(normalised.ok ? '' : normalised.message, message);
  });
}

test('only the pattern of matches must be valid for the regex engine', (t) => {
  const patterns: string[] = [];
  const refuse = (pattern: string): boolean => {
    patterns.push(pattern);
    return false;
  };
  const normalised = normaliseAssertion({ source: 'text_body', op: 'matches', value: '(?=a)' }, refuse);
  t.regex(normalised.ok ? '' : normalised.message, /^value must be a regular expression in RE2 syntax, got "\(\?=a\)"/);
  t.true(normaliseAssertion({ source: 'text_body', op: 'contains', value: '(' }, refuse).ok);
  t.deepEqual(patterns, ['(?=a)']);
});

function compare(a: string, b: string): number | null {
  const [left, right] = [parseDecimal(a), parseDecimal(b)];
  return left === null || right === null ? null : compareDecimals(left, right);
}

const ORDER: [string, string, number][] = [
  ['1', '1.0', 0],
  ['1.50', '1.5', 0],
  ['-0', '0', 0],
  ['+3', '3', 0],
  ['007', '7', 0],
  ['2', '10', -1],
  ['-2', '-10', 1],
  ['0.1', '0.09', 1],
  ['-0.5', '0', -1],
  ['-0.5', '-0.25', -1],
  ['12345678901234567890', '12345678901234567891', -1],
  ['0.30000000000000004', '0.3', 1],
];

for (const [a, b, order] of ORDER) {
  test(`${a} is ${order < 0 ? 'less than' : order > 0 ? 'greater than' : 'the same as'} ${b}`, (t) => {
    t.is(compare(a, b), order);
    t.is(compare(b, a), order === 0 ? 0 : -order);
  });
}

for (const text of [
  '',
  ' 1',
  '1 ',
  '1e3',
  '0x10',
  '1.',
  '.5',
  '1,5',
  '1_000',
  'NaN',
  'Infinity',
  '--1',
  '1.2.3',
  '٣',
  '9'.repeat(65),
]) {
  test(`"${text}" is not a decimal number`, (t) => t.is(parseDecimal(text), null));
}

test('a JSON number may have an exponent, within bounds', (t) => {
  for (const [text, plain] of [
    ['1e3', '1000'],
    ['-1.5E+2', '-150'],
    ['25e-3', '0.025'],
    ['2.0e0', '2'],
    ['7', '7'],
  ] as const) {
    const [number, same] = [parseJsonNumber(text), parseDecimal(plain)];
    t.true(number !== null && same !== null && compareDecimals(number, same) === 0, text);
  }
  for (const text of ['1e1000', '1e', 'e1', '1e+', '1e1.5', '', 'NaN']) t.is(parseJsonNumber(text), null, text);
});

test('numbers with few digits compare like doubles', (t) => {
  const number = fc.integer({ min: -10_000_000, max: 10_000_000 }).map((whole) => whole / 1000);
  fc.assert(fc.property(number, number, (a, b) => compare(a.toFixed(3), b.toFixed(3)) === Math.sign(a - b) || a === b));
  t.pass();
});
