import test from 'ava';
import { renderReportCsv, type ReportMonitor } from '../../../../core/statistics/reports/content.ts';

const MONITOR: ReportMonitor = {
  id: 'mon_1',
  name: 'Shop',
  type: 'http',
  uptime_percent: 99.947,
  sla_target: 99.99,
  sla_met: false,
  error_budget_seconds: -260,
  down_seconds: 320,
  degraded_seconds: 0,
  unknown_seconds: 5,
  paused_seconds: 0,
  incidents: 1,
  longest_incident_seconds: 320,
  mttr_seconds: null,
  checks: 30_240,
  response_ms: { p50: 84.5, p95: 210, p99: null },
  maintenance_seconds: 3600,
  retroactive_seconds: 600,
  uptime_percent_with_maintenance: 99.9,
};
const HEADER =
  'id,name,type,uptime_percent,sla_target,sla_met,error_budget_seconds,down_seconds,' +
  'degraded_seconds,unknown_seconds,paused_seconds,incidents,longest_incident_seconds,mttr_seconds,checks,' +
  'response_ms_p50,response_ms_p95,response_ms_p99,' +
  'maintenance_seconds,retroactive_seconds,uptime_percent_with_maintenance,' +
  'service_hours,service_timezone,service_target,service_uptime_percent,service_met,service_error_budget_seconds,' +
  'service_up_seconds,service_degraded_seconds,service_down_seconds,service_unknown_seconds,service_paused_seconds,' +
  'service_pending_seconds,service_maintenance_seconds';
const NO_SERVICE_HOURS = ','.repeat(13);

test('a CSV report has a header and a line per monitor, ended by CRLF, with nulls empty and numbers as is', (t) => {
  const lineOf = (id: string) =>
    `${id},Shop,http,99.947,99.99,false,-260,320,0,5,0,1,320,,30240,84.5,210,,3600,600,99.9${NO_SERVICE_HOURS}`;
  t.is(
    renderReportCsv([MONITOR, { ...MONITOR, id: 'mon_2' }]),
    `${HEADER}\r\n${lineOf('mon_1')}\r\n${lineOf('mon_2')}\r\n`,
  );
  t.is(renderReportCsv([]), `${HEADER}\r\n`);
});

test('a report from before maintenance windows existed shows no maintenance', (t) => {
  const {
    maintenance_seconds: _seconds,
    retroactive_seconds: _late,
    uptime_percent_with_maintenance: _uptime,
    ...old
  } = MONITOR;
  t.true(renderReportCsv([old]).endsWith(`,30240,84.5,210,,0,0,99.947${NO_SERVICE_HOURS}\r\n`));
});

test('service hours have their own columns', (t) => {
  const seconds = { up: 215_500, degraded: 10, down: 490, unknown: 1, paused: 2, pending: 3, maintenance: 4 };
  const service_hours = {
    target: 99.9,
    timezone: 'Europe/Berlin',
    hours: 'Mo-Fr 08:00-20:00',
    exclude_maintenance: true,
    uptime_percent: 99.773,
    met: false,
    budget: { total_seconds: 216, used_seconds: 490, left_seconds: -274 },
    seconds,
  };
  t.true(
    renderReportCsv([{ ...MONITOR, service_hours }]).endsWith(
      ',99.9,Mo-Fr 08:00-20:00,Europe/Berlin,99.9,99.773,false,-274,215500,10,490,1,2,3,4\r\n',
    ),
  );
});

const NAMES: readonly (readonly [string, string])[] = [
  ['a,b', '"a,b"'],
  ['a;=1+1', `"a;'=1+1"`],
  ['a;-1;@b;c', `"a;'-1;'@b;c"`],
  ['a\n=1+1', `"a\n'=1+1"`],
  ['a\t\uFF1D1', "a\t'\uFF1D1"],
  [';', '";"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\r\nlines', '"two\r\nlines"'],
  ['=1+1', "'=1+1"],
  ['+49 30', "'+49 30"],
  ['-5', "'-5"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['\rx', '"\'\rx"'],
  ['\n=1', '"\'\n\'=1"'],
  ['\uFF1D1+1', "'\uFF1D1+1"],
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ['a=b', 'a=b'],
  ['Café ☕', 'Café ☕'],
];
for (const [name, cell] of NAMES) {
  test(`the name ${JSON.stringify(name)} becomes the cell ${JSON.stringify(cell)}`, (t) => {
    t.is(
      renderReportCsv([{ ...MONITOR, name }]).slice(HEADER.length + 2),
      `mon_1,${cell},http,99.947,99.99,false,-260,320,0,5,0,1,320,` +
        `,30240,84.5,210,,3600,600,99.9${NO_SERVICE_HOURS}\r\n`,
    );
  });
}
