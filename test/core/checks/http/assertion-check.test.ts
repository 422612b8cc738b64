import test from 'ava';
import { isDeeplyNested } from '../../../../core/checks/http/assertion-check.ts';

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

test('a value is deeply nested from level 1001 on, in arrays and objects', (t) => {
  t.false(isDeeplyNested(nested(1000)));
  t.true(isDeeplyNested(nested(1001)));
  t.true(isDeeplyNested({ a: 1, b: { c: nested(1000) } }));
});

test('scalars and flat arrays are not deeply nested, however long they are', (t) => {
  for (const value of [null, 1, true, 'x'.repeat(10_000), [], {}, Array.from({ length: 100_000 }, () => [])])
    t.false(isDeeplyNested(value));
});
