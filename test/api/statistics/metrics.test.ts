import { PassThrough } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { getMonitorMetricsHandler } from '../../../api/statistics/metrics.ts';
import { HOUR_MS, MINUTE_MS } from '../../../core/time.ts';
import { beginPackingAt, packNextHour } from '../../../models/checks/packed-results.ts';
import { storeRecent } from '../../../models/checks/recent-results.ts';
import { runOn } from '../../../models/sql.ts';
import type { ExportedRow } from '../../../models/statistics/exported-monitors.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addMonitor, addResults, addTransitions, listAgentIds } from './measured-monitor.ts';

const START_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + 30 * MINUTE_MS;
let nowMs = START_MS;

const test = (anyTest as TestFn<{ api: ApiServer }>).serial;
withApiServer(anyTest as TestFn<{ api: ApiServer }>, { now: () => nowMs });

test.beforeEach(() => {
  nowMs = START_MS;
});

/**
 * Scrapes, and returns a function that finds values by name and labels, such as `probe_success{monitor_id="mon_1"}`.
 */
async function scrape(account: Account, query = ''): Promise<(name: string, ...labels: string[]) => number[]> {
  const { status, headers, text } = await account.reader('GET', `/v1/metrics${query}`);
  if (status !== 200) throw new Error(text);
  if (headers.get('content-type') !== 'text/plain; version=0.0.4; charset=utf-8') throw new Error('another type');
  const lines = text.split('\n');
  return (name, ...labels) =>
    lines
      .filter((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
      .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
}

/** Adds a monitor of the first two agents. */
async function addWatched(api: ApiServer, account: Account, { createdAtMs = START_MS - HOUR_MS, ...body }) {
  const agents = await listAgentIds(api);
  return await addMonitor(api, account, { createdAtMs, body: { agent_sources: agents.slice(0, 2), ...body } });
}

/** Scrapes after the account's cached snapshot has expired. */
async function scrapeLater(account: Account, query = ''): ReturnType<typeof scrape> {
  nowMs += 2 * MINUTE_MS;
  return await scrape(account, query);
}

async function addSteady(
  { database }: ApiServer,
  {
    monitorNo,
    agentId,
    dueAtMs,
    latencyMs,
  }: { monitorNo: number; agentId: string; dueAtMs: number; latencyMs: number },
): Promise<void> {
  const [agent] = await runOn(database.pool)<{ no: number }>('SELECT no FROM agents WHERE id = $1', [agentId]);
  const phases = { dnsMs: 3, connectMs: 5, tlsMs: 7, firstByteMs: 9, downloadMs: 1 };
  await storeRecent(runOn(database.pool), [
    { monitorNo, agentNo: agent?.no ?? 0, dueAtMs, latencyMs, httpStatus: 200, phases },
  ]);
}

test('a scrape has the latest result of each source and the decided state', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, no } = await addWatched(api, account, {
    createdAtMs: START_MS - 10 * 24 * HOUR_MS,
    sla_target: 99,
    tags: ['shop', 'env:prod'],
  });
  const [frankfurt = '', singapore = ''] = await listAgentIds(api);
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
    [START_MS - 10 * 24 * HOUR_MS, 'up'],
    [START_MS - 6 * HOUR_MS, 'down'],
    [START_MS - 3 * HOUR_MS, 'up'],
  ]);
  await addSteady(api, { monitorNo: no, agentId: frankfurt, dueAtMs: START_MS - 70_000, latencyMs: 900 });
  await addSteady(api, { monitorNo: no, agentId: frankfurt, dueAtMs: START_MS - 10_000, latencyMs: 250 });
  await addResults(api, no, [
    {
      atMs: START_MS - 20_000,
      agentId: singapore,
      verdict: 3,
      latencyMs: 40,
      httpStatus: 503,
      detail: { phases: '1 2 - 4 5' },
    },
  ]);
  const metrics = await scrape(account);
  const own = `monitor_id="${id}"`;
  t.deepEqual(metrics('probe_success', own, 'source="frankfurt"'), [1]);
  t.deepEqual(metrics('probe_success', own, 'source="singapore"'), [0]);
  t.deepEqual(metrics('probe_success', own), [1, 0]);
  t.deepEqual(metrics('probe_duration_seconds', own), [0.25, 0.04]);
  t.deepEqual(metrics('probe_http_status_code', own), [200, 503]);
  t.deepEqual(metrics('probe_http_duration_seconds', own, 'frankfurt'), [0.003, 0.005, 0.007, 0.009, 0.001]);
  t.deepEqual(metrics('probe_http_duration_seconds', own, 'singapore', 'phase="tls"'), []);
  t.deepEqual(metrics('spotcheck_monitor_uptime_ratio', own, 'window="1d"'), [0.875]);
  t.deepEqual(metrics('spotcheck_monitor_uptime_ratio', own, 'window="30d"'), [0.9875]);
  // One percent of ten days is 8,640 s; 10,800 were used.
  t.deepEqual(metrics('spotcheck_monitor_error_budget_remaining_ratio', own), [-0.25]);
  t.deepEqual(metrics('spotcheck_monitor_info', own, 'type="http"', 'instance="https://shop.example"'), [1]);
  t.deepEqual(metrics('spotcheck_monitor_incident_open', own), [0]);
});

