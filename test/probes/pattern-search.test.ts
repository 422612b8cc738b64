import test from 'ava';
import { createPatternSearch } from '../../probes/pattern-search.ts';

const search = createPatternSearch();

test('a pattern matches anywhere in a text, case-sensitive and single-line unless flagged', (t) => {
  t.true(search('b+c', 'aabbcc'));
  t.false(search('^b', 'ab'));
  t.false(search('^b', 'a\nb'));
  t.true(search('(?m)^b', 'a\nb'));
  t.false(search('B', 'b'));
  t.true(search('(?i)B', 'b'));
  t.true(search('', ''));
});

for (const pattern of ['(?=a)', String.raw`(a)\1`, '(a', 'a{1001}', '*']) {
  test(`the pattern ${pattern} is refused`, (t) => {
    t.throws(() => search(pattern, 'a'), { message: /error parsing regexp/ });
  });
}

test('a pattern that would explode in a backtracking engine is fast', (t) => {
  const before = performance.now();
  t.false(search('(a+)+$', `${'a'.repeat(100_000)}b`));
  t.true(performance.now() - before < 20_000);
});

test('a large pattern searches only the start of a long text, which bounds its time', (t) => {
  const pattern = '(?s)a.{900}[cd]';
  const before = performance.now();
  t.true(search(pattern, `a${'b'.repeat(900)}c${'ab'.repeat(500_000)}`));
  t.false(search(pattern, `${'ab'.repeat(500_000)}c`));
  t.true(performance.now() - before < 50_000);
});

test('more patterns than the cache holds all work', (t) => {
  for (let round = 0; round < 2; round += 1) {
    for (let index = 0; index < 600; index += 1) t.true(search(`^n${index}$`, `n${index}`));
  }
});
