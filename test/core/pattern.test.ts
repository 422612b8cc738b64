import test from 'ava';
import * as fc from 'fast-check';
import { RE2JS } from 're2js';
import { parsePattern } from '../../core/pattern.ts';

const parse = (pattern: string, isValidPattern: (text: string) => boolean = () => true) => parsePattern(pattern, isValidPattern);

const SMALL = [
  String.raw`^\d{1,3}(?:\.\d{1,3}){3}$`,
  String.raw`"id":"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"`,
  '(?:ab){8}-(?:cd){4}-(?:ef){4}-(?:gh){4}',
  String.raw`[)]{1000}\({1000}[](]{1000}`,
  '.{1000}',
  'x'.repeat(8192),
  '{1000}{',
];
for (const pattern of SMALL) test(`${pattern.slice(0, 60)} is not too large`, (t) => t.deepEqual(parse(pattern), { ok: true, value: pattern }));

const LARGE = {
  'repetitions in a row': '.{1000}'.repeat(11),
  'a long group repeated': `(?:${String.raw`\pL`.repeat(1000)}){1000}`,
  'groups within groups': `(?:(?:${'a'.repeat(101)}){10}){10}`,
  'a repetition that flags part from its group': `(?:${'a'.repeat(101)})(?i){100}`,
  'a repetition that an empty quotation parts from its group': String.raw`(?:${'a'.repeat(101)})\Q\E{100}`,
  'parentheses that are none, in classes': `(?:[)]${'a'.repeat(101)}[(]b){100}`,
  'parentheses that are none, escaped': String.raw`(?:\)${'a'.repeat(101)}\(b){100}`,
  'parentheses that are none, quoted': String.raw`(?:\Q)\E${'a'.repeat(101)}\Q(\Eb){100}`,
};
for (const [what, pattern] of Object.entries(LARGE)) {
  test(`${what}: too large for RE2 to see`, (t) => {
    const asked: string[] = [];
    const parsed = parse(pattern, (text) => asked.push(text) > 0);
    t.regex(parsed.ok ? '' : parsed.message, /^must be a regular expression of at most 10000 characters with its repetitions written out, got \d+$/);
    t.deepEqual(asked, []);
  });
}

test('whatever passes compiles to a program that is not much longer than may be', (t) => {
  const pieces = fc.constantFrom('a', '.', '(', '(?:', ')', '(?i)', '[)]', '[^](]', '[[:alpha:])]', String.raw`\)`, String.raw`\(`, String.raw`\Q(\E`, String.raw`\Q\E`, String.raw`\pL`, '|', '*', '{9}', '{99}', '{2,40}', '{100,}', 'x'.repeat(150));
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => {
      const pattern = parts.join('');
      return !parse(pattern).ok || programSize(pattern) < 30_000;
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

/** 0 for a pattern that RE2 refuses. */
function programSize(pattern: string): number {
  try {
    return RE2JS.compile(pattern).programSize();
  } catch {
    return 0;
  }
}
