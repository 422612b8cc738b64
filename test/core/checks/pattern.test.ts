import test from 'ava';
import * as fc from 'fast-check';
import { RE2JS } from 're2js';
import { containsText, costOfPatterns, parsePattern, refuseTogether } from '../../../core/checks/pattern.ts';

const parse = (pattern: string, isValidPattern: (text: string) => boolean = () => true) =>
  parsePattern(pattern, isValidPattern);

const SMALL = [
  String.raw`^\d{1,3}(?:\.\d{1,3}){3}$`,
  String.raw`"id":"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"`,
  '(?:ab){8}-(?:cd){4}-(?:ef){4}-(?:gh){4}',
  String.raw`[)]{1000}\({1000}[](]{1000}`,
  '.{1000}',
  'x'.repeat(8192),
  '{1000}{',
  String.raw`(?i)^[\w.+-]+@[a-z0-9-]+\.[a-z]{2,63}$`,
  String.raw`(?i)^[а-яё\s-]+$`,
  String.raw`^\p{L}+(?:[\p{Nd}\pZ_-]\p{L}*){0,30}$`,
  String.raw`[\x00-\x{10FFFF}]{1000}`,
  String.raw`(?i)[^\x20-\x7e]`,
  String.raw`^\x{20000}{3}[\x{20000}]\x{1234}$`,
];
for (const pattern of SMALL)
  test(`${pattern.slice(0, 60)} is not too large`, (t) => t.deepEqual(parse(pattern), { ok: true, value: pattern }));

const LARGE = {
  'repetitions in a row': '.{1000}'.repeat(11),
  'a repeated long group': `(?:${String.raw`\pL`.repeat(1000)}){1000}`,
  'nested repeated groups': `(?:(?:${'a'.repeat(101)}){10}){10}`,
  'a repetition separated from its group by flags': `(?:${'a'.repeat(101)})(?i){100}`,
  'a repetition separated from its group by an empty quotation': String.raw`(?:${'a'.repeat(101)})\Q\E{100}`,
  'literal parentheses in classes': `(?:[)]${'a'.repeat(101)}[(]b){100}`,
  'escaped parentheses': String.raw`(?:\)${'a'.repeat(101)}\(b){100}`,
  'many Unicode classes': String.raw`\p{Greek}\PN`.repeat(130),
  'many Unicode classes in one class': `[${String.raw`\pL\PN`.repeat(130)}]`,
  'wide case-insensitive ranges': `(?i)[${'a-\u{10FFFE}'.repeat(3)}]`,
  'wide case-insensitive ranges with escaped ends':
    String.raw`(?s)(?mi:[\x{61}-\x{10ffff}` + String.raw`\a-\x{1f000}`.repeat(3) + '])',
  'quoted parentheses': String.raw`(?:\Q)\E${'a'.repeat(101)}\Q(\Eb){100}`,
  'a repetition too large for a number, repeated once': `a{${'9'.repeat(309)}}{1}`,
  'a repetition of nothing, too large for a number': `{${'9'.repeat(309)}}a`,
  'an unclosed group': `(?:${'a'.repeat(5001)}(${'b'.repeat(5000)}(`,
  'so many repetitions of one character that their product is too large for a number': `a${'{1000}'.repeat(103)}{1}`,
};
for (const [what, pattern] of Object.entries(LARGE)) {
  test(`${what}: refused as too large before RE2 compiles it`, (t) => {
    const submitted: string[] = [];
    const parsed = parse(pattern, (text) => submitted.push(text) > 0);
    t.regex(
      parsed.ok ? '' : parsed.message,
      new RegExp(
        '^must be a regular expression of at most 10000 characters with its repetitions, Unicode classes and ' +
          String.raw`wide ranges written out, got (?:\d+|more than 1000000)$`,
      ),
    );
    t.deepEqual(submitted, []);
    t.true(costOfPatterns([pattern]) > 10_000);
  });
}

test('groups nested deeper than 100 are refused before RE2 parses them, closed or not', (t) => {
  const nested = (depth: number) => `${'(?:'.repeat(depth)}${'a+'.repeat(2000)}${')'.repeat(depth)}`;
  for (const pattern of [nested(101), `${nested(101)}(`, '('.repeat(101), nested(950)]) {
    const parsed = parse(pattern, () => t.fail() === undefined);
    t.is(parsed.ok ? '' : parsed.message, 'must be a regular expression with at most 100 nested groups');
    t.is(refuseTogether(['a', pattern]), 'must have regular expressions with at most 100 nested groups');
    t.is(costOfPatterns([pattern]), 20_000);
  }
  t.true(parse(nested(100)).ok);
  t.is(costOfPatterns([`${nested(100)}(`]), costOfPatterns([nested(100)]));
});

