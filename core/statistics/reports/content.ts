import { renderCsv, type CsvColumns } from '../../csv.ts';
import type { MonitorType } from '../../monitors/monitor.ts';
import type { ServiceFigures } from '../service-sla.ts';
import { noSeconds, type CountedState } from '../sla.ts';

/**
 * Contents of a report in wire form (D-62), stored as is: a report never changes once it is made. Times are Unix
 * seconds.
 */
export type ReportContent = { summary: ReportSummary; monitors: ReportMonitor[] };

/**
 * Details that only the read of one report shows. `days` is by monitor id, one entry per day in the order of the
 * period.
 */
export type ReportDetails = {
  days: Record<string, ReportDay[]>;
  incidents: ReportIncident[];
  service_gaps: ReportGap[];
};

/** Percentiles of response times, in milliseconds with an error of at most 2 %; null without measurements. */
export type ResponseMs = { p50: number | null; p95: number | null; p99: number | null };

/**
 * Effect of maintenance on the uptime (D-503): its seconds, those of them entered after the fact, and the uptime with
 * them counted. Absent from reports made before maintenance windows existed.
 */
export type MaintenanceFigures = {
  maintenance_seconds?: number;
  retroactive_seconds?: number;
  uptime_percent_with_maintenance?: number | null;
};

/**
 * Summary of all monitors. `worst_monitors` are those that were down or had incidents, the worst first, five at most.
 */
export type ReportSummary = MaintenanceFigures & {
  monitors: number;
  incidents: number;
  uptime_percent: number | null;
  down_seconds: number;
  sla_met: number;
  sla_missed: number;
  worst_monitors: {
    id: string;
    name: string;
    uptime_percent: number | null;
    down_seconds: number;
    incidents: number;
  }[];
};

export type ReportMonitor = MaintenanceFigures & {
  id: string;
  name: string;
  type: MonitorType;
  uptime_percent: number | null;
  sla_target: number | null;
  sla_met: boolean | null;
  error_budget_seconds: number | null;
  down_seconds: number;
  degraded_seconds: number;
  unknown_seconds: number;
  paused_seconds: number;
  incidents: number;
  longest_incident_seconds: number;
  mttr_seconds: number | null;
  checks: number;
  response_ms: ResponseMs;
  /** Null without an SLA over service hours; absent from reports made before these existed. */
  service_hours?: ServiceFigures | null;
};

/**
 * A UTC day of a monitor. `worst_state` is the first of down, degraded, unknown, up, maintenance, pending, paused with
 * any second in the day; null before the monitor's creation.
 */
export type ReportDay = {
  date: string;
  uptime_percent: number | null;
  worst_state: CountedState | null;
  response_ms: ResponseMs;
};

/** An incident that touches the period. The fields of its end are null if it was not over when the period ended. */
export type ReportIncident = {
  id: string;
  monitor_id: string;
  monitor_name: string;
  state: 'down' | 'degraded';
  reason: string;
  started_at: number;
  resolved_at: number | null;
  duration_seconds: number | null;
  resolution: 'recovered' | 'paused' | 'deleted' | null;
};

/** The part of a service gap that is inside the period. */
export type ReportGap = { kind: 'clock' | 'checks' | 'evaluation' | 'overload'; from: number; to: number };

/** Formats a percentage with all its decimals, such as `99.9%`; `none` replaces a missing one. */
export function formatPercent(percent: number | null, none: string): string {
  return percent === null ? none : `${percent}%`;
}

/**
 * Formats an uptime with three decimals, so that columns align: `99.947%`, `100.000%`. It is never rounded up; `none`
 * replaces a missing one.
 */
export function formatUptime(percent: number | null, none: string): string {
  // As a double, 99.94 * 1000 is slightly less than 99940.
  return percent === null ? none : `${(Math.floor(Math.round(percent * 1e6) / 1000) / 1000).toFixed(3)}%`;
}

const COUNTED_STATES = Object.keys(noSeconds()) as CountedState[];

/** Columns of the table, in order. */
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
  ['maintenance_seconds', (monitor) => monitor.maintenance_seconds ?? 0],
  ['retroactive_seconds', (monitor) => monitor.retroactive_seconds ?? 0],
  [
    'uptime_percent_with_maintenance',
    ({ uptime_percent: without, uptime_percent_with_maintenance: uptime = without }) => uptime,
  ],
  ['service_hours', ({ service_hours: service }) => service?.hours ?? null],
  ['service_timezone', ({ service_hours: service }) => service?.timezone ?? null],
  ['service_target', ({ service_hours: service }) => service?.target ?? null],
  ['service_uptime_percent', ({ service_hours: service }) => service?.uptime_percent ?? null],
  ['service_met', ({ service_hours: service }) => service?.met ?? null],
  ['service_error_budget_seconds', ({ service_hours: service }) => service?.budget?.left_seconds ?? null],
  ...COUNTED_STATES.map((state): CsvColumns<ReportMonitor>[number] => [
    `service_${state}_seconds`,
    ({ service_hours: service }) => service?.seconds[state] ?? null,
  ]),
];

/** Renders a report's monitors as CSV: a header, then one line per monitor. Null is an empty cell. */
export function renderReportCsv(monitors: readonly ReportMonitor[]): string {
  return renderCsv(COLUMNS, monitors);
}
