import anyTest, { type TestFn } from 'ava';
import { toStoredAnswers } from '../../../core/checks/dns/judge.ts';
import { encodeCause } from '../../../core/checks/verdict.ts';
import { storeResults } from '../../../models/checks/check-results.ts';
import { runOn } from '../../../models/sql.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import type { AnswerJson } from '../../helpers/answer-types.ts';
import { isError, nextPage, REGIONS, withApiServer, type Account, type Answer, type ApiServer } from '../api-server.ts';
import { addMonitor, addResults, listAgentIds } from '../statistics/measured-monitor.ts';

const NOW_MS = Date.parse('2026-03-10T12:34:56.789Z');
const DAY_MS = 86_400_000;

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, { now: () => NOW_MS });

const AT = (secondsAgo: number): number => Math.floor(NOW_MS / 1000) * 1000 - secondsAgo * 1000 + 250;

/** Returns the ages of the listed results, in seconds before now. */
async function agesOf(account: Account, path: `/v1/monitors/${string}/checks${string}`): Promise<number[]> {
  const answer = await account.reader('GET', path);
  return answer.json['checks'].map(({ at }) => Math.round(Math.floor(NOW_MS / 1000) + 0.25 - at));
}

test('the results of a monitor are listed newest first, with all stored details', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  const [first = '', second = ''] = await listAgentIds(api);
  await addResults(api, monitor.no, [
    { atMs: AT(120), agentId: first, httpStatus: 200, latencyMs: 92 },
    {
      atMs: AT(60),
      agentId: second,
      verdict: 3,
      cause: encodeCause('status_503'),
      httpStatus: 503,
      latencyMs: 84,
      detail: { reason: 'HTTP 503 instead of 2xx', phases: '4 18 31 28 -' },
    },
    {
      atMs: AT(30),
      agentId: first,
      verdict: 2,
      latencyMs: null,
      detail: { reason: 'too slow', cause: 'assert_response_time_lt' },
    },
    {
      atMs: AT(10),
      agentId: first,
      verdict: 0,
      latencyMs: null,
      cause: encodeCause('unsupported'),
      detail: { reason: 'No way' },
    },
  ]);
  const answer = await account.reader('GET', `/v1/monitors/${monitor.id}/checks`);
  t.is(answer.status, 200, answer.text);
  t.is(answer.headers.get('link'), null);
  const [frankfurt, singapore] = [
    { id: first, name: REGIONS[0] },
    { id: second, name: REGIONS[1] },
  ];
  t.deepEqual(answer.json['checks'], [
    {
      at: AT(10) / 1000,
      source: frankfurt,
      verdict: 'none',
      cause: 'unsupported',
      reason: 'No way',
      http_status: null,
      latency_ms: null,
      phases: null,
    },
    {
      at: AT(30) / 1000,
      source: frankfurt,
      verdict: 'degraded',
      cause: 'assert_response_time_lt',
      reason: 'too slow',
      http_status: null,
      latency_ms: null,
      phases: null,
    },
    {
      at: AT(60) / 1000,
      source: singapore,
      verdict: 'down',
      cause: 'status_503',
      reason: 'HTTP 503 instead of 2xx',
      http_status: 503,
      latency_ms: 84,
      phases: { dns_ms: 4, connect_ms: 18, tls_ms: 31, first_byte_ms: 28, download_ms: null },
    },
    {
      at: AT(120) / 1000,
      source: frankfurt,
      verdict: 'up',
      cause: null,
      reason: null,
      http_status: 200,
      latency_ms: 92,
      phases: null,
    },
  ]);
});

