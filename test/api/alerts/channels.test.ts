import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { isError, nextPage, withApiServer, type ApiServer } from '../api-server.ts';
import { beginLongPeriod } from '../rate-limit.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test('creating a webhook tests it, shows its secret once and its URL never, and stores both sealed', async (t) => {
  const { api } = t.context;
  const { owner, reader } = await api.account();
  const before = Math.floor(Date.now() / 1000);
  const created = await owner('POST', '/v1/channels', {
    type: 'webhook',
    name: 'On call',
    url: 'https://hooks.example:8443/s3cret-path?key=s3cret',
  });
  t.is(created.status, 201, created.text);
  t.deepEqual(Object.keys(created.json), ['id', 'signing_secret']);
  const { id, signing_secret: secret = '' } = created.json;
  t.regex(id, /^nch_/);
  t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.like(
    api.testDeliveries.find((delivery) => delivery.signingSecret === secret),
    { url: 'https://hooks.example:8443/s3cret-path?key=s3cret', publicUrl: api.url },
  );

  const read = await reader('GET', `/v1/channels/${id}`);
  const { created_at: createdAt, ...rest } = read.json;
  t.deepEqual(rest, {
    id,
    type: 'webhook',
    name: 'On call',
    enabled: true,
    status: 'connected',
    all_monitors: true,
    monitor_ids: [],
    monitor_tags: null,
    follows_maintenance: false,
    url_host: 'hooks.example:8443',
    team_name: null,
    channel_name: null,
  });
  t.true(Number(createdAt) >= before && Number(createdAt) <= Date.now() / 1000);
  const { rows } = await api.database.pool.query('SELECT row_to_json(c)::text AS row FROM channels c');
  for (const text of [read.text, JSON.stringify(rows), JSON.stringify(api.logLines)])
    t.false(text.includes('s3cret') || text.includes(secret.slice(6)));
});

test('a telegram channel is pending until its link is opened, and only the code fingerprint is stored', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const before = Math.floor(Date.now() / 1000);
  const { json, status } = await owner('POST', '/v1/channels', {});
  t.is(status, 201);
  const { id, deep_link: deepLink, group_deep_link: groupLink, ...rest } = json;
  t.deepEqual(rest, {});
  const code = /^https:\/\/t\.me\/spotcheck_bot\?start=([\w-]{43})$/.exec(deepLink ?? '')?.[1] ?? '';
  t.is(groupLink, `https://t.me/spotcheck_bot?startgroup=${code}`);
  t.like((await owner('GET', `/v1/channels/${id}`)).json, {
    type: 'telegram',
    name: 'Telegram',
    status: 'pending',
    url_host: null,
  });
  const { rows } = await api.database.pool.query(
    `SELECT encode(fingerprint, 'hex') = encode(sha256($2::bytea), 'hex') AS same, expires_at FROM connect_codes
     WHERE channel_id = $1`,
    [id, Buffer.from(code)],
  );
  t.true(rows[0].same);
  const madeAt = rows[0].expires_at - 3600;
  t.true(madeAt >= before && madeAt <= Date.now() / 1000);
});

test('a slack channel is pending and comes with a link that carries a sealed state', async (t) => {
  const { owner } = await t.context.api.account();
  const { json } = await owner('POST', '/v1/channels', { type: 'slack', name: 'Team' });
  t.deepEqual(Object.keys(json), ['id', 'authorize_url']);
  const link = new URL(String(json['authorize_url']));
  t.is(link.origin + link.pathname, 'https://slack.com/oauth/v2/authorize');
  t.is(link.searchParams.get('scope'), 'incoming-webhook');
  t.true((link.searchParams.get('state') ?? '').length > 40);
  t.like((await owner('GET', `/v1/channels/${json['id']}`)).json, { status: 'pending', name: 'Team', team_name: null });
});

