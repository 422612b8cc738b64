import anyTest, { type TestFn } from 'ava';
import { querySchema, readDescription } from '../../api/description.ts';
import { isError, REGIONS, nextPage, withApiServer, type Answer, type ApiServer, type Call } from './api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

type Entry = Record<string, unknown>;

/** Query parameters that take one of a few values. */
const QUERY_NAMES = [
  'type',
  'status',
  'enabled',
  'kind',
  'period',
  'format',
  'resolution',
  'verdict',
  'outcome',
  'event',
  'acknowledged',
  'by_source',
  'by_phase',
] as const;

function entriesOf(answer: Answer): Entry[] {
  const [entries] = Object.values(answer.json);
  return entries as Entry[];
}

/** Follows `Link` from page to page, and returns the entries of each. */
async function walk(call: Call, path: string): Promise<Entry[][]> {
  const pages: Entry[][] = [];
  for (let next: string | null = path; next !== null;) {
    const answer: Answer = await call('GET', next);
    if (answer.status !== 200) throw new Error(answer.text);
    pages.push(entriesOf(answer));
    next = nextPage(answer, path.replace(/\?.*/, ''));
  }
  return pages;
}

test('pages follow each other in order of creation, without gaps and repeats, and keep the filters', async (t) => {
  const { owner } = await t.context.api.account();
  for (const index of [1, 2, 3, 4, 5])
    await owner('POST', '/v1/monitors', { name: `m${index}`, type: index === 3 ? 'tcp' : 'http' });
  const pages = await walk(owner, '/v1/monitors?limit=2&type=http');
  t.deepEqual(
    pages.map((page) => page.map(({ name }) => name)),
    [
      ['m1', 'm2'],
      ['m4', 'm5'],
    ],
  );
  t.deepEqual(
    (await walk(owner, '/v1/monitors')).map((page) => page.length),
    [5],
  );
  t.deepEqual(
    (await walk(owner, '/v1/monitors?limit=5')).map((page) => page.length),
    [5],
  );
  t.deepEqual(
    (await walk(owner, '/v1/monitors?limit=1000')).map((page) => page.length),
    [5],
  );
});

test('monitors are filtered by type, status, enabled and a text in name or target', async (t) => {
  const { owner } = await t.context.api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'Shop 100%', target: 'https://shop.example/a_b' });
  await owner('POST', '/v1/monitors', { name: 'Mail', type: 'tcp', target: 'mail.example:25' });
  await owner('POST', `/v1/monitors/${id}/pause`);
  const names = async (query: string) => entriesOf(await owner('GET', `/v1/monitors?${query}`)).map(({ name }) => name);
  t.deepEqual(await names('type=tcp'), ['Mail']);
  t.deepEqual(await names('status=paused'), ['Shop 100%']);
  t.deepEqual(await names('status=pending'), ['Mail']);
  for (const yes of ['1', 'true']) t.deepEqual(await names(`enabled=${yes}`), ['Mail']);
  for (const no of ['0', 'false']) t.deepEqual(await names(`enabled=${no}`), ['Shop 100%']);
  t.deepEqual(await names('q=SHOP'), ['Shop 100%']);
  t.deepEqual(await names('q=mail.example:25'), ['Mail']);
  t.deepEqual(await names('q=https://shop'), ['Shop 100%']);
  t.deepEqual(await names(`q=${encodeURIComponent('100%')}`), ['Shop 100%']);
  t.deepEqual(await names('q=a_b'), ['Shop 100%']);
  t.deepEqual(await names('q=a.b'), []);
  t.deepEqual(await names('type=tcp&status=paused'), []);
});

