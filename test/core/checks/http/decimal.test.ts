import test from 'ava';
import * as fc from 'fast-check';
import { compareDecimals, parseDecimal, parseJsonNumber } from '../../../../core/checks/http/assertions.ts';

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
  test(`"${text}" is no decimal number`, (t) => t.is(parseDecimal(text), null));
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

test('numbers of few digits compare as doubles do', (t) => {
  const number = fc.integer({ min: -10_000_000, max: 10_000_000 }).map((whole) => whole / 1000);
  fc.assert(fc.property(number, number, (a, b) => compare(a.toFixed(3), b.toFixed(3)) === Math.sign(a - b) || a === b));
  t.pass();
});
