import test from 'ava';
import { joinChanges, rebase } from '../../console/client/concurrent-edits.ts';
import { emptyDraft, withoutSecrets, type Draft } from '../../console/pages/monitor-form/draft.ts';

const START: Draft = { ...emptyDraft('http'), name: 'Shop', interval: '60' };

test('changes of both sides are joined, and one field that both changed keeps ours and names it', (t) => {
  const to = { ...START, name: 'Theirs', timeout: '500', request: { ...START.request, contentType: 'text/plain' } };
  const ours = { ...START, name: 'Ours', interval: '30', request: { ...START.request, headers: [] } };
  const { draft, changed, kept } = rebase(ours, { from: START, to });
  t.like(draft, { name: 'Ours', interval: '30', timeout: '500' });
  t.is(draft.request.contentType, 'text/plain');
  t.deepEqual(changed, ['name', 'timeout', 'request']);
  t.deepEqual(kept, ['name']);
});

test('parts of a request are joined one by one, and a conflict within one is named', (t) => {
  const header = { name: 'Accept', value: '*/*', kind: 'plain', isStored: false } as const;
  const to = { ...START, request: { ...START.request, headers: [header], contentType: 'text/plain' } };
  const ours = { ...START, request: { ...START.request, headers: [{ ...header, value: 'text/html' }] } };
  const { draft, kept } = rebase(ours, { from: START, to });
  t.is(draft.request.headers[0]?.value, 'text/html');
  t.is(draft.request.contentType, 'text/plain');
  t.deepEqual(kept, ['request']);
});

test('equal changes and none are no conflict', (t) => {
  const both = { ...START, name: 'Both' };
  t.deepEqual(rebase(both, { from: START, to: both }).kept, []);
  t.deepEqual(rebase(both, { from: START, to: START }), { draft: both, changed: [], kept: [] });
});

test('a draft is stored without any secret that it has', (t) => {
  const secret = { kind: 'secret', text: 's3cret-text' } as const;
  const stored = withoutSecrets({
    ...START,
    target: 'https://user:s3cret-url@shop.example/a@b?c=d@e',
    request: {
      headers: [
        { name: 'X-Key', value: 's3cret-header', kind: 'secret', isStored: true },
        { name: 'Accept', value: '*/*', kind: 'plain', isStored: false },
      ],
      auth: {
        type: 'basic',
        isKept: false,
        token: 's3cret-token',
        username: 's3cret-user',
        password: 's3cret-password',
      },
      body: secret,
      traceparent: false,
      contentType: '',
    },
    transport: { ...START.transport, payload: secret },
  });
  t.notRegex(JSON.stringify(stored), /s3cret/);
  t.is(stored.target, 'https://shop.example/a@b?c=d@e');
  t.deepEqual(
    stored.request.headers.map(({ name, value }) => [name, value]),
    [
      ['X-Key', ''],
      ['Accept', '*/*'],
    ],
  );
});

test('monitors that two people add and remove are joined, and other fields that both changed are named', (t) => {
  const before = { name: 'Shop', all_monitors: false, monitor_ids: ['a', 'b'], tags: ['x'] };
  const present = { ...before, name: 'Theirs', monitor_ids: ['b', 'c'] };
  t.deepEqual(joinChanges(before, { ...before, monitor_ids: ['b', 'a', 'd'] }, present), {
    changes: { monitor_ids: ['b', 'c', 'd'] },
    theirs: null,
  });
  t.deepEqual(joinChanges(before, { ...before, name: 'Ours' }, present).theirs, { name: 'Theirs' });
  t.is(joinChanges(before, { ...before, name: 'Theirs' }, present).theirs, null);
  t.is(joinChanges(before, { ...before, tags: ['y'] }, present).theirs, null);
});

test('a field that depends on one that another person changed is a conflict', (t) => {
  const before = {
    all_monitors: false,
    monitor_ids: ['a'],
    tags: ['x'],
    starts_at: '2027-03-06T02:30',
    timezone: 'UTC',
  };
  const conflictOf = (ours: Partial<typeof before>, theirs: Partial<typeof before>) =>
    joinChanges(before, { ...before, ...ours }, { ...before, ...theirs }).theirs;
  const all = { all_monitors: true, monitor_ids: [], tags: [] };
  t.deepEqual(conflictOf({ monitor_ids: ['a', 'b'] }, all), { all_monitors: true });
  t.deepEqual(conflictOf({ tags: ['x', 'y'] }, all), { all_monitors: true, tags: [] });
  t.deepEqual(conflictOf({ starts_at: '2027-03-06T03:30' }, { timezone: 'Asia/Tokyo' }), { timezone: 'Asia/Tokyo' });
  t.is(conflictOf({ starts_at: '2027-03-06T03:30' }, { tags: [] }), null);
});
