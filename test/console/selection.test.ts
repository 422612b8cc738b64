import test from 'ava';
import { countMatches, countStatuses, select, summarize } from '../../console/pages/overview/selection.ts';

type Monitor = Parameters<typeof select>[0][number];

const ALL = { status: '', type: '', tag: '', text: '', sort: '' };

let made = 0;
const monitor = (name: string, settings: Partial<Monitor> = {}): Monitor => {
  made += 1;
  return {
    id: `mon_${String(made).padStart(4, '0')}`,
    name,
    type: 'http',
    target: 'https://shop.example',
    interval_seconds: 60,
    timeout_ms: 1000,
    method: 'GET',
    expected_status: '2xx',
    body_match: null,
    follow_redirects: 1,
    down_after_failures: 2,
    up_after_successes: 1,
    down_min_sources: 1,
    heartbeat_grace_seconds: null,
    sla_target: null,
    sla: null,
    reopen_seconds: 0,
    monthly_drill: false,
    tags: [],
    status: 'up',
    maintenance: null,
    enabled: 1,
    state_since: made,
    created_at: made,
    updated_at: made,
    ...settings,
  };
};
const incidents = (started: Record<string, number>) =>
  new Map(Object.entries(started).map(([id, at]) => [id, { started_at: at } as never]));
const NONE: ReadonlySet<string> = new Set();
const known = (started: Record<string, number> = {}) => ({
  incidents: incidents(started),
  figures: new Map(),
  overdue: NONE,
});
const namesOf = (monitors: readonly Monitor[]) => monitors.map(({ name }) => name);

test('monitors that need attention come first, latest first, and the rest in natural name order', (t) => {
  const rows = [
    monitor('Shop 10'),
    monitor('paused', { status: 'paused' }),
    monitor('shop 9'),
    monitor('old', { status: 'down' }),
    monitor('new', { status: 'down' }),
    monitor('slow', { status: 'degraded' }),
    monitor('Äpfel'),
    monitor('draft', { status: 'pending' }),
  ];
  const started = known({ [rows[3]?.id ?? '']: 100, [rows[4]?.id ?? '']: 200 });
  t.deepEqual(namesOf(select(rows, ALL, started)), [
    'new',
    'old',
    'slow',
    'draft',
    'Äpfel',
    'shop 9',
    'Shop 10',
    'paused',
  ]);
  t.deepEqual(namesOf(select(rows, { ...ALL, sort: 'newest' }, started))[0], 'draft');
  t.deepEqual(namesOf(select(rows, { ...ALL, sort: 'no such order' }, started))[0], 'new');
});

test('every search word must occur in the name, target or type, ignoring case and accents', (t) => {
  const rows = [monitor('Café API'), monitor('Other', { type: 'tcp', target: 'cafe.example:5432' }), monitor('Shop')];
  const found = (text: string) => namesOf(select(rows, { ...ALL, text }, known()));
  t.deepEqual(found(' CAFE '), ['Café API', 'Other']);
  t.deepEqual(found('tcp cafe'), ['Other']);
  t.deepEqual(found('nothing'), []);
  t.deepEqual(namesOf(select(rows, { ...ALL, type: 'tcp' }, known())), ['Other']);
});

test('monitors are found by tag, as search words and as a filter', (t) => {
  const rows = [monitor('db', { tags: ['env:prod', 'pg'] }), monitor('web', { tags: ['env:prod'] }), monitor('pg')];
  const found = (part: Partial<typeof ALL>) => namesOf(select(rows, { ...ALL, ...part }, known()));
  t.deepEqual(found({ text: 'env:prod' }), ['db', 'web']);
  t.deepEqual(found({ text: 'pg' }), ['db', 'pg']);
  t.deepEqual(found({ tag: 'pg' }), ['db']);
  t.like(countMatches(rows, { ...ALL, tag: 'env:prod' }, NONE), { all: 2, up: 2 });
});

