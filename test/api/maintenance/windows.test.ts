import anyTest, { type TestFn } from 'ava';
import type { Database } from '../../../models/database.ts';
import { planWindows } from '../../../models/maintenance/occurrences.ts';
import { planMaintenance } from '../../../workers/maintenance/plan.ts';
import { until } from '../../helpers/until.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, { poolSize: 12 });

const WINDOWS = '/v1/maintenance-windows';
const NOW = () => Math.floor(Date.now() / 1000);

async function addMonitor({ owner }: Account, tags: readonly string[] = [], name = 'Shop'): Promise<string> {
  const { json, text } = await owner('POST', '/v1/monitors', { name, target: 'https://shop.example/', tags });
  if (typeof json.id !== 'string') throw new Error(text);
  return json.id;
}

async function addWindow({ owner }: Account, settings: object): Promise<Record<string, unknown> & { id: string }> {
  const { status, json, text } = await owner('POST', WINDOWS, { name: 'Upgrade', duration_seconds: 3600, ...settings });
  if (status !== 201) throw new Error(text);
  return json;
}

test('a window without a start is active immediately, and its monitors show it until it ends', async (t) => {
  const account = await t.context.api.account();
  const { owner, reader } = account;
  const [inside, outside] = [await addMonitor(account, ['db']), await addMonitor(account)];
  const window = await addWindow(account, { tags: ['db'] });
  t.like(window, { status: 'active', alerts: 'hold', sla: 'exclude', settle_seconds: 0, timezone: 'UTC', next: null });
  const maintenanceOf = async (id: string) => (await reader('GET', `/v1/monitors/${id}`)).json.maintenance;
  t.like(await maintenanceOf(inside), { window_id: window.id });
  t.is(await maintenanceOf(outside), null);
  const listed = (await reader('GET', '/v1/monitors')).json.monitors;
  t.deepEqual(
    listed.map(({ maintenance }: { maintenance: unknown }) => maintenance !== null),
    [true, false],
  );
  t.like((await reader('GET', '/v1/overview')).json.monitors[0], { maintenance: { window_id: window.id } });

  const extended = await owner('POST', `${WINDOWS}/${window.id}/extend`, { duration_seconds: 600 });
  const { starts_at: start } = window;
  t.like(extended.json, { status: 'active', current: { starts_at: start, ends_at: Number(start) + 4200 } });
  t.like(await maintenanceOf(inside), { ends_at: Number(start) + 4200 });
  t.like((await owner('POST', `${WINDOWS}/${window.id}/end`)).json, { status: 'ended', current: null });
  t.is(await maintenanceOf(inside), null);
  isError(t, await owner('POST', `${WINDOWS}/${window.id}/end`), { status: 409, error: /is not in progress/ });
});

test('an ambiguous local start is the first of its two times, and a skipped one the end of the gap', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const winter = await api.another({ now: () => Date.parse('2027-01-15T12:00:00Z') });
  const startOf = async (local: string) => {
    const body = {
      name: 'Upgrade',
      duration_seconds: 3600,
      all_monitors: true,
      starts_at: local,
      timezone: 'Europe/Berlin',
    };
    const { status, json, text } = await owner('POST', WINDOWS, body, {}, winter);
    t.is(status, 201, text);
    return json.starts_at;
  };
  // Berlin's clocks go forward at 01:00 UTC on 28 March, and back on 31 October.
  t.is(await startOf('2027-03-28T02:30'), Date.parse('2027-03-28T01:00:00Z') / 1000);
  t.is(await startOf('2027-03-28T01:30'), Date.parse('2027-03-28T00:30:00Z') / 1000);
  t.is(await startOf('2027-10-31T02:30'), Date.parse('2027-10-31T00:30:00Z') / 1000);
});

