import test from 'ava';
import type { ReportMonitor } from '../../../../core/statistics/reports/content.ts';
import { attachReport, buildReportTable } from '../../../../core/statistics/reports/message.ts';

const MONITOR: ReportMonitor = {
  id: 'mon_1',
  name: 'Shop',
  type: 'http',
  uptime_percent: 99.8,
  sla_target: 99.9,
  sla_met: false,
  error_budget_seconds: -605,
  down_seconds: 1210,
  degraded_seconds: 0,
  unknown_seconds: 0,
  paused_seconds: 0,
  incidents: 2,
  longest_incident_seconds: 1210,
  mttr_seconds: 1210,
  checks: 10_000,
  response_ms: { p50: 100, p95: 200, p99: 300 },
};
const WEEK = { period: 'week', startSeconds: Date.parse('2026-03-16T00:00:00Z') / 1000 } as const;

test('an email lists the worst monitors first, those without data last, and counts those beyond fifty', (t) => {
  const monitors = [
    { ...MONITOR, name: 'New', uptime_percent: null, sla_met: null, down_seconds: 0, incidents: 0 },
    { ...MONITOR, name: 'Good', uptime_percent: 100, sla_met: true, down_seconds: 0, incidents: 0 },
    MONITOR,
  ];
  t.deepEqual(buildReportTable(monitors), {
    columns: ['Monitor', 'Uptime', 'SLO', 'Incidents', 'Down'],
    rows: [
      ['Shop', '99.800%', 'missed', '2', '20 minutes 10 seconds'],
      ['Good', '100.000%', 'met', '0', '-'],
      ['New', 'no data', '-', '0', '-'],
    ],
    rest: null,
  });
  const many = buildReportTable(Array.from({ length: 1000 }, () => MONITOR));
  t.is(many.rows.length, 50);
  t.is(many.rest, 'and 950 more');
});

test('the attached CSV has every monitor, is named after the period, and is omitted if it is too large', (t) => {
  const attachment = attachReport([MONITOR, { ...MONITOR, name: '=cmd()' }], WEEK);
  t.is(attachment?.filename, 'report-week-2026-03-16.csv');
  t.is(attachment?.content.split('\r\n').length, 4);
  t.true(attachment?.content.includes("'=cmd()"));
  t.truthy(
    attachReport(
      Array.from({ length: 1000 }, () => ({ ...MONITOR, name: 'x'.repeat(255) })),
      WEEK,
    ),
  );
  t.is(
    attachReport(
      Array.from({ length: 1000 }, () => ({ ...MONITOR, name: '\u{6F22}'.repeat(500) })),
      WEEK,
    ),
    null,
  );
});