test('monitors are filtered by the agent that checks them, within their account only', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const { agents } = (await owner('GET', '/v1/agents?kind=first_party')).json;
  const idOf = (region: string) => agents.find((agent) => agent.region === region)?.id ?? '';
  await owner('POST', '/v1/monitors', {
    name: 'both',
    target: 'https://a.example',
    agent_sources: [idOf('hanoi'), idOf('virginia')],
  });
  await owner('POST', '/v1/monitors', { name: 'one', target: 'https://b.example', agent_sources: [idOf('hanoi')] });
  await owner('POST', '/v1/monitors', { name: 'of the service', type: 'dns', target: 'c.example' });
  const names = async (call: Call, query: string) =>
    entriesOf(await call('GET', `/v1/monitors?${query}`)).map(({ name }) => name);
  t.deepEqual(await names(owner, `agent_id=${idOf('hanoi')}`), ['both', 'one']);
  t.deepEqual(await names(owner, `agent_id=${idOf('virginia')}`), ['both']);
  t.deepEqual(await names(owner, `agent_id=${idOf('singapore')}`), []);
  t.deepEqual(
    (await walk(owner, `/v1/monitors?limit=1&agent_id=${idOf('hanoi')}`)).map((page) => page.length),
    [1, 1],
  );
  for (const id of ['agt_service', 'agt_nobody', 'x y'])
    t.deepEqual(await names(owner, `agent_id=${encodeURIComponent(id)}`), []);
  const stranger = (await api.account()).owner;
  t.deepEqual(await names(stranger, `agent_id=${idOf('hanoi')}`), []);
});

test('a cursor of another list, or a damaged one, is refused instead of skipping entries', async (t) => {
  const { owner } = await t.context.api.account();
  for (const name of ['one', 'two']) await owner('POST', '/v1/monitors', { name, target: `https://${name}.example` });
  const { headers } = await owner('GET', '/v1/monitors?limit=1');
  const cursor = /cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1] ?? '';
  t.is(entriesOf(await owner('GET', `/v1/monitors?limit=1&cursor=${cursor}`))[0]?.name, 'two');
  for (const path of [
    `/v1/channels?cursor=${cursor}`,
    `/v1/monitors?cursor=${cursor.slice(0, -1)}`,
    `/v1/monitors?cursor=${cursor}x`,
    `/v1/monitors?cursor=${cursor.slice(0, 20)}${cursor[20] === 'A' ? 'B' : 'A'}${cursor.slice(21)}`,
  ]) {
    const error = 'cursor must come from the Link header of this list, got a different value';
    isError(t, await owner('GET', path), { status: 400, error });
  }
});

const BAD_QUERIES: [string, RegExp][] = [
  ['/v1/monitors?limit=0x10', /^limit must be a whole number in decimal digits, got "0x10"$/],
  ['/v1/incidents?since=1e2', /^since must be a whole number in decimal digits, got "1e2"$/],
  ['/v1/monitors?limit=0', /^limit must be a whole number from 1 to 1000, got 0$/],
  ['/v1/monitors?limit=1001', /^limit must be a whole number from 1 to 1000, got 1001$/],
  ['/v1/monitors?limit=ten', /^limit must be a whole number from 1 to 1000, got "ten"$/],
  ['/v1/monitors?limit=1&limit=2', /^limit must be /],
  ['/v1/monitors?limit=', /^limit /],
  ['/v1/monitors?cursor=nonsense', /^cursor must come from the Link header/],
  [`/v1/monitors?cursor=${Buffer.from('1.\0').toString('base64url')}`, /^cursor must come from the Link header/],
  [
    `/v1/incidents?cursor=${Buffer.from('999999999999999999999.a').toString('base64url')}`,
    /^cursor must come from the Link header/,
  ],
  ['/v1/monitors?page=2', /^page is not a known query parameter here$/],
  ['/v1/monitors?=1', /^"" is not a known query parameter here$/],
  ['/v1/monitors?type=ftp', /^type must be one of http, tcp, .*, got "ftp"$/],
  ['/v1/monitors?type=http&type=tcp', /^type must be one of http, [^;]*, got a list$/],
  ['/v1/monitors?status=sick', /^status must be one of up, down, degraded, paused, pending, got "sick"$/],
  ['/v1/monitors?enabled=yes', /^enabled must be one of 1, 0, true, false, got "yes"$/],
  ['/v1/monitors?q=%00', /^q must be a string of 1 to 255 characters without NUL/],
  ['/v1/monitors?q[a]=1', /^q/],
  ['/v1/incidents?status=closed', /^status must be one of open, resolved, got "closed"$/],
  ['/v1/incidents?since=yesterday', /^since must be a whole number/],
  ['/v1/incidents?until=-1', /^until must be a whole number/],
  ['/v1/incidents?monitor_id=%00', /^monitor_id must be/],
  ['/v1/channels?type=sms', /^type must be one of telegram, slack, webhook, email, got "sms"$/],
  ['/v1/agents?kind=shared', /^kind must be one of tenant, first_party, got "shared"$/],
  ['/v1/reports?since=1', /^since is not a known query parameter here$/],
  ['/v1/overview?limit=1', /^limit is not a known query parameter here$/],
  ['/v1/monitors/mon_1?verbose=1', /^verbose is not a known query parameter here$/],
];
for (const [path, error] of BAD_QUERIES) {
  test(`GET ${path} is a 400 that names the parameter`, async (t) => {
    const { reader } = await t.context.api.account();
    isError(t, await reader('GET', path), { status: 400, error });
  });
}