test('the stored answers of a dns check are returned with its result, sanitized and truncated', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  const many = Array.from({ length: 30 }, (_, index) => `192.0.2.${index}`);
  const dnsAnswers = toStoredAnswers({
    type: 'dns',
    startedAt: 0,
    latencyMs: 3,
    ownResolversWork: null,
    outcome: 'queried',
    server: null,
    opinions: [],
    answers: {
      A: { outcome: 'records', records: many },
      TXT: { outcome: 'records', records: [`a\0b${'c'.repeat(300)}`] },
      MX: { outcome: 'nxdomain' },
      NS: { outcome: 'failed', failure: 'timeout' },
    },
  });
  const {
    rows: [agent],
  } = await api.database.pool.query<{ no: number }>(`SELECT no FROM agents WHERE kind = 'service'`);
  const result = {
    monitorNo: monitor.no,
    agentNo: agent?.no ?? 0,
    checksVersion: 1,
    cause: null,
    httpStatus: null,
    latencyMs: 3,
    phases: null,
    answer: null,
  };
  await createPartitions(api.database, NOW_MS);
  await storeResults(runOn(api.database.pool), [
    { ...result, dueAtMs: AT(120), verdict: 'up', reason: null },
    { ...result, dueAtMs: AT(60), verdict: 'up', reason: null, ...(dnsAnswers && { dnsAnswers }) },
    { ...result, dueAtMs: AT(30), verdict: 'down', reason: 'Other records', ...(dnsAnswers && { dnsAnswers }) },
  ]);
  const { checks } = (await account.reader('GET', `/v1/monitors/${monitor.id}/checks`)).json;
  const answers = [
    { type: 'A', records: many.slice(0, 20), failure: null },
    { type: 'TXT', records: [`a b${'c'.repeat(252)}`], failure: null },
    { type: 'MX', records: [], failure: 'nxdomain' },
    { type: 'NS', records: [], failure: 'timeout' },
  ];
  const byType = (given: unknown) =>
    (given as { type: string }[] | undefined)?.toSorted((a, b) => a.type.localeCompare(b.type)) ?? null;
  t.deepEqual(
    checks.map(({ reason, dns_answers: given }) => [reason, byType(given)]),
    [
      ['Other records', byType(answers)],
      [null, byType(answers)],
      [null, null],
    ],
  );
});

test('results are filtered by source, verdict and time, and by any combination of them', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  const [first = '', second = ''] = await listAgentIds(api);
  await addResults(api, monitor.no, [
    { atMs: AT(400), agentId: first, verdict: 3 },
    { atMs: AT(300), agentId: first },
    { atMs: AT(299), agentId: second, verdict: 3 },
    { atMs: AT(200), agentId: first, verdict: 3 },
    { atMs: AT(100), agentId: second },
  ]);
  const path = `/v1/monitors/${monitor.id}/checks` as const;
  const now = Math.floor(NOW_MS / 1000);
  t.deepEqual(await agesOf(account, `${path}?source=${second}`), [100, 299]);
  t.deepEqual(await agesOf(account, `${path}?verdict=down`), [200, 299, 400]);
  t.deepEqual(await agesOf(account, `${path}?verdict=up`), [100, 300]);
  t.deepEqual(await agesOf(account, `${path}?verdict=none`), []);
  t.deepEqual(await agesOf(account, `${path}?verdict=down&source=${first}`), [200, 400]);
  t.deepEqual(await agesOf(account, `${path}?since=${now - 300}&until=${now - 200}`), [200, 299, 300]);
  t.deepEqual(
    await agesOf(account, `${path}?since=${now - 300}&until=${now - 200}&verdict=down&source=${second}`),
    [299],
  );
  t.deepEqual(await agesOf(account, `${path}?source=agt_nobody`), []);
  t.deepEqual(await agesOf(account, `${path}?source=${encodeURIComponent('no id at all')}`), []);
});

test('pages have no gaps or duplicates, over days, over sources at the same time and with filters', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - 30 * DAY_MS });
  const agents = (await listAgentIds(api)).slice(0, 3);
  const ages = [0, 60, 3600, DAY_MS / 1000, 2 * (DAY_MS / 1000), 6 * (DAY_MS / 1000), 25 * (DAY_MS / 1000)];
  await addResults(
    api,
    monitor.no,
    ages.flatMap((age) =>
      agents.map((agentId, index) => ({
        atMs: AT(age),
        agentId,
        verdict: index === 2 ? (3 as const) : (1 as const),
      })),
    ),
  );
  const path = `/v1/monitors/${monitor.id}/checks` as const;
  const collect = async (query: string) => {
    const collected: string[] = [];
    for (let next: `${typeof path}?${string}` | null = `${path}?${query}`; next !== null;) {
      const answer: Answer<AnswerJson<'GET', '/monitors/{id}/checks'>> = await account.reader('GET', next);
      t.is(answer.status, 200, answer.text);
      const { checks } = answer.json;
      t.true(checks.length >= 1 && checks.length <= 2);
      collected.push(...checks.map(({ at, source }) => `${at} ${source.name}`));
      next = nextPage(answer, path);
    }
    return collected;
  };
  const expected = ages.flatMap((age) => [2, 1, 0].map((index) => `${AT(age) / 1000} ${REGIONS[index]}`));
  t.deepEqual(await collect(`limit=2`), expected);
  t.deepEqual(
    await collect(`limit=2&verdict=down`),
    expected.filter((_, index) => index % 3 === 0),
  );
  t.deepEqual(
    await collect(`limit=1&source=${agents[1]}`),
    expected.filter((_, index) => index % 3 === 1),
  );
});

