import anyTest, { type TestFn } from 'ava';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addMonitor, addResults, addTransitions, listAgentIds } from '../statistics/measured-monitor.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const NOW_MS = Date.parse('2026-03-10T12:34:56.789Z');
const TODAY_MS = Date.parse('2026-03-10T00:00:00Z');

const test = anyTest as TestFn<{ api: ApiServer }>;
const clock = { ms: NOW_MS };
withApiServer(test, { now: () => clock.ms });

test.serial('a history has 90 days of uptime and 24 hourly latency medians, null where unknown', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, no } = await addMonitor(api, account, { createdAtMs: TODAY_MS - 2 * DAY_MS });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
    [TODAY_MS - 2 * DAY_MS, 'up'],
    [TODAY_MS - DAY_MS, 'down'],
    [TODAY_MS - DAY_MS + 6 * HOUR_MS, 'up'],
  ]);
  const [first = '', second = ''] = await listAgentIds(api);
  const hourMs = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS;
  await addResults(api, no, [
    { atMs: hourMs + 1000, agentId: first, latencyMs: 10 },
    { atMs: hourMs + 1000, agentId: second, latencyMs: 12 },
    { atMs: hourMs + 61_000, agentId: second, latencyMs: 20 },
    { atMs: hourMs + 61_000, agentId: first, latencyMs: 5, verdict: 3 },
    { atMs: hourMs - 23 * HOUR_MS, agentId: first, latencyMs: 8 },
    { atMs: hourMs - 23 * HOUR_MS - 1, agentId: first, latencyMs: 9 },
  ]);
  const { json } = await account.reader('GET', `/v1/overview/history?ids=${id},mon_unknown`);
  const [history, ...others] = json['histories'];
  t.deepEqual(others, []);
  t.is(history?.id, id);
  t.is(history?.first_day, (TODAY_MS - 89 * DAY_MS) / 1000);
  t.deepEqual(history?.daily_uptime.slice(-4), [null, 100, 75, 100]);
  t.is(history?.daily_uptime.length, 90);
  t.is(history?.uptime_percent, Math.floor((1 - 21_600 / (2 * 86_400 + 45_296)) * 100_000) / 1000);
  t.deepEqual(history?.hourly_latency_ms, [8, ...Array.from({ length: 22 }, () => null), 12]);
  t.deepEqual(history?.daily_worst_state?.slice(-4), [null, 'up', 'down', 'up']);
  t.is(history?.median_latency_ms, 10);
  t.is(history?.last_check_at, Math.floor((hourMs + 61_000) / 1000));
});

test.serial('figures cover the last day over all monitors, and each monitor on request', async (t) => {
  const { api } = t.context;
  const [account, stranger] = await Promise.all([api.account(), api.account()]);
  const shop = await addMonitor(api, account, { createdAtMs: TODAY_MS - 2 * DAY_MS });
  const blog = await addMonitor(api, account, { createdAtMs: TODAY_MS - 2 * DAY_MS });
  const dayAgoMs = Math.floor((NOW_MS - DAY_MS) / 1000) * 1000;
  for (const { id } of [shop, blog])
    await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
      [TODAY_MS - 2 * DAY_MS, 'up'],
      ...(id === shop.id ? ([[NOW_MS - 1000 * 864, 'down']] as [number, 'down'][]) : []),
    ]);
  const agent = await findCommonAgent(api, [shop.no, blog.no]);
  await addResults(api, shop.no, [
    { atMs: NOW_MS - 60_000, agentId: agent, latencyMs: 300 },
    { atMs: NOW_MS - 30_000, agentId: agent, latencyMs: 300 },
  ]);
  await addResults(api, blog.no, [{ atMs: NOW_MS - 50_000, agentId: agent, latencyMs: 20 }]);
  await addAlerts(api, account, { events: ['monitor.down', 'monitor.up', 'report'] });
  await addAlerts(api, account, { events: ['monitor.down'], atMs: NOW_MS - 2 * DAY_MS });
  const { json } = await account.reader('GET', '/v1/overview/figures');
  t.like(json, { from: dayAgoMs / 1000, to: Math.floor(NOW_MS / 1000), uptime_percent: 99.5, alerts: 2 });
  t.true(Math.abs((json['median_latency_ms'] ?? 0) - 300) < 12, 'within the width of a bucket');
  t.false('monitors' in json);
  const each = (await account.reader('GET', '/v1/overview/figures?per_monitor=true')).json['monitors'] ?? [];
  t.deepEqual(
    each.map(({ id, last_check_at: at }) => [id, at]).toSorted(),
    [
      [shop.id, Math.floor((NOW_MS - 30_000) / 1000)],
      [blog.id, Math.floor((NOW_MS - 50_000) / 1000)],
    ].toSorted(),
  );
  t.is(each.find(({ id }) => id === blog.id)?.uptime_percent, 100);
  const { json: theirs } = await stranger.reader('GET', '/v1/overview/figures?per_monitor=true');
  t.like(theirs, { uptime_percent: null, alerts: 0, median_latency_ms: null, monitors: [] });
  isError(t, await account.reader('GET', '/v1/overview/figures?per_monitor=maybe'), {
    status: 400,
    error: /per_monitor/,
  });
});

