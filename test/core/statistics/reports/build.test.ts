import test from 'ava';
import { bucketOf } from '../../../../core/statistics/latency-histogram.ts';
import {
  buildReport,
  longestIncidents,
  NO_INCIDENTS,
  reportedPeriod,
  reportMonitor,
  type MonitorFacts,
} from '../../../../core/statistics/reports/build.ts';
import type { ReportIncident } from '../../../../core/statistics/reports/content.ts';
import { periodAround } from '../../../../core/statistics/reports/periods.ts';

const WEEK = periodAround('week', Date.UTC(2026, 2, 4) / 1000);
const START = WEEK.startSeconds;
const END = WEEK.endSeconds;
const DAY = 86_400;
const MONITOR: MonitorFacts['monitor'] = {
  id: 'mon_1',
  name: 'Shop',
  type: 'http',
  slaTarget: 99.9,
  sla: null,
  createdAtMs: 0,
};
const UP: MonitorFacts['transitions'] = [{ atMs: 1000, to: 'up' }];

function report(facts: Partial<MonitorFacts>) {
  return reportMonitor(reportedPeriod(WEEK, []), {
    monitor: MONITOR,
    transitions: UP,
    maintenance: [],
    retroactive: [],
    days: [],
    incidents: NO_INCIDENTS,
    ...facts,
  });
}

test('an outage is counted by the second, against the target and on its day', async (t) => {
  const transitions = [
    ...UP,
    { atMs: (START + DAY + 100) * 1000 + 999, to: 'down' as const },
    { atMs: (START + DAY + 420) * 1000, to: 'up' as const },
  ];
  const { line, days } = await report({
    transitions,
    incidents: { count: 1, longestSeconds: 320, resolved: 1, resolvedSeconds: 320 },
  });
  t.like(line, {
    uptime_percent: 99.947,
    sla_met: true,
    error_budget_seconds: 604 - 320,
    down_seconds: 320,
    degraded_seconds: 0,
    unknown_seconds: 0,
    paused_seconds: 0,
    incidents: 1,
    longest_incident_seconds: 320,
    mttr_seconds: 320,
    checks: 0,
    response_ms: { p50: null, p95: null, p99: null },
  });
  t.deepEqual(
    days.map(({ date, uptime_percent: uptime, worst_state: state }) => [date, uptime, state]),
    [
      ['2026-03-02', 100, 'up'],
      ['2026-03-03', 99.629, 'down'],
      ['2026-03-04', 100, 'up'],
      ['2026-03-05', 100, 'up'],
      ['2026-03-06', 100, 'up'],
      ['2026-03-07', 100, 'up'],
      ['2026-03-08', 100, 'up'],
    ],
  );
});

test('a monitor without history has null figures, and no states for days before its creation', async (t) => {
  const { line, days } = await report({
    monitor: { ...MONITOR, createdAtMs: (START + 2.5 * DAY) * 1000 },
    transitions: [],
  });
  t.like(line, {
    uptime_percent: null,
    sla_met: null,
    error_budget_seconds: null,
    mttr_seconds: null,
    incidents: 0,
    longest_incident_seconds: 0,
  });
  t.deepEqual(
    days.map((day) => day.worst_state),
    [null, null, 'pending', 'pending', 'pending', 'pending', 'pending'],
  );
});

test('the mean time to recovery covers resolved incidents only, rounded to seconds', async (t) => {
  const incidents = { count: 3, longestSeconds: 500, resolved: 2, resolvedSeconds: 21 };
  t.is((await report({ incidents })).line.mttr_seconds, 11);
  t.is((await report({ incidents: { ...incidents, resolved: 0, resolvedSeconds: 0 } })).line.mttr_seconds, null);
});

