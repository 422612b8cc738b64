import anyTest, { type TestFn } from 'ava';
import { until } from '../../helpers/until.ts';
import { agentCaller, workOf } from '../agents/agent-caller.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { beginLongPeriod } from '../rate-limit.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

async function makeMonitor({ owner }: Account, fields: object = {}): Promise<string> {
  return String(
    (
      await owner('POST', '/v1/monitors', {
        name: 'Shop',
        target: 'https://shop.example/',
        interval_seconds: 3600,
        ...fields,
      })
    ).json['id'],
  );
}

// Serial, because rechecks of other tests' monitors would be reported as well.
test.serial('a check request reaches the sources of the service immediately, whatever their next tick', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await makeMonitor(account);
  await api.database.pool.query(
    'UPDATE monitor_sources SET look_at = NULL WHERE monitor_no = (SELECT no FROM monitors WHERE id = $1)',
    [id],
  );
  const before = api.scheduleChanges.length;
  const requested = await account.owner('POST', `/v1/monitors/${id}/check`);
  t.is(requested.status, 202, requested.text);
  const sources = requested.json['sources'];
  t.deepEqual(
    sources.map(({ state }) => state),
    ['asked', 'asked', 'asked'],
  );
  t.deepEqual(
    sources.map((source) => source.id).toSorted(),
    (await account.owner('GET', `/v1/monitors/${id}`)).json['agent_sources'],
  );
  const change = await until(() => api.scheduleChanges.slice(before).find(({ rechecks }) => rechecks.length > 0));
  t.is(change.rechecks.length, 3);
  const { rows } = await api.database.pool.query<{ look_at: number | null }>(
    'SELECT look_at FROM monitor_sources WHERE monitor_no = (SELECT no FROM monitors WHERE id = $1)',
    [id],
  );
  t.deepEqual(
    rows.map(({ look_at: at }) => at !== null && Math.abs(at - Date.now()) < 60_000),
    [true, true, true],
  );
  t.true(Math.abs(Number(requested.json['requested_at']) - Date.now() / 1000) < 60);
});

test('a private agent gets a check request once, at its next check-in; one that cannot check is listed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [able, unable] = [await agentCaller(api, account, 'able'), await agentCaller(api, account, 'unable')];
  const id = await able.watch({ agent_sources: [able.id, unable.id] });
  const first = await able.post('pull', { capabilities: ['http'] });
  await unable.post('pull', { capabilities: ['icmp'] });
  t.false('askedAt' in (workOf(first)[0] ?? {}));
  const tag = String(first.headers.get('etag'));
  t.is((await able.post('pull', { capabilities: ['http'] }, { 'If-None-Match': tag })).status, 304);

  const requested = await account.owner('POST', `/v1/monitors/${id}/check`);
  t.deepEqual(requested.json['sources'], [
    { id: able.id, state: 'waits' },
    { id: unable.id, state: 'unable', reason: 'capability' },
  ]);
  const change = await able.post('pull', { capabilities: ['http'] }, { 'If-None-Match': tag });
  t.is(workOf(change)[0]?.['askedAt'], requested.json['requested_at']);
  t.is(
    (await able.post('pull', { capabilities: ['http'] }, { 'If-None-Match': String(change.headers.get('etag')) }))
      .status,
    304,
  );
});

test('a check request for a monitor that is not being checked is a 409 that says what would help', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [paused, draft, heartbeat] = [
    await makeMonitor(account),
    await makeMonitor(account, { target: '' }),
    await makeMonitor(account, { type: 'heartbeat', target: undefined }),
  ];
  await account.owner('POST', `/v1/monitors/${paused}/pause`);
  const agent = await agentCaller(api, account);
  const withoutAgents = await agent.watch({});
  await account.owner('DELETE', `/v1/agents/${agent.id}`);
  for (const [id, error] of [
    [paused, /is paused/],
    [draft, /no target/],
    [heartbeat, /wait for pings/],
    [withoutAgents, /no agents/],
  ] as const) {
    isError(t, await account.owner('POST', `/v1/monitors/${id}/check`), { status: 409, error });
  }
});

test('check requests need write access to the monitor, and are limited to six a minute', async (t) => {
  const { api } = t.context;
  const [account, stranger] = [await api.account(), await api.account()];
  const id = await makeMonitor(account);
  await beginLongPeriod(api, 'check', `${account.tenantId} ${id}`);
  isError(t, await account.reader('POST', `/v1/monitors/${id}/check`), { status: 403, error: /write/ });
  isError(t, await stranger.owner('POST', `/v1/monitors/${id}/check`), {
    status: 404,
    error: `monitor ${id} does not exist`,
  });
  isError(t, await account.owner('POST', `/v1/monitors/${id}/check`, { now: true }), {
    status: 400,
    error: /takes no fields/,
  });
  for (let turn = 0; turn < 6; turn += 1) t.is((await account.owner('POST', `/v1/monitors/${id}/check`)).status, 202);
  const refused = await account.owner('POST', `/v1/monitors/${id}/check`);
  isError(t, refused, { status: 429, error: /^at most 6 requested checks of this monitor per minute: wait \d+ s$/ });
  t.regex(refused.headers.get('retry-after') ?? '', /^\d+$/);
  t.is((await account.owner('POST', `/v1/monitors/${await makeMonitor(account)}/check`)).status, 202);
});
