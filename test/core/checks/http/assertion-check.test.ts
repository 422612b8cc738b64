import test from 'ava';
import { isDeeplyNested } from '../../../../core/checks/http/assertion-check.ts';

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

test('a value is nested deeply from the 1001st level on, in arrays and in objects', (t) => {
  t.false(isDeeplyNested(nested(1000)));
  t.true(isDeeplyNested(nested(1001)));
  t.true(isDeeplyNested({ a: 1, b: { c: nested(1000) } }));
});

test('what is no array and no object is not nested, however long it is', (t) => {
  for (const value of [null, 1, true, 'x'.repeat(10_000), [], {}, Array.from({ length: 100_000 }, () => [])])
    t.false(isDeeplyNested(value));
});