test('a webhook whose test delivery fails is not stored, and the error says why', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  api.testDeliveryFailures.set('https://broken.example/', 'test delivery failed: The endpoint responded with 500');
  const refused = await owner('POST', '/v1/channels', { type: 'webhook', url: 'https://broken.example/' });
  isError(t, refused, { status: 400, error: 'test delivery failed: The endpoint responded with 500' });
  t.deepEqual((await owner('GET', '/v1/channels')).json, { channels: [] });
});

const REFUSED: [unknown, string | RegExp][] = [
  [{ type: 'webhook' }, 'url is required for webhook channels'],
  [{ type: 'webhook', url: 'http://s3cret.example/' }, 'url must be an https URL, not http'],
  [{ type: 'webhook', url: 's3cret' }, 'url must be an absolute https URL'],
  [{ type: 'webhook', url: 'https://a:s3cret@hooks.example/' }, /^url must not contain a username or password/],
  [
    { type: 'slack', url: 'https://s3cret.example/' },
    'url applies to webhook channels only, got a channel of type slack',
  ],
  [{ type: 'sms' }, 'type must be one of telegram, slack, webhook, email, got "sms"'],
  [{ type: 'email' }, 'address is required for email channels'],
  [{ type: 'slack', address: 'a@b.example' }, 'address applies to email channels only, got a channel of type slack'],
  [{ name: 'x'.repeat(256) }, /^name must be a name of at most 255 characters/],
  [{ name: 'a\0' }, /^name must be a string of Unicode characters/],
  [{ enabled: false }, 'enabled is not a known field'],
  [{ all_monitors: 1 }, 'all_monitors must be true or false, got 1'],
  [{ monitor_ids: ['mon_nowhere', 7] }, /^monitor_ids\[1\] must be a string/],
  [{ status: 'connected' }, 'status is not a known field'],
];
for (const [index, [body, error]] of REFUSED.entries()) {
  test(`invalid channel ${index} is a 400, is not stored and repeats no URL: ${JSON.stringify(body)}`, async (t) => {
    const { api } = t.context;
    const { owner } = await api.account();
    const answer = await owner('POST', '/v1/channels', body);
    isError(t, answer, { status: 400, error });
    t.false(answer.text.includes('s3cret'));
    t.deepEqual((await owner('GET', '/v1/channels')).json, { channels: [] });
  });
}

test('a channel is routed only to monitors of its own account, sorted and without duplicates', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const stranger = await api.account();
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) ids.push((await owner('POST', '/v1/monitors', { name })).json['id']);
  const foreign = (await stranger.owner('POST', '/v1/monitors', { name: 'x' })).json['id'];
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', { all_monitors: false, monitor_ids: [ids[2], ids[0], ids[2]] });
  t.like((await owner('GET', `/v1/channels/${id}`)).json, { all_monitors: false, monitor_ids: [ids[0], ids[2]] });

  const unknown = [foreign, 'mon_nowhere', 'no such thing', '\0', '', 'x'.repeat(500)];
  t.deepEqual((await owner('PATCH', `/v1/channels/${id}`, { monitor_ids: [ids[1], ...unknown, ids[0]] })).json, {
    ok: true,
  });
  t.deepEqual((await owner('GET', `/v1/channels/${id}`)).json['monitor_ids'], [ids[0], ids[1]]);
  const {
    json: { id: other },
  } = await owner('POST', '/v1/channels', { all_monitors: false, monitor_ids: unknown });
  t.like((await owner('GET', `/v1/channels/${other}`)).json, { all_monitors: false, monitor_ids: [] });

  t.deepEqual((await owner('PATCH', `/v1/channels/${id}`, { monitor_ids: [ids[1]] })).json, { ok: true });
  t.deepEqual((await owner('GET', `/v1/channels/${id}`)).json['monitor_ids'], [ids[1]]);
  await owner('DELETE', `/v1/monitors/${ids[1]}`);
  t.deepEqual((await owner('GET', `/v1/channels/${id}`)).json['monitor_ids'], []);
});