for (const [what, settings, error] of [
  [
    'an end before the start',
    { starts_at: NOW() + 900, ends_at: NOW() + 600, duration_seconds: undefined },
    /^ends_at must be after starts_at/,
  ],
  ['an end and a duration', { ends_at: NOW() + 600 }, /^ends_at must not be sent together with duration_seconds/],
  ['neither an end nor a duration', { duration_seconds: undefined }, /^duration_seconds or ends_at is required/],
  ['an unknown time zone', { timezone: 'Europe/Atlantis' }, /^timezone must be a zone of the IANA time zone database/],
  ['a date that does not exist', { starts_at: '2027-02-30T02:00' }, /^starts_at must be a date that exists/],
  ['a string that is not a date', { starts_at: 'tomorrow' }, /^starts_at must be a Unix second, or a local time/],
  ['a start long ago', { starts_at: 1 }, /^starts_at must be at most 31 days in the past/],
  ['no monitors', { all_monitors: false }, /^monitor_ids, tags or all_monitors must say which monitors/],
  ['a blank name', { name: ' ' }, /^name must be/],
  ['too short a duration', { duration_seconds: 59 }, /^duration_seconds must be/],
  ['too long a duration', { duration_seconds: 2_592_001 }, /^duration_seconds must be/],
  ['an unknown alert mode', { alerts: 'mute' }, /^alerts must be/],
  ['too long a settling time', { settle_seconds: 3601 }, /^settle_seconds must be/],
  [
    'both kinds of recurrence rules',
    { cron: '0 2 * * *', rrule: 'FREQ=DAILY' },
    /^rrule must not be set together with cron/,
  ],
  ['an unknown field', { until: 5 }, /until/],
] as const) {
  test(`a window with ${what} is a 400 that says so, and nothing is stored`, async (t) => {
    const { owner, reader } = await t.context.api.account();
    const body = { name: 'Upgrade', duration_seconds: 3600, all_monitors: true, ...settings };
    isError(t, await owner('POST', WINDOWS, body), { status: 400, error });
    t.deepEqual((await reader('GET', WINDOWS)).json, { maintenance_windows: [] });
  });
}

test('a window needs a monitor of its account, but one whose monitors were deleted can be renamed', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const { owner } = account;
  const [id, theirs] = [await addMonitor(account), await addMonitor(stranger)];
  const error = /^monitor_ids must name a monitor of the account/;
  for (const ids of [[theirs], ['mon_unknown', theirs]])
    isError(t, await owner('POST', WINDOWS, { name: 'x', duration_seconds: 60, monitor_ids: ids }), {
      status: 400,
      error,
    });
  t.deepEqual((await owner('GET', WINDOWS)).json, { maintenance_windows: [] });

  const window = await addWindow(account, { monitor_ids: [id, theirs], starts_at: NOW() + 900 });
  t.deepEqual(window['monitor_ids'], [id]);
  isError(t, await owner('PATCH', `${WINDOWS}/${window.id}`, { monitor_ids: [theirs] }), { status: 400, error });
  t.deepEqual((await owner('GET', `${WINDOWS}/${window.id}`)).json, window);
  t.is((await owner('DELETE', `/v1/monitors/${id}`)).status, 204);
  t.like(await owner('PATCH', `${WINDOWS}/${window.id}`, { name: 'Later' }), { status: 200, json: { name: 'Later' } });
});

test('concurrent requests with the same key create one window per account', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const body = { name: 'Deploy', duration_seconds: 600, all_monitors: true, key: 'deploy-42' };
  const answers = await Promise.all(Array.from({ length: 5 }, () => account.owner('POST', WINDOWS, body)));
  t.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 200, 200, 201]);
  t.is(new Set(answers.map(({ json }) => json.id)).size, 1);
  const theirs = await other.owner('POST', WINDOWS, body);
  t.is(theirs.status, 201);
  t.not(theirs.json.id, answers[0]?.json.id);
});