test('the default limit is 100 results', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  const [agentId = ''] = await listAgentIds(api);
  await addResults(
    api,
    monitor.no,
    Array.from({ length: 101 }, (_, index) => ({ atMs: AT(index * 10), agentId })),
  );
  const answer = await account.reader('GET', `/v1/monitors/${monitor.id}/checks`);
  t.is(answer.json['checks'].length, 100);
  t.regex(answer.headers.get('link') ?? '', /limit=100&cursor=/);
});

test('results older than the retention of the plan are hidden even if their day is still stored', async (t) => {
  const { api } = t.context;
  const account = await api.account('free');
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - 20 * DAY_MS });
  const [agentId = ''] = await listAgentIds(api);
  await addResults(api, monitor.no, [
    { atMs: AT(7 * 86_400 - 10), agentId },
    { atMs: AT(7 * 86_400 + 10), agentId },
  ]);
  t.deepEqual(await agesOf(account, `/v1/monitors/${monitor.id}/checks`), [7 * 86_400 - 10]);
  t.deepEqual(await agesOf(account, `/v1/monitors/${monitor.id}/checks?since=0`), [7 * 86_400 - 10]);
});

test('results of a deleted agent remain, without its name', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  await createPartitions(api.database, NOW_MS);
  await api.database.pool.query(
    'INSERT INTO check_results (due_at, monitor_no, agent_no, verdict) VALUES ($1, $2, 30000, 1)',
    [AT(5), monitor.no],
  );
  const { json } = await account.reader('GET', `/v1/monitors/${monitor.id}/checks`);
  t.like(json['checks'][0], { source: { id: null, name: null }, verdict: 'up' });
});

