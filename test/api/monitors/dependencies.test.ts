import anyTest, { type TestFn } from 'ava';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addPerson } from '../person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

async function addMonitor({ owner }: Account, name: string, settings: object = {}): Promise<string> {
  const { json, text } = await owner('POST', '/v1/monitors', { name, target: 'https://shop.example/', ...settings });
  if (typeof json.id !== 'string') throw new Error(text);
  return json.id;
}

const hold = (id: string) => ({ id, mode: 'hold' });
const annotate = (id: string) => ({ id, mode: 'annotate' });

test('dependencies are shown sorted, kept if omitted, and removed by an empty list', async (t) => {
  const account = await t.context.api.account();
  const { owner, reader } = account;
  const [router, database] = [await addMonitor(account, 'Router'), await addMonitor(account, 'Database')];
  const shop = await addMonitor(account, 'Shop', { depends_on: [hold(database), annotate(router)] });
  const read = async () => (await reader('GET', `/v1/monitors/${shop}`)).json;
  t.deepEqual(
    (await read()).depends_on,
    [annotate(router), hold(database)].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  );
  const version = (await read()).settings_version;
  t.is((await owner('PATCH', `/v1/monitors/${shop}`, { name: 'Store' })).status, 200);
  t.is((await read()).depends_on.length, 2);
  t.is((await owner('PATCH', `/v1/monitors/${shop}`, { depends_on: [annotate(database)] })).status, 200);
  t.deepEqual((await read()).depends_on, [annotate(database)]);
  t.not((await read()).settings_version, version);
  t.is((await owner('PATCH', `/v1/monitors/${shop}`, await read())).status, 400);
  const sentBack = { depends_on: (await read()).depends_on, if_settings_version: (await read()).settings_version };
  t.is((await owner('PATCH', `/v1/monitors/${shop}`, sentBack)).status, 200);
  t.is((await owner('PATCH', `/v1/monitors/${shop}`, { depends_on: [] })).status, 200);
  t.deepEqual((await read()).depends_on, []);
});

test('both ends of a dependency are listed with names and statuses', async (t) => {
  const account = await t.context.api.account();
  const { reader, owner } = account;
  const router = await addMonitor(account, 'Router', { type: 'heartbeat', target: undefined });
  const shop = await addMonitor(account, 'Shop', { depends_on: [hold(router)] });
  const blog = await addMonitor(account, 'Blog', { depends_on: [annotate(router)] });
  await owner('POST', `/v1/monitors/${blog}/pause`);
  const dependencies = async (id: string) => (await reader('GET', `/v1/monitors/${id}/dependencies`)).json;
  t.deepEqual(await dependencies(router), {
    depends_on: [],
    dependents: [
      { id: blog, name: 'Blog', type: 'http', status: 'paused', mode: 'annotate' },
      { id: shop, name: 'Shop', type: 'http', status: 'pending', mode: 'hold' },
    ],
    dependents_total: 2,
  });
  t.deepEqual(await dependencies(shop), {
    depends_on: [{ id: router, name: 'Router', type: 'heartbeat', status: 'pending', mode: 'hold' }],
    dependents: [],
    dependents_total: 0,
  });
  t.is((await owner('DELETE', `/v1/monitors/${router}`)).status, 204);
  t.deepEqual((await dependencies(shop)).depends_on, []);
  t.deepEqual((await reader('GET', `/v1/monitors/${shop}`)).json.depends_on, []);
});

