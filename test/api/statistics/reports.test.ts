import { createHash } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { bucketOf } from '../../../core/statistics/latency-histogram.ts';
import {
  NO_INCIDENTS,
  buildReport,
  reportedPeriod,
  reportMonitor,
  type MonitorFacts,
} from '../../../core/statistics/reports/build.ts';
import type { ReportContent, ReportDetails, ReportIncident } from '../../../core/statistics/reports/content.ts';
import { dayEdges, periodAround, type ReportWindow } from '../../../core/statistics/reports/periods.ts';
import { runOn } from '../../../models/sql.ts';
import { insertReport } from '../../../models/statistics/reports.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const WEEK = periodAround('week', Date.UTC(2026, 2, 4) / 1000);
const MONTH = periodAround('month', Date.UTC(2026, 2, 4) / 1000);
const EVIL = '</title><script>alert(1)</script>&"\'<img src=x onerror=alert(2)>';

const SLA = { target: 99.9, timezone: 'UTC', hours: 'We 00:00-01:00', excludeMaintenance: true };

type Stored = { id: string; content: ReportContent; details: ReportDetails };

/**
 * Stores a report of three monitors: one was down on its third day, one has no measurements and a hostile name. The
 * third was created in the middle.
 */
async function storeReport(
  { database, makeId }: ApiServer,
  { tenantId }: Account,
  window: ReportWindow,
): Promise<Stored> {
  const start = window.startSeconds;
  const days = dayEdges(window).slice(1);
  const latencyOf = (ms: number) => ({ buckets: [bucketOf(ms), bucketOf(ms * 3)], counts: [9, 1] });
  const outage = { startedAt: start + 2 * 86_400 + 60, resolvedAt: start + 2 * 86_400 + 960 };
  const facts: MonitorFacts[] = [
    {
      monitor: { id: 'mon_a', name: 'Shop', type: 'http', slaTarget: 99.9, sla: SLA, createdAtMs: 0 },
      transitions: [
        { atMs: 1, to: 'up' },
        { atMs: outage.startedAt * 1000, to: 'down' },
        { atMs: outage.resolvedAt * 1000, to: 'up' },
      ],
      maintenance: [],
      retroactive: [],
      days: days.map((_, day) =>
        day === 4 ? { checks: 0, latency: { buckets: [], counts: [] } } : { checks: 10, latency: latencyOf(20 + day) },
      ),
      incidents: { count: 1, longestSeconds: 900, resolved: 1, resolvedSeconds: 900 },
    },
    {
      monitor: { id: 'mon_b', name: EVIL, type: 'heartbeat', slaTarget: null, sla: null, createdAtMs: 0 },
      transitions: [],
      maintenance: [],
      retroactive: [],
      days: [],
      incidents: NO_INCIDENTS,
    },
    {
      monitor: {
        id: 'mon_c',
        name: '=1+1',
        type: 'dns',
        slaTarget: null,
        sla: null,
        createdAtMs: (start + 3 * 86_400) * 1000,
      },
      transitions: [{ atMs: (start + 3 * 86_400) * 1000, to: 'degraded' }],
      maintenance: [],
      retroactive: [],
      days: [],
      incidents: NO_INCIDENTS,
    },
  ];
  const gaps = [{ kind: 'checks' as const, startMs: (start + 100) * 1000, endMs: (start + 400) * 1000 }];
  const incidents: ReportIncident[] = [
    {
      id: 'inc_a',
      monitor_id: 'mon_a',
      monitor_name: 'Shop',
      state: 'down',
      reason: EVIL,
      started_at: outage.startedAt,
      resolved_at: outage.resolvedAt,
      duration_seconds: 900,
      resolution: 'recovered',
    },
  ];
  const id = makeId('rep');
  const report = buildReport(
    window,
    await Promise.all(facts.map((one) => reportMonitor(reportedPeriod(window, gaps), one))),
    { incidents, gaps },
  );
  if (
    !(await insertReport(runOn(database.pool), {
      id,
      tenantId,
      window,
      ...report,
      nowMs: window.endSeconds * 1000 + 640_000,
    }))
  )
    throw new Error('The report was not stored');
  return { id, ...report };
}

