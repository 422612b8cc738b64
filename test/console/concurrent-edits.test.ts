import test from 'ava';
import { joinChanges, rebase } from '../../console/client/concurrent-edits.ts';
import { emptyDraft, withoutSecrets, type Draft } from '../../console/pages/monitor-form/draft.ts';

const START: Draft = { ...emptyDraft('http'), name: 'Shop', interval: '60' };

test('changes of two users are merged; a field that both changed keeps our value and is reported', (t) => {
  const to = { ...START, name: 'Theirs', timeout: '500', request: { ...START.request, contentType: 'text/plain' } };
  const ours = { ...START, name: 'Ours', interval: '30', request: { ...START.request, headers: [] } };
  const { draft, changed, kept } = rebase(ours, { from: START, to });
  t.like(draft, { name: 'Ours', interval: '30', timeout: '500' });
  t.is(draft.request.contentType, 'text/plain');
  t.deepEqual(changed, ['name', 'timeout', 'request']);
  t.deepEqual(kept, ['name']);
});

test('parts of a request are merged separately, and a conflict within one is reported', (t) => {
  const header = { name: 'Accept', value: '*/*', kind: 'plain', isStored: false } as const;
  const to = { ...START, request: { ...START.request, headers: [header], contentType: 'text/plain' } };
  const ours = { ...START, request: { ...START.request, headers: [{ ...header, value: 'text/html' }] } };
  const { draft, kept } = rebase(ours, { from: START, to });
  t.is(draft.request.headers[0]?.value, 'text/html');
  t.is(draft.request.contentType, 'text/plain');
  t.deepEqual(kept, ['request']);
});

test('equal changes, or changes on one side only, are no conflict', (t) => {
  const both = { ...START, name: 'Both' };
  t.deepEqual(rebase(both, { from: START, to: both }).kept, []);
  t.deepEqual(rebase(both, { from: START, to: START }), { draft: both, changed: [], kept: [] });
});

test('a draft is stored without its secrets', (t) => {
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

test('monitors that two users add and remove are merged, and other fields that both changed are reported', (t) => {
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

test('a field that depends on one that another user changed is a conflict', (t) => {
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
  t.deepEqual(conflictOf({ monitor_ids: ['a', 'b'] }, all), all);
  t.deepEqual(conflictOf({ tags: ['x', 'y'] }, all), all);
  t.deepEqual(conflictOf({ starts_at: '2027-03-06T03:30' }, { timezone: 'Asia/Tokyo' }), { timezone: 'Asia/Tokyo' });
  t.is(conflictOf({ starts_at: '2027-03-06T03:30' }, { tags: [] }), null);
});

/** A window as a form sends it, or a channel if it has `monitor_tags`. */
type Sent = {
  all_monitors: boolean;
  monitor_ids?: readonly string[];
  tags?: readonly string[];
  monitor_tags?: { any: readonly string[] } | null;
  cron?: string | null;
  rrule?: string | null;
};

/** Returns the body of the second save after a conflict in the first; null if the first one succeeds. */
function secondSave(before: Sent, after: Sent, present: Sent): Partial<Sent> | null {
  const { theirs } = joinChanges(before, after, present);
  if (theirs === null) return null;
  const again = joinChanges({ ...before, ...theirs }, after, present);
  if (again.theirs !== null) throw new Error(`the second save is refused for ${JSON.stringify(again.theirs)}`);
  return again.changes;
}

const LISTED = { all_monitors: false, monitor_ids: ['a', 'b'], tags: ['x'] };
const ALL = { all_monitors: true, monitor_ids: [], tags: [] };

test('a second save sends all of its monitors and tags after another user chose all monitors', (t) => {
  const added = { ...LISTED, monitor_ids: ['a', 'b', 'c'] };
  t.deepEqual(secondSave(LISTED, added, ALL), added);
  const tagged = { ...LISTED, tags: ['x', 'y'] };
  t.deepEqual(secondSave(LISTED, tagged, ALL), tagged);
  // A channel for all monitors has no other routing fields.
  const channel = { all_monitors: false, monitor_ids: ['a', 'b'], monitor_tags: { any: ['x'] } };
  const wider = { ...channel, monitor_ids: ['a', 'b', 'c'] };
  t.deepEqual(secondSave(channel, wider, { all_monitors: true }), wider);
});

test('two users who replace all monitors with different ones conflict, and with the same ones do not', (t) => {
  const ours = { ...ALL, all_monitors: false, monitor_ids: ['a'] };
  t.deepEqual(secondSave(ALL, ours, { ...ours, monitor_ids: ['p'] }), { monitor_ids: ['a'] });
  t.deepEqual(secondSave(ALL, ours, { ...LISTED, monitor_ids: [] }), { monitor_ids: ['a'], tags: [] });
  t.is(secondSave(ALL, ours, { ...ours }), null);
  const channel = { all_monitors: false, monitor_ids: ['a'], monitor_tags: null };
  t.deepEqual(secondSave({ all_monitors: true }, channel, { ...channel, monitor_ids: ['p'] }), { monitor_ids: ['a'] });
});

test('changes that together leave no monitor are a conflict', (t) => {
  const untagged = { ...LISTED, tags: [] };
  const [first, second] = [
    { ...untagged, monitor_ids: ['a'] },
    { ...untagged, monitor_ids: ['b'] },
  ];
  t.deepEqual(secondSave(untagged, first, second), { monitor_ids: ['a'] });
  const tagsOnly = { ...LISTED, monitor_ids: [] };
  t.deepEqual(secondSave(LISTED, tagsOnly, untagged), { monitor_ids: [], tags: ['x'] });
  t.deepEqual(secondSave(LISTED, untagged, tagsOnly), { monitor_ids: ['a', 'b'], tags: [] });
  // As long as one tag is left there is no conflict.
  t.is(secondSave(LISTED, { ...LISTED, monitor_ids: ['a'] }, { ...LISTED, monitor_ids: ['b'] }), null);
  const none = { ...untagged, monitor_ids: [] };
  t.is(secondSave(untagged, none, second), null, 'a channel may have no monitors');
  t.is(
    secondSave(untagged, { ...untagged, cron: '0 4 * * *' }, none),
    null,
    'our change does not concern the monitors',
  );
});

test('a cron expression and an RRULE conflict, and a second save clears that of the other user', (t) => {
  const once = { ...ALL, cron: null, rrule: null };
  const cron = { ...once, cron: '0 3 * * *' };
  const rrule = { ...once, rrule: 'FREQ=DAILY' };
  t.deepEqual(secondSave(once, rrule, cron), { cron: null, rrule: 'FREQ=DAILY' });
  t.deepEqual(secondSave(once, cron, rrule), { cron: '0 3 * * *', rrule: null });
  t.deepEqual(secondSave(cron, { ...cron, cron: '0 4 * * *' }, rrule), { cron: '0 4 * * *', rrule: null });
});
