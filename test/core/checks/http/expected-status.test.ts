import test from 'ava';
import * as fc from 'fast-check';
import { matchesStatus, parseExpectedStatus } from '../../../../core/checks/http/expected-status.ts';

const GOOD: Record<string, { matches: number[]; refuses: number[] }> = {
  '200': { matches: [200], refuses: [201, 404] },
  '2xx': { matches: [200, 204, 299], refuses: [199, 300, 500] },
  '2XX': { matches: [200], refuses: [300] },
  '4xX': { matches: [418], refuses: [500] },
  '200,301': { matches: [200, 301], refuses: [302] },
  '200,': { matches: [200], refuses: [201] },
  ',200': { matches: [200], refuses: [201] },
  ' 2XX , 301 ': { matches: [250, 301], refuses: [302] },
  '2xx,,3xx': { matches: [204, 308], refuses: [400] },
};

for (const [expression, { matches, refuses }] of Object.entries(GOOD)) {
  test(`"${expression}" accepts ${matches.join(', ')} and not ${refuses.join(', ')}`, (t) => {
    const parsed = parseExpectedStatus(expression);
    if (!parsed.ok) return t.fail(parsed.message);
    for (const status of matches) t.true(matchesStatus(parsed.value, status));
    for (const status of refuses) t.false(matchesStatus(parsed.value, status));
  });
}

for (const expression of [
  '',
  ',',
  ' , ',
  '20x',
  '2000',
  '2x',
  'xx',
  '2xxx',
  'x2x',
  '200-299',
  '200 301',
  '-200',
  '2.0',
  '２００',
]) {
  test(`"${expression}" is refused with a message that names the field`, (t) => {
    const parsed = parseExpectedStatus(expression);
    t.false(parsed.ok);
    t.regex(parsed.ok ? '' : parsed.message, /^expected_status must /);
  });
}

test('the message names the invalid part', (t) => {
  const parsed = parseExpectedStatus('200, 30x');
  t.true(!parsed.ok && parsed.message.endsWith('got "30x"'));
});

test('an expression has at most 128 characters', (t) => {
  t.true(parseExpectedStatus('200,'.repeat(32)).ok);
  t.false(parseExpectedStatus(`${'200,'.repeat(32)},`).ok);
});

const token = fc.oneof(
  fc.integer({ min: 100, max: 999 }).map(String),
  fc.integer({ min: 1, max: 9 }).chain((digit) => fc.constantFrom(`${digit}xx`, `${digit}XX`, `${digit}Xx`)),
);
const blank = fc.constantFrom('', ' ', '  ', '\t');

test('whitespace, empty parts and letter case are ignored', (t) => {
  const tokens = fc.array(fc.tuple(blank, token, blank, fc.constantFrom(',', ',,', ', ,')), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(tokens, fc.integer({ min: 100, max: 999 }), (parts, status) => {
      const untidy = parseExpectedStatus(
        parts.map(([before, text, after, comma]) => `${before}${text}${after}${comma}`).join(''),
      );
      const tidy = parts.some(([, text]) => text === String(status) || text.toLowerCase() === `${String(status)[0]}xx`);
      return untidy.ok && matchesStatus(untidy.value, status) === tidy;
    }),
  );
  t.pass();
});

test('any text is either refused or parsed into codes and classes', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('2', '0', 'x', 'X', ',', ' ', '-', 'é') }), (text) => {
      const parsed = parseExpectedStatus(text);
      return parsed.ok
        ? parsed.value.length > 0 && parsed.value.every((part) => /^(\d\d\d|\dxx)$/.test(part))
        : parsed.message.length > 0;
    }),
  );
  t.pass();
});
