import type { ReportMonitor } from './content.ts';

type Cell = string | number | boolean | null;

/** The columns of the table, in its order. */
const COLUMNS: readonly (readonly [string, (monitor: ReportMonitor) => Cell])[] = [
  ['id', ({ id }) => id],
  ['name', ({ name }) => name],
  ['type', ({ type }) => type],
  ['uptime_percent', (monitor) => monitor.uptime_percent],
  ['sla_target', (monitor) => monitor.sla_target],
  ['sla_met', (monitor) => monitor.sla_met],
  ['error_budget_seconds', (monitor) => monitor.error_budget_seconds],
  ['down_seconds', (monitor) => monitor.down_seconds],
  ['degraded_seconds', (monitor) => monitor.degraded_seconds],
  ['unknown_seconds', (monitor) => monitor.unknown_seconds],
  ['paused_seconds', (monitor) => monitor.paused_seconds],
  ['incidents', (monitor) => monitor.incidents],
  ['longest_incident_seconds', (monitor) => monitor.longest_incident_seconds],
  ['mttr_seconds', (monitor) => monitor.mttr_seconds],
  ['checks', (monitor) => monitor.checks],
  ['response_ms_p50', (monitor) => monitor.response_ms.p50],
  ['response_ms_p95', (monitor) => monitor.response_ms.p95],
  ['response_ms_p99', (monitor) => monitor.response_ms.p99],
];

/**
 * What spreadsheets take for the beginning of a formula, also behind the quotes of CSV. Some read the wide forms of
 * those signs as the signs.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * A report's monitors as CSV (RFC 4180): a header, one line a monitor, each ended by CRLF. What is null is an empty
 * cell.
 */
export function renderReportCsv(monitors: readonly ReportMonitor[]): string {
  const lines = [
    COLUMNS.map(([name]) => name),
    ...monitors.map((monitor) => COLUMNS.map(([, valueOf]) => renderCell(valueOf(monitor)))),
  ];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

/**
 * Where a formula begins within a text. Spreadsheets of places where the decimal sign is a comma part cells at
 * semicolons, and see no quotes that stand behind a comma, so that a line feed within them begins a row.
 */
const FORMULA_WITHIN = /(?<=[;\t\r\n])(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g;

/** Only texts can be foreign; a number of ours may be negative and stays one. */
function renderCell(value: Cell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const text = (FORMULA.test(value) ? `'${value}` : value).replaceAll(FORMULA_WITHIN, "'");
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
