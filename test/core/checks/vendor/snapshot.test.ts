import test from 'ava';
import { mergeSnapshots, overallOf, worstState, type VendorSnapshot } from '../../../../core/checks/vendor/snapshot.ts';

const EMPTY: VendorSnapshot = { name: null, overall: null, components: [], listsAll: false, events: [] };

test('the worst state counts, and an empty list is operational', (t) => {
  t.is(worstState(['degraded', 'major', 'maintenance']), 'major');
  t.is(worstState(['operational', 'maintenance']), 'maintenance');
  t.is(worstState([]), 'operational');
});

test('a vendor has a major outage only if all of its components have one', (t) => {
  t.is(overallOf(['major', 'major']), 'major');
  t.is(overallOf(['major', 'degraded']), 'partial');
  t.is(overallOf(['degraded', 'operational']), 'degraded');
  t.is(overallOf([]), 'operational');
});

test('the worse state of a component in two documents counts, and one full list makes the page complete', (t) => {
  const merged = mergeSnapshots([
    {
      ...EMPTY,
      overall: 'degraded',
      components: [{ id: 'a', name: 'A', state: 'major' }],
      events: [{ title: 'x', componentIds: ['a'] }],
    },
    {
      ...EMPTY,
      name: 'Shop',
      components: [
        { id: 'a', name: 'A', state: 'operational' },
        { id: 'b', name: 'B', state: 'operational' },
      ],
      listsAll: true,
    },
  ]);
  t.deepEqual(merged, {
    name: 'Shop',
    overall: 'degraded',
    components: [
      { id: 'a', name: 'A', state: 'major' },
      { id: 'b', name: 'B', state: 'operational' },
    ],
    listsAll: true,
    events: [{ title: 'x', componentIds: ['a'] }],
  });
});
