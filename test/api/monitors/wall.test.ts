import anyTest, { type TestFn } from 'ava';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';
import { addPerson } from '../person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

/** More monitors than the wall lists. */
const MANY = 510;

test('a wallboard token shows names and statuses, worst first, and gives no other access', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const owner = await addPerson(api, account.tenantId);
  const { json: shop } = await account.owner('POST', '/v1/monitors', {
    name: 'Shop',
    target: 'https://inside.example:8443/secret-path',
  });
  const { json: blog } = await account.owner('POST', '/v1/monitors', { name: 'Blog', target: 'https://blog.example' });
  const { pool } = api.database;
  await pool.query(`UPDATE monitors SET state = 'up' WHERE id = $1`, [blog['id']]);
  await pool.query(`UPDATE monitors SET state = 'down', state_since = 1700000000123 WHERE id = $1`, [shop['id']]);
  const made = await owner.call('POST', '/v1/tokens', { name: 'Corridor', scopes: ['wall', 'wall'] });
  t.is(made.status, 201, made.text);
  t.like(made.json, { name: 'Corridor', scopes: ['wall'] });
  const token = made.json['token'];
  t.regex(token, /^spw_[\w-]{43}$/);
  const bearer = { Authorization: `Bearer ${token}` };

  const wall = await api.anonymous('GET', '/v1/wall', undefined, bearer);
  t.is(wall.status, 200, wall.text);
  t.like(wall.json, { total: 2, counts: { down: 1, up: 1, degraded: 0, pending: 0, paused: 0 } });
  t.deepEqual(
    wall.json['monitors'].map(({ name, status }) => `${name} ${status}`),
    ['Shop down', 'Blog up'],
  );
  t.like(wall.json['monitors'][0], { state_since: 1_700_000_000, draft: false, maintenance_until: null });
  for (const inside of ['inside.example', 'secret-path', shop['id'], account.tenantId])
    t.false(wall.text.includes(inside), inside);
  t.true(Number(wall.headers.get('ratelimit-limit')) > 0, 'its requests are counted');

  for (const path of ['/monitors', '/overview', '/overview/figures', '/incidents', '/channels', '/live', '/usage'])
    isError(t, await api.anonymous('GET', `/v1${path}`, undefined, bearer), {
      status: 403,
      error: 'this token lacks the scope read',
    });
  isError(t, await api.anonymous('POST', '/v1/monitors', { name: 'x' }, bearer), {
    status: 403,
    error: 'this token lacks the scope write',
  });
  t.is((await account.reader('GET', '/v1/wall')).status, 200, 'a read token also reads the wall');
  t.is((await owner.call('GET', '/v1/wall')).status, 200);

  const { entries } = (await owner.call('GET', '/v1/audit-log?object_kind=token')).json;
  t.like(entries[0], { action: 'token.created', changes: { scopes: [null, ['wall']] } });
  t.false(JSON.stringify(entries).includes(token));
  t.is((await owner.call('DELETE', `/v1/tokens/${made.json['id']}`)).status, 204);
  t.is((await api.anonymous('GET', '/v1/wall', undefined, bearer)).status, 401);
});

test('the wall scope cannot be combined with others, and only owners can grant it', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const owner = await addPerson(api, account.tenantId);
  isError(t, await owner.call('POST', '/v1/tokens', { name: 'x', scopes: ['read', 'wall'] }), {
    status: 400,
    error: 'scopes must be ["wall"] alone, or must not include wall, got ["read","wall"]',
  });
  const editor = await addPerson(api, account.tenantId, { role: 'editor' });
  t.is((await editor.call('POST', '/v1/tokens', { name: 'x', scopes: ['wall'] })).status, 403);
  t.is((await account.owner('POST', '/v1/tokens', { name: 'x', scopes: ['wall'] })).status, 403);
});

test('the wallboard lists the 500 worst monitors of its own account and counts the rest', async (t) => {
  const { api } = t.context;
  const [account, stranger] = await Promise.all([api.account(), api.account()]);
  await api.database.pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
       down_after_failures, up_after_successes, down_min_sources, state, state_since, created_at, updated_at)
     SELECT 'mon_many' || n, $1, 'Many ' || n, 'tcp', 60, 1000, true, 1, 1, 1,
       CASE WHEN n = $2 THEN 'degraded' ELSE 'up' END, 0, 0, 0 FROM generate_series(1, $2::int) AS n`,
    [account.tenantId, MANY],
  );
  const { json } = await account.reader('GET', '/v1/wall');
  t.like(json, { total: MANY, counts: { up: MANY - 1, degraded: 1 } });
  t.is(json['monitors'].length, 500);
  t.is(json['monitors'][0]?.name, `Many ${MANY}`);
  t.like((await stranger.reader('GET', '/v1/wall')).json, { total: 0, monitors: [] });
});