test('a script can start maintenance of one monitor, once per key', async (t) => {
  const account = await t.context.api.account();
  const id = await addMonitor(account);
  const start = () =>
    account.owner('POST', `/v1/monitors/${id}/maintenance`, { duration_seconds: 600, key: 'deploy-42' });
  const first = await start();
  t.is(first.status, 201);
  t.like(first.json, { name: 'Shop', monitor_ids: [id], status: 'active' });
  const second = await start();
  t.is(second.status, 200);
  t.is(second.json.id, first.json.id);
  t.like((await account.reader('GET', `/v1/monitors/${id}`)).json, { maintenance: { window_id: first.json.id } });
});

test('a key that belongs to a window of other monitors is refused with a 409', async (t) => {
  const account = await t.context.api.account();
  const [id, other] = [await addMonitor(account), await addMonitor(account)];
  const { id: window } = await addWindow(account, { monitor_ids: [id], key: 'deploy-42' });
  const owner = `maintenance window ${window}, which covers other monitors`;
  const error = `key deploy-42 is that of ${owner}: use a key of its own`;
  const sent = { duration_seconds: 600, key: 'deploy-42' };
  isError(t, await account.owner('POST', `/v1/monitors/${other}/maintenance`, sent), { status: 409, error });
  isError(t, await account.owner('POST', WINDOWS, { ...sent, name: 'x', tags: ['db'] }), { status: 409, error });
  isError(t, await account.owner('POST', WINDOWS, { ...sent, name: 'x', all_monitors: true }), { status: 409, error });
  t.is((await account.owner('POST', WINDOWS, { ...sent, name: 'x', monitor_ids: [other, id] })).status, 200);
});

test('read-only tokens cannot change a window, and other accounts can neither change nor read it', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const id = await addMonitor(account);
  const { id: window } = await addWindow(account, { monitor_ids: [id] });
  const operations = [
    ['PATCH', `${WINDOWS}/${window}`, { name: 'x' }],
    ['DELETE', `${WINDOWS}/${window}`],
    ['POST', `${WINDOWS}/${window}/end`],
    ['POST', `${WINDOWS}/${window}/extend`, { duration_seconds: 60 }],
    ['POST', `${WINDOWS}/${window}/skip`, {}],
    ['POST', `/v1/monitors/${id}/maintenance`, { duration_seconds: 60 }],
  ] as const;
  for (const [method, path, body] of operations) {
    t.is((await account.reader(method, path, body)).status, 403, path);
    t.is((await stranger.owner(method, path, body)).status, 404, path);
  }
  t.is((await stranger.owner('GET', `${WINDOWS}/${window}`)).status, 404);
  const theirs = await addWindow(stranger, { monitor_ids: [id], tags: ['x'] });
  t.deepEqual(theirs['monitor_ids'], []);
  t.deepEqual((await stranger.owner('GET', `${WINDOWS}/occurrences?window_id=${window}`)).json, { occurrences: [] });
  t.like((await account.reader('GET', `${WINDOWS}/${window}`)).json, { name: 'Upgrade', status: 'active' });
});

test('monitors join and leave an active window with their tags, and past times are kept', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [joins, leaves] = [await addMonitor(account), await addMonitor(account, ['db'])];
  const window = await addWindow(account, { tags: ['db'] });
  const isIn = async (id: string) => (await account.reader('GET', `/v1/monitors/${id}`)).json.maintenance !== null;
  const plan = () => planMaintenance({ database: api.database, now: Date.now });
  await account.owner('PATCH', `/v1/monitors/${joins}`, { tags: ['db'] });
  await account.owner('PATCH', `/v1/monitors/${leaves}`, { tags: [] });
  await plan();
  t.deepEqual([await isIn(joins), await isIn(leaves)], [true, false]);
  await account.owner('PATCH', `/v1/monitors/${leaves}`, { tags: ['db'] });
  await plan();
  t.true(await isIn(leaves));
  await account.owner('DELETE', `${WINDOWS}/${window.id}`);
  t.deepEqual([await isIn(joins), await isIn(leaves)], [false, false]);
  const { rows } = await api.database.pool.query(
    'SELECT count(*)::int AS n FROM maintenance_times t JOIN maintenance_occurrences o ON o.no = t.occurrence_no ' +
      'WHERE o.window_id = $1',
    [window.id],
  );
  t.is(rows[0]?.n, 3);
});