test('the list shows summaries and monitors, and one report its days, incidents and gaps too', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, content, details } = await storeReport(api, account, WEEK);
  const shown = {
    id,
    period: 'week',
    period_start: WEEK.startSeconds,
    period_end: WEEK.endSeconds,
    created_at: WEEK.endSeconds + 640,
  };
  t.deepEqual((await account.reader('GET', '/v1/reports')).json, { reports: [{ ...shown, ...content }] });
  const { json, status, text } = await account.reader('GET', `/v1/reports/${id}`);
  t.is(status, 200);
  t.deepEqual(json, {
    ...shown,
    ...content,
    monitors: content.monitors.map((monitor) => ({ ...monitor, days: details.days[monitor.id] })),
    incidents: details.incidents,
    service_gaps: details.service_gaps,
  });
  t.like(content.monitors[0], {
    down_seconds: 900,
    sla_met: false,
    error_budget_seconds: 604 - 900,
    unknown_seconds: 300,
    checks: 60,
    service_hours: {
      target: 99.9,
      timezone: 'UTC',
      hours: 'We 00:00-01:00',
      exclude_maintenance: true,
      uptime_percent: 75,
      met: false,
      budget: { total_seconds: 3, used_seconds: 900, left_seconds: -897 },
      seconds: { up: 2700, degraded: 0, down: 900, unknown: 0, paused: 0, pending: 0, maintenance: 0 },
    },
  });
  t.is(content.monitors[1]?.service_hours, null);
  t.true(text.indexOf('"period_start"') < text.indexOf('"uptime_percent"'));
  t.deepEqual((await account.reader('GET', `/v1/reports/${id}?format=json`)).json, json);
});

test('the list can be filtered by period, and its pages keep the filter', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  for (const window of [WEEK, MONTH, periodAround('week', WEEK.endSeconds), periodAround('month', MONTH.endSeconds)])
    await storeReport(api, account, window);
  const periods = async (path: string) => {
    const { json, headers } = await account.reader('GET', path);
    return {
      periods: (json['reports'] as { period: string }[]).map(({ period }) => period),
      next: /<(.*)>/.exec(headers.get('link') ?? '')?.[1],
    };
  };
  t.deepEqual((await periods('/v1/reports')).periods.toSorted(), ['month', 'month', 'week', 'week']);
  t.deepEqual((await periods('/v1/reports?period=week')).periods, ['week', 'week']);
  const first = await periods('/v1/reports?period=month&limit=1');
  t.deepEqual(first.periods, ['month']);
  const second = await periods(String(first.next).slice(api.url.length));
  t.deepEqual(second, { periods: ['month'], next: undefined });
});

const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['/v1/reports?period=year', /^period must be one of week, month, got "year"$/],
  ['/v1/reports?format=csv', /^format is not a known query parameter here$/],
  ['/v1/reports/ID?format=pdf', /^format must be one of json, csv, html, got "pdf"$/],
  ['/v1/reports/ID?format=', /^format/],
  ['/v1/reports/ID?format=csv&format=html', /^format/],
  ['/v1/reports/ID?period=week', /^period is not a known query parameter here$/],
];
for (const [path, error] of REFUSED) {
  test(`GET ${path} is a 400 that names the parameter`, async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const { id } = await storeReport(api, account, WEEK);
    isError(t, await account.reader('GET', path.replace('ID', id)), { status: 400, error });
  });
}