test('percentiles of the period are computed over all its days together', async (t) => {
  const of = (...latencies: number[]) => ({
    checks: latencies.length,
    latency: { buckets: latencies.map(bucketOf), counts: latencies.map(() => 1) },
  });
  const { line, days } = await report({ days: [of(10), of(20), of(), of(30, 4000)] });
  t.is(line.checks, 4);
  t.is(line.response_ms.p50, 20);
  t.true(Math.abs((line.response_ms.p99 ?? 0) / 4000 - 1) <= 0.02);
  t.deepEqual(
    days.slice(0, 3).map(({ response_ms: { p50 } }) => p50),
    [10, 20, null],
  );
});

test('the summary adds up all monitors and names the five worst of those with downtime', async (t) => {
  const downFor = (no: number, seconds: number) =>
    reportMonitor(reportedPeriod(WEEK, []), {
      monitor: { ...MONITOR, id: `mon_${no}`, name: `Shop ${no}`, slaTarget: no === 0 ? null : 99.9 },
      transitions: [
        ...UP,
        ...(seconds === 0
          ? []
          : [
              { atMs: START * 1000, to: 'down' as const },
              { atMs: (START + seconds) * 1000, to: 'up' as const },
            ]),
      ],
      maintenance: [],
      retroactive: [],
      days: [],
      incidents:
        seconds === 0 ? NO_INCIDENTS : { count: 1, longestSeconds: seconds, resolved: 1, resolvedSeconds: seconds },
    });
  const monitors = await Promise.all([0, 700, 1, 300, 900, 500, 605].map((seconds, no) => downFor(no, seconds)));
  const { content } = buildReport(WEEK, monitors, { incidents: [], gaps: [] });
  const down = 700 + 1 + 300 + 900 + 500 + 605;
  t.like(content.summary, {
    monitors: 7,
    incidents: 6,
    down_seconds: down,
    sla_met: 3,
    sla_missed: 3,
    uptime_percent: Math.floor(((7 * 7 * DAY - down) * 100_000) / (7 * 7 * DAY)) / 1000,
  });
  t.deepEqual(
    content.summary.worst_monitors.map(({ name }) => name),
    ['Shop 4', 'Shop 1', 'Shop 6', 'Shop 5', 'Shop 3'],
  );
  t.deepEqual(
    content.monitors.map(({ id }) => id),
    monitors.map(({ line }) => line.id),
  );
});

test('a monitor meets its SLA if it meets both targets, or the only one it has', async (t) => {
  // Down for 400 seconds on Tuesday: within the week's error budget, beyond that of the hour.
  const transitions = [
    ...UP,
    { atMs: (START + DAY) * 1000, to: 'down' as const },
    { atMs: (START + DAY + 400) * 1000, to: 'up' as const },
  ];
  const hours = (text: string) => ({ target: 99.9, timezone: 'UTC', hours: text, excludeMaintenance: true });
  const monitors = await Promise.all(
    [
      { slaTarget: 99.9, sla: hours('Tu 00:00-01:00') },
      { slaTarget: 99.9, sla: hours('We 00:00-01:00') },
      { slaTarget: null, sla: hours('Tu 00:00-01:00') },
      { slaTarget: null, sla: hours('We 00:00-01:00') },
      { slaTarget: 99.9, sla: null },
      { slaTarget: null, sla: null },
    ].map((targets) => report({ monitor: { ...MONITOR, ...targets }, transitions })),
  );
  t.deepEqual(
    monitors.map(({ line }) => [line.sla_met, line.service_hours?.met]),
    [
      [true, false],
      [true, true],
      [null, false],
      [null, true],
      [true, undefined],
      [null, undefined],
    ],
  );
  const { summary } = buildReport(WEEK, monitors, { incidents: [], gaps: [] }).content;
  t.deepEqual([summary.sla_met, summary.sla_missed], [3, 2]);
});

