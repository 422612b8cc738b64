import anyTest, { type TestFn } from 'ava';
import { isError, REGIONS, withApiServer, type Account, type ApiServer } from '../api-server.ts';
import { addMonitor, addResults, addTransitions, listAgentIds } from './measured-monitor.ts';

const NOW_MS = Date.parse('2026-03-10T12:34:56.789Z');
const NOW = Math.floor(NOW_MS / 1000);
const DAY_MS = 86_400_000;
const HOUR = 3600;

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, { now: () => NOW_MS });

type Point = {
  at: number;
  checks: object;
  uptime_percent: number | null;
  response_ms: object;
  phases?: object;
  sources?: { phases?: object }[];
};
type Day = {
  date: string;
  uptime_percent: number | null;
  seconds: Record<string, number>;
  incidents: number;
  worst_state: string | null;
};

const at = (text: string): number => Date.parse(`2026-03-${text}Z`);
const NONE = { up: 0, degraded: 0, down: 0, unknown: 0, paused: 0, pending: 0, maintenance: 0 };

async function statsOf(account: Account, id: string, query = '') {
  return (await account.reader('GET', `/v1/monitors/${id}/stats${query}`)).json;
}

async function daysOf(account: Account, id: string, query = ''): Promise<Day[]> {
  return (await account.reader('GET', `/v1/monitors/${id}/uptime${query}`)).json['days'];
}

test('a window has uptime, error budget, counts, percentiles and timings, in total and by source', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: at('01T00:00:00'), body: { sla_target: 99.9 } });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: monitor.id }, [
    [at('01T00:01:00'), 'up'],
    [at('10T10:30:00.500'), 'down'],
    [at('10T10:31:00.100'), 'degraded'],
    [at('10T10:32:00'), 'up'],
    [at('10T11:50:00'), 'paused'],
    [at('10T11:55:00'), 'pending'],
    [at('10T11:55:30'), 'up'],
  ]);
  const [first = '', second = ''] = await listAgentIds(api);
  await addResults(api, monitor.no, [
    { atMs: at('10T10:29:59.900'), agentId: first, latencyMs: 100 },
    { atMs: at('10T10:30:59.900'), agentId: first, verdict: 3, latencyMs: 5 },
    { atMs: at('10T11:10:00.000'), agentId: second, latencyMs: 200, detail: { phases: '10 20 - - -' } },
    {
      atMs: at('10T11:10:00.000'),
      agentId: first,
      verdict: 2,
      latencyMs: 400,
      detail: { reason: 'slow', phases: '20 - - - -' },
    },
    { atMs: at('10T11:11:00.000'), agentId: first, verdict: 0, latencyMs: null, detail: { reason: 'no' } },
    { atMs: at('10T12:00:00.000'), agentId: first, latencyMs: 999 },
    { atMs: at('10T09:59:59.999'), agentId: first, latencyMs: 999 },
  ]);
  const [from, to] = [at('10T10:00:00') / 1000, at('10T12:00:00') / 1000];
  const stats = await statsOf(account, monitor.id, `?from=${from}&to=${to}&resolution=hour&by_source=true`);
  const near = (expected: number) => (actual: unknown) =>
    t.true(Math.abs(Number(actual) - expected) <= 0.02 * expected, `${String(actual)} is not about ${expected}`);
  const totals = stats['totals'];
  t.like(stats, { monitor_id: monitor.id, from, to, resolution: 'hour', service_gaps: [] });
  t.deepEqual(totals['seconds'], {
    ...NONE,
    up: 7200 - 60 - 60 - 300 - 30,
    degraded: 60,
    down: 60,
    paused: 300,
    pending: 30,
  });
  t.is(totals['uptime_percent'], 99.126);
  t.deepEqual(totals['sla'], {
    target: 99.9,
    met: false,
    budget: { total_seconds: 6, used_seconds: 60, left_seconds: -54 },
    burn_rate: { hour: 0, day: Math.round((60 / (86_400 - 330)) * 1000 * 1000) / 1000 },
  });
  t.deepEqual(totals['checks'], { up: 2, degraded: 1, down: 1, none: 1 });
  t.deepEqual(totals['phases'], { dns_ms: 15, connect_ms: 20, tls_ms: null, first_byte_ms: null, download_ms: null });
  const response = totals['response_ms'];
  near(200)(response['p50']);
  near(400)(response['p99']);
  const sources = stats['sources'];
  t.deepEqual(
    sources.map(({ id, name, checks }) => ({ id, name, checks })),
    [
      { id: first, name: REGIONS[0], checks: { up: 1, degraded: 1, down: 1, none: 1 } },
      { id: second, name: REGIONS[1], checks: { up: 1, degraded: 0, down: 0, none: 0 } },
    ],
  );
  near(200)(sources[1]?.response_ms['p95']);
  const series = stats['series'];
  t.deepEqual(
    series.map((point) => [point.at, point.checks, point.uptime_percent, point.sources?.length]),
    [
      [from, { up: 1, degraded: 0, down: 1, none: 0 }, 98.333, 1],
      [from + HOUR, { up: 1, degraded: 1, down: 0, none: 1 }, 100, 2],
    ],
  );
  t.true(series.every((point) => point.phases === undefined));
  const timed = await statsOf(account, monitor.id, `?from=${from}&to=${to}&resolution=hour&by_source=1&by_phase=1`);
  const phases = (dns: number | null, connect: number | null) => ({
    dns_ms: dns,
    connect_ms: connect,
    tls_ms: null,
    first_byte_ms: null,
    download_ms: null,
  });
  t.deepEqual(
    timed['series'].map((point) => [point.phases, point.sources?.map((source) => source.phases)]),
    [
      [phases(null, null), [phases(null, null)]],
      // One of the two checks had no connect, so the mean of both is the value of the other.
      [phases(15, 20), [phases(20, null), phases(10, 20)]],
    ],
  );
  t.deepEqual(
    timed['sources'].map((source) => source.phases),
    [phases(20, null), phases(10, 20)],
  );
});