test('a window entered afterwards is marked as retroactive in the audit log', async (t) => {
  const account = await t.context.api.account();
  await addMonitor(account);
  const window = await addWindow(account, { all_monitors: true, starts_at: NOW() - 7200, duration_seconds: 3600 });
  t.is(window['status'], 'ended');
  const { rows } = await t.context.api.database.pool.query('SELECT changes FROM audit_log WHERE object_id = $1', [
    window.id,
  ]);
  t.like(rows[0]?.changes, { retroactive_seconds: [null, 3600] });
  const { json: stats } = await account.reader('GET', `/v1/maintenance-windows/occurrences?from=${NOW() - 7200}`);
  t.is(stats.occurrences.length, 1);
});

test('an edit moves future windows, and a started one keeps its times', async (t) => {
  const account = await t.context.api.account();
  const { owner } = account;
  const start = NOW() + 86_400;
  const later = await addWindow(account, { all_monitors: true, starts_at: start });
  const moved = await owner('PATCH', `${WINDOWS}/${later.id}`, { starts_at: start + 600, name: 'Moved' });
  t.like(moved.json, { name: 'Moved', next: { starts_at: start + 600, ends_at: start + 4200 } });
  const begun = await addWindow(account, { all_monitors: true });
  isError(t, await owner('PATCH', `${WINDOWS}/${begun.id}`, { duration_seconds: 60 }), {
    status: 409,
    error: /has begun, so that its times stay/,
  });
  t.is((await owner('PATCH', `${WINDOWS}/${begun.id}`, { description: 'Ticket 7' })).status, 200);
  isError(t, await owner('PATCH', `${WINDOWS}/${later.id}`, { all_monitors: false }), {
    status: 400,
    error: /must say which monitors/,
  });
});

test('an account has at most 500 windows that have not ended', async (t) => {
  const account = await t.context.api.account();
  const { id } = await addWindow(account, { all_monitors: true });
  await t.context.api.database.pool.query(
    `INSERT INTO maintenance_windows SELECT 'mnt_' || n || w.id, tenant_id, NULL, name, description, all_monitors,
       monitor_ids, tags, local_start, timezone, starts_at, duration_seconds, cron, rrule, alerts, sla, settle_seconds,
       planned_until, true, created_at, updated_at
     FROM maintenance_windows w, generate_series(1, 499) n WHERE id = $1`,
    [id],
  );
  const body = { name: 'One more', duration_seconds: 60, all_monitors: true };
  isError(t, await account.owner('POST', WINDOWS, body), { status: 400, error: /at most 500 maintenance windows/ });
  // A window that is over does not count.
  t.is((await account.owner('POST', WINDOWS, { ...body, starts_at: NOW() - 600 })).status, 201);
});

test('a preview shows times in both zones and the monitors covered, and stores nothing', async (t) => {
  const account = await t.context.api.account();
  await addMonitor(account, ['db'], 'B');
  await addMonitor(account, ['db'], 'A');
  const day = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
  const { json } = await account.owner('POST', `${WINDOWS}/preview`, {
    name: 'x',
    tags: ['db'],
    starts_at: `${day}T02:00`,
    timezone: 'Asia/Kolkata',
    duration_seconds: 3600,
  });
  t.like(json, { monitors: { total: 2 }, held_alerts: 0 });
  t.deepEqual(
    json.monitors.first.map(({ name }: { name: string }) => name),
    ['A', 'B'],
  );
  t.is(json.occurrences[0]?.local_start, `${day}T02:00:00`);
  t.is(new Date((json.occurrences[0]?.starts_at ?? 0) * 1000).toISOString().slice(11, 16), '20:30');
  t.deepEqual((await account.reader('GET', WINDOWS)).json, { maintenance_windows: [] });
});

