import anyTest, { type TestFn } from 'ava';
import { pingTokenOf } from '../../helpers/api-client.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

// Serial, because it counts the changes of schedules.
test.serial(
  'a monitor needs only a name, is read back with all defaults, and is scheduled once it has a target',
  async (t) => {
    const { owner, reader } = await t.context.api.account();
    const created = await owner('POST', '/v1/monitors', { name: 'Shop' });
    t.is(created.status, 201, created.text);
    t.deepEqual(Object.keys(created.json), ['id', 'status']);
    t.regex(created.json['id'], /^mon_/);
    t.is(created.json['status'], 'pending');

    const read = await reader('GET', `/v1/monitors/${created.json['id']}`);
    t.is(read.status, 200, read.text);
    t.like(read.json, {
      name: 'Shop',
      type: 'http',
      target: '',
      interval_seconds: 60,
      timeout_ms: 10_000,
      method: 'GET',
      expected_status: '2xx',
      body_match: null,
      follow_redirects: 1,
      down_after_failures: 2,
      up_after_successes: 1,
      down_min_sources: 2,
      heartbeat_grace_seconds: null,
      sla_target: null,
      reopen_seconds: 0,
      monthly_drill: false,
      sla: null,
      status: 'pending',
      enabled: 1,
      check_spec: {},
    });
    t.is(read.json['agent_sources'].length, 3);
    t.deepEqual(read.json['agent_sources'], read.json['agent_sources'].toSorted());

    const before = t.context.api.scheduleChanges.length;
    const patched = await owner('PATCH', `/v1/monitors/${created.json['id']}`, { target: 'https://shop.example' });
    t.deepEqual([patched.status, patched.json], [200, { id: created.json['id'], status: 'pending' }]);
    t.is(t.context.api.scheduleChanges.slice(before).flatMap(({ occupied }) => occupied).length, 3);
  },
);

test('secrets are write-only: they are in no read and no log, and not unencrypted in the database', async (t) => {
  const { owner } = await t.context.api.account();
  const request = {
    headers: { Accept: '*/*' },
    secretHeaders: { 'X-Key': 's3cret-1' },
    auth: { type: 'basic', username: 's3cret-2', password: 's3cret-3' },
    body: 's3cret-4',
    bodySecret: true,
  };
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example', check_spec: { request } });
  const read = await owner('GET', `/v1/monitors/${id}`);
  t.deepEqual(read.json['check_spec'], {
    request: { headers: { Accept: '*/*' }, secretHeaderNames: ['X-Key'], auth: { type: 'basic' }, bodySecret: true },
  });
  const { rows } = await t.context.api.database.pool.query(
    'SELECT row_to_json(m)::text AS row FROM monitors m WHERE id = $1',
    [id],
  );
  t.false(JSON.stringify(rows).includes('s3cret'));
  t.false(JSON.stringify(t.context.api.logLines).includes('s3cret'));
  const refused = await owner('PATCH', `/v1/monitors/${id}`, {
    check_spec: {
      request: { secretHeaders: { 'X-Key': 's3cret\n5' }, auth: { type: 's3cret-6' }, body: ['s3cret-7'] },
    },
  });
  t.is(refused.status, 400);
  t.false(/s3cret\\?n?-?[57]/.test(refused.text), refused.text);
});

test('the settings of a read can be sent back with the preserve flags, and the secrets are kept', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', {
    name: 'x',
    warn_days: 5,
    check_spec: { request: { secretHeaders: { 'X-Key': 'hush' }, body: 'hush', bodySecret: true } },
  });
  const before = (await owner('GET', `/v1/monitors/${id}`)).json;
  const spec = before['check_spec'];
  const patched = await owner('PATCH', `/v1/monitors/${id}`, {
    check_spec: { ...spec, request: { ...spec.request, preserveSecretHeaders: true, preserveBody: true } },
  });
  t.is(patched.status, 200, patched.text);
  t.deepEqual((await owner('GET', `/v1/monitors/${id}`)).json['check_spec'], spec);
});

