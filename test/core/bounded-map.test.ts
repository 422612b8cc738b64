import test from 'ava';
import { addCount, forgetOldest } from '../../core/bounded-map.ts';

test('a map over its limit evicts its oldest entry and no other', (t) => {
  const entries = new Map(Object.entries({ a: 1, b: 2, c: 3 }));
  forgetOldest(entries, 3);
  t.deepEqual([...entries.keys()], ['a', 'b', 'c']);
  forgetOldest(entries, 2);
  t.deepEqual([...entries.keys()], ['b', 'c']);
});

test('a count that reaches zero leaves the map, and falls no further', (t) => {
  const counts = new Map<string, number>();
  addCount(counts, 'a', 1);
  addCount(counts, 'a', 1);
  addCount(counts, 'a', -1);
  t.deepEqual([...counts], [['a', 1]]);
  addCount(counts, 'a', -1);
  t.deepEqual([...counts], []);
  addCount(counts, 'a', -1);
  t.deepEqual([...counts], []);
});
