import { get } from 'node:http';
import anyTest, { type TestFn } from 'ava';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

async function makeKey({ owner }: Account): Promise<string> {
  const made = await owner('POST', '/v1/ping-key');
  if (made.status !== 201) throw new Error(made.text);
  return (made.json['ping_key'] as { key: string }).key;
}

type Made = { id: string; name: string; status: string; check_spec?: { heartbeat: { slug: string; token: string } } };

async function listMonitors({ owner }: Account): Promise<Made[]> {
  return (await owner('GET', '/v1/monitors?limit=1000')).json['monitors'] as Made[];
}

test('an account can create, replace and delete its ping key, which readers do not see', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { owner, reader } = account;
  t.deepEqual((await owner('GET', '/v1/ping-key')).json, { ping_key: null });
  isError(t, await owner('DELETE', '/v1/ping-key'), { status: 404, error: /no ping key/ });
  isError(t, await reader('POST', '/v1/ping-key'), { status: 403, error: /write/ });
  const key = await makeKey(account);
  t.regex(key, /^spp_[\w-]{43}$/);
  t.like((await owner('GET', '/v1/ping-key')).json, { ping_key: { key } });
  t.deepEqual(Object.keys((await reader('GET', '/v1/ping-key')).json['ping_key'] as object), ['created_at']);
  t.is((await api.anonymous('GET', `/ping/${key}/backup?create=1`)).status, 200);
  const next = await makeKey(account);
  t.not(next, key);
  isError(t, await api.anonymous('GET', `/ping/${key}/backup`), { status: 404, error: 'no account has this ping key' });
  t.is((await api.anonymous('GET', `/ping/${next}/backup`)).status, 200, 'slugs outlive the key');
  t.is((await owner('DELETE', '/v1/ping-key')).status, 204);
  isError(t, await api.anonymous('GET', `/ping/${next}/backup`), {
    status: 404,
    error: 'no account has this ping key',
  });
  const { rows } = await api.database.pool.query<{ row: string }>('SELECT to_jsonb(k)::text AS row FROM ping_keys k');
  t.false(rows.some(({ row }) => row.includes(key) || row.includes(next)));
});

test('the first ping with create=1 creates the heartbeat, and later pings by slug or token reach it', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const key = await makeKey(account);
  isError(t, await api.anonymous('GET', `/ping/${key}/nightly-sync`), { status: 404, error: /ping with \?create=1/ });
  t.like(await api.anonymous('POST', `/ping/${key}/nightly-sync/start?create=1`, 'begins'), {
    status: 200,
    text: 'OK',
  });
  t.is((await api.anonymous('GET', `/ping/${key}/nightly-sync/0?create=1`)).status, 200);
  t.is((await api.anonymous('HEAD', `/ping/${key}/nightly-sync`)).status, 200);
  const [made, ...others] = await listMonitors(account);
  t.deepEqual(others, []);
  const path = `/v1/monitors/${made?.id}`;
  const { json } = await account.owner('GET', path);
  t.like(json, { name: 'nightly-sync', type: 'heartbeat', interval_seconds: 86_400, heartbeat_grace_seconds: 3600 });
  const { heartbeat } = json['check_spec'] as NonNullable<Made['check_spec']>;
  t.is(heartbeat.slug, 'nightly-sync');
  // A different kind of ping, because a repeated one is not stored.
  t.is((await api.anonymous('GET', `/ping/${heartbeat.token}/start`)).status, 200);
  const { rows } = await api.database.pool.query<{ kind: string }>(
    'SELECT kind FROM heartbeat_pings p JOIN monitors m ON m.no = p.monitor_no WHERE m.id = $1 ORDER BY at',
    [made?.id],
  );
  t.deepEqual(
    rows.map(({ kind }) => kind),
    ['start', 'exit', 'success', 'start'],
  );
  t.is(
    (await account.owner('PATCH', path, { name: 'Sync', check_spec: { heartbeat: { failEnabled: false } } })).status,
    200,
  );
  isError(t, await api.anonymous('GET', `/ping/${key}/nightly-sync/fail`), { status: 400, error: /failEnabled/ });
  t.like((await account.owner('GET', path)).json, { check_spec: { heartbeat: { slug: 'nightly-sync' } } });
  t.is((await account.owner('DELETE', path)).status, 204);
  t.is((await api.anonymous('GET', `/ping/${key}/nightly-sync`)).status, 404);
  t.is((await api.anonymous('GET', `/ping/${key}/nightly-sync?create=1`)).status, 200, 'it can be created again');
});

test('a heartbeat created by a ping is audited under the ping key, with the client address', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const key = await makeKey(account);
  await api.anonymous('GET', `/ping/${key}/backup?create=1`);
  const { rows } = await api.database.pool.query<Record<string, unknown>>(
    `SELECT action, actor_kind, actor_name, object_name, address, changes::text FROM audit_log
     WHERE tenant_id = $1 ORDER BY no`,
    [account.tenantId],
  );
  t.like(rows.at(-1), {
    action: 'monitor.created',
    actor_kind: 'system',
    actor_name: 'Ping key',
    object_name: 'backup',
  });
  t.truthy(rows.at(-1)?.['address']);
  t.like(rows[0], { action: 'account.ping_key_created' });
  t.false(JSON.stringify(rows).includes(key));
});