test('a heartbeat shows its ping token only to tokens that can write', async (t) => {
  const { owner, reader } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', {
    name: 'Backup',
    type: 'heartbeat',
    grace_seconds: 90,
    check_spec: { heartbeat: { maxDurationSeconds: 60 } },
  });
  const shown = (await owner('GET', `/v1/monitors/${id}`)).json;
  t.is(shown['heartbeat_grace_seconds'], 90);
  t.regex(pingTokenOf({ json: shown }), /^mon_\w+\.[\w-]{24}$/);
  t.deepEqual((await reader('GET', `/v1/monitors/${id}`)).json['check_spec'], {
    heartbeat: { maxDurationSeconds: 60 },
  });
});

test('pausing and resuming are idempotent', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example' });
  for (const [action, status, enabled] of [
    ['pause', 'paused', 0],
    ['pause', 'paused', 0],
    ['resume', 'pending', 1],
    ['resume', 'pending', 1],
  ]) {
    const answer = await owner('POST', `/v1/monitors/${id}/${action}`);
    t.is(answer.status, 200, answer.text);
    t.like(answer.json, { id, status, enabled, check_spec: {} });
  }
});

test('a monitor leaves the schedule exactly once, whether paused, patched or deleted', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example', interval_seconds: 77 });
  const readCounts = async () => {
    const {
      rows: [row],
    } = await api.database.pool.query(
      `SELECT (SELECT count(*) FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no WHERE m.id = $1
       AND s.phase IS NOT NULL) AS taken,
              (SELECT coalesce(sum(monitors), 0) FROM schedule_phases WHERE interval_seconds IN (77, 78)) AS counted`,
      [id],
    );
    return [Number(row.taken), Number(row.counted)];
  };
  const steps: [string, string, unknown, number][] = [
    ['POST', '/pause', undefined, 0],
    ['PATCH', '', { interval_seconds: 78 }, 0],
    ['POST', '/resume', undefined, 3],
    ['PATCH', '', { interval_seconds: 77 }, 3],
    ['POST', '/pause', undefined, 0],
    ['DELETE', '', undefined, 0],
  ];
  t.deepEqual(await readCounts(), [3, 3]);
  for (const [method, suffix, body, expected] of steps) {
    t.true((await owner(method, `/v1/monitors/${id}${suffix}`, body)).status < 300);
    t.deepEqual(await readCounts(), [expected, expected], `${method} ${suffix}`);
  }
});

test('deleting a monitor is a 204 without a body, and reading it then is a 404', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'x' });
  const deleted = await owner('DELETE', `/v1/monitors/${id}`);
  t.deepEqual([deleted.status, deleted.text], [204, '']);
  isError(t, await owner('GET', `/v1/monitors/${id}`), { status: 404, error: `monitor ${id} does not exist` });
});