test('a webhook can follow maintenance, and a chat always does', async (t) => {
  const { owner, reader } = await t.context.api.account();
  const hook = await owner('POST', '/v1/channels', { type: 'webhook', url: 'https://hooks.example/' });
  const read = async () => (await reader('GET', `/v1/channels/${hook.json.id}`)).json.follows_maintenance;
  t.false(await read());
  t.is((await owner('PATCH', `/v1/channels/${hook.json.id}`, { follows_maintenance: true })).status, 200);
  t.true(await read());
  isError(t, await owner('POST', '/v1/channels', { type: 'slack', follows_maintenance: false }), {
    status: 400,
    error: /^follows_maintenance applies to webhook channels only/,
  });
});

test('a recurring window has rows for its occurrences of 60 days, and one can be skipped', async (t) => {
  const account = await t.context.api.account();
  const { owner, reader } = account;
  const id = await addMonitor(account);
  const window = await addWindow(account, { monitor_ids: [id], cron: '30 3 * * SUN', timezone: 'Europe/Berlin' });
  t.like(window, { status: 'scheduled', current: null });
  const listed = async () => (await reader('GET', `${WINDOWS}/occurrences?window_id=${window.id}`)).json.occurrences;
  const before = await listed();
  t.true(before.length === 8 || before.length === 9, String(before.length));
  for (const { local_start: start } of before) t.regex(start, /T03:30:00$/);
  t.like(window, { next: { starts_at: before[0]?.starts_at } });

  const skipped = await owner('POST', `${WINDOWS}/${window.id}/skip`);
  t.like(skipped.json, { next: { starts_at: before[1]?.starts_at } });
  const again = await owner('POST', `${WINDOWS}/${window.id}/skip`, { starts_at: before[0]?.starts_at });
  t.like(again.json, { next: { starts_at: before[1]?.starts_at } });
  t.deepEqual(
    (await listed()).map(({ skipped: isSkipped }) => isSkipped),
    before.map((_, index) => index === 0),
  );
  isError(t, await owner('POST', `${WINDOWS}/${window.id}/skip`, { starts_at: NOW() }), {
    status: 409,
    error: /has no occurrence to come that begins at/,
  });

  const renamed = await owner('PATCH', `${WINDOWS}/${window.id}`, { name: 'Backups', duration_seconds: 600 });
  t.like(renamed.json, { name: 'Backups', next: { starts_at: before[1]?.starts_at } });
  t.deepEqual(
    (await listed()).map(({ skipped: isSkipped }) => isSkipped),
    before.map((_, index) => index === 0),
  );

  const edited = await owner('PATCH', `${WINDOWS}/${window.id}`, { cron: null, rrule: 'FREQ=DAILY;COUNT=3' });
  t.is(edited.status, 200, edited.text);
  // The first of the three occurrences would have started with the window itself.
  t.is((await listed()).length, 2);
  const start = NOW() + 600;
  t.like((await owner('PATCH', `${WINDOWS}/${window.id}`, { rrule: null, starts_at: start })).json, {
    status: 'scheduled',
    next: { starts_at: start },
  });
});

test('occurrences are planned ahead day by day, without duplicates', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const daily = await addWindow(account, { all_monitors: true, rrule: 'FREQ=DAILY' });
  // This plans occurrences but not the monitors in them, because other tests' windows are in progress now.
  const plan = async (days: number) => {
    while ((await planWindows(api.database, Date.now() + days * 86_400_000)) > 0);
  };
  const count = async () => {
    const { rows } = await api.database.pool.query(
      'SELECT count(*)::int AS n, count(DISTINCT starts_at)::int AS moments FROM maintenance_occurrences ' +
        'WHERE window_id = $1',
      [daily.id],
    );
    return rows[0];
  };
  t.deepEqual(await count(), { n: 61, moments: 61 });
  await plan(0.5);
  t.deepEqual(await count(), { n: 61, moments: 61 });
  await plan(3);
  await plan(3);
  t.deepEqual(await count(), { n: 64, moments: 64 });
});