test('a window has every step, named by its start, and sources only on request', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: at('10T12:00:00') });
  const [agentId = ''] = await listAgentIds(api);
  await addTransitions(api, { tenantId: account.tenantId, monitorId: monitor.id }, [
    [at('10T12:10:00'), 'down'],
    [at('10T12:20:00'), 'up'],
  ]);
  await addResults(api, monitor.no, [{ atMs: at('10T12:31:00'), agentId }]);
  const stats = await statsOf(account, monitor.id, `?from=${at('10T11:58:30') / 1000}&resolution=five_minutes`);
  const series = stats['series'];
  t.is(stats['to'], NOW);
  t.deepEqual(
    series.map((point) => (point.at - at('10T11:55:00') / 1000) / 300),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  t.deepEqual(
    series.map((point) => point.uptime_percent),
    [null, null, null, 0, 0, 100, 100, 100],
  );
  t.deepEqual(series[7]?.checks, { up: 1, degraded: 0, down: 0, none: 0 });
  t.deepEqual(series[6]?.response_ms, { p50: null, p95: null, p99: null });
  t.true(series.every((point) => point.sources === undefined));
});

test('service gaps are listed and count as unknown', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: at('01T00:00:00'), body: { sla_target: 99 } });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: monitor.id }, [
    [at('01T00:01:00'), 'up'],
    [at('05T10:30:00'), 'down'],
    [at('05T10:40:00'), 'up'],
  ]);
  await api.database.pool.query(
    `INSERT INTO service_gaps (kind, started_at, ended_at) VALUES ('checks', $1, $2), ('evaluation', $3, $4)`,
    [at('05T10:20:00.400'), at('05T10:35:00'), at('05T10:34:00'), at('05T10:36:00')],
  );
  const stats = await statsOf(account, monitor.id, `?from=${at('05T10:00:00') / 1000}&to=${at('05T11:00:00') / 1000}`);
  t.deepEqual(stats['service_gaps'], [
    { kind: 'checks', from: at('05T10:20:00') / 1000, to: at('05T10:35:00') / 1000 },
    { kind: 'evaluation', from: at('05T10:34:00') / 1000, to: at('05T10:36:00') / 1000 },
  ]);
  t.like(stats['totals'], { seconds: { ...NONE, up: 1200 + 1200, down: 240, unknown: 960 } });
  await api.database.pool.query('DELETE FROM service_gaps');
});

test('without a target there is no budget or burn rate, and without counted time no uptime', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addMonitor(api, account, { createdAtMs: NOW_MS - 60_000 });
  const { totals, series } = (await statsOf(account, id)) as { totals: Record<string, unknown>; series: Point[] };
  t.like(totals, {
    uptime_percent: null,
    sla: { target: null, met: null, budget: null, burn_rate: { hour: null, day: null } },
    seconds: { ...NONE, pending: 60 },
  });
  t.is(series.length, 289);
});