test('figures sort in both directions, and monitors without one come last in either', (t) => {
  const rows = ['a', 'b', 'c', 'd'].map((name) => monitor(name));
  const values = [99.5, null, 100, 98];
  const figures = new Map(
    rows.map(({ id }, index) => [
      id,
      { id, uptime_percent: values[index] ?? null, median_latency_ms: null, last_check_at: null },
    ]),
  );
  const sorted = (sort: string) => namesOf(select(rows, { ...ALL, sort }, { ...known(), figures }));
  t.deepEqual(sorted('uptime'), ['d', 'a', 'c', 'b']);
  t.deepEqual(sorted('uptime-desc'), ['c', 'a', 'd', 'b']);
  t.deepEqual(sorted('slowest'), ['a', 'b', 'c', 'd'], 'without figures by name');
  t.deepEqual(sorted('name-desc'), ['d', 'c', 'b', 'a']);
});

test('filter counts respect the search and the type, but not the chosen status', (t) => {
  const rows = [
    monitor('Shop'),
    monitor('Shop API', { status: 'down' }),
    monitor('Blog', { type: 'tcp', target: 'blog.example:80' }),
  ];
  t.like(countMatches(rows, { ...ALL, text: 'shop', status: 'up' }, NONE), { all: 2, up: 1, down: 1 });
  t.like(countMatches(rows, { ...ALL, type: 'tcp' }, NONE), { all: 1, up: 1, down: 0 });
});

test('overdue monitors come after down and degraded ones, and are not listed as up', (t) => {
  const rows = [
    monitor('checked'),
    monitor('down', { status: 'down' }),
    monitor('slow', { status: 'degraded' }),
    monitor('new', { status: 'pending' }),
    monitor('not checked'),
    monitor('just paused', { status: 'paused' }),
    monitor('never checked', { status: 'pending' }),
  ];
  const overdue = new Set(rows.filter(({ name }) => !['checked', 'slow', 'new'].includes(name)).map(({ id }) => id));
  const list = (part: Partial<typeof ALL>) => namesOf(select(rows, { ...ALL, ...part }, { ...known(), overdue }));
  t.deepEqual(list({ sort: 'attention' }), [
    'down',
    'slow',
    'never checked',
    'not checked',
    'new',
    'checked',
    'just paused',
  ]);
  t.deepEqual(list({ status: 'up' }), ['checked']);
  t.deepEqual(list({ status: 'overdue', sort: 'name' }), ['down', 'never checked', 'not checked']);
  t.deepEqual(list({ status: 'down' }), ['down']);
  t.deepEqual(countMatches(rows, ALL, overdue), {
    all: 7,
    down: 1,
    degraded: 1,
    overdue: 3,
    pending: 2,
    up: 1,
    paused: 1,
  });
});

test('the summary describes the statuses in a few words', (t) => {
  const say = (...statuses: Monitor['status'][]) =>
    summarize(countStatuses(statuses.map((status) => monitor('a', { status }))));
  t.is(say(), 'Monitors');
  t.is(say('up'), '1 monitor is up');
  t.is(say('up', 'up'), 'All 2 monitors are up');
  t.is(say('up', 'down', 'degraded', 'down'), '2 down, 1 degraded');
  t.is(say('up', 'paused'), '1 of 2 monitors up, none down');
  t.is(say('paused', 'paused'), 'All 2 monitors are paused');
  t.is(say('pending', 'paused'), 'Waiting for first checks');
  const counts = countStatuses([monitor('a'), monitor('b', { status: 'paused' })]);
  t.is(summarize(counts, 1), '1 of 2 monitors overdue', 'it is unknown whether the other one is up');
  t.is(summarize(countStatuses([monitor('a')]), 1), '1 monitor is overdue');
  t.is(summarize(countStatuses([monitor('a'), monitor('b', { status: 'down' })]), 2), '1 down, 2 overdue');
});