test('a rule that started months ago can be previewed and get another time or zone', async (t) => {
  const account = await t.context.api.account();
  const { owner } = account;
  const began = new Date(Date.now() - 70 * 86_400_000).toISOString().slice(0, 10);
  const settings = { all_monitors: true, rrule: 'FREQ=WEEKLY', timezone: 'Europe/Berlin', starts_at: `${began}T02:00` };
  const weekly = await addWindow(account, settings);
  const patched = await owner('PATCH', `${WINDOWS}/${weekly.id}`, { timezone: 'Europe/London' });
  t.like(patched.json, { timezone: 'Europe/London', status: 'scheduled' });
  t.is((await owner('PATCH', `${WINDOWS}/${weekly.id}`, { starts_at: `${began}T03:00` })).status, 200);
  const draft = { ...settings, name: 'Upgrade', duration_seconds: 3600 };
  t.is((await owner('POST', `${WINDOWS}/preview`, draft)).status, 200);
  isError(t, await owner('PATCH', `${WINDOWS}/${weekly.id}`, { rrule: null }), {
    status: 400,
    error: /^starts_at must be at most 31 days in the past/,
  });
  isError(t, await owner('POST', WINDOWS, { ...draft, starts_at: '2001-01-01T02:00' }), {
    status: 400,
    error: /^starts_at must be at most ten years in the past/,
  });
});

test('maintenance of a monitor is named after it, even with 255 four-byte characters', async (t) => {
  const account = await t.context.api.account();
  const id = await addMonitor(account, [], '🚀'.repeat(255));
  const started = await account.owner('POST', `/v1/monitors/${id}/maintenance`, { duration_seconds: 60 });
  t.like(started.json, { name: '🚀'.repeat(255) });
});

for (const [what, settings, error] of [
  ['a rule without occurrences', { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' }, /^rrule has no occurrences/],
  ['a cron expression without occurrences', { cron: '0 0 30 2 *' }, /^cron has no occurrences/],
  ['a cron expression of six fields', { cron: '* 0 2 * * *' }, /^cron must be five fields/],
  ['a rule for every second', { rrule: 'FREQ=SECONDLY' }, /^rrule must/],
  [
    'a rule and an end',
    { cron: '0 2 * * *', duration_seconds: undefined, ends_at: NOW() + 600 },
    /^ends_at is for windows that/,
  ],
] as const) {
  test(`${what} is a 400 that says so`, async (t) => {
    const { owner, reader } = await t.context.api.account();
    const body = { name: 'Upgrade', duration_seconds: 3600, all_monitors: true, ...settings };
    isError(t, await owner('POST', WINDOWS, body), { status: 400, error });
    isError(t, await owner('POST', `${WINDOWS}/preview`, body), { status: 400, error });
    t.deepEqual((await reader('GET', WINDOWS)).json, { maintenance_windows: [] });
  });
}

test('the preview of a rule counts the alerts of the last 30 days that it would have held', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await addMonitor(account);
  const { id: chat } = (await account.owner('POST', '/v1/channels', { type: 'slack' })).json;
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 11);
  for (const [index, time] of ['02:30', '02:59', '03:01'].entries())
    await api.database.pool.query(
      `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
       VALUES ($1, $2, $3, $4, 'monitor.down', '{}', $5, $5)`,
      [`dlv_${id}${index}`, account.tenantId, chat, id, Date.parse(`${yesterday}${time}:00Z`)],
    );
  const preview = { name: 'x', monitor_ids: [id], cron: '0 2 * * *', duration_seconds: 3600 };
  const { json } = await account.owner('POST', `${WINDOWS}/preview`, preview);
  t.is(json.held_alerts, 2);
  t.is(json.occurrences.length, 10);
});

test('a recurring window that has ended can still be renamed', async (t) => {
  const account = await t.context.api.account();
  const { id } = await addWindow(account, { all_monitors: true, rrule: 'FREQ=DAILY;COUNT=1' });
  await t.context.api.database.pool.query(
    'UPDATE maintenance_windows SET starts_at = starts_at - 1000000, planned_until = 0 WHERE id = $1',
    [id],
  );
  await t.context.api.database.pool.query('DELETE FROM maintenance_occurrences WHERE window_id = $1', [id]);
  const renamed = await account.owner('PATCH', `${WINDOWS}/${id}`, { name: 'Moved out' });
  t.is(renamed.status, 200, renamed.text);
  t.like(renamed.json, { name: 'Moved out', status: 'ended' });
});