test('each UTC day has its uptime, incidents and worst state, oldest first and today up to now', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addMonitor(api, account, { createdAtMs: at('07T06:00:00') });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
    [at('07T06:00:10'), 'up'],
    [at('08T23:59:00'), 'down'],
    [at('09T00:01:00'), 'degraded'],
    [at('09T00:02:00'), 'up'],
    [at('10T01:00:00'), 'paused'],
  ]);
  const incident = (number: number, startedAt: number, resolvedAt: number | null) =>
    api.database.pool.query(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
       VALUES ($1, $2, $3, 'Shop', 'down', '', '{}', $4, $4, $5::bigint, CASE
         WHEN $5::bigint IS NOT NULL THEN 'recovered' END)`,
      [`inc_${id}_${number}`, account.tenantId, id, startedAt, resolvedAt],
    );
  await incident(1, at('08T23:59:00'), at('09T00:02:00'));
  await incident(2, at('08T10:00:00'), at('08T10:00:00'));
  await incident(3, at('09T10:00:00'), at('10T00:00:00'));
  await incident(4, at('10T12:00:00'), null);
  const days = await daysOf(account, id, '?days=5');
  t.deepEqual(
    days.map(({ date, uptime_percent, incidents, worst_state }) => [date, uptime_percent, incidents, worst_state]),
    [
      ['2026-03-06', null, 0, null],
      ['2026-03-07', 100, 0, 'up'],
      ['2026-03-08', 99.93, 2, 'down'],
      ['2026-03-09', 99.93, 2, 'down'],
      ['2026-03-10', 100, 1, 'up'],
    ],
  );
  t.deepEqual(days[1]?.seconds, { ...NONE, up: 18 * HOUR - 10, pending: 10 });
  t.deepEqual(days[2]?.seconds, { ...NONE, up: 86_400 - 60, down: 60 });
  t.deepEqual(days[4]?.seconds, { ...NONE, up: HOUR, paused: NOW - at('10T01:00:00') / 1000 });
});

test('uptime covers 90 days by default and 400 at most', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  t.is((await daysOf(account, id)).length, 90);
  t.is((await daysOf(account, id, '?days=400')).length, 400);
  t.deepEqual(
    (await daysOf(account, id, '?days=1')).map(({ date }) => date),
    ['2026-03-10'],
  );
});

test('an invalid query is a 400 that names the parameter', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addMonitor(api, account, { createdAtMs: NOW_MS });
  const refused = async (query: string, error: RegExp | string) =>
    isError(t, await account.reader('GET', `/v1/monitors/${id}/${query}`), { status: 400, error });
  await refused('stats?from=200&to=100', 'from must be before to (100), got 200');
  await refused('stats?from=yesterday', /^from must be/);
  await refused('stats?to=-1', /^to must be/);
  await refused('stats?to=1e9', /^to must be a whole number in decimal digits/);
  await refused('stats?resolution=week', 'resolution must be one of auto, minute, five_minutes, hour, day, got "week"');
  await refused(
    `stats?from=${NOW - 10 * 86_400}&resolution=minute`,
    /^resolution must be hour or coarser for this window/,
  );
  await refused('stats?by_source=maybe', /^by_source must be one of/);
  await refused('stats?since=1', 'since is not a known query parameter here');
  await refused('uptime?days=0', /^days must be a whole number from 1 to 400, got/);
  await refused('uptime?days=401', /^days must be a whole number from 1 to 400, got/);
  await refused('uptime?from=1', 'from is not a known query parameter here');
});

test('a day counts the incidents open on it, including those of no length or across midnight', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addMonitor(api, account, { createdAtMs: at('01T00:00:00') });
  const spans: [startMs: number, endMs: number | null][] = [
    [at('01T00:00:00'), at('08T00:00:00')],
    [at('01T00:00:00'), at('08T00:00:01')],
    [at('08T00:00:00'), at('08T00:00:00')],
    [at('08T12:00:00'), at('08T12:00:00')],
    [at('08T23:00:00'), at('09T00:00:00')],
    [at('09T00:00:00'), at('10T00:00:00.001')],
    [at('09T23:59:59.999'), null],
  ];
  for (const [index, [startMs, endMs]] of spans.entries())
    await api.database.pool.query(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
         detected_at, resolved_at, resolution)
       VALUES ($1, $2, $3, 'x', 'down', 'x', '{}', $4, $4, $5, CASE WHEN $5::bigint IS NOT NULL THEN 'recovered' END)`,
      [`inc_span${index}`, account.tenantId, id, startMs, endMs],
    );
  const counts = (await daysOf(account, id, '?days=3')).map(({ incidents }) => incidents);
  const days = [at('08T00:00:00'), at('09T00:00:00'), at('10T00:00:00')];
  t.deepEqual(
    counts,
    days.map(
      (dayMs) =>
        spans.filter(
          ([startMs, endMs]) => startMs < dayMs + DAY_MS && (endMs === null || endMs > dayMs || startMs === dayMs),
        ).length,
    ),
  );
  t.deepEqual(counts, [4, 2, 2]);
});

test('of more than 10,000 maintenance times all are measured, and the newest are listed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, no } = await addMonitor(api, account, { createdAtMs: at('01T00:00:00') });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [[at('01T00:00:00'), 'up']]);
  const [fromMs, toMs] = [at('08T00:00:00'), at('10T00:00:00')];
  await api.database.pool.query(
    `WITH o AS (
       INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
         all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, covered_at)
       SELECT 'mnt_1', $1, 'x', 'x' || i, $2::bigint + i * 10000, $2::bigint + i * 10000 + 5000, true, '{}', '{}',
         'hold', 'exclude', 0, 0
       FROM generate_series(0, 10000) AS i RETURNING no, starts_at, ends_at
     )
     INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
     SELECT $3, no, starts_at, ends_at FROM o`,
    [account.tenantId, fromMs, no],
  );
  const stats = await statsOf(account, id, `?from=${fromMs / 1000}&to=${toMs / 1000}`);
  const seconds = 5 * 10_001;
  t.deepEqual(stats['totals'].seconds, { ...NONE, up: 2 * 24 * HOUR - seconds, maintenance: seconds });
  const { maintenance } = stats;
  t.is(maintenance.length, 10_000);
  t.is(maintenance[0]?.from, fromMs / 1000 + 10);
  t.is(maintenance.at(-1)?.from, fromMs / 1000 + 100_000);
});