test('large reports are paged even without a limit', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const windows = Array.from({ length: 7 }, (_, week) => periodAround('week', WEEK.startSeconds + week * 7 * 86_400));
  for (const window of windows) await storeReport(api, account, window);
  // Names of random letters do not compress.
  await api.database.pool.query(
    `UPDATE reports SET content = jsonb_set(content::jsonb, '{monitors,0,name}',
       (SELECT to_jsonb(string_agg(md5(id || n), '')) FROM generate_series(1, 16000) n)) WHERE tenant_id = $1`,
    [account.tenantId],
  );
  const pages: number[][] = [];
  for (let path = '/v1/reports'; path !== '';) {
    const page: Awaited<ReturnType<typeof account.owner>> = await account.owner('GET', path);
    pages.push((page.json['reports'] as { period_start: number }[]).map(({ period_start: start }) => start));
    path = /<(.*)>/.exec(page.headers.get('link') ?? '')?.[1]?.slice(api.url.length) ?? '';
  }
  t.deepEqual(
    pages.flat().toSorted(),
    windows.map(({ startSeconds }) => startSeconds),
  );
  t.true(pages.length > 1);
});

test('another account gets a 404 for a report in any format', async (t) => {
  const { api } = t.context;
  const { id } = await storeReport(api, await api.account(), WEEK);
  const stranger = await api.account();
  for (const query of ['', '?format=csv', '?format=html'])
    isError(t, await stranger.owner('GET', `/v1/reports/${id}${query}`), {
      status: 404,
      error: /^report .* does not exist$/,
    });
  isError(t, await api.anonymous('GET', `/v1/reports/${id}?format=html`), { status: 401, error: /Authorization/ });
});

test('a CSV report has one line per monitor, whatever Accept requests', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await storeReport(api, account, WEEK);
  const { status, text, headers } = await account.reader('GET', `/v1/reports/${id}?format=csv`, undefined, {
    Accept: 'application/json',
  });
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/csv; charset=utf-8');
  t.is(headers.get('content-disposition'), 'attachment; filename="report-week-2026-03-02.csv"');
  const lines = text.split('\r\n');
  t.is(lines.length, 5);
  t.is(lines.at(-1), '');
  t.regex(lines[1] ?? '', /^mon_a,Shop,http,99\.851,99\.9,false,-296,900,0,300,0,1,900,900,60,/);
  t.regex(lines[1] ?? '', /,We 00:00-01:00,UTC,99\.9,75,false,-897,2700,0,900,0,0,0,0$/);
  t.true(lines[2]?.startsWith(`mon_b,"${EVIL.replaceAll('"', '""')}",heartbeat,,,,,0,`));
  t.true(lines[3]?.startsWith(`mon_c,'=1+1,dns,100,`));
});

type Node = { [name: string]: Node[] | string | Record<string, string> | undefined };

/** Parses the page into a tree: it is well-formed, so no foreign text has become markup. */
function parsePage(
  t: ExecutionContext,
  text: string,
): { all: (name: string) => { attributes: Record<string, string>; text: string; children: Node[] }[] } {
  const body = text.replace(/^<!doctype html>\n/, '');
  t.not(body, text);
  t.is(XMLValidator.validate(body), true);
  const tree = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseTagValue: false,
    parseAttributeValue: false,
    trimValues: false,
    processEntities: true,
    htmlEntities: true,
  }).parse(body) as Node[];
  const all = (name: string) => {
    const found: { attributes: Record<string, string>; text: string; children: Node[] }[] = [];
    const visit = (nodes: Node[]): void => {
      for (const node of nodes) {
        for (const [tag, children] of Object.entries(node)) {
          if (!Array.isArray(children)) continue;
          if (tag === name)
            found.push({ attributes: (node[':@'] ?? {}) as Record<string, string>, text: textOf(children), children });
          visit(children);
        }
      }
    };
    visit(tree);
    return found;
  };
  return { all };
}

function textOf(nodes: Node[]): string {
  return nodes
    .map((node) =>
      Object.entries(node)
        .map(([tag, value]) => (tag === '#text' ? String(value) : Array.isArray(value) ? textOf(value) : ''))
        .join(''),
    )
    .join('');
}