test.serial('monitors deleted while a window is being created are left out', async (t) => {
  const { database } = t.context.api;
  const account = await t.context.api.account();
  const [kept, deleted] = [await addMonitor(account), await addMonitor(account)];
  const client = await database.pool.connect();
  await client.query('BEGIN');
  await client.query('DELETE FROM monitors WHERE id = $1', [deleted]);
  const creating = account.owner('POST', WINDOWS, { name: 'All', all_monitors: true, duration_seconds: 600 });
  await untilBlocked(database);
  await client.query('COMMIT');
  client.release();
  t.is((await creating).status, 201);
  t.truthy((await account.owner('GET', `/v1/monitors/${kept}`)).json['maintenance']);
});

test.serial('a monitor added to a window while it ends does not stay in maintenance', async (t) => {
  const { database } = t.context.api;
  const account = await t.context.api.account();
  await addMonitor(account);
  const { id } = await addWindow(account, { all_monitors: true, duration_seconds: 30 * 86_400 });
  const late = await addMonitor(account);
  // The chore that waits for this lock has read the window's end, but not written yet.
  const client = await database.pool.connect();
  await client.query('BEGIN');
  await client.query('SELECT FROM monitors WHERE id = $1 FOR UPDATE', [late]);
  const covering = planMaintenance({ database, now: Date.now });
  await untilBlocked(database);
  const ending = account.owner('POST', `${WINDOWS}/${id}/end`);
  await untilBlocked(database, 2);
  await client.query('COMMIT');
  client.release();
  t.is((await ending).status, 200);
  await covering;
  t.is((await account.owner('GET', `/v1/monitors/${late}`)).json['maintenance'], null);
});

test('only the last of overlapping occurrences is extended', async (t) => {
  const { database } = t.context.api;
  const account = await t.context.api.account();
  await addMonitor(account);
  const { id } = await addWindow(account, { all_monitors: true, rrule: 'FREQ=HOURLY', duration_seconds: 3 * 3600 });
  await database.pool.query(
    `UPDATE maintenance_occurrences SET starts_at = starts_at - 7200001, ends_at = ends_at - 7200001, retroactive = '{}'
     WHERE window_id = $1`,
    [id],
  );
  t.is((await account.owner('POST', `${WINDOWS}/${id}/extend`, { duration_seconds: 600 })).status, 200);
  const { rows } = await database.pool.query<{ late: string }>(
    `SELECT coalesce((SELECT sum(upper(r) - lower(r)) FROM unnest(retroactive) AS r), 0) AS late
     FROM maintenance_occurrences WHERE window_id = $1 AND starts_at < $2 ORDER BY starts_at`,
    [id, Date.now()],
  );
  t.deepEqual(
    rows.map(({ late }) => Number(late)),
    [0, 0, 600_000],
  );
});

test('a preview starts with the same occurrence as the created window', async (t) => {
  const account = await t.context.api.account();
  await addMonitor(account);
  const window = { name: 'Daily', all_monitors: true, rrule: 'FREQ=DAILY', duration_seconds: 7200 };
  const body = { ...window, starts_at: NOW() - 3 * 86_400 - 600 };
  const preview = await account.owner('POST', `${WINDOWS}/preview`, body);
  const made = await account.owner('POST', WINDOWS, body);
  t.is(made.json['status'], 'scheduled');
  t.like(preview.json['occurrences'][0], made.json['next'] ?? {});
});

/** Waits until statements of this database are blocked by locks. */
async function untilBlocked(database: Database, statements = 1): Promise<void> {
  await until(async () => {
    const { rowCount } = await database.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return (rowCount ?? 0) >= statements;
  });
}