test.serial('the uptime of a period is the same wherever it is read, even a moment later', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addMonitor(api, account, { createdAtMs: NOW_MS - 600_000 });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
    [NOW_MS - 600_000, 'up'],
    [NOW_MS - 120_000, 'down'],
  ]);
  const read = async () => {
    const { reader } = account;
    const figures = (await reader('GET', '/v1/overview/figures?per_monitor=true')).json;
    const { histories } = (await reader('GET', `/v1/overview/history?ids=${id}`)).json;
    const { days } = (await reader('GET', `/v1/monitors/${id}/uptime?days=1`)).json;
    return [figures, figures.monitors?.[0], histories[0], days[0]].map((each) => each?.uptime_percent);
  };
  t.teardown(() => (clock.ms = NOW_MS));
  t.deepEqual(await read(), [80, 80, 80, 80]);
  clock.ms += 6000;
  t.deepEqual(await read(), [79.207, 79.207, 79.207, 79.207]);
});

test.serial('an overdue monitor is reported as such everywhere, by the clock of the service', async (t) => {
  const { api } = t.context;
  const [account, stranger] = await Promise.all([api.account(), api.account()]);
  const shop = await addMonitor(api, account, { createdAtMs: NOW_MS });
  const blog = await addMonitor(api, account, { createdAtMs: NOW_MS });
  await addMonitor(api, account, { createdAtMs: NOW_MS, body: { name: 'Job', type: 'heartbeat', target: '' } });
  t.teardown(() => (clock.ms = NOW_MS));
  const read = async () => {
    const { reader } = account;
    const { histories } = (await reader('GET', `/v1/overview/history?ids=${shop.id},${blog.id}`)).json;
    const figures = (await reader('GET', '/v1/overview/figures')).json;
    const wall = (await reader('GET', '/v1/wall')).json;
    const locations = (await reader('GET', `/v1/monitors/${shop.id}/locations`)).json;
    const shown = histories.find(({ id }) => id === shop.id);
    return {
      history: [shown?.overdue, shown?.last_check_at],
      figures: [figures.overdue_monitors, figures.no_checks_since],
      ids: figures.overdue_monitor_ids?.toSorted(),
      wall: [wall.overdue_monitors, wall.no_checks_since, wall.monitors.map(({ overdue }) => overdue).toSorted()],
      page: [locations.overdue, locations.last_check_at],
    };
  };
  const first = await findCommonAgent(api, [shop.no, blog.no]);
  await addResults(api, shop.no, [{ atMs: NOW_MS, agentId: first }]);
  await addResults(api, blog.no, [{ atMs: NOW_MS - 60_000, agentId: first }]);
  const atMs = Math.floor(NOW_MS / 1000);
  clock.ms = NOW_MS + 180_000;
  t.deepEqual(await read(), {
    history: [false, atMs],
    figures: [1, null],
    ids: [blog.id],
    wall: [1, null, [false, false, true]],
    page: [false, atMs],
  });
  clock.ms = NOW_MS + 24 * 60_000;
  const stopped = {
    history: [true, atMs],
    figures: [2, atMs],
    ids: [shop.id, blog.id].toSorted(),
    wall: [2, atMs, [false, true, true]],
    page: [true, atMs],
  };
  t.deepEqual(await read(), stopped);
  t.like((await stranger.reader('GET', '/v1/overview/figures')).json, { overdue_monitors: 0, no_checks_since: null });
  // Results of the queries are shared for five seconds among all screens.
  await addResults(api, shop.no, [{ atMs: clock.ms, agentId: first }]);
  t.deepEqual((await read()).figures, stopped.figures);
  clock.ms += 5000;
  t.like((await account.reader('GET', '/v1/wall')).json, { overdue_monitors: 1 });
  await addResults(api, blog.no, [{ atMs: clock.ms, agentId: first }]);
  t.deepEqual((await read()).figures, [1, null], 'the wallboard and the overview share it');
  await api.database.pool.query('DELETE FROM check_results WHERE monitor_no = $1 AND due_at = $2', [blog.no, clock.ms]);
  t.is((await account.owner('POST', `/v1/monitors/${blog.id}/pause`)).status, 200);
  clock.ms += 5000;
  t.deepEqual((await read()).figures, [0, null]);
  t.is((await account.owner('POST', `/v1/monitors/${blog.id}/resume`)).status, 200);
  clock.ms += 5000;
  t.deepEqual((await read()).figures, [0, null], 'a resumed monitor is measured from then on');
});

