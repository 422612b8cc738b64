import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../helpers/until.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addPerson } from '../person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const BULK = '/v1/monitors/bulk';

async function addMonitor({ owner }: Account, settings: Record<string, unknown> = {}): Promise<string> {
  const { json, text } = await owner('POST', '/v1/monitors', {
    name: 'Shop',
    target: 'https://shop.example/',
    ...settings,
  });
  if (typeof json.id !== 'string') throw new Error(text);
  return json.id;
}

async function listEntries({ api }: { api: ApiServer }, account: Account, id: string) {
  const { rows } = await api.database.pool.query<{ action: string; actor_kind: string; address: string | null }>(
    'SELECT action, actor_kind, address FROM audit_log WHERE tenant_id = $1 AND object_id = $2 ORDER BY no',
    [account.tenantId, id],
  );
  return rows;
}

test('each action does the same as the single operation, including status and audit entry', async (t) => {
  const account = await t.context.api.account();
  const { owner, reader } = account;
  const ids = [await addMonitor(account), await addMonitor(account, { name: 'Store' })];
  const stateOf = async () => {
    const shown = await Promise.all(ids.map((id) => reader('GET', `/v1/monitors/${id}`)));
    return shown.map(({ json }) => [json.enabled, json.tags, json.interval_seconds]);
  };
  const act = async (action: string, patch?: unknown) => {
    const { status, json } = await owner('POST', BULK, {
      select: { ids },
      action,
      ...(patch !== undefined && { patch }),
    });
    t.is(status, 200);
    t.like(json, { id: null, action, dry_run: false, status: 'done', total: 2, done: 2, succeeded: 2, failed: 0 });
    t.deepEqual(
      json.results.map(({ monitor_id: id, name, error }) => ({ id, name, error })),
      [
        { id: ids[0] ?? '', name: 'Shop', error: null },
        { id: ids[1] ?? '', name: 'Store', error: null },
      ],
    );
    return json.results.map((result) => result.status);
  };
  t.deepEqual(await act('pause'), [200, 200]);
  t.deepEqual((await stateOf())[1], [0, [], 60]);
  t.deepEqual(await act('resume'), [200, 200]);
  t.deepEqual((await stateOf())[1], [1, [], 60]);
  t.deepEqual(await act('tag', { tags: ['env:prod', 'db'] }), [200, 200]);
  t.deepEqual(await act('tag', { tags: ['app'] }), [200, 200]);
  t.deepEqual(await act('untag', { tags: ['db', 'none'] }), [200, 200]);
  t.deepEqual((await stateOf())[0], [1, ['app', 'env:prod'], 60]);
  t.deepEqual(await act('patch', { interval_seconds: 300 }), [200, 200]);
  t.deepEqual((await stateOf())[1], [1, ['app', 'env:prod'], 300]);
  const announced = t.context.api.scheduleChanges.length;
  t.deepEqual(await act('check'), [202, 202]);
  t.true(t.context.api.scheduleChanges.length > announced);
  t.deepEqual(await act('delete'), [204, 204]);
  t.deepEqual((await reader('GET', '/v1/monitors')).json.monitors, []);
  const entries = await listEntries(t.context, account, ids[1] ?? '');
  t.deepEqual(
    entries.map(({ action }) => action),
    [
      'monitor.created',
      'monitor.paused',
      'monitor.resumed',
      'monitor.changed',
      'monitor.changed',
      'monitor.changed',
      'monitor.changed',
      'monitor.check_requested',
      'monitor.deleted',
    ],
  );
  t.true(entries.every(({ actor_kind: kind, address }) => kind === 'token' && address === '127.0.0.1'));
});

