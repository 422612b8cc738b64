import test from 'ava';
import type { Monitor } from '../../console/client/api.ts';
import {
  bodyOf,
  clearPicked,
  extendTo,
  isPicked,
  pickLine,
  picked,
  stepsFor,
  without,
} from '../../console/pages/overview/bulk-steps.ts';
import type { Line } from '../../console/pages/overview/folders.ts';

const monitorOf = (id: string, settings: Partial<Monitor> = {}) =>
  ({ id, name: id, type: 'tcp', target: 'db:1', enabled: 1, tags: [], ...settings }) as unknown as Monitor;

test('a bulk action names only monitors that it changes, and its undo names the same', (t) => {
  const monitors = [monitorOf('on'), monitorOf('off', { enabled: 0 })];
  t.like(stepsFor('pause', monitors), [{ ids: ['on'], undo: [{ action: 'resume', ids: ['on'] }] }]);
  t.like(stepsFor('resume', monitors), [{ ids: ['off'], undo: [{ action: 'pause', ids: ['off'] }] }]);
  t.deepEqual(stepsFor('resume', monitors.slice(0, 1)), []);
  t.like(stepsFor('delete', monitors), [{ ids: ['on', 'off'], undo: [] }]);
});

test('a bulk check skips paused monitors, drafts and heartbeats', (t) => {
  const monitors = [
    monitorOf('on'),
    monitorOf('off', { enabled: 0 }),
    monitorOf('draft', { target: '' }),
    monitorOf('job', { type: 'heartbeat' }),
  ];
  t.like(stepsFor('check', monitors), [{ ids: ['on'], undo: [] }]);
});

test('undoing a tag change restores exactly the previous tags of each monitor', (t) => {
  const monitors = [
    monitorOf('none'),
    monitorOf('one', { tags: ['a'] }),
    monitorOf('both', { tags: ['a', 'b'] }),
    monitorOf('other', { tags: ['c'] }),
  ];
  const [added] = stepsFor('tag', monitors, ['a', 'b']);
  t.deepEqual(added?.ids, ['none', 'one', 'other']);
  t.like(added?.undo, [
    { action: 'untag', ids: ['none', 'other'], tags: ['a', 'b'] },
    { action: 'untag', ids: ['one'], tags: ['b'] },
  ]);
  const [removed] = stepsFor('untag', monitors, ['a', 'b']);
  t.deepEqual(removed?.ids, ['one', 'both']);
  t.like(removed?.undo, [
    { action: 'tag', ids: ['one'], tags: ['a'] },
    { action: 'tag', ids: ['both'], tags: ['a', 'b'] },
  ]);
  t.like(without(removed?.undo ?? [], new Set(['one'])), [{ ids: ['both'], tags: ['a', 'b'] }]);
});

test('a request names at most 5,000 monitors, and tags only if it changes them', (t) => {
  const monitors = Array.from({ length: 5001 }, (_, n) => monitorOf(`m${n}`));
  const steps = stepsFor('pause', monitors);
  t.deepEqual(
    steps.map(({ ids, undo }) => [ids.length, undo[0]?.ids.length]),
    [
      [5000, 5000],
      [1, 1],
    ],
  );
  t.deepEqual(
    steps.slice(1).map((step) => bodyOf(step)),
    [{ select: { ids: ['m5000'] }, action: 'pause' }],
  );
  const [tagging] = stepsFor('tag', monitors.slice(0, 1), ['a']);
  t.deepEqual(tagging && bodyOf(tagging), { select: { ids: ['m0'] }, action: 'tag', patch: { tags: ['a'] } });
});

test('a range selects the rows between and all of closed folders, and shrinks when moved back', (t) => {
  const row = (id: string): Line => ({ key: id, depth: 0, monitor: monitorOf(id) });
  const folder = (path: string, ids: string[], isOpen: boolean): Line => ({
    key: `folder ${path}`,
    depth: 0,
    folder: { path, name: path, isOpen, ids, worst: 'up', counts: {} as never },
  });
  const lines = [row('a'), folder('closed', ['b', 'c'], false), folder('open', ['d', 'e'], true), row('d'), row('e')];
  const all = () => [...picked.value].toSorted().join('');
  clearPicked();
  pickLine(lines, 0, { isOn: true, isRange: true });
  t.is(all(), 'a', 'without a first row the range is this row');
  pickLine(lines, 3, { isOn: true, isRange: true });
  t.is(all(), 'abcd');
  pickLine(lines, 1, { isOn: false, isRange: true });
  t.is(all(), 'a');
  pickLine(lines, 2, { isOn: true, isRange: false });
  t.is(all(), 'ade', 'an open folder alone selects everything inside');
  t.true(lines[2] !== undefined && isPicked(lines[2]));
  clearPicked();
  extendTo(lines, 0, 1);
  t.is(all(), 'abc');
  extendTo(lines, 1, 2);
  extendTo(lines, 2, 3);
  t.is(all(), 'abcd');
  extendTo(lines, 3, 2);
  extendTo(lines, 2, 1);
  t.is(all(), 'abc');
  extendTo(lines, 1, 0);
  t.is(all(), 'a');
});
