import { renderCsv, type CsvColumns } from '../../csv.ts';
import type { ReportMonitor } from './content.ts';

/** The columns of the table, in its order. */
const COLUMNS: CsvColumns<ReportMonitor> = [
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

/** A report's monitors as CSV: a header, then one line a monitor. What is null is an empty cell. */
export function renderReportCsv(monitors: readonly ReportMonitor[]): string {
  return renderCsv(COLUMNS, monitors);
}