test('a refused monitor does not stop the rest, and each has its own status and error', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const good = await addMonitor(account);
  const heartbeat = await addMonitor(account, { name: 'Backup', type: 'heartbeat', target: '' });
  const foreign = await addMonitor(stranger);
  const ids = [good, heartbeat, foreign, good, 'mon_none'];
  const { json } = await account.owner('POST', BULK, {
    select: { ids },
    action: 'patch',
    patch: { check_spec: { assertions: [{ source: 'text_body', op: 'contains', value: 'ready' }] } },
  });
  t.like(json, { total: 4, done: 4, succeeded: 1, failed: 3 });
  t.deepEqual(
    json.results.map(({ monitor_id: id, name, status, error }) => [id, name, status, error?.code ?? null]),
    [
      [good, 'Shop', 200, null],
      [heartbeat, 'Backup', 400, 'bad_request'],
      [foreign, null, 404, 'not_found'],
      ['mon_none', null, 404, 'not_found'],
    ],
  );
  t.is(json.results[2]?.error?.message, `monitor ${foreign} does not exist`);
  const single = await account.owner('PATCH', `/v1/monitors/${heartbeat}`, {
    check_spec: { assertions: [{ source: 'text_body', op: 'contains', value: 'ready' }] },
  });
  t.is(json.results[1]?.error?.message, single.json['error']);
  const checked = await account.owner('POST', BULK, { select: { ids: [heartbeat] }, action: 'check' });
  t.like(checked.json.results[0], { status: 409, error: { code: 'conflict' } });
  t.is((await stranger.reader('GET', `/v1/monitors/${foreign}`)).json.check_spec.assertions, undefined);
});

test('a bulk patch keeps what it omits, including check settings, secrets and the quorum', async (t) => {
  const account = await t.context.api.account();
  const { json: agents } = await account.reader('GET', '/v1/agents');
  const id = await addMonitor(account, {
    agent_sources: agents.agents.map((agent) => agent.id),
    down_min_sources: 1,
    check_spec: {
      request: { headers: { Accept: 'text/html' }, secretHeaders: { 'X-Key': 'a-secret-value' } },
      assertions: [{ source: 'text_body', op: 'contains', value: 'ready' }],
    },
  });
  const shown = async () => (await account.reader('GET', `/v1/monitors/${id}`)).json;
  const before = await shown();
  const change = async (action: string, patch: unknown) =>
    (await account.owner('POST', BULK, { select: { all: true }, action, patch })).json.results[0];
  t.like(await change('patch', { interval_seconds: 120 }), { status: 200 });
  const sla = { target: 99.9, timezone: 'Europe/Berlin', hours: 'Mo-Fr 08:00-20:00' };
  t.like(await change('patch', { sla }), { status: 200 });
  t.like(await change('patch', { sla: { ...sla, hours: 'always' } }), { status: 400, error: { code: 'bad_request' } });
  t.like(await change('tag', { tags: ['kept'] }), { status: 200 });
  const after = await shown();
  t.deepEqual(after.check_spec, before.check_spec);
  t.like(after, { down_min_sources: 1, interval_seconds: 120, tags: ['kept'] });
  t.deepEqual(after.sla, { ...sla, exclude_maintenance: true });
  // The secret must not reach another server.
  t.like(await change('patch', { target: 'https://other.example/' }), { status: 400, error: { code: 'bad_request' } });
  t.is((await shown()).target, 'https://shop.example/');
});

test('monitors are selected by ids, tags, text or all, and selecting none is no error', async (t) => {
  const account = await t.context.api.account();
  await addMonitor(account, { name: 'a', tags: ['prod', 'db'] });
  await addMonitor(account, { name: 'b 100%', tags: ['prod'] });
  await addMonitor(await t.context.api.account(), { name: 'c', tags: ['prod', 'db'] });
  const selected = async (select: unknown) => {
    const { status, json } = await account.owner('POST', BULK, { select, action: 'pause', dry_run: true });
    t.is(status, 200);
    return json.results.map(({ name }) => name);
  };
  t.deepEqual(await selected({ tags: ['prod'] }), ['a', 'b 100%']);
  t.deepEqual(await selected({ tags: ['prod', 'db'] }), ['a']);
  t.deepEqual(await selected({ q: '100%' }), ['b 100%']);
  t.deepEqual(await selected({ q: 'SHOP.EXAMPLE' }), ['a', 'b 100%']);
  t.deepEqual(await selected({ all: true }), ['a', 'b 100%']);
  t.deepEqual(await selected({ tags: ['none'] }), []);
  const { json } = await account.owner('POST', BULK, { select: { q: 'nothing' }, action: 'delete' });
  t.like(json, { id: null, status: 'done', total: 0, done: 0, succeeded: 0, failed: 0, results: [] });
});