const SECRET_REQUEST = {
  secretHeaders: { 'X-Key': 'hush' },
  auth: { type: 'basic', username: 'a', password: 'b' },
  body: 'hush',
  bodySecret: true,
  contentType: 'text/plain',
  traceparent: true,
};
const OF_EVERY_TYPE: object[] = [
  {
    type: 'http',
    target: 'https://example.com/',
    warn_days: 5000,
    body_match: 'ok',
    sla_target: 99.9,
    sla: { target: 99.5, timezone: 'Europe/Berlin', hours: 'Mo-Fr 08:00-20:00' },
    check_spec: { request: SECRET_REQUEST, assertions: [{ source: 'header', name: 'server', op: 'exists' }] },
  },
  {
    type: 'tcp',
    target: 'example.com:25',
    check_spec: { transport: { payload: 'hush', payloadSecret: true, expect: '220' } },
  },
  {
    type: 'udp',
    target: 'example.com:53',
    check_spec: { transport: { payload: '00', payloadEncoding: 'hex', payloadSecret: true } },
  },
  { type: 'icmp', target: 'example.com', check_spec: { ping: { count: 2 } } },
  { type: 'domain', target: 'example.com' },
  {
    type: 'heartbeat',
    interval_seconds: 5,
    grace_seconds: 7,
    check_spec: { heartbeat: { maxDurationSeconds: 60, schedule: { cron: '*/5 * * * *', timezone: 'Asia/Tokyo' } } },
  },
  { type: 'dns', target: 'example.com', check_spec: { dns: { records: [{ type: 'A', mode: 'exists' }] } } },
  { type: 'vendor', target: 'github' },
];
for (const body of OF_EVERY_TYPE) {
  const { type } = body as { type: string };
  test(`a read of a ${type} monitor can be sent back except for its read-only fields, which are named`, async (t) => {
    const { owner } = await t.context.api.account();
    const vendor = (await owner('POST', '/v1/monitors', { name: 'v', type: 'vendor', target: 'github' })).json['id'];
    const {
      json: { id },
      text,
    } = await owner('POST', '/v1/monitors', {
      name: 'x',
      ...body,
      ...(type !== 'vendor' && { dependencies: [vendor] }),
    });
    t.truthy(id, text);
    const stored = async () =>
      (
        await t.context.api.database.pool.query(
          'SELECT check_spec, checks_version, timeout_ms FROM monitors WHERE id = $1',
          [id],
        )
      ).rows;
    await t.context.api.database.pool.query('UPDATE monitors SET updated_at = 1 WHERE id = $1', [id]);
    const until = Math.floor(Date.now() / 1000) + 3600;
    t.is((await owner('POST', `/v1/monitors/${id}/mute`, { until })).status, 200);
    const [read, before] = [(await owner('GET', `/v1/monitors/${id}`)).json, await stored()];
    const refusal = await owner('PATCH', `/v1/monitors/${id}`, read);
    t.is(refusal.status, 400);
    const complaints = [
      'id',
      'heartbeat_grace_seconds',
      'status',
      'enabled',
      'state_since',
      'created_at',
      'updated_at',
      ...(type === 'heartbeat' ? ['next_expected'] : []),
    ].map((field) => `${field} is read-only`);
    t.deepEqual(String(refusal.json['error']).split('; ').toSorted(), complaints.toSorted());
    const {
      id: _id,
      heartbeat_grace_seconds: _grace,
      next_expected: _expected,
      status: _status,
      enabled: _enabled,
      state_since: _since,
      created_at: _created,
      updated_at: _updated,
      ...rest
    } = read;
    const spec = rest['check_spec'];
    const kept = { ...spec, ...(spec.request && { request: { ...spec.request, preserveSecretHeaders: true } }) };
    const sentBack = await owner('PATCH', `/v1/monitors/${id}`, { ...rest, check_spec: kept });
    t.is(sentBack.status, 200, sentBack.text);
    t.deepEqual((await owner('GET', `/v1/monitors/${id}`)).json, read, 'it was not edited, so silence counts on');
    t.deepEqual(await stored(), before, 'checks and secrets are unchanged');
    if (JSON.stringify(spec).includes('Secret":true')) return;
    const { muted_until: _until, ...settings } = rest;
    const copy = await owner('POST', '/v1/monitors', settings);
    t.is(copy.status, 201, copy.text);
  });
}

test('a future muted_until that is not the stored one is a 400, because it would not mute', async (t) => {
  const { owner } = await t.context.api.account();
  const until = Math.floor(Date.now() / 1000) + 3600;
  const error = /^muted_until must be left out, got \d+: mute a monitor with POST \/v1\/monitors\/{id}\/mute$/;
  const body = { name: 'x', target: 'https://x.example/' };
  isError(t, await owner('POST', '/v1/monitors', { ...body, muted_until: until }), { status: 400, error });
  const { json } = await owner('POST', '/v1/monitors', { ...body, muted_until: 1_000_000_000 });
  const id = String(json['id']);
  isError(t, await owner('PATCH', `/v1/monitors/${id}`, { muted_until: until }), { status: 400, error });
  t.is((await owner('POST', `/v1/monitors/${id}/mute`, { until })).status, 200);
  isError(t, await owner('PATCH', `/v1/monitors/${id}`, { muted_until: until + 60 }), { status: 400, error });
  t.is((await owner('PATCH', '/v1/monitors/mon_01k5h3q2v8x7z9abcdefghjkmn', { muted_until: until })).status, 404);
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { muted_until: until })).status, 200);
  t.is((await owner('GET', `/v1/monitors/${id}`)).json['muted_until'], until);
});

test('a heartbeat keeps its timeout when its interval changes', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'x', type: 'heartbeat', interval_seconds: 3600 });
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { interval_seconds: 5 })).status, 200);
  t.like((await owner('GET', `/v1/monitors/${id}`)).json, { interval_seconds: 5, timeout_ms: 10_000 });
});