test('an HTML report is complete, well-formed and escaped, runs no script and loads nothing', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await api.database.pool.query('UPDATE tenants SET name = $2 WHERE id = $1', [
    account.tenantId,
    `Acme <b>& Sons</b> ${account.tenantId}`,
  ]);
  const { id } = await storeReport(api, account, WEEK);
  const { status, text, headers } = await account.reader('GET', `/v1/reports/${id}?format=html`);
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/html; charset=utf-8');
  t.is(headers.get('content-disposition'), 'inline; filename="report-week-2026-03-02.html"');
  const { all } = parsePage(t, text);
  t.is(all('title')[0]?.text, `Weekly report: 2 to 8 March 2026 · Acme <b>& Sons</b> ${account.tenantId}`);
  t.is(all('h1')[0]?.text, 'Weekly report: 2 to 8 March 2026');
  t.deepEqual(
    all('h3').map((one) => one.text),
    ['Shop', EVIL, '=1+1'],
  );
  t.true(
    all('p').some(
      (one) => one.text === 'Service hours We 00:00-01:00, UTC: 75.000%, target 99.9% missed, budget left −14 min 57 s',
    ),
  );
  t.true(all('bdi').some((one) => one.text === `Acme <b>& Sons</b> ${account.tenantId}`));
  t.deepEqual([all('script'), all('img'), all('b'), all('link'), all('a'), all('iframe')], [[], [], [], [], [], []]);
  t.notRegex(text, /\s(?:on\w+|style|src|href)\s*=\s*"/i);
  t.notRegex(text, /https?:|url\(|@import/i);

  const policy = headers.get('content-security-policy') ?? '';
  const [style] = all('style');
  t.is(all('style').length, 1);
  t.is(
    policy,
    `default-src 'none'; style-src 'sha256-${createHash('sha256')
      .update(style?.text ?? '')
      .digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  for (const part of ['@page', 'break-inside:avoid', '@media print', 'prefers-color-scheme:dark', 'margin:16mm'])
    t.true(style?.text.includes(part), part);
});

test('the charts of the page show the numbers of the report', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  for (const window of [WEEK, MONTH]) {
    const { id, details } = await storeReport(api, account, window);
    const { text } = await account.reader('GET', `/v1/reports/${id}?format=html`);
    const { all } = parsePage(t, text);
    const days = Object.values(details.days).flat();
    const bars = all('rect').filter(({ attributes }) => attributes['height'] === '24');
    t.deepEqual(
      bars.map((bar) => [bar.attributes['class'], bar.text.slice(0, 10)]),
      days.map(({ date, worst_state: state }) => [state ?? 'absent', date]),
    );
    t.regex(bars[2]?.text ?? '', /^2026-03-0[34]: 98\.958%, down$/);
    const widths = bars.slice(0, details.days['mon_a']?.length).map(({ attributes }) => Number(attributes['x']));
    t.deepEqual(
      widths,
      widths.toSorted((a, b) => a - b),
    );

    // The measured monitor has a gap on its fifth day: each percentile is one line before it and one after it.
    const lines = all('polyline');
    t.deepEqual(
      lines.map(({ attributes }) => attributes['class']),
      ['p50', 'p50', 'p95', 'p95', 'p99', 'p99'],
    );
    const [topMs = 0] = all('text')
      .flatMap((one) => /^(\d+) ms$/.exec(one.text)?.[1] ?? [])
      .map(Number)
      .toSorted((a, b) => b - a);
    for (const name of ['p50', 'p95', 'p99'] as const) {
      const drawn = lines
        .filter(({ attributes }) => attributes['class'] === name)
        .flatMap(({ attributes }) =>
          (attributes['points'] ?? '').split(' ').map((point) => point.split(',').map(Number)),
        );
      const known = (details.days['mon_a'] ?? []).flatMap(({ response_ms: ms }) =>
        ms[name] === null ? [] : [ms[name]],
      );
      t.is(drawn.length, known.length);
      for (const [index, [, y = 0]] of drawn.entries())
        t.true(Math.abs(((96 - y) / 88) * topMs - (known[index] ?? 0)) < topMs / 1000, `${name} ${index}`);
    }
  }
});

test('the page lists gaps and incidents, or says that there are none', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, details } = await storeReport(api, account, WEEK);
  const page = await account.reader('GET', `/v1/reports/${id}?format=html`);
  const { all } = parsePage(t, page.text);
  t.deepEqual(all('time').slice(-1)[0]?.text, '2026-03-04 00:01');
  t.true(all('td').some((cell) => cell.text === EVIL));
  t.true(all('td').some((cell) => cell.text === '15 min'));
  t.true(all('h2').some((head) => head.text === 'Monitoring gaps'));
  await api.database.pool.query('UPDATE reports SET details = $2 WHERE id = $1', [
    id,
    JSON.stringify({ ...details, service_gaps: [], incidents: [] }),
  ]);
  const calm = await account.reader('GET', `/v1/reports/${id}?format=html`);
  t.regex(calm.text, /No monitoring gaps\./);
  t.notRegex(calm.text, /class="incidents"/);
});

test('a report stored without details is read and printed without them', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, content } = await storeReport(api, account, WEEK);
  await api.database.pool.query('UPDATE reports SET details = NULL WHERE id = $1', [id]);
  const { json } = await account.reader('GET', `/v1/reports/${id}`);
  t.deepEqual(json['monitors'], JSON.parse(JSON.stringify(content.monitors)));
  t.false('incidents' in json);
  const { text } = await account.reader('GET', `/v1/reports/${id}?format=html`);
  t.is(parsePage(t, text).all('svg').length, 0);
});

test('a chat can subscribe to reports at creation or later, and a webhook cannot', async (t) => {
  const { api } = t.context;
  const { owner, reader } = await api.account();
  const create = async (body: object) => (await owner('POST', '/v1/channels', body)).json['id'];
  const reportsOf = async (id: string) => (await reader('GET', `/v1/channels/${id}`)).json['reports'];
  const telegram = await create({ name: 'Phone' });
  const slack = await create({ type: 'slack', reports: true });
  const webhook = await create({ type: 'webhook', url: 'https://hooks.example/', reports: false });
  t.deepEqual(await Promise.all([telegram, slack, webhook].map(reportsOf)), [false, true, undefined]);
  t.is((await owner('PATCH', `/v1/channels/${telegram}`, { reports: true })).status, 200);
  t.is((await owner('PATCH', `/v1/channels/${slack}`, { name: 'Team' })).status, 200);
  t.deepEqual(await Promise.all([telegram, slack].map(reportsOf)), [true, true]);
  t.is((await owner('PATCH', `/v1/channels/${slack}`, { reports: false })).status, 200);
  t.is(await reportsOf(slack), false);

  const tested = api.testDeliveries.length;
  isError(t, await owner('POST', '/v1/channels', { type: 'webhook', url: 'https://hooks.example/', reports: true }), {
    status: 400,
    error: /^reports applies to telegram, slack and email channels only, got true for a webhook: /,
  });
  t.is(api.testDeliveries.length, tested);
  isError(t, await owner('PATCH', `/v1/channels/${webhook}`, { reports: true }), {
    status: 400,
    error: /^reports applies to telegram, slack and email channels only/,
  });
  t.is((await owner('PATCH', `/v1/channels/${webhook}`, { reports: false })).status, 200);
  isError(t, await owner('PATCH', `/v1/channels/${telegram}`, { reports: 'yes' }), {
    status: 400,
    error: /^reports must be/,
  });
  isError(t, await reader('PATCH', `/v1/channels/${telegram}`, { reports: false }), { status: 403, error: /write/ });
  isError(t, await (await api.account()).owner('PATCH', `/v1/channels/${telegram}`, { reports: false }), {
    status: 404,
    error: /does not exist/,
  });
});