test('a dry run returns what would happen, changes nothing and stores no job', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await addMonitor(account);
  const heartbeat = await addMonitor(account, { name: 'Backup', type: 'heartbeat', target: '' });
  const rowsOf = async () => {
    const monitors = await api.database.pool.query('SELECT * FROM monitors WHERE tenant_id = $1 ORDER BY no', [
      account.tenantId,
    ]);
    const entries = await api.database.pool.query('SELECT count(*) FROM audit_log WHERE tenant_id = $1', [
      account.tenantId,
    ]);
    const sources = await api.database.pool.query(
      'SELECT s.* FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no WHERE m.tenant_id = $1 ORDER BY 1, 2',
      [account.tenantId],
    );
    const changes = await api.database.pool.query('SELECT 1 FROM bulk_changes WHERE tenant_id = $1', [
      account.tenantId,
    ]);
    return [monitors.rows, entries.rows, sources.rows, changes.rows];
  };
  const before = await rowsOf();
  const expected: readonly [action: string, statuses: number[], patch?: unknown][] = [
    ['pause', [200, 200]],
    ['resume', [200, 200]],
    ['delete', [204, 204]],
    ['check', [202, 409]],
    ['tag', [200, 200], { tags: ['x'] }],
    ['untag', [200, 200], { tags: ['x'] }],
    ['patch', [200, 400], { method: 'HEAD', check_spec: { request: { headers: { A: 'b' } } } }],
  ];
  for (const [action, statuses, patch] of expected) {
    const { json } = await account.owner(
      'POST',
      BULK,
      { select: { all: true }, action, ...(patch !== undefined && { patch }), dry_run: true },
      { 'Idempotency-Key': 'same' },
    );
    t.like(json, { id: null, dry_run: true, status: 'done', total: 2 });
    t.deepEqual(
      json.results.map(({ status }) => status),
      statuses,
      action,
    );
  }
  t.deepEqual(await rowsOf(), before);
  const none = await account.owner('POST', BULK, { select: { ids: ['mon_none'] }, action: 'delete', dry_run: true });
  t.like(none.json.results[0], { status: 404 });
  t.truthy([id, heartbeat]);
});

test('exceeding the tag limit is refused for that monitor only', async (t) => {
  const account = await t.context.api.account();
  const full = await addMonitor(account, { tags: Array.from({ length: 20 }, (_, index) => `t${index}`) });
  const free = await addMonitor(account);
  const { json } = await account.owner('POST', BULK, {
    select: { ids: [full, free] },
    action: 'tag',
    patch: { tags: ['more'] },
  });
  t.deepEqual(
    json.results.map(({ status }) => status),
    [400, 200],
  );
  t.is(json.results[0]?.error?.message, 'tags must be at most 20 of a monitor, got 21 with these: remove some first');
});

const PAUSE = { select: { all: true }, action: 'pause' };
for (const [what, body, error] of [
  ['no selection', { action: 'pause' }, /select is required/],
  ['an empty selection', { select: {}, action: 'pause' }, /select must/],
  [
    'two kinds of selection',
    { select: { all: true, q: 'x' }, action: 'pause' },
    /^select must have exactly one of ids, tags, q and all$/,
  ],
  [
    'all set to false',
    { select: { all: false }, action: 'pause' },
    /^select\.all must be true or left out, got false$/,
  ],
  ['no ids', { select: { ids: [] }, action: 'pause' }, /select\.ids must/],
  [
    'too many ids',
    { select: { ids: Array.from({ length: 5001 }, (_, index) => `m${index}`) }, action: 'pause' },
    /select\.ids must .*5000/,
  ],
  [
    'an invalid id',
    { select: { ids: ['mon_1', 'a\0b'] }, action: 'pause' },
    /^select\.ids\[1\] must be the id of a monitor, got /,
  ],
  ['an unknown action', { select: { all: true }, action: 'stop' }, /action must be one of/],
  [
    'a patch with the action pause',
    { ...PAUSE, patch: { name: 'x' } },
    /^patch must be left out with the action pause$/,
  ],
  ['no patch', { ...PAUSE, action: 'patch' }, /^patch is required with the action patch$/],
  ['an empty patch', { ...PAUSE, action: 'patch', patch: {} }, /^patch must have at least one field$/],
  [
    'a patch with more than tags',
    { ...PAUSE, action: 'tag', patch: { tags: ['a'], name: 'x' } },
    /^patch must have tags alone/,
  ],
  ['no tags', { ...PAUSE, action: 'untag', patch: { tags: [] } }, /^patch must have tags alone/],
  [
    'an unknown field in the patch',
    { ...PAUSE, action: 'patch', patch: { colour: 'red' } },
    'patch.colour is not a known field',
  ],
  [
    'a read-only field in the patch',
    { ...PAUSE, action: 'patch', patch: { enabled: false } },
    'patch.enabled is read-only',
  ],
  [
    'the end of a mute',
    { ...PAUSE, action: 'patch', patch: { muted_until: 4_000_000_000 } },
    /^patch.muted_until must be left out: mute a monitor with POST/,
  ],
  ['an unknown field', { ...PAUSE, undo: true }, /undo/],
] as const) {
  test(`a bulk change with ${what} is a 400 that says why, and changes nothing`, async (t) => {
    const account = await t.context.api.account();
    const id = await addMonitor(account);
    isError(t, await account.owner('POST', BULK, body), { status: 400, error });
    t.like((await account.reader('GET', `/v1/monitors/${id}`)).json, { enabled: 1, name: 'Shop' });
  });
}