test('uptime is reported with and without maintenance, and retroactive maintenance separately', async (t) => {
  const stretch = (from: number, to: number) => ({ startMs: (START + from) * 1000, endMs: (START + to) * 1000 });
  const { line, days } = await report({
    transitions: [
      ...UP,
      { atMs: (START + 100) * 1000, to: 'down' as const },
      { atMs: (START + 700) * 1000, to: 'up' as const },
    ],
    maintenance: [stretch(0, 500)],
    retroactive: [stretch(0, 150), stretch(300, 350)],
  });
  t.like(line, { maintenance_seconds: 500, down_seconds: 200, retroactive_seconds: 200 });
  t.is(line.uptime_percent, Math.floor(((7 * DAY - 500 - 200) * 100_000) / (7 * DAY - 500)) / 1000);
  t.is(line.uptime_percent_with_maintenance, Math.floor(((7 * DAY - 600) * 100_000) / (7 * DAY)) / 1000);
  t.is(line.error_budget_seconds, Math.floor((7 * DAY - 500) / 1000) - 200);
  t.is(days[0]?.worst_state, 'down');
});

test('retroactive maintenance while a monitor is paused is not counted, as its maintenance is not', async (t) => {
  const { line } = await report({
    transitions: [...UP, { atMs: (START + 100) * 1000, to: 'paused' as const }],
    maintenance: [{ startMs: START * 1000, endMs: (START + 500) * 1000 }],
    retroactive: [{ startMs: START * 1000, endMs: (START + 500) * 1000 }],
  });
  t.like(line, { maintenance_seconds: 100, retroactive_seconds: 100 });
});

test('gaps are clipped to the period and count as unknown', async (t) => {
  const gaps = [
    { kind: 'checks' as const, startMs: (START - 50) * 1000, endMs: (START + 50) * 1000 + 500 },
    { kind: 'clock' as const, startMs: (START + 10) * 1000, endMs: (START + 60) * 1000 },
    { kind: 'evaluation' as const, startMs: (END - 5) * 1000, endMs: (END + 5) * 1000 },
    { kind: 'clock' as const, startMs: START * 1000 + 100, endMs: START * 1000 + 900 },
  ];
  const monitor = await reportMonitor(reportedPeriod(WEEK, gaps), {
    monitor: MONITOR,
    transitions: UP,
    maintenance: [],
    retroactive: [],
    days: [],
    incidents: NO_INCIDENTS,
  });
  t.is(monitor.line.unknown_seconds, 65);
  t.is(monitor.days[0]?.worst_state, 'unknown');
  t.deepEqual(buildReport(WEEK, [monitor], { incidents: [], gaps }).details.service_gaps, [
    { kind: 'checks', from: START, to: START + 50 },
    { kind: 'clock', from: START + 10, to: START + 60 },
    { kind: 'evaluation', from: END - 5, to: END },
  ]);
});

test('the 1000 longest incidents are listed, in order of their start', (t) => {
  const found = Array.from({ length: 1200 }, (_, index): ReportIncident => {
    const seconds = index % 3 === 0 ? 1 : 50;
    const start = START + index * 100;
    const isOver = index !== 600;
    return {
      id: `inc_${index}`,
      monitor_id: 'mon_1',
      monitor_name: 'Shop',
      state: 'down',
      reason: 'HTTP 503',
      started_at: start,
      resolved_at: isOver ? start + seconds : null,
      duration_seconds: isOver ? seconds : null,
      resolution: isOver ? 'recovered' : null,
    };
  });
  const whole = longestIncidents(found, WEEK);
  t.is(whole.length, 1000);
  t.is(whole[0]?.id, 'inc_600');
  t.is(whole.filter(({ duration_seconds: seconds }) => seconds === 50).length, 800);
  t.deepEqual(longestIncidents([...longestIncidents(found.slice(700), WEEK), ...found.slice(0, 700)], WEEK), whole);
  const { incidents } = buildReport(WEEK, [], { incidents: whole, gaps: [] }).details;
  t.deepEqual(
    incidents,
    whole.toSorted((a, b) => a.started_at - b.started_at),
  );
});
