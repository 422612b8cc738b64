import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createAgent } from '../../../models/agents/agents.ts';
import { listRoutes } from '../../../models/alerts/routes.ts';
import { runOn } from '../../../models/sql.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

async function addMonitor({ owner }: Account, tags: readonly string[], name = 'Shop'): Promise<string> {
  const { json, text } = await owner('POST', '/v1/monitors', { name, target: 'https://shop.example/', tags });
  if (typeof json.id !== 'string') throw new Error(text);
  return json.id;
}

test('tags are stored sorted and unique, kept if omitted, and removed by an empty list', async (t) => {
  const account = await t.context.api.account();
  const { owner, reader } = account;
  const id = await addMonitor(account, ['shop', 'env:prod', 'Shop', 'shop', 'group:a/b']);
  const tagsOf = async () => (await reader('GET', `/v1/monitors/${id}`)).json.tags;
  t.deepEqual(await tagsOf(), ['Shop', 'env:prod', 'group:a/b', 'shop']);
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { name: 'Store' })).status, 200);
  t.deepEqual(await tagsOf(), ['Shop', 'env:prod', 'group:a/b', 'shop']);
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { tags: ['db'] })).status, 200);
  t.deepEqual(await tagsOf(), ['db']);
  t.is((await owner('PATCH', `/v1/monitors/${id}`, { tags: [] })).status, 200);
  t.deepEqual(await tagsOf(), []);
  const without = await owner('POST', '/v1/monitors', { name: 'Plain' });
  t.deepEqual((await reader('GET', `/v1/monitors/${without.json.id}`)).json.tags, []);
});

test('a tag change changes the settings version, but not the checks version', async (t) => {
  const account = await t.context.api.account();
  const id = await addMonitor(account, ['a']);
  const versions = async () => {
    const { rows } = await t.context.api.database.pool.query('SELECT checks_version FROM monitors WHERE id = $1', [id]);
    const { json } = await account.reader('GET', `/v1/monitors/${id}`);
    return { checks: rows[0]?.checks_version, settings: json.settings_version };
  };
  const before = await versions();
  await account.owner('PATCH', `/v1/monitors/${id}`, { tags: ['b'] });
  const after = await versions();
  t.is(after.checks, before.checks);
  t.not(after.settings, before.settings);
});

const HINT = 'a tag such as prod or env:prod, of letters, digits and . _ / -';
for (const [tags, error] of [
  [['a b'], `tags[0] must be ${HINT}, got "a b"`],
  [['ok', ''], `tags[1] must be ${HINT}, got ""`],
  [[':x'], `tags[0] must be ${HINT}, got ":x"`],
  [['a:b:c'], `tags[0] must be ${HINT}, got "a:b:c"`],
  [['x'.repeat(64)], /^tags\[0\] must be a tag such as/],
  [Array.from({ length: 21 }, (_, index) => `t${index}`), /^tags must be .*at most 20/],
  ['prod', /^tags must be a list/],
  [null, /^tags must be a list/],
  [[7], /^tags\[0\] must be/],
] as const) {
  test(`the tags ${JSON.stringify(tags).slice(0, 60)} are a 400 that says why, and change nothing`, async (t) => {
    const account = await t.context.api.account();
    const id = await addMonitor(account, ['kept']);
    isError(t, await account.owner('POST', '/v1/monitors', { name: 'Shop', tags }), { status: 400, error });
    isError(t, await account.owner('PATCH', `/v1/monitors/${id}`, { name: 'x', tags }), { status: 400, error });
    t.like((await account.reader('GET', `/v1/monitors/${id}`)).json, { name: 'Shop', tags: ['kept'] });
  });
}

test('lists and the overview are filtered to monitors that have all given tags, page by page', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  await addMonitor(stranger, ['env:prod', 'db']);
  const names = { 'shop-db': ['env:prod', 'db'], shop: ['env:prod'], test: ['env:test', 'db'], none: [] };
  for (const [name, tags] of Object.entries(names)) await addMonitor(account, tags, name);
  const listed = async (query: string) =>
    (await account.reader('GET', `/v1/monitors${query}`)).json.monitors.map(({ name }) => name);
  t.deepEqual(await listed(''), ['shop-db', 'shop', 'test', 'none']);
  t.deepEqual(await listed('?tag=env:prod'), ['shop-db', 'shop']);
  t.deepEqual(await listed('?tag=env%3Aprod&tag=db'), ['shop-db']);
  t.deepEqual(await listed('?tag=DB'), []);
  t.deepEqual(await listed('?tag=db&q=test'), ['test']);
  const page = await account.reader('GET', '/v1/monitors?tag=env:prod&limit=1');
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
  t.deepEqual(await listed(new URL(next).search), ['shop']);
  const { json: overview } = await account.reader('GET', '/v1/overview?tag=db');
  t.deepEqual([overview.total, overview.monitors.map(({ name }) => name)], [2, ['shop-db', 'test']]);
  isError(t, await account.reader('GET', '/v1/monitors?tag=a%20b'), { status: 400, error: /^tag\[0\] must be a tag/ });
  const many = Array.from({ length: 21 }, (_, index) => `tag=t${index}`).join('&');
  isError(t, await account.reader('GET', `/v1/monitors?${many}`), { status: 400, error: /^tag must be .*at most 20/ });
});