test('a read-only token and a viewer cannot change anything, not even in a dry run', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitor(account);
  isError(t, await account.reader('POST', BULK, PAUSE), { status: 403, error: /write/ });
  isError(t, await account.reader('POST', BULK, { ...PAUSE, dry_run: true }), { status: 403, error: /write/ });
  const viewer = await addPerson(api, account.tenantId, { role: 'viewer', mark: 'viewer' });
  const answer = await api.anonymous('POST', BULK, PAUSE, viewer.headers);
  t.is(answer.status, 403);
  t.true((await account.reader('GET', '/v1/monitors')).json.monitors.every(({ enabled }) => enabled === 1));
});

test('a request repeated with its key is executed once and returns the same response', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const id = await addMonitor(account);
  const key = { 'Idempotency-Key': randomUUID() };
  const body = { select: { ids: [id, 'mon_none'] }, action: 'pause' };
  const first = await account.owner('POST', BULK, body, key);
  t.like(first.json, { id: null, total: 2, succeeded: 1, failed: 1, status: 'done' });
  await account.owner('POST', `/v1/monitors/${id}/resume`);
  const again = await account.owner('POST', BULK, body, key);
  t.is(again.status, 200);
  t.deepEqual(again.json, first.json);
  t.is((await account.reader('GET', `/v1/monitors/${id}`)).json.enabled, 1);
  isError(t, await account.owner('POST', BULK, { ...body, action: 'delete' }, key), {
    status: 409,
    error: 'this Idempotency-Key came with another body before: use a new key for another change',
  });
  // A key is valid only within its account.
  t.like((await other.owner('POST', BULK, { ...body, action: 'delete' }, key)).json, { total: 2, failed: 2 });
  isError(t, await account.owner('POST', BULK, body, { 'Idempotency-Key': 'a b' }), {
    status: 400,
    error: 'the header idempotency-key must be a text of 1 to 255 printable ASCII characters without blanks',
  });
  const entries = await listEntries(t.context, account, id);
  t.is(entries.filter(({ action }) => action === 'monitor.paused').length, 1);
});

test('of concurrent requests with the same key one is executed, and the rest get its result or a 409', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.push(await addMonitor(account));
  const key = { 'Idempotency-Key': randomUUID() };
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => account.owner('POST', BULK, { select: { ids }, action: 'pause' }, key)),
  );
  t.true(answers.every(({ status }) => status === 200 || status === 409));
  t.true(answers.some(({ status }) => status === 200));
  for (const id of ids) {
    const entries = await listEntries(t.context, account, id);
    t.is(entries.filter(({ action }) => action === 'monitor.paused').length, 1);
  }
});

test('a slow status page does not block the bulk changes of other accounts', async (t) => {
  const { api } = t.context;
  const answered = Promise.withResolvers<void>();
  let asked = 0;
  const url = await api.another({
    async readVendorPage() {
      asked += 1;
      await answered.promise;
      return { outcome: 'failed', failure: { kind: 'unreachable', reason: 'It is slow' }, latencyMs: null };
    },
  });
  const [slow, other] = [await api.account(), await api.account()];
  const ids: string[] = [];
  for (let no = 0; no < 5; no += 1)
    ids.push(await addMonitor(slow, { name: `Vendor ${no}`, type: 'vendor', target: 'cloudflare' }));
  const shop = await addMonitor(other);
  const change = ({ owner }: Account, body: object) => owner('POST', BULK, { dry_run: true, ...body }, {}, url);
  const patch = { target: 'https://slow.example/' };
  const changed = change(slow, { action: 'patch', patch, select: { ids } });
  await until(() => asked >= 4);
  t.is((await change(other, { action: 'pause', select: { ids: [shop] } })).status, 200);
  answered.resolve();
  t.is((await changed).status, 200);
});