/** Returns an agent that checks both monitors: each has three of the four regions. */
async function findCommonAgent(api: ApiServer, monitorNos: readonly [number, number]): Promise<string> {
  const { rows } = await api.database.pool.query<{ id: string }>(
    `SELECT a.id FROM monitor_sources s JOIN agents a ON a.no = s.agent_no WHERE s.monitor_no = ANY($1::int[])
     GROUP BY a.id HAVING count(*) = 2`,
    [monitorNos],
  );
  return rows[0]?.id ?? '';
}

/** Adds a channel with a delivery of each event. */
async function addAlerts(
  api: ApiServer,
  { tenantId }: Account,
  { events, atMs = NOW_MS - 1000 }: { events: readonly string[]; atMs?: number },
) {
  const channel = api.makeId('nch');
  await api.database.pool.query(
    `INSERT INTO channels (id, tenant_id, type, name, status, all_monitors, created_at)
     VALUES ($1, $2, 'slack', 'Chat', 'connected', true, 0)`,
    [channel, tenantId],
  );
  for (const event of events)
    await api.database.pool.query(
      `INSERT INTO deliveries (id, tenant_id, channel_id, event, message, next_attempt_at, created_at)
       VALUES ($1, $2, $3, $4, '{}', $5, $5)`,
      [api.makeId('dlv'), tenantId, channel, event, atMs],
    );
}

test.serial('a history is visible only to its own account, for at most 50 monitors at a time', async (t) => {
  const { api } = t.context;
  const [account, stranger] = await Promise.all([api.account(), api.account()]);
  const { id } = await addMonitor(api, account, { createdAtMs: NOW_MS });
  t.deepEqual((await stranger.reader('GET', `/v1/overview/history?ids=${id}`)).json, { histories: [] });
  t.is((await account.reader('GET', `/v1/overview/history?ids=${id},${id},,`)).json['histories'].length, 1);
  const many = Array.from({ length: 51 }, (_, index) => `mon_${index}`).join(',');
  isError(t, await account.reader('GET', `/v1/overview/history?ids=${many}`), {
    status: 400,
    error: 'ids must be 1 to 50 comma-separated ids, got 51',
  });
  isError(t, await account.reader('GET', '/v1/overview/history?ids=%2C'), {
    status: 400,
    error: 'ids must be 1 to 50 comma-separated ids, got 0',
  });
  isError(t, await account.reader('GET', '/v1/overview/history'), { status: 400, error: /ids is required/ });
});

test.serial('a large overview is compressed for clients that accept it, with the same content', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  for (let made = 0; made < 40; made += 1) await addMonitor(api, account, { createdAtMs: NOW_MS });
  const ask = (coding: string) =>
    fetch(`${api.url}/v1/overview`, {
      headers: { Authorization: `Bearer ${account.readerToken}`, 'Accept-Encoding': coding },
    });
  const [plain, zipped] = await Promise.all([ask('identity'), ask('gzip')]);
  t.is(plain.headers.get('content-encoding'), null);
  t.is(zipped.headers.get('content-encoding'), 'gzip');
  t.is(zipped.headers.get('vary'), 'Accept-Encoding');
  t.true(Number(zipped.headers.get('content-length')) < 4000);
  t.deepEqual(await zipped.json(), await plain.json());
  const same = await fetch(`${api.url}/v1/overview`, {
    headers: {
      Authorization: `Bearer ${account.readerToken}`,
      'Accept-Encoding': 'gzip',
      'Cache-Control': 'max-age=0',
      'If-None-Match': zipped.headers.get('etag') ?? '',
    },
  });
  t.is(same.status, 304);
});