/** Pings over a separate connection without a time limit: `fetch` gives up after 10 s. */
function pingPatiently(url: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  get(url, { agent: false }, (response) => resolve(response.resume().statusCode)).on('error', reject);
  return promise;
}

test.serial('1,000 concurrent first pings create 1,000 heartbeats, and repeated ones no more', async (t) => {
  const { api } = t.context;
  const account = await api.account('pro');
  const key = await makeKey(account);
  const slugs = Array.from({ length: 1000 }, (_, no) => `job-${no}`);
  const pings = [...slugs, ...slugs.slice(0, 50), 'job-7', 'job-7'];
  const statuses = await Promise.all(
    pings.slice(0, 1000).map((slug) => pingPatiently(`${api.url}/ping/${key}/${slug}?create=1`)),
  );
  t.deepEqual([...new Set(statuses)], [200]);
  const again = await Promise.all(
    pings.slice(1000).map((slug) => pingPatiently(`${api.url}/ping/${key}/${slug}?create=1`)),
  );
  t.deepEqual([...new Set(again)], [200]);
  const monitors = await listMonitors(account);
  t.deepEqual(monitors.map(({ name }) => name).toSorted(), slugs.toSorted());
  isError(t, await api.anonymous('GET', `/ping/${key}/one-more?create=1`), {
    status: 400,
    error: /^the pro plan allows at most 1000 monitors, and this account has reached the limit/,
  });
  t.is(
    (await api.anonymous('GET', `/ping/${key}/job-7?create=1`)).status,
    200,
    'existing heartbeats still accept pings',
  );
});

test('one slug in a hundred concurrent pings creates one heartbeat', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const key = await makeKey(account);
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async () => (await api.anonymous('GET', `/ping/${key}/same?create=1`)).status),
  );
  t.deepEqual([...new Set(statuses)], [200]);
  t.is((await listMonitors(account)).length, 1);
});

test('concurrent first pings create only as many heartbeats as the plan allows, and the rest get a 400', async (t) => {
  const { api } = t.context;
  const account = await api.account('free');
  const key = await makeKey(account);
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, no) => api.anonymous('GET', `/ping/${key}/job-${no}?create=1`)),
  );
  t.is(answers.filter(({ status }) => status === 200).length, 20);
  for (const answer of answers.filter(({ status }) => status !== 200))
    isError(t, answer, { status: 400, error: /^the free plan allows at most 20 monitors/ });
  t.is((await listMonitors(account)).length, 20);
});

test('first pings create no heartbeats beyond the limit of monitor and channel pairs', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const key = await makeKey(account);
  await api.database.pool.query(
    `INSERT INTO channels (id, tenant_id, type, name, status, all_monitors, created_at)
     SELECT 'nch_' || $1 || n, $1, 'telegram', 'x', 'pending', true, 0 FROM generate_series(1, 1000) n`,
    [account.tenantId],
  );
  for (let no = 0; no < 100; no += 1) t.is((await api.anonymous('GET', `/ping/${key}/job-${no}?create=1`)).status, 200);
  isError(t, await api.anonymous('GET', `/ping/${key}/one-more?create=1`), {
    status: 400,
    error: /at most 100,000 pairs of a monitor and a channel/,
  });
  t.is((await listMonitors(account)).length, 100);
});

test('each account has its own slugs', async (t) => {
  const { api } = t.context;
  const accounts = [await api.account(), await api.account()];
  for (const account of accounts) {
    const key = await makeKey(account);
    t.is((await api.anonymous('GET', `/ping/${key}/backup?create=1`)).status, 200);
    t.is((await listMonitors(account)).length, 1);
  }
});

const BAD: readonly [path: string, status: number, error: RegExp][] = [
  ['Backup?create=1', 400, /^the slug must be 1 to 64 lower-case letters/],
  [`${'x'.repeat(65)}?create=1`, 400, /^the slug must be/],
  ['-x?create=1', 400, /^the slug must be/],
  ['a%20b?create=1', 400, /^the slug must be/],
  ['?create=1', 400, /^the slug must be/],
  ['backup?create=yes', 400, /^create must be 1/],
  ['backup?create=1&create=1', 400, /^create must be 1/],
  ['backup/256?create=1', 404, /exit status from 0 to 255/],
  ['backup/start/more?create=1', 404, /token/],
];
for (const [path, status, error] of BAD) {
  test(`/ping/<ping key>/${path.slice(0, 40)} is a ${status} that says why, and creates nothing`, async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const key = await makeKey(account);
    isError(t, await api.anonymous('GET', `/ping/${key}/${path}`), { status, error });
    t.deepEqual(await listMonitors(account), []);
  });
}

test('a ping without a slug is a 404 that says so, and the key remains valid', async (t) => {
  const { api } = t.context;
  const key = await makeKey(await api.account());
  isError(t, await api.anonymous('GET', `/ping/${key}`), { status: 404, error: /must have a slug/ });
  t.is((await api.anonymous('GET', `/ping/${key}/backup?create=1`)).status, 200);
  t.is((await api.anonymous('GET', `/ping/${key}?create=1`)).status, 404);
  t.is((await api.anonymous('GET', `/ping/${key}/backup`)).status, 200);
});

test('an unknown ping key is a 404', async (t) => {
  const { api } = t.context;
  for (const key of ['spp_', 'spp_x', `spp_${'x'.repeat(43)}`, `spp_${'x'.repeat(300)}`])
    t.is((await api.anonymous('GET', `/ping/${key}/backup?create=1`)).status, 404, key);
});