test('a heartbeat lists its pings and the deadlines that it missed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, {
    createdAtMs: NOW_MS - DAY_MS,
    body: { type: 'heartbeat', target: undefined },
  });
  await createPartitions(api.database, NOW_MS);
  const ping = (
    secondsAgo: number,
    values: [kind: string, exitStatus: number | null, durationMs: number | null, body: string | null],
  ) =>
    api.database.pool.query(
      'INSERT INTO heartbeat_pings (at, monitor_no, kind, exit_status, duration_ms, body) VALUES ($1, $2, $3, ' +
        '$4, $5, $6)',
      [AT(secondsAgo), monitor.no, ...values],
    );
  await ping(500, ['start', null, null, null]);
  await ping(400, ['success', null, 100_000, '1412 files']);
  await ping(300, ['exit', 0, null, null]);
  await ping(200, ['exit', 3, null, 'disk full\nat line 7']);
  await ping(100, ['fail', null, null, null]);
  const { rows } = await api.database.pool.query<{ id: string; name: string }>(
    `SELECT id, name FROM agents WHERE kind = 'service'`,
  );
  const service = { id: rows[0]?.id ?? '', name: rows[0]?.name };
  await addResults(api, monitor.no, [
    {
      atMs: AT(200),
      agentId: service.id,
      verdict: 3,
      cause: encodeCause('heartbeat_failed'),
      detail: { reason: 'as decided' },
    },
    {
      atMs: AT(50),
      agentId: service.id,
      verdict: 3,
      latencyMs: null,
      cause: encodeCause('heartbeat_missed'),
      detail: { reason: 'No ping came in time' },
    },
  ]);
  const answer = await account.reader('GET', `/v1/monitors/${monitor.id}/checks`);
  t.is(answer.status, 200, answer.text);
  const shown = {
    source: service,
    cause: null,
    reason: null,
    http_status: null,
    latency_ms: null,
    phases: null,
    exit_status: null,
    output: null,
  };
  t.deepEqual(answer.json['checks'], [
    {
      ...shown,
      at: AT(50) / 1000,
      verdict: 'down',
      cause: 'heartbeat_missed',
      reason: 'No ping came in time',
      ping: null,
    },
    { ...shown, at: AT(100) / 1000, verdict: 'down', cause: 'heartbeat_failed', ping: 'fail' },
    {
      ...shown,
      at: AT(200) / 1000,
      verdict: 'down',
      cause: 'heartbeat_failed',
      reason: 'disk full',
      ping: 'exit',
      exit_status: 3,
      output: 'disk full\nat line 7',
    },
    { ...shown, at: AT(300) / 1000, verdict: 'up', ping: 'exit', exit_status: 0 },
    { ...shown, at: AT(400) / 1000, verdict: 'up', latency_ms: 100_000, ping: 'success', output: '1412 files' },
    { ...shown, at: AT(500) / 1000, verdict: 'none', ping: 'start' },
  ]);
  const path = `/v1/monitors/${monitor.id}/checks` as const;
  t.deepEqual(await agesOf(account, `${path}?verdict=down`), [50, 100, 200]);
  t.deepEqual(await agesOf(account, `${path}?verdict=up&limit=1`), [300]);
  t.deepEqual(await agesOf(account, `${path}?verdict=degraded`), []);
  t.deepEqual(await agesOf(account, `${path}?source=${service.id}&verdict=none`), [500]);
  t.deepEqual(await agesOf(account, `${path}?source=agt_nobody`), []);
  const next = nextPage(await account.reader('GET', `${path}?limit=4`), path);
  t.deepEqual(await agesOf(account, next ?? path), [400, 500]);
});

test('the output of pings stored by earlier releases shows no credentials', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, {
    createdAtMs: NOW_MS - DAY_MS,
    body: { type: 'heartbeat', target: undefined },
  });
  const { check_spec: spec } = (await account.owner('GET', `/v1/monitors/${monitor.id}`)).json;
  const token = String(spec.heartbeat?.token);
  await createPartitions(api.database, NOW_MS);
  await api.database.pool.query(
    `INSERT INTO heartbeat_pings (at, monitor_no, kind, body) VALUES ($1, $2, 'fail', $3)`,
    [AT(5), monitor.no, `+ curl https://x.example/ping/${token}/start\ndisk full`],
  );
  for (const query of ['', '?format=csv'] as const) {
    const { text } = await account.reader('GET', `/v1/monitors/${monitor.id}/checks${query}`);
    t.false(text.includes(token.slice(-16)));
    t.true(text.includes(`${monitor.id}.[redacted]/start`));
  }
});

test('a page of pings ends after a megabyte of output and continues at its link', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, {
    createdAtMs: NOW_MS - DAY_MS,
    body: { type: 'heartbeat', target: undefined },
  });
  await createPartitions(api.database, NOW_MS);
  await api.database.pool.query(
    `INSERT INTO heartbeat_pings (at, monitor_no, kind, body)
     SELECT $1::bigint - n * 1000, $2, 'success', repeat('é', 5000) FROM generate_series(1, 250) n`,
    [NOW_MS, monitor.no],
  );
  const path = `/v1/monitors/${monitor.id}/checks` as const;
  const found: number[] = [];
  for (let next: `${typeof path}?${string}` | null = `${path}?limit=200`; next !== null;) {
    const answer: Answer<AnswerJson<'GET', '/monitors/{id}/checks'>> = await account.reader('GET', next);
    t.true(Buffer.byteLength(answer.text) < 1_200_000);
    found.push(answer.json['checks'].length);
    next = nextPage(answer, path);
  }
  t.deepEqual(found, [104, 104, 42]);
});