test('unknown and foreign ids, malformed entries and cycles are a 400 that names the field', async (t) => {
  const [account, other] = [await t.context.api.account(), await t.context.api.account()];
  const { owner, reader } = account;
  const foreign = await addMonitor(other, 'Foreign');
  const c = await addMonitor(account, 'C');
  const b = await addMonitor(account, 'B', { depends_on: [hold(c)] });
  const a = await addMonitor(account, 'A', { depends_on: [hold(b)] });
  for (const [depends_on, error] of [
    [[hold(a)], /^depends_on\[0\]\.id must not depend on this monitor itself/],
    [[hold(foreign)], /^depends_on\[0\]\.id must be the id of a monitor of this account/],
    [[hold(b), hold('mon_none')], /depends_on\[1\]\.id must be the id of a monitor of this account, got "mon_none"/],
    [[hold('\u0000')], /^depends_on\[0\]\.id/],
    [[hold('\ud800')], /^depends_on\[0\]\.id/],
    [[hold(c)], /^depends_on\[0\]\.id must be another monitor/],
    [[{ id: b }], /^depends_on\[0\]\.mode is required/],
    [[{ id: b, mode: 'drop' }], /^depends_on\[0\]\.mode must be/],
    [[{ mode: 'hold' }], /^depends_on\[0\]\.id is required/],
    [[{ ...hold(b), name: 'x' }], /^depends_on\[0\]/],
    [b, /^depends_on must be a list/],
    [null, /^depends_on must be a list/],
    [Array.from({ length: 21 }, () => hold(b)), /^depends_on must be .*at most 20/],
  ] as const) {
    const answer = await owner('PATCH', `/v1/monitors/${c}`, { depends_on });
    isError(t, answer, { status: 400, error });
  }
  t.deepEqual((await reader('GET', `/v1/monitors/${c}`)).json.depends_on, []);
  const created = await owner('POST', '/v1/monitors', { name: 'x', depends_on: [hold(foreign)] });
  isError(t, created, { status: 400, error: /^depends_on\[0\]\.id must be the id of a monitor of this account/ });
  const { monitors } = (await reader('GET', '/v1/monitors?q=x')).json;
  t.false(monitors.some(({ name }: { name: string }) => name === 'x'));
});

test('of two concurrent changes that together close a cycle one is refused', async (t) => {
  const account = await t.context.api.account();
  const { owner, reader } = account;
  for (let round = 0; round < 5; round += 1) {
    const ids: string[] = [];
    for (const name of ['A', 'B', 'C', 'D']) ids.push(await addMonitor(account, name));
    const [a = '', b = '', c = '', d = ''] = ids;
    await owner('PATCH', `/v1/monitors/${a}`, { depends_on: [hold(b)] });
    await owner('PATCH', `/v1/monitors/${c}`, { depends_on: [hold(d)] });
    const both = await Promise.all([
      owner('PATCH', `/v1/monitors/${b}`, { depends_on: [hold(c)] }),
      owner('PATCH', `/v1/monitors/${d}`, { depends_on: [hold(a)] }),
    ]);
    t.deepEqual(both.map(({ status }) => status).toSorted(), [200, 400]);
    const stored = await Promise.all(
      ids.map(async (id) => (await reader('GET', `/v1/monitors/${id}`)).json.depends_on.length),
    );
    t.is(
      stored.reduce((sum, count) => sum + count, 0),
      3,
    );
  }
});

test('depending on a monitor while it is deleted leaves no dependency and causes no 5xx', async (t) => {
  const account = await t.context.api.account();
  const { owner, reader } = account;
  const shop = await addMonitor(account, 'Shop');
  for (let round = 0; round < 8; round += 1) {
    const router = await addMonitor(account, 'Router');
    const [change, deletion] = await Promise.all([
      owner('PATCH', `/v1/monitors/${shop}`, { depends_on: [hold(router)] }),
      owner('DELETE', `/v1/monitors/${router}`),
    ]);
    t.is(deletion?.status, 204);
    t.true(change?.status === 200 || change?.status === 400, change?.text);
    t.deepEqual((await reader('GET', `/v1/monitors/${shop}`)).json.depends_on, []);
  }
});

test('dependencies can be set in bulk, and the audit log records them', async (t) => {
  const account = await t.context.api.account();
  const { owner } = account;
  const router = await addMonitor(account, 'Router');
  const [shop, blog] = [await addMonitor(account, 'Shop'), await addMonitor(account, 'Blog')];
  const select = { ids: [shop, blog, router] };
  const bulk = await owner('POST', '/v1/monitors/bulk', {
    select,
    action: 'patch',
    patch: { depends_on: [hold(router)] },
  });
  t.deepEqual(
    bulk.json.results.map(({ status }: { status: number }) => status),
    [200, 200, 400],
  );
  const { api } = t.context;
  const person = await addPerson(api, account.tenantId);
  const { json } = await person.call('GET', `/v1/audit-log?object_id=${shop}`);
  t.deepEqual(json.entries[0]?.changes['depends_on'], [null, [`${router} (hold)`]]);
});