test('any accepted pattern compiles to a program of size under 30,000', (t) => {
  const pieces = fc.constantFrom(
    'a',
    '.',
    '(',
    '(?:',
    ')',
    '(?i)',
    '[)]',
    '[^](]',
    '[[:alpha:])]',
    String.raw`\)`,
    String.raw`\(`,
    String.raw`\Q(\E`,
    String.raw`\Q\E`,
    String.raw`\pL`,
    '|',
    '*',
    '{9}',
    '{99}',
    '{2,40}',
    '{100,}',
    'x'.repeat(150),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => {
      const pattern = parts.join('');
      return !parse(pattern).ok || programSize(pattern) < 30_000;
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

const ADVERSE = {
  'unclosed classes': '[',
  'unclosed classes within classes': '[[:a',
  'an unclosed named class': '[:a',
  'unclosed flags': '(?',
  'unclosed Unicode classes': String.raw`\p{`,
  'unclosed quotations': String.raw`\Q`,
  'unclosed repetitions': '{1',
  backslashes: '\\',
};
for (const [what, piece] of Object.entries(ADVERSE)) {
  test(`100,000 characters of ${what} are measured in under 20 s of CPU time`, (t) => {
    const text = piece.repeat(Math.floor(100_000 / piece.length));
    for (const pattern of [text, `${text}\\`, `[${text}`]) {
      const before = process.threadCpuUsage();
      parse(pattern);
      t.true(process.threadCpuUsage(before).user < 20_000_000);
    }
  });
}

test('patterns have at most 20,000 characters in total, with repetitions expanded', (t) => {
  const tenThousand = '.{1000}'.repeat(10);
  t.is(refuseTogether([]), null);
  t.is(refuseTogether([tenThousand, tenThousand]), null);
  t.is(
    refuseTogether([tenThousand, 'x', tenThousand]),
    'must have regular expressions of at most 20000 characters together with their repetitions, Unicode classes ' +
      'and wide ranges written out, got 20001',
  );
  t.regex(refuseTogether([`a${'{1000}'.repeat(9)}`]) ?? '', /got more than 1000000$/);
});

/** Returns the program size of a pattern; 0 if RE2 refuses it. */
function programSize(pattern: string): number {
  try {
    return RE2JS.compile(pattern).programSize();
  } catch {
    return 0;
  }
}

const MIB = 1024 * 1024;

/** Generates texts of two letters, in which everything almost matches. */
const nearly = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength });

test('a search finds what String.includes finds, also in very long texts', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(nearly(1, 40), nearly(0, 60), fc.nat(3), (word, end, cut) => {
        const text = `${word.repeat(Math.ceil(MIB / 4 / word.length))}${end}`;
        const sought = text.slice(-(100 + end.length)).slice(0, 90 + cut) + end;
        return containsText(text, sought) === text.includes(sought) && containsText(end, word) === end.includes(word);
      }),
      { numRuns: 30 },
    ),
  );
});

test('the empty text is found in every text, and nothing else in the empty one', (t) => {
  t.true(containsText('', ''));
  t.true(containsText('a'.repeat(MIB), ''));
  t.false(containsText('', 'a'));
});

test('a match at the very end is found, one that is a character longer is not', (t) => {
  const sought = `${'ab'.repeat(100)}c`;
  t.true(containsText('ab'.repeat(MIB / 2) + 'c', sought));
  t.false(containsText('ab'.repeat(MIB / 2), sought));
  t.true(containsText(`${'x'.repeat(MIB)}${'é😀'.repeat(50)}`, 'é😀'.repeat(50)));
});

test('five worst-case searches of 1 MiB take under 0.8 s of CPU time', (t) => {
  const sought = `${'a'.repeat(512)}b${'a'.repeat(511)}`;
  const before = process.threadCpuUsage().user;
  for (let times = 0; times < 5; times += 1) t.false(containsText('a'.repeat(MIB), sought));
  t.true((process.threadCpuUsage().user - before) / 1000 < 800);
});