test('incidents are filtered to monitors that have all given tags', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [tagged, other] = [await addMonitor(account, ['db', 'env:prod']), await addMonitor(account, ['db'])];
  for (const [index, monitorId] of [tagged, other].entries())
    await api.database.pool.query(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
         detected_at)
       VALUES ($1, $2, $3, 'Shop', 'down', 'HTTP 503', '{}', $4, $4)`,
      [api.makeId('inc'), account.tenantId, monitorId, 1_763_720_000_000 + index],
    );
  const listed = async (query: string) =>
    (await account.reader('GET', `/v1/incidents${query}`)).json.incidents.map(({ monitor_id: id }) => id);
  t.deepEqual(await listed('?tag=db'), [other, tagged]);
  t.deepEqual(await listed('?tag=db&tag=env:prod'), [tagged]);
  t.deepEqual(await listed('?tag=web&status=open'), []);
});

test('a channel gets the alerts of monitors that it names, or that have any or all of its tags', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const { owner, reader } = account;
  const [db, prod, both, named] = [
    await addMonitor(account, ['db']),
    await addMonitor(account, ['prod']),
    await addMonitor(account, ['db', 'prod']),
    await addMonitor(account, []),
  ];
  const foreign = await addMonitor(stranger, ['db', 'prod']);
  const { json: created } = await owner('POST', '/v1/channels', {
    type: 'webhook',
    url: 'https://hooks.example/x',
    all_monitors: false,
    monitor_ids: [named],
    monitor_tags: { any: ['prod', 'db', 'db'] },
  });
  const path = `/v1/channels/${created.id}` as const;
  const routed = async () =>
    (await listRoutes(runOn(api.database.pool), [db, prod, both, named, foreign])).map(({ monitorId }) => monitorId);
  t.deepEqual((await reader('GET', path)).json.monitor_tags, { any: ['db', 'prod'] });
  t.deepEqual((await routed()).toSorted(), [db, prod, both, named].toSorted());
  await owner('PATCH', path, { monitor_tags: { all: ['prod', 'db'] } });
  t.deepEqual((await routed()).toSorted(), [both, named].toSorted());
  await owner('PATCH', path, { name: 'Night' });
  t.deepEqual((await reader('GET', path)).json.monitor_tags, { all: ['db', 'prod'] });
  await owner('PATCH', `/v1/monitors/${both}`, { tags: ['db'] });
  t.deepEqual(await routed(), [named]);
  await owner('PATCH', path, { monitor_ids: [], monitor_tags: null });
  t.deepEqual(await routed(), []);
  for (const [tags, error] of [
    [{}, 'monitor_tags must have at least one of any, all'],
    [{ any: ['a'], all: ['b'] }, 'monitor_tags must be { any: [tags] }, { all: [tags] } or null'],
    [{ any: [] }, /^monitor_tags.any must be/],
    [{ any: ['a b'] }, /^monitor_tags.any\[0\] must be a tag/],
    [['db'], /^monitor_tags must be/],
  ] as const)
    isError(t, await owner('PATCH', path, { monitor_tags: tags }), { status: 400, error });
});

test('an agent is renamed and tagged by its own account only, and a shared one by no account', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const { owner, reader } = account;
  const { id } = await createAgent(api.database, {
    id: api.makeId('agt'),
    tenantId: account.tenantId,
    name: 'lab',
    region: null,
    tokenFingerprint: randomBytes(32),
    nowMs: Date.now(),
  });
  const path = `/v1/agents/${id}` as const;
  t.deepEqual((await reader('GET', path)).json.tags, []);
  t.deepEqual((await owner('PATCH', path, { tags: ['site:paris', 'lab'] })).json.tags, ['lab', 'site:paris']);
  const { status, json } = await owner('PATCH', path, { name: 'Home lab', region: 'paris' });
  t.is(status, 200);
  t.like(json, { name: 'Home lab', region: 'paris', tags: ['lab', 'site:paris'] });
  t.deepEqual((await owner('PATCH', path, { tags: [] })).json.tags, []);
  isError(t, await owner('PATCH', path, { tags: ['a b'] }), { status: 400, error: /^tags\[0\] must be a tag/ });
  isError(t, await owner('PATCH', path, { name: ' ' }), { status: 400, error: 'name must not be blank' });
  t.is((await reader('PATCH', path, { name: 'x' })).status, 403);
  isError(t, await stranger.owner('PATCH', path, { name: 'x' }), {
    status: 404,
    error: `agent ${id} does not exist`,
  });
  const shared = (await reader('GET', '/v1/agents?kind=first_party')).json.agents[0]?.id ?? '';
  isError(t, await owner('PATCH', `/v1/agents/${shared}`, { name: 'x' }), {
    status: 403,
    error: `agent ${shared} is shared by all accounts and cannot be changed`,
  });
  t.like((await reader('GET', path)).json, { name: 'Home lab', region: 'paris' });
});