test('names are trimmed, and a blank channel name becomes the default of its type', async (t) => {
  const { owner } = await t.context.api.account();
  const shown = async (id: unknown) => (await owner('GET', `/v1/channels/${String(id)}`)).json['name'];
  for (const [type, name, expected] of [
    ['telegram', ' Family\u00a0', 'Family'],
    ['telegram', '', 'Telegram'],
    ['slack', ' \t', 'Slack'],
  ] as const) {
    t.is(await shown((await owner('POST', '/v1/channels', { type, name })).json['id']), expected);
  }
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', { name: 'x' });
  for (const [name, expected] of [
    ['  On call ', 'On call'],
    [' ', 'Telegram'],
  ] as const) {
    await owner('PATCH', `/v1/channels/${String(id)}`, { name });
    t.is(await shown(id), expected);
  }
  const monitor = (await owner('POST', '/v1/monitors', { name: '  Shop\n' })).json['id'];
  t.is((await owner('GET', `/v1/monitors/${String(monitor)}`)).json['name'], 'Shop');
  isError(t, await owner('POST', '/v1/monitors', { name: '   ' }), {
    status: 400,
    error: /^name must be a name of 1 to 255 characters that is not blank/,
  });
});

test('a PATCH changes only the fields in it, and can change neither type nor URL', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', { name: 'x' });
  t.deepEqual((await owner('PATCH', `/v1/channels/${id}`, { enabled: false, type: 'telegram' })).json, { ok: true });
  t.like((await owner('GET', `/v1/channels/${id}`)).json, { name: 'x', enabled: false, all_monitors: true });
  isError(t, await owner('PATCH', `/v1/channels/${id}`, { name: 'y', type: 'slack' }), {
    status: 400,
    error: /^type must stay telegram, got slack/,
  });
  isError(t, await owner('PATCH', `/v1/channels/${id}`, { name: 'y', url: 'https://hooks.example/' }), {
    status: 400,
    error: 'url cannot be changed: delete the channel and create another',
  });
  t.like((await owner('GET', `/v1/channels/${id}`)).json, { name: 'x', enabled: false });
});

const ADDRESS = 'https://hooks.example/first-s3cret';

/** Creates a webhook with headers, and returns functions that change and read it. */
async function addWebhook(api: ApiServer) {
  const { owner } = await api.account();
  const { json } = await owner('POST', '/v1/channels', {
    type: 'webhook',
    url: ADDRESS,
    headers: { Authorization: 'Bearer s3cret-a', 'X-Team': 's3cret-b' },
  });
  return {
    id: json.id,
    owner,
    signingSecret: json.signing_secret,
    change: (body: unknown) => owner('PATCH', `/v1/channels/${json.id}/webhook`, body),
    read: async () => (await owner('GET', `/v1/channels/${json.id}`)).json,
  };
}

test('a webhook moves to another URL after a successful test delivery, and keeps its signing secret', async (t) => {
  const { api } = t.context;
  const { id, owner, signingSecret, change, read } = await addWebhook(api);
  t.like(await read(), { url_host: 'hooks.example', header_names: ['Authorization', 'X-Team'] });
  await api.database.pool.query(`UPDATE channels SET failures = 3, last_error = 'x', last_error_at = 1 WHERE id = $1`, [
    id,
  ]);

  api.testDeliveryFailures.set('https://hooks.example/broken', 'test delivery failed: The endpoint responded with 500');
  isError(t, await change({ url: 'https://hooks.example/broken' }), {
    status: 400,
    error: 'test delivery failed: The endpoint responded with 500',
  });
  t.is((await read()).last_error, 'x');
  const listTests = async () => (await owner('GET', `/v1/channels/${id}/deliveries?event=test`)).json['deliveries'];
  t.deepEqual(
    (await listTests()).map(({ outcome, last_error: error }) => [outcome, error]),
    [
      ['failed', 'test delivery failed: The endpoint responded with 500'],
      ['delivered', null],
    ],
  );
  const moved = await change({
    url: 'https://hooks.example/second',
    headers: { authorization: 'Bearer new', 'X-TEAM': null },
  });
  t.deepEqual([moved.status, moved.json], [200, { ok: true, status_code: 204, duration_ms: 12 }]);
  const tested = api.testDeliveries.filter((delivery) => delivery.signingSecret === signingSecret);
  t.like(tested.at(-1), { url: 'https://hooks.example/second', headers: { authorization: 'Bearer new' } });
  const after = await read();
  t.deepEqual([after.header_names, after.last_error], [['authorization'], undefined]);
  await change({ headers: { authorization: null } });
  t.is((await read()).header_names, undefined);
  const { rows } = await api.database.pool.query('SELECT row_to_json(c)::text AS row FROM channels c');
  for (const text of [JSON.stringify(rows), JSON.stringify(api.logLines), moved.text]) t.false(text.includes('s3cret'));
});