test('monitors in maintenance are marked as long as it lasts', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [{ id }, { id: other }] = [await addWatched(api, account, {}), await addWatched(api, account, {})];
  const started = await account.owner('POST', `/v1/monitors/${id}/maintenance`, { duration_seconds: 600 });
  t.is(started.status, 201);
  const during = await scrapeLater(account);
  t.deepEqual(during('spotcheck_monitor_in_maintenance', id), [1]);
  t.deepEqual(during('spotcheck_monitor_in_maintenance', other), [0]);
  await account.owner('POST', `/v1/maintenance-windows/${(started.json as { id: string }).id}/end`);
  t.deepEqual((await scrapeLater(account))('spotcheck_monitor_in_maintenance', id), [0]);
});

test('after the clock is set back, results from the meantime are not treated as the newest', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, no } = await addWatched(api, account, {});
  const [frankfurt = ''] = await listAgentIds(api);
  nowMs = START_MS + 2 * HOUR_MS;
  await addSteady(api, { monitorNo: no, agentId: frankfurt, dueAtMs: nowMs - 10_000, latencyMs: 250 });
  t.deepEqual((await scrape(account))('probe_success', id), [1]);
  nowMs = START_MS;
  await runOn(api.database.pool)('DELETE FROM recent_results WHERE due_at > $1', [nowMs]);
  await addResults(api, no, [{ atMs: nowMs - 5000, agentId: frankfurt, verdict: 3, latencyMs: 10 }]);
  t.deepEqual((await scrape(account))('probe_success', id), [0]);
});

test('a newer result replaces the previous one, and timings remain until there are newer ones', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, no } = await addWatched(api, account, {});
  const [frankfurt = ''] = await listAgentIds(api);
  await addSteady(api, { monitorNo: no, agentId: frankfurt, dueAtMs: START_MS - 10_000, latencyMs: 250 });
  t.deepEqual((await scrape(account))('probe_duration_seconds', id), [0.25]);
  await addResults(api, no, [{ atMs: START_MS + MINUTE_MS, agentId: frankfurt, verdict: 2, latencyMs: 5000 }]);
  const later = await scrapeLater(account);
  t.deepEqual(later('probe_duration_seconds', id), [5]);
  t.deepEqual(later('probe_dns_lookup_time_seconds', id), [0.003]);
  // The check fails between two ticks: a recheck counts as well.
  await addResults(api, no, [{ atMs: nowMs + 5000, agentId: frankfurt, verdict: 3, latencyMs: 10_000 }]);
  t.deepEqual((await scrapeLater(account))('probe_success', id), [0]);
  // Results expire after three intervals.
  nowMs += 4 * MINUTE_MS;
  const old = await scrape(account);
  t.deepEqual(old('probe_success', id), []);
  t.deepEqual(old('spotcheck_monitor_info', id), [1]);
});

test('a packed result is found for a monitor with a long interval', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, no } = await addWatched(api, account, { createdAtMs: START_MS - 24 * HOUR_MS, interval_seconds: 7200 });
  const [frankfurt = ''] = await listAgentIds(api);
  const hourMs = START_MS - 30 * MINUTE_MS - 3 * HOUR_MS;
  await beginPackingAt(runOn(api.database.pool), hourMs);
  await addSteady(api, { monitorNo: no, agentId: frankfurt, dueAtMs: hourMs + 1000, latencyMs: 77 });
  await packNextHour(api.database, START_MS);
  const { rows } = await api.database.pool.query('SELECT FROM packed_results WHERE monitor_no = $1', [no]);
  t.is(rows.length, 1);
  t.deepEqual((await scrape(account))('probe_duration_seconds', id), [0.077]);
});

test('tags select monitors, and paused or deleted ones have no probe series', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [frankfurt = ''] = await listAgentIds(api);
  const add = async (tags: string[]) => {
    const monitor = await addWatched(api, account, { tags });
    await addSteady(api, { monitorNo: monitor.no, agentId: frankfurt, dueAtMs: START_MS - 5000, latencyMs: 20 });
    return monitor.id;
  };
  const [both, one] = [await add(['shop', 'env:prod']), await add(['shop'])];
  const chosen = await scrape(account, '?tag=shop&tag=env:prod');
  t.deepEqual([chosen('probe_success', both), chosen('probe_success', one)], [[1], []]);
  t.is((await account.owner('POST', `/v1/monitors/${both}/pause`)).status, 200);
  t.is((await account.owner('DELETE', `/v1/monitors/${one}`)).status, 204);
  const after = await scrapeLater(account);
  t.deepEqual(after('probe_success'), []);
  t.deepEqual(after('spotcheck_monitor_state', both, 'state="paused"'), [1]);
  t.deepEqual(after('spotcheck_monitor_info', one), []);
});

