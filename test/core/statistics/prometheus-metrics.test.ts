import test from 'ava';
import { writeMetrics, type ExportedMonitor, type NewestCheck } from '../../../core/statistics/prometheus-metrics.ts';

const NOW_MS = 1_800_000_000_000;
const CHECK: NewestCheck = {
  dueAtMs: NOW_MS - 1000,
  verdict: 'up',
  latencyMs: 123,
  httpStatus: 200,
  timings: { dnsMs: 4, connectMs: 11, tlsMs: null, firstByteMs: 22, downloadMs: 2 },
  certificateExpiresAt: 1_900_000_000,
};
const MONITOR: ExportedMonitor = {
  id: 'mon_1',
  name: 'Shop',
  type: 'http',
  target: 'http://shop.example/',
  tags: ['env:prod', 'shop'],
  intervalSeconds: 60,
  enabled: true,
  state: 'up',
  isIncidentOpen: false,
  isInMaintenance: true,
  uptime: { '1d': 1, '7d': 0.99949, '30d': null },
  errorBudgetRemaining: -0.5,
  checks: new Map([['hanoi', CHECK]]),
};
const LABELS = 'instance="http://shop.example/",monitor_id="mon_1",monitor="Shop",tags=",env:prod,shop,"';
const OF_CHECK = `${LABELS},source="hanoi"`;

const write = (...monitors: ExportedMonitor[]): string => [...writeMetrics(monitors, NOW_MS)].join('');
const samples = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const withCheck = (monitor: Partial<ExportedMonitor>, check: Partial<NewestCheck> = {}): ExportedMonitor => ({
  ...MONITOR,
  ...monitor,
  checks: new Map([['hanoi', { ...CHECK, ...check }]]),
});

test("an http monitor has the series of blackbox_exporter and the service's own", (t) => {
  t.deepEqual(samples(write(MONITOR)), [
    `probe_success{${OF_CHECK}} 1`,
    `probe_duration_seconds{${OF_CHECK}} 0.123`,
    `probe_dns_lookup_time_seconds{${OF_CHECK}} 0.004`,
    `probe_http_status_code{${OF_CHECK}} 200`,
    `probe_http_duration_seconds{${OF_CHECK},phase="resolve"} 0.004`,
    `probe_http_duration_seconds{${OF_CHECK},phase="connect"} 0.011`,
    `probe_http_duration_seconds{${OF_CHECK},phase="processing"} 0.022`,
    `probe_http_duration_seconds{${OF_CHECK},phase="transfer"} 0.002`,
    `probe_http_ssl{${OF_CHECK}} 0`,
    `probe_http_version{${OF_CHECK}} 1.1`,
    `probe_ssl_earliest_cert_expiry{${OF_CHECK}} 1900000000`,
    `spotcheck_monitor_state{${LABELS},state="up"} 1`,
    `spotcheck_monitor_state{${LABELS},state="degraded"} 0`,
    `spotcheck_monitor_state{${LABELS},state="down"} 0`,
    `spotcheck_monitor_state{${LABELS},state="pending"} 0`,
    `spotcheck_monitor_state{${LABELS},state="paused"} 0`,
    `spotcheck_monitor_incident_open{${LABELS}} 0`,
    `spotcheck_monitor_in_maintenance{${LABELS}} 1`,
    `spotcheck_monitor_uptime_ratio{${LABELS},window="1d"} 1`,
    `spotcheck_monitor_uptime_ratio{${LABELS},window="7d"} 0.99949`,
    `spotcheck_monitor_error_budget_remaining_ratio{${LABELS}} -0.5`,
    `spotcheck_monitor_interval_seconds{${LABELS}} 60`,
    `spotcheck_monitor_info{${LABELS},type="http"} 1`,
  ]);
});

test('each metric has one TYPE line directly before its samples, also for several monitors', (t) => {
  const text = write(MONITOR, { ...MONITOR, id: 'mon_2' });
  for (const name of new Set(samples(text).map((line) => line.slice(0, line.indexOf('{'))))) {
    const lines = text.split('\n');
    t.is(lines.filter((line) => line === `# TYPE ${name} gauge`).length, 1, name);
    const first = lines.findIndex((line) => line.startsWith(`${name}{`));
    const last = lines.findLastIndex((line) => line.startsWith(`${name}{`));
    t.is(lines[first - 1], `# TYPE ${name} gauge`);
    t.true(lines.slice(first, last + 1).every((line) => line.startsWith(`${name}{`)));
  }
});

for (const [title, monitor, expected] of [
  ['a failed check has probe_success 0', withCheck({}, { verdict: 'down' }), `probe_success{${OF_CHECK}} 0`],
  ['a degraded check has probe_success 1', withCheck({}, { verdict: 'degraded' }), `probe_success{${OF_CHECK}} 1`],
  [
    'a check without a response has status code 0',
    withCheck({}, { httpStatus: null }),
    `probe_http_status_code{${OF_CHECK}} 0`,
  ],
  [
    'an ICMP check has its round-trip time',
    withCheck({ type: 'icmp' }),
    `probe_icmp_duration_seconds{${OF_CHECK},phase="rtt"} 0.123`,
  ],
  [
    'a DNS check has its request time',
    withCheck({ type: 'dns' }),
    `probe_dns_duration_seconds{${OF_CHECK},phase="request"} 0.123`,
  ],
  [
    'unknown is shown as pending',
    withCheck({ state: 'unknown' }),
    `spotcheck_monitor_state{${LABELS},state="pending"} 1`,
  ],
] as const)
  test(`in metrics: ${title}`, (t) => {
    t.true(samples(write(monitor)).includes(expected));
  });

test('stale checks and paused monitors have no check series', (t) => {
  const isOfCheck = (line: string) => line.startsWith('probe_');
  const atLimit = withCheck({}, { dueAtMs: NOW_MS - 180_000 });
  t.true(samples(write(atLimit)).some(isOfCheck));
  t.false(samples(write(withCheck({}, { dueAtMs: NOW_MS - 180_001 }))).some(isOfCheck));
  t.false(samples(write(withCheck({ enabled: false, state: 'paused' }))).some(isOfCheck));
});

test('labels are escaped, truncated and well-formed, and stay on one line', (t) => {
  const name = 'a"b\\c\nd';
  t.true(write({ ...MONITOR, name }).includes('monitor="a\\"b\\\\c\\nd"'));
  const long = samples(write({ ...MONITOR, target: `http://x/${'😀'.repeat(400)}` }));
  t.true(long.every((line) => line.length < 1000 && line.isWellFormed()));
  t.true(write({ ...MONITOR, tags: [] }).includes('tags=""'));
});

test('the metrics of thousands of monitors are written in chunks of less than 70,000 characters', (t) => {
  const pieces = [
    ...writeMetrics(
      Array.from({ length: 2000 }, (_, no) => ({ ...MONITOR, id: `mon_${no}` })),
      NOW_MS,
    ),
  ];
  t.true(pieces.length > 50);
  t.true(pieces.every((piece) => piece.length < 70_000));
});