test('a webhook has a preset or a template, which its test delivery uses and reads show', async (t) => {
  const { api } = t.context;
  const { owner, reader } = await api.account();
  const url = 'https://events.pagerduty.com/v2/enqueue?routing_key=s3cret';
  const formats = () =>
    api.testDeliveries.filter((each) => /pagerduty|format/.test(each.url)).map(({ format }) => format);
  const { json } = await owner('POST', '/v1/channels', { type: 'webhook', url, preset: 'pagerduty' });
  const read = async () => (await reader('GET', `/v1/channels/${json.id}`)).json;
  t.like(await read(), { preset: 'pagerduty', template: undefined });
  t.deepEqual(formats(), [{ preset: 'pagerduty' }]);

  const template = { method: 'PUT', content_type: 'text/plain', body: '{{ title }}', headers: { 'X-Key': 'k' } };
  const moved = { url: 'https://format.example/in', preset: null, template };
  t.is((await owner('PATCH', `/v1/channels/${json.id}/webhook`, moved)).status, 200);
  const { headers: _headers, ...shown } = template;
  t.like(await read(), { preset: undefined, template: shown, header_names: ['X-Key'] });
  t.deepEqual(formats().at(-1), { template: { method: 'PUT', contentType: 'text/plain', body: '{{ title }}' } });
  t.is((await owner('PATCH', `/v1/channels/${json.id}/webhook`, { url: 'https://format.example/b' })).status, 200);
  t.like(await read(), { template: shown });
  t.is((await owner('PATCH', `/v1/channels/${json.id}/webhook`, { preset: null })).status, 200);
  t.like(await read(), { template: shown });
  t.is((await owner('PATCH', `/v1/channels/${json.id}/webhook`, { template: null })).status, 200);
  t.like(await read(), { preset: undefined, template: undefined });
  t.is(formats().at(-1), null);
  const { rows } = await api.database.pool.query(
    `SELECT changes FROM audit_log WHERE object_id = $1 AND changes::jsonb ? 'preset'`,
    [json.id],
  );
  t.is(rows.length, 2);
});

const BAD_FORMATS: readonly [string, object, RegExp][] = [
  ['an unknown preset', { preset: 'pager' }, /preset must be one of/],
  ['a preset and a template', { preset: 'teams', template: { body: 'x' } }, /preset must be left out/],
  ['PagerDuty without its key', { preset: 'pagerduty' }, /url must contain the integration key/],
  ['a template without a body', { template: {} }, /template\.body/],
  ['a template that is too long', { template: { body: 'x'.repeat(16_385) } }, /template\.body/],
  ['an unsupported method', { template: { body: 'x', method: 'GET' } }, /template\.method/],
  ['an invalid media type', { template: { body: 'x', content_type: 'json' } }, /template\.content_type/],
  ['a reserved header', { template: { body: 'x', headers: { 'webhook-id': 'x' } } }, /headers\.webhook-id/],
  [
    'a preset for a chat channel',
    { type: 'slack', url: undefined, preset: 'teams' },
    /preset applies to webhook channels only/,
  ],
];
for (const [index, [what, part, sentence]] of BAD_FORMATS.entries()) {
  test(`${what} is refused, and nothing is sent`, async (t) => {
    const { api } = t.context;
    const { owner } = await api.account();
    const url = `https://${index}.format.example/in`;
    const sent = await owner('POST', '/v1/channels', { type: 'webhook', url, ...part });
    isError(t, sent, { status: 400, error: sentence });
    t.false(api.testDeliveries.some((delivery) => delivery.url === url));
  });
}

