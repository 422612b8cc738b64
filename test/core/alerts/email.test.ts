import test from 'ava';
import * as fc from 'fast-check';
import { parseEmailAddress } from '../../../core/alerts/email.ts';

const GOOD: readonly (readonly [string, string])[] = [
  ['oncall@example.com', 'oncall@example.com'],
  ['  On.Call+spotcheck@EXAMPLE.com ', 'On.Call+spotcheck@example.com'],
  ["o'neil@xn--mnchen-3ya.example", "o'neil@xn--mnchen-3ya.example"],
  ['a@münchen.example', 'a@xn--mnchen-3ya.example'],
  ['a@例え.テスト', 'a@xn--r8jz45g.xn--zckzah'],
  ['a@1password.example', 'a@1password.example'],
];
for (const [written, stored] of GOOD) {
  test(`${JSON.stringify(written)} is parsed as ${stored}`, (t) => {
    t.deepEqual(parseEmailAddress(written), { ok: true, value: stored });
  });
}

const BAD = [
  '',
  '@',
  'oncall',
  '@example.com',
  'oncall@',
  'oncall@localhost',
  'oncall@127.0.0.1',
  'oncall@127.1',
  'oncall@[::1]',
  'a b@example.com',
  'a@example.com\r\nBcc: c@example.com',
  'a@exa\tmple.com',
  'a@example.com, b@example.com',
  'a@example.com;b@example.com',
  'A <a@example.com>',
  '"a b"@example.com',
  'a@b@example.com',
  '.a@example.com',
  'a..b@example.com',
  'ä@example.com',
  'a@exam_ple.com',
  'a@-example.com',
  'a@example..com',
  'a@example.com:25',
  'a@example.com/path',
  'a@%65xample.com',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b.'.repeat(126)}example`,
];
for (const written of BAD) {
  test(`${JSON.stringify(written.slice(0, 40))} is refused`, (t) => {
    t.false(parseEmailAddress(written).ok);
  });
}

test('an accepted address is short ASCII without header delimiters and parses to itself', (t) => {
  // Few arbitrary texts are valid, and a run may contain none of them.
  const part = fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[a-z0-9]{1,20}$/));
  fc.assert(
    fc.property(fc.tuple(part, part), ([before, after]) => {
      const parsed = parseEmailAddress(`${before}@${after}.example`);
      if (!parsed.ok) return;
      t.regex(parsed.value, /^[!-~]{3,254}$/);
      t.notRegex(parsed.value, /[\s<>,;:"()[\]\\]/);
      t.deepEqual(parseEmailAddress(parsed.value), parsed);
    }),
    { numRuns: 2000 },
  );
});