test('a heartbeat has state series but no probe series, and a draft has none', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const heartbeat = { name: 'Backup', type: 'heartbeat', interval_seconds: 60, grace_seconds: 60 };
  const { id } = (await account.owner('POST', '/v1/monitors', heartbeat)).json;
  const draft = (await account.owner('POST', '/v1/monitors', { name: 'Later' })).json.id;
  const [ping] = await runOn(api.database.pool)<{ monitorNo: number; agentId: string }>(
    `SELECT m.no AS "monitorNo", a.id AS "agentId" FROM monitors m, agents a WHERE m.id = $1 AND a.kind = 'service'`,
    [id],
  );
  if (ping !== undefined) await addSteady(api, { ...ping, dueAtMs: START_MS - 5000, latencyMs: 0 });
  const found = await scrape(account);
  t.deepEqual(found('spotcheck_monitor_state', id, 'state="pending"'), [1]);
  t.deepEqual(found('spotcheck_monitor_info', id, 'type="heartbeat"'), [1]);
  t.deepEqual(found('probe_success', id), []);
  t.deepEqual(found('spotcheck_monitor_info', draft), []);
});

test('scrapes are cached for a minute, show no other account and refuse invalid queries', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const { id } = await addWatched(api, account, {});
  t.deepEqual((await scrape(account))('spotcheck_monitor_info', id), [1]);
  t.deepEqual((await scrape(other))('spotcheck_monitor_info'), []);
  // Within a minute the cached snapshot is served, regardless of the database.
  await addWatched(api, account, {});
  t.is((await scrape(account))('spotcheck_monitor_info').length, 1);
  t.is((await scrapeLater(account))('spotcheck_monitor_info').length, 2);
  isError(t, await account.reader('GET', '/v1/metrics?tag=no%20tag'), { status: 400, error: /tag/ });
  t.is((await api.anonymous('GET', '/v1/metrics')).status, 401);
  const plain = await fetch(`${api.url}/v1/metrics`, {
    headers: { authorization: `Bearer ${account.readerToken}`, 'accept-encoding': 'identity' },
  });
  t.is(plain.headers.get('content-encoding'), null);
  t.true((await plain.text()).endsWith('type="http"} 1\n'));
});

test('two scrapes at once have the same monitors, even if their snapshot is dropped meanwhile', async (t) => {
  const [isReading, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const listed = async (tenantId: unknown) => {
    if (tenantId !== 'ten_small') return Array.from({ length: 100_001 }, (_, no) => exportedRow(no + 2));
    isReading.resolve();
    await goOn.promise;
    return [exportedRow(1)];
  };
  const query = async ({ text: sql, values: [first] }: { text: string; values: unknown[] }) => ({
    rows: sql.includes('"isIncidentOpen"') ? await listed(first) : [],
  });
  const handler = getMonitorMetricsHandler({
    database: { pool: { query } },
    now: () => START_MS,
    stopping: new AbortController().signal,
    rateLimits: { take: async () => undefined },
    takeAnswerSlot: () => () => undefined,
  } as unknown as Parameters<typeof getMonitorMetricsHandler>[0]);
  const read = async (tenantId: string, tag: string[] = []) => {
    const parts = { locals: { caller: { tenantId } }, vary: () => response, setHeader: () => response };
    const response: PassThrough = Object.assign(new PassThrough(), parts);
    const exchange = [{ query: { tag }, acceptsEncodings: () => false }, response] as unknown;
    const [body] = await Promise.all([textOf(response), handler(...(exchange as Parameters<typeof handler>))]);
    return body;
  };
  const first = read('ten_small');
  await isReading.promise;
  // More monitors than all snapshots may have together.
  await read('ten_large', ['none']);
  const second = read('ten_small');
  await setImmediate();
  goOn.resolve();
  t.regex(await first, /spotcheck_monitor_info\{.*monitor_id="mon_1"/);
  t.is(await second, await first);
});

function exportedRow(no: number): ExportedRow {
  return {
    no,
    id: `mon_${no}`,
    name: 'Shop',
    type: 'heartbeat',
    target: '',
    tags: [],
    intervalSeconds: 60,
    enabled: true,
    state: 'up',
    slaTarget: null,
    checksVersion: 1,
    createdAt: 1,
    updatedAt: 1,
    isIncidentOpen: false,
    sources: [],
  };
}