test('stored headers are not sent to another host, and the audit log contains no values', async (t) => {
  const { api } = t.context;
  const { id, owner, change, read } = await addWebhook(api);
  const url = 'https://attacker.example/';
  isError(t, await change({ url, headers: { 'X-Team': 'other' } }), {
    status: 400,
    error:
      /^headers must name Authorization as well, with a value or null: stored headers are kept only while the scheme/,
  });
  t.false(api.testDeliveries.some((delivery) => delivery.url === url));
  t.is((await change({ url, headers: { AUTHORIZATION: null, 'x-team': 'other' } })).status, 200);
  t.like(await read(), { url_host: 'attacker.example', header_names: ['x-team'] });
  const { rows } = await api.database.pool.query(
    `SELECT action, changes FROM audit_log WHERE object_id = $1 ORDER BY at, id`,
    [id],
  );
  t.is(rows.length, 2);
  t.like(rows.find(({ action }) => action === 'channel.changed')?.changes, {
    url_host: ['hooks.example', 'attacker.example'],
    url: 'changed',
    headers: 'changed',
  });
  t.notRegex(JSON.stringify(rows), /s3cret|other/);
  isError(t, await owner('PATCH', `/v1/channels/${id}`, { url }), {
    status: 400,
    error: 'url cannot be changed: delete the channel and create another',
  });
});

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 's3cret']));
const REFUSED_ADDRESSES: [unknown, string | RegExp][] = [
  [{}, /^the body must have at least one of url, headers, preset, template$/],
  [{ url: 'http://hooks.example/' }, 'url must be an https URL, not http'],
  [{ url: 7 }, /^url must be a string/],
  [{ headers: { Host: 's3cret' } }, 'headers.Host cannot be set: deliveries set this header themselves'],
  [{ headers: { 'x-service-signature': 's3cret' } }, /^headers\.x-service-signature cannot be set/],
  [
    { headers: { 'X-A': 's3cret', 'x-a': 's3cret' } },
    'headers must name each header once, ignoring case, got x-a twice',
  ],
  [{ headers: { 'X-A': 's3cret\r\nHost: x' } }, /^headers\.X-A must be a header value of at most 1024 characters/],
  [{ headers: { 'X-A': 's3cret'.repeat(200) } }, /^headers\.X-A must be a header value of at most 1024 characters/],
  [{ headers: { 'X A': 's3cret' } }, /^headers must have header names/],
  [{ headers: many(19) }, 'headers must be at most 20, including those already stored, got 21'],
  [{ headers: many(41) }, 'headers must have at most 40 entries, got 41'],
  [{ name: 'x' }, 'name is not a known field'],
];
test('an invalid webhook change gets a 400, sends no test, changes nothing and repeats no value', async (t) => {
  const { api } = t.context;
  const { id, signingSecret, change } = await addWebhook(api);
  const stored = async () => (await api.database.pool.query('SELECT * FROM channels WHERE id = $1', [id])).rows;
  const tests = () => api.testDeliveries.filter((delivery) => delivery.signingSecret === signingSecret).length;
  const before = await stored();
  for (const [body, error] of REFUSED_ADDRESSES) {
    const answer = await change(body);
    isError(t, answer, { status: 400, error });
    t.false(answer.text.includes('s3cret'));
  }
  t.deepEqual(await stored(), before);
  t.is(tests(), 1, 'only the test of its creation');
});

test('a chat channel has neither URL nor headers', async (t) => {
  const { owner } = await t.context.api.account();
  const { json } = await owner('POST', '/v1/channels', { name: 'x' });
  isError(t, await owner('PATCH', `/v1/channels/${json.id}/webhook`, { url: 'https://hooks.example/' }), {
    status: 400,
    error: `url and headers apply to webhook channels only, but channel ${json.id} is of type telegram`,
  });
  isError(t, await owner('POST', '/v1/channels', { headers: { 'X-A': 'b' } }), {
    status: 400,
    error: 'headers applies to webhook channels only, got a channel of type telegram',
  });
});