test('an empty value of an enumerated parameter is refused with the allowed values', async (t) => {
  const { reader } = await t.context.api.account();
  const description = await readDescription();
  const queries = Object.keys(description.paths).flatMap((path) =>
    [...QUERY_NAMES].flatMap((name) => {
      const values = querySchema(description, path, name)?.enum;
      return values === undefined ? [] : [{ path: path.replaceAll(/\{\w+\}/g, 'mon_1'), name, values }];
    }),
  );
  t.true(queries.length >= 12, JSON.stringify(queries));
  for (const { path, name, values } of queries)
    isError(t, await reader('GET', `/v1${path}?${name}=`), {
      status: 400,
      error: `${name} must be one of ${values.join(', ')}, got ""`,
    });
});

test('incidents are listed newest first, 500 per page, filtered by monitor, status and start', async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', { name: 'Shop' });
  await api.database.pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
     detected_at, resolved_at, resolution)
     SELECT 'inc_' || $1 || lpad(n::text, 4, '0'), $1, CASE WHEN n % 2 = 0 THEN $2
       ELSE 'mon_deleted' END, 'Shop', 'down', 'answered 503', '{frankfurt}',
            (1700000000 + n) * 1000::bigint, (1700000000 + n) * 1000::bigint + 400,
              (1700000000 + n) * 1000::bigint + 30999, 'recovered'
     FROM generate_series(1, 600) n`,
    [tenantId, id],
  );
  await api.database.pool.query(
    `UPDATE incidents SET resolved_at = NULL, resolution = NULL WHERE tenant_id = $1 AND started_at = 1700000600000`,
    [tenantId],
  );

  const pages = await walk(owner, '/v1/incidents');
  t.deepEqual(
    pages.map((page) => page.length),
    [500, 100],
  );
  const starts = pages.flat().map((incident) => Number(incident['started_at']));
  t.deepEqual(
    starts,
    starts.toSorted((a, b) => b - a),
  );
  t.is(new Set(pages.flat().map((incident) => incident['id'])).size, 600);
  t.like(pages[1]?.at(-1), {
    status: 'resolved',
    state: 'down',
    started_at: 1_700_000_001,
    detected_at: 1_700_000_001,
    resolved_at: 1_700_000_031,
    duration_seconds: 30,
    resolution: 'recovered',
    sources_down: ['frankfurt'],
  });

  const count = async (path: string) => entriesOf(await owner('GET', path)).length;
  t.is(await count(`/v1/monitors/${id}/incidents`), 300);
  t.is(await count(`/v1/incidents?monitor_id=${id}&limit=1000`), 300);
  t.is(await count('/v1/incidents?monitor_id=mon_deleted&limit=7'), 7);
  t.is(await count('/v1/incidents?monitor_id=!'), 0);
  t.is(await count('/v1/incidents?since=1700000010&until=1700000012'), 3);
  t.is(await count('/v1/incidents?open_since=1700000100&until=1700000102'), 33, 'including those that started before');
  t.is(await count(`/v1/monitors/${id}/incidents?open_since=1700090000`), 1, 'only the open one');
  const open = entriesOf(await owner('GET', '/v1/incidents?status=open'));
  t.is(open.length, 1);
  t.like(open[0], { status: 'open', resolved_at: null, resolution: null });
  t.true(Number(open[0]?.['duration_seconds']) > 1_000_000);
  t.is(await count('/v1/incidents?status=resolved&limit=1000'), 599);
  t.is(await count('/v1/incidents?status=resolved&limit=1000&since=1700000600'), 0);
  const stranger = await api.account();
  t.deepEqual((await stranger.owner('GET', `/v1/incidents?monitor_id=${id}`)).json, { incidents: [] });
});

test('agents are listed in order of creation, filtered by kind and region', async (t) => {
  const { reader } = await t.context.api.account();
  const regions = async (query: string) =>
    entriesOf(await reader('GET', `/v1/agents${query}`)).map((agent) => agent['region']);
  t.deepEqual(await regions(''), REGIONS);
  t.deepEqual(await regions('?kind=first_party'), REGIONS);
  t.deepEqual(await regions('?kind=tenant'), []);
  t.deepEqual(await regions('?region=hanoi'), ['hanoi']);
  t.deepEqual(
    (await walk(reader, '/v1/agents?limit=3')).map((page) => page.map((agent) => agent['region'])),
    [REGIONS.slice(0, 3), REGIONS.slice(3)],
  );
});

test('reports are listed newest first and read one by one, by their own account only', async (t) => {
  const { api } = t.context;
  const { reader, tenantId } = await api.account();
  t.deepEqual((await reader('GET', '/v1/reports')).json, { reports: [] });
  const content = { summary: { monitors: 0, incidents: 0, uptime_percent: null }, monitors: [] };
  for (const index of [1, 2, 3]) {
    await api.database.pool.query(
      'INSERT INTO reports (id, tenant_id, period, period_start, period_end, created_at, content) VALUES ($1, ' +
        '$2, $3, $4, $5, $6, $7)',
      [`rep_${tenantId}_${index}`, tenantId, 'week', index * 604_800, (index + 1) * 604_800, 1_700_000_000, content],
    );
  }
  t.deepEqual(
    (await walk(reader, '/v1/reports?limit=2')).map((page) => page.map((report) => String(report['id']).slice(-1))),
    [['3', '2'], ['1']],
  );
  const { json } = await reader('GET', `/v1/reports/rep_${tenantId}_1`);
  t.deepEqual(json, {
    id: `rep_${tenantId}_1`,
    period: 'week',
    period_start: 604_800,
    period_end: 1_209_600,
    created_at: 1_700_000_000,
    ...content,
  });
  const stranger = await api.account();
  isError(t, await stranger.owner('GET', `/v1/reports/rep_${tenantId}_1`), {
    status: 404,
    error: /^report .* does not exist$/,
  });
});

test('the overview counts the monitors that are up and down', async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  for (const name of ['a', 'b', 'c', 'd']) await owner('POST', '/v1/monitors', { name });
  await api.database.pool.query(
    `UPDATE monitors SET state = CASE name WHEN 'a' THEN 'up' WHEN 'b' THEN 'down' WHEN 'c' THEN 'up' ELSE 'unknown' END
     WHERE tenant_id = $1`,
    [tenantId],
  );
  const { json } = await owner('GET', '/v1/overview');
  t.like(json, { total: 4, up: 2, down: 1 });
  t.deepEqual(
    json['monitors'].map(({ status }) => status),
    ['up', 'down', 'up', 'pending'],
  );
});