const WRITES: [string, string, unknown][] = [
  ['POST', '/v1/monitors', { name: 'x' }],
  ['PATCH', '/v1/monitors/:id', { name: 'changed' }],
  ['DELETE', '/v1/monitors/:id', undefined],
  ['POST', '/v1/monitors/:id/pause', undefined],
  ['POST', '/v1/monitors/:id/resume', undefined],
];
for (const [method, path, body] of WRITES) {
  test(`${method} ${path} refuses a read-only token, and finds nothing for another account`, async (t) => {
    const mine = await t.context.api.account();
    const stranger = await t.context.api.account();
    const {
      json: { id },
    } = await mine.owner('POST', '/v1/monitors', { name: 'mine' });
    const url = path.replace(':id', String(id));
    isError(t, await mine.reader(method, url, body), { status: 403, error: 'this token lacks the scope write' });
    isError(t, await t.context.api.anonymous(method, url, body), { status: 401, error: /Authorization/ });
    if (path.includes(':id'))
      isError(t, await stranger.owner(method, url, body), { status: 404, error: `monitor ${id} does not exist` });
    t.like((await mine.owner('GET', `/v1/monitors/${id}`)).json, { name: 'mine', enabled: 1 });
    t.is((await mine.owner('GET', '/v1/monitors')).json['monitors'].length, 1);
  });
}

test('another account can read neither a monitor nor its incidents', async (t) => {
  const mine = await t.context.api.account();
  const stranger = await t.context.api.account();
  const {
    json: { id },
  } = await mine.owner('POST', '/v1/monitors', { name: 'mine' });
  isError(t, await stranger.owner('GET', `/v1/monitors/${id}`), { status: 404, error: /does not exist/ });
  isError(t, await stranger.owner('GET', `/v1/monitors/${id}/incidents`), { status: 404, error: /does not exist/ });
  t.deepEqual((await stranger.owner('GET', '/v1/monitors')).json, { monitors: [] });
  t.deepEqual((await stranger.owner('GET', '/v1/overview')).json, { total: 0, up: 0, down: 0, monitors: [] });
});

test('malformed ids are a 404, and an undecodable path is a 400', async (t) => {
  const { owner } = await t.context.api.account();
  for (const id of ['x', '%00', '%F0%9F%98%80', `${'a'.repeat(500)}`, "'--", 'mon_1%00']) {
    for (const [method, suffix, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/pause', undefined],
      ['GET', '/incidents', undefined],
    ] as const) {
      t.is((await owner(method, `/v1/monitors/${id}${suffix}`, body)).status, 404, `${method} ${id}${suffix}`);
    }
  }
  isError(t, await owner('GET', '/v1/monitors/%E0%A4%A'), {
    status: 400,
    error: 'the path must be percent-encoded UTF-8',
  });
});

const NO_IDS = ['', ' ', 'nonsense \u0001', '\0', '\uD800', 'x'.repeat(65), 'é'.repeat(4000), '../../etc', "'; --"];

test('dependencies must be vendor monitors of the account; other ids are ignored, other types a 400', async (t) => {
  const { owner } = await t.context.api.account();
  const stranger = await t.context.api.account();
  const vendor = (await owner('POST', '/v1/monitors', { name: 'GitHub', type: 'vendor', target: 'github' })).json['id'];
  const foreign = (await stranger.owner('POST', '/v1/monitors', { name: 'GitHub', type: 'vendor', target: 'github' }))
    .json['id'];
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'x', dependencies: [foreign, vendor, ...NO_IDS] });
  t.deepEqual((await owner('GET', `/v1/monitors/${id}`)).json['check_spec'], { dependencies: [vendor] });
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { check_spec: { dependencies: NO_IDS } })).status, 200);
  for (const body of [
    { dependencies: [vendor, 1] },
    { dependencies: [null] },
    { dependencies: [[vendor]] },
    { dependencies: vendor },
  ]) {
    isError(t, await owner('PATCH', `/v1/monitors/${id}`, body), { status: 400, error: /^dependencies/ });
  }
  await stranger.owner('DELETE', `/v1/monitors/${vendor}`);
  t.deepEqual((await owner('GET', `/v1/monitors/${id}`)).json['check_spec'], { dependencies: [vendor] });
});