test('channels are listed in order of creation, filtered by type and paged', async (t) => {
  const { owner } = await t.context.api.account();
  for (const [type, name] of [
    ['telegram', 'a'],
    ['slack', 'b'],
    ['telegram', 'c'],
  ])
    await owner('POST', '/v1/channels', { type, name });
  const names = async (path: '/v1/channels' | `/v1/channels?${string}`) =>
    (await owner('GET', path)).json['channels'].map(({ name }) => name);
  t.deepEqual(await names('/v1/channels'), ['a', 'b', 'c']);
  t.deepEqual(await names('/v1/channels?type=telegram'), ['a', 'c']);
  const next = nextPage(await owner('GET', '/v1/channels?limit=2'), '/v1/channels');
  t.deepEqual(await names(next ?? '/v1/channels'), ['c']);
});

const WRITES: [string, string, unknown][] = [
  ['POST', '/v1/channels', { name: 'x' }],
  ['PATCH', '/v1/channels/:id', { name: 'changed' }],
  ['DELETE', '/v1/channels/:id', undefined],
  ['POST', '/v1/channels/:id/test', undefined],
  ['POST', '/v1/channels/:id/rotate-secret', undefined],
  ['PATCH', '/v1/channels/:id/webhook', { url: 'https://hooks.example/' }],
];
for (const [method, path, body] of WRITES) {
  test(`${method} ${path} refuses a read-only token, and finds nothing for another account`, async (t) => {
    const mine = await t.context.api.account();
    const stranger = await t.context.api.account();
    const {
      json: { id },
    } = await mine.owner('POST', '/v1/channels', { name: 'mine' });
    const url = path.replace(':id', String(id));
    isError(t, await mine.reader(method, url, body), { status: 403, error: 'this token lacks the scope write' });
    if (path.includes(':id')) {
      isError(t, await stranger.owner(method, url, body), { status: 404, error: `channel ${id} does not exist` });
      isError(t, await stranger.owner('GET', `/v1/channels/${id}`), {
        status: 404,
        error: `channel ${id} does not exist`,
      });
    }
    t.deepEqual(
      (await mine.owner('GET', '/v1/channels')).json['channels'].map(({ name }) => name),
      ['mine'],
    );
  });
}

test('a test is sent to the webhook as stored, with its own secret, even while the channel is disabled', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const {
    json: { id, signing_secret: signingSecret },
  } = await owner('POST', '/v1/channels', { type: 'webhook', url: 'https://hooks.example/tested-later' });
  await owner('PATCH', `/v1/channels/${id}`, { enabled: false });
  const answer = await owner('POST', `/v1/channels/${id}/test`);
  t.deepEqual([answer.status, answer.json], [200, { ok: true, status_code: 204, duration_ms: 12 }]);
  const sent = api.testDeliveries.filter(({ url }) => url === 'https://hooks.example/tested-later');
  t.is(sent.length, 2);
  t.like(sent[1], { signingSecret, previousSecret: null });
  t.not(sent[0]?.deliveryId, sent[1]?.deliveryId);
  api.testDeliveryFailures.set(
    'https://hooks.example/tested-later',
    'test delivery failed: The endpoint responded with 500',
  );
  isError(t, await owner('POST', `/v1/channels/${id}/test`), {
    status: 400,
    error: 'test delivery failed: The endpoint responded with 500',
  });
  const { rows } = await api.database.pool.query('SELECT failures, last_error FROM channels WHERE id = $1', [id]);
  t.deepEqual(rows, [{ failures: 0, last_error: null }]);
});