test('an invalid query is a 400 that names the parameter', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await addMonitor(api, account, { createdAtMs: NOW_MS });
  const refused = async (query: string, error: RegExp | string) =>
    isError(t, await account.reader('GET', `/v1/monitors/${id}/checks?${query}`), { status: 400, error });
  await refused('limit=0', /^limit must be a whole number from 1 to 500, got/);
  await refused('limit=501', /^limit must be a whole number from 1 to 500, got/);
  await refused('limit=0x10', /^limit must be a whole number in decimal digits/);
  await refused('verdict=sideways', 'verdict must be one of up, degraded, down, none, got "sideways"');
  await refused('since=yesterday', /^since must be/);
  await refused('since=10&until=9', 'until must be 10 (since) or later, got 9');
  await refused('source=', /^source must be a string/);
  await refused('cursor=nonsense', /^cursor must come from/);
  await refused(
    `cursor=${Buffer.from('1763720000.mon_1').toString('base64url')}`,
    /^cursor must come from the Link header of this list/,
  );
  await refused('agent=1', 'agent is not a known query parameter here');
});

test('another account gets a 404 for the results, statistics and uptime of a monitor', async (t) => {
  const { api } = t.context;
  const { id } = await addMonitor(api, await api.account(), { createdAtMs: NOW_MS });
  const stranger = await api.account();
  for (const part of ['checks', 'stats', 'uptime']) {
    isError(t, await stranger.reader('GET', `/v1/monitors/${id}/${part}`), {
      status: 404,
      error: `monitor ${id} does not exist`,
    });
    isError(t, await api.anonymous('GET', `/v1/monitors/${id}/${part}`), { status: 401, error: /Bearer/ });
  }
});

test('the CSV export is one table in which no text is a formula', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  const [first = ''] = await listAgentIds(api);
  await addResults(api, monitor.no, [
    { atMs: AT(60), agentId: first, httpStatus: 200, latencyMs: 92, detail: { phases: '4 18 31 28 1' } },
    {
      atMs: AT(30),
      agentId: first,
      verdict: 3,
      cause: encodeCause('status_503'),
      httpStatus: 503,
      latencyMs: 84,
      detail: { reason: '=HYPERLINK("https://evil.example")' },
    },
  ]);
  const path = `/v1/monitors/${monitor.id}/checks` as const;
  const answer = await account.reader('GET', `${path}?format=csv`);
  t.is(answer.status, 200, answer.text);
  t.regex(answer.headers.get('content-type') ?? '', /^text\/csv/);
  t.is(answer.headers.get('content-disposition'), `attachment; filename="checks-${monitor.id}.csv"`);
  t.deepEqual(answer.text.split('\r\n'), [
    'time,location,verdict,cause,reason,http_status,latency_ms,dns_ms,connect_ms,tls_ms,first_byte_ms,download_ms,' +
      'ping,exit_status',
    `2026-03-10T12:34:26.250Z,${REGIONS[0]},down,status_503,"'=HYPERLINK(""https://evil.example"")",503,84,,,,,,,`,
    `2026-03-10T12:33:56.250Z,${REGIONS[0]},up,,,200,92,4,18,31,28,1,,`,
    '',
  ]);
  t.is((await account.reader('GET', `${path}?format=csv&limit=1`)).text.split('\r\n').length, 3);
  t.is((await account.reader('GET', `${path}?format=csv&verdict=up`)).text.split('\r\n').length, 3);
  isError(t, await account.reader('GET', `${path}?format=xls`), { status: 400, error: /^format must be one of/ });
});

test('a CSV export has at most the newest 10,000 results', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const monitor = await addMonitor(api, account, { createdAtMs: NOW_MS - DAY_MS });
  const [agentId = ''] = await listAgentIds(api);
  await addResults(
    api,
    monitor.no,
    [5, 50_005].map((age) => ({ atMs: AT(age), agentId, latencyMs: age / 5 - 1 })),
  );
  await runOn(api.database.pool)(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, verdict)
     SELECT $1::bigint - 5000 * step, $2, a.no, step - 1, 1
     FROM agents a, generate_series(2, 10000) AS steps (step) WHERE a.id = $3`,
    [AT(0), monitor.no, agentId],
  );
  const { text } = await account.reader('GET', `/v1/monitors/${monitor.id}/checks?format=csv`);
  const lines = text.split('\r\n');
  t.is(lines.length, 10_002);
  t.regex(lines[1] ?? '', /,up,,,,0,/);
  t.regex(lines[10_000] ?? '', /,up,,,,9999,/);
});