test('deleting a vendor monitor removes it from the monitors that depend on it', async (t) => {
  const { owner } = await t.context.api.account();
  const create = async (body: object) => (await owner('POST', '/v1/monitors', { name: 'x', ...body })).json['id'];
  const [first, second] = [
    await create({ type: 'vendor', target: 'github' }),
    await create({ type: 'vendor', target: 'cloudflare' }),
  ];
  const both = await create({ dependencies: [first, second], warn_days: 7 });
  const one = await create({ dependencies: [first] });
  t.is((await owner('DELETE', `/v1/monitors/${first}`)).status, 204);
  t.deepEqual((await owner('GET', `/v1/monitors/${both}`)).json['check_spec'], {
    domain: { warnDays: 7 },
    dependencies: [second],
  });
  t.deepEqual((await owner('GET', `/v1/monitors/${one}`)).json['check_spec'], {});
});

test('agent sources that the account cannot use are a 400 that names them', async (t) => {
  const { owner } = await t.context.api.account();
  isError(t, await owner('POST', '/v1/monitors', { name: 'x', agent_sources: ['agt_service', 'agt_nowhere'] }), {
    status: 400,
    error: 'agent_sources must be ids of your agents or of shared ones, got unknown agt_service, agt_nowhere',
  });
});

test('the interval and monitor count of the plan are enforced, and the errors state the limits', async (t) => {
  const { owner } = await t.context.api.account('free');
  isError(t, await owner('POST', '/v1/monitors', { name: 'x', interval_seconds: 30 }), {
    status: 400,
    error: 'interval_seconds must be 60 or more on this plan, got 30',
  });
  const created = await Promise.all(
    Array.from({ length: 22 }, (_, index) => owner('POST', '/v1/monitors', { name: `m${index}` })),
  );
  t.deepEqual(created.map(({ status }) => status).toSorted(), [...Array.from({ length: 20 }, () => 201), 400, 400]);
  t.regex(created.map(({ text }) => text).join(), /the free plan allows at most 20 monitors/);
});

test('a PATCH is all or nothing', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example' });
  const before = (await owner('GET', `/v1/monitors/${id}`)).json;
  isError(t, await owner('PATCH', `/v1/monitors/${id}`, { name: 'y', interval_seconds: 5 }), {
    status: 400,
    error: 'timeout_ms must be less than interval_seconds x 1000 (5000), got 10000',
  });
  isError(t, await owner('PATCH', `/v1/monitors/${id}`, { name: 'y', status: 'up' }), {
    status: 400,
    error: 'status is read-only',
  });
  isError(t, await owner('PATCH', `/v1/monitors/${id}`, { name: 'y', type: 'tcp' }), {
    status: 400,
    error: /^type must stay http, got tcp/,
  });
  t.deepEqual((await owner('GET', `/v1/monitors/${id}`)).json, before);
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { type: 'http' })).status, 200);
});

test('a PATCH that names an outdated settings version gets a 409 and changes nothing', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', {
    name: 'Shop',
    target: 'https://shop.example',
    check_spec: { request: { auth: { type: 'bearer', token: 'one' } } },
  });
  const path = `/v1/monitors/${id}` as const;
  const read = async () => (await owner('GET', path)).json;
  const patch = (body: object) => owner('PATCH', path, body);
  const versions = new Set<string>();
  const remember = async () => versions.add((await read()).settings_version);
  await remember();
  t.is((await patch({ name: 'Till' })).status, 200);
  await remember();
  // A changed secret leaves everything else in the response as it was.
  t.is((await patch({ check_spec: { request: { auth: { type: 'bearer', token: 'two' } } } })).status, 200);
  await remember();
  t.is((await patch({ agent_sources: (await read()).agent_sources.slice(0, 1) })).status, 200);
  await remember();
  t.is(versions.size, 4);

  const [first = ''] = versions;
  isError(t, await patch({ name: 'Late', if_settings_version: first }), {
    status: 409,
    error: `monitor ${id} has changed since it was read: read it again, then send the change again`,
  });
  t.is((await read()).name, 'Till');
  isError(t, await patch({ if_settings_version: '' }), { status: 400, error: /^if_settings_version / });

  const { settings_version: current } = await read();
  t.is((await owner('POST', `${path}/pause`)).json.settings_version, current, 'a pause does not change the settings');
  t.is((await patch({ settings_version: first })).status, 200, 'settings_version may be sent back');
  t.is((await patch({ name: 'In time', if_settings_version: current })).status, 200);
  const { settings_version: latest } = await read();
  const both = await Promise.all(['a', 'b'].map((name) => patch({ name, if_settings_version: latest })));
  t.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409]);
});