test('each test is listed among the deliveries with its outcome, and is never replayed', async (t) => {
  const { api } = t.context;
  const { owner, reader } = await api.account();
  const url = 'https://hooks.example/tested-and-recorded';
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', { type: 'webhook', url });
  await owner('POST', `/v1/channels/${id}/test`);
  api.testDeliveryFailures.set(url, 'test delivery failed: The endpoint responded with 500');
  await owner('POST', `/v1/channels/${id}/test`);
  const { deliveries } = (await reader('GET', `/v1/channels/${id}/deliveries?event=test`)).json;
  t.deepEqual(
    deliveries.map(({ outcome, monitor_id: monitorId, attempt_count: attempts }) => [outcome, monitorId, attempts]),
    [
      ['failed', null, 1],
      ['delivered', null, 1],
      // This test delivery created the channel.
      ['delivered', null, 1],
    ],
  );
  const sent = api.testDeliveries.filter((delivery) => delivery.url === url);
  t.deepEqual(
    deliveries.map((delivery) => delivery.id),
    sent.map(({ deliveryId }) => deliveryId).toReversed(),
  );
  const detail = (await reader('GET', `/v1/deliveries/${deliveries[1]?.id}`)).json;
  t.like(detail, { event: 'test', message: { event: 'monitor.up', test: true }, last_error: null });
  t.like(detail.attempts, [{ attempt: 1, outcome: 'delivered', status_code: 204, duration_ms: 12 }]);
  t.deepEqual((await owner('POST', `/v1/channels/${id}/replay`, { since: 0 })).json, { replayed: 0 });
});

test('a chat channel that is not connected cannot be tested, and the error says so', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', {});
  isError(t, await owner('POST', `/v1/channels/${id}/test`), {
    status: 409,
    error: `channel ${id} is not connected: connect it first`,
  });
});

test('a test whose secrets cannot be decrypted fails with an error that names SECRET_KEYS', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', { type: 'webhook', url: 'https://hooks.example/rekeyed' });
  const rekeyed = { ...api.database, secrets: createSecretBox([{ id: 'other', key: randomBytes(32) }]) };
  const base = await api.another({ database: rekeyed });
  isError(t, await owner('POST', `/v1/channels/${id}/test`, undefined, {}, base), {
    status: 400,
    error: 'test delivery failed: The URL of the channel cannot be decrypted with the current SECRET_KEYS',
  });
});

test('a rotated secret is shown once and signs from then on, along with the previous one', async (t) => {
  const { api } = t.context;
  const { owner, reader } = await api.account();
  const {
    json: { id, signing_secret: first },
  } = await owner('POST', '/v1/channels', { type: 'webhook', url: 'https://hooks.example/rotated' });
  const answer = await owner('POST', `/v1/channels/${id}/rotate-secret`);
  t.is(answer.status, 200, answer.text);
  t.deepEqual(Object.keys(answer.json), ['signing_secret']);
  const { signing_secret: second } = answer.json;
  t.regex(String(second), /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.not(second, first);
  await owner('POST', `/v1/channels/${id}/test`);
  const sent = api.testDeliveries.findLast(({ url }) => url === 'https://hooks.example/rotated');
  t.like(sent, { signingSecret: second, previousSecret: first });
  const { rows } = await api.database.pool.query('SELECT row_to_json(c)::text AS row FROM channels c WHERE id = $1', [
    id,
  ]);
  for (const text of [
    (await reader('GET', `/v1/channels/${id}`)).text,
    JSON.stringify(rows),
    JSON.stringify(api.logLines),
  ]) {
    for (const secret of [first, second]) t.false(text.includes(String(secret).slice(6)));
  }
});

test('only a webhook has a signing secret to rotate', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', { type: 'slack' });
  isError(t, await owner('POST', `/v1/channels/${id}/rotate-secret`), {
    status: 400,
    error: `signing secrets apply to webhook channels only, but channel ${id} is of type slack`,
  });
});

test('a deleted channel no longer exists', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/channels', {});
  const deleted = await owner('DELETE', `/v1/channels/${id}`);
  t.deepEqual([deleted.status, deleted.json], [200, { ok: true }]);
  isError(t, await owner('DELETE', `/v1/channels/${id}`), { status: 404, error: `channel ${id} does not exist` });
});

test('test deliveries are limited to 60 a minute per account and 10 per channel', async (t) => {
  const { api } = t.context;
  const [{ owner, tenantId }, stranger] = [await api.account(), await api.account()];
  await beginLongPeriod(api, 'test', tenantId);
  const url = (no: number) => `https://sixty.example/${tenantId}/${no}`;
  const create = (call: typeof owner, no: number) => call('POST', '/v1/channels', { type: 'webhook', url: url(no) });
  const {
    json: { id },
  } = await create(owner, 0);
  await beginLongPeriod(api, 'channel-test', id);
  const tests: number[] = [];
  for (let no = 0; no < 11; no += 1) tests.push((await owner('POST', `/v1/channels/${id}/test`)).status);
  t.deepEqual(tests, [...Array.from({ length: 10 }, () => 200), 429]);
  for (let no = 1; no < 50; no += 1) t.is((await create(owner, no)).status, 201);
  const refused = await create(owner, 50);
  isError(t, refused, {
    status: 429,
    error: /^at most 60 test deliveries in this account per minute: wait \d+ s$/,
  });
  t.true(Number(refused.headers.get('retry-after')) > 0);
  t.is((await owner('POST', `/v1/channels/${id}/test`)).status, 429);
  t.is(api.testDeliveries.filter(({ url: to }) => to.includes(tenantId)).length, 60);
  t.is((await create(stranger.owner, 51)).status, 201);
});

test('an account can have at most 1,000 channels, even with concurrent requests', async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  await api.database.pool.query(
    `INSERT INTO channels (id, tenant_id, type, name, status, created_at)
     SELECT 'nch_' || $1 || n, $1, 'slack', 'x', 'pending', 0 FROM generate_series(1, 998) n`,
    [tenantId],
  );
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => owner('POST', '/v1/channels', { type: 'telegram' })),
  );
  t.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 201, 400, 400, 400, 400]);
  isError(t, await owner('POST', '/v1/channels', { type: 'webhook', url: 'https://full.example/' }), {
    status: 400,
    error: /^an account can have at most 1000 channels, and this one has reached the limit: delete one first$/,
  });
  t.false(api.testDeliveries.some(({ url }) => url === 'https://full.example/'));
});

test('the number of monitor and channel pairs of an account is limited, and can be reduced at the limit', async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const { pool } = api.database;
  await pool.query(
    `INSERT INTO channels (id, tenant_id, type, name, status, all_monitors, created_at)
     SELECT 'nch_' || $1 || n, $1, 'telegram', 'x', 'pending', true, 0 FROM generate_series(1, 999) n`,
    [tenantId],
  );
  await pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, target, interval_seconds, timeout_ms, follow_redirects,
       down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at)
     SELECT 'mon_' || $1 || n, $1, 'x', 'http', 'https://x.example/', 60, 1000, true, 2, 2, 1, 0, 0, 0
     FROM generate_series(1, 100) n`,
    [tenantId],
  );
  const refusal = {
    status: 400,
    error: /at most 100,000 pairs of a monitor and a channel that is notified of it, or 100 for each monitor/,
  };
  const patch = (id: unknown, body: object) => owner('PATCH', `/v1/channels/${String(id)}`, body);
  const narrow = await owner('POST', '/v1/channels', { type: 'telegram', all_monitors: false });
  t.is((await patch(narrow.json['id'], { all_monitors: true })).status, 200, 'exactly the limit');
  const body = { name: 'One more', type: 'http', target: 'https://x.example/' };
  isError(t, await owner('POST', '/v1/monitors', body), refusal);
  await pool.query('UPDATE channels SET all_monitors = false WHERE id = ANY ($1::text[])', [
    Array.from({ length: 10 }, (_, index) => `nch_${tenantId}${index + 1}`),
  ]);
  t.is((await owner('POST', '/v1/monitors', body)).status, 201);
  isError(t, await patch(`nch_${tenantId}1`, { all_monitors: true }), refusal);
  t.is((await patch(`nch_${tenantId}20`, { monitor_ids: [] })).status, 200);
});
