import { formatDuration } from '../../time.ts';
import { formatUptime, renderReportCsv, type ReportMonitor, type ReportSummary } from './content.ts';
import { dateOf, type ReportPeriod, type ReportWindow } from './periods.ts';

/**
 * Message that a report was made, as stored with its delivery to a chat with reports enabled. Times are Unix seconds;
 * `event_at` is the period's end.
 */
export type ReportMessage = {
  version: '1';
  event: 'report';
  event_at: number;
  /** `id` is null for a period in a zone other than UTC, whose report exists only as an email. */
  report: {
    id: string | null;
    period: ReportPeriod;
    period_start: number;
    period_end: number;
    timezone?: string;
  };
  monitors: number;
  uptime_percent: number | null;
  incidents: number;
  sla_met: number;
  sla_missed: number;
  worst_monitors: { name: string; uptime_percent: number | null }[];
  url: string;
};

/** Maximum number of monitors named in a chat. */
const MAX_NAMED = 3;

/**
 * Builds the message of a report; `publicUrl` is the base of links, without a trailing slash. The service's description
 * has no such event, so webhooks do not get it.
 */
export function buildReportMessage({
  id,
  window,
  summary,
  publicUrl,
}: {
  id: string | null;
  window: ReportWindow;
  summary: ReportSummary;
  publicUrl: string;
}): ReportMessage {
  return {
    version: '1',
    event: 'report',
    event_at: window.endSeconds,
    report: {
      id,
      period: window.period,
      period_start: window.startSeconds,
      period_end: window.endSeconds,
      ...(window.timezone !== undefined && { timezone: window.timezone }),
    },
    monitors: summary.monitors,
    uptime_percent: summary.uptime_percent,
    incidents: summary.incidents,
    sla_met: summary.sla_met,
    sla_missed: summary.sla_missed,
    worst_monitors: summary.worst_monitors
      .slice(0, MAX_NAMED)
      .map(({ name, uptime_percent }) => ({ name, uptime_percent })),
    url: id === null ? `${publicUrl}/reports` : `${publicUrl}/reports/${id}`,
  };
}

/** A report's monitors as shown in an email: a heading for each column, a row for each monitor, the worst first. */
export type ReportTable = { columns: readonly string[]; rows: readonly (readonly string[])[]; rest: string | null };

/** A file attached to an email. */
export type EmailAttachment = { filename: string; contentType: string; content: string };

/** Maximum number of monitors listed in an email; the attached table has all of them. */
const MAX_LISTED = 50;

/** Maximum size of an attached table, in bytes: mail servers reject large messages. */
const LARGEST_CSV = 1_000_000;

const COLUMNS = ['Monitor', 'Uptime', 'SLO', 'Incidents', 'Down'];

/** Builds the table of an email, with at most 50 monitors: those with the least uptime, then the longest down. */
export function buildReportTable(monitors: readonly ReportMonitor[]): ReportTable {
  const listed = monitors
    .toSorted((a, b) => (a.uptime_percent ?? 101) - (b.uptime_percent ?? 101) || b.down_seconds - a.down_seconds)
    .slice(0, MAX_LISTED);
  const left = monitors.length - listed.length;
  return {
    columns: COLUMNS,
    rows: listed.map((monitor) => [
      monitor.name,
      formatUptime(monitor.uptime_percent, 'no data'),
      monitor.sla_met === null ? '-' : monitor.sla_met ? 'met' : 'missed',
      String(monitor.incidents),
      monitor.down_seconds === 0 ? '-' : formatDuration(monitor.down_seconds),
    ]),
    rest: left === 0 ? null : `and ${left} more`,
  };
}

/** Returns the whole table as a file; null if it is too large to send. */
export function attachReport(
  monitors: readonly ReportMonitor[],
  { period, startSeconds, timezone }: Omit<ReportWindow, 'endSeconds'>,
): EmailAttachment | null {
  const content = renderReportCsv(monitors);
  // A UTF-16 unit has at most three bytes in UTF-8.
  const isSmall = content.length * 3 <= LARGEST_CSV || new TextEncoder().encode(content).length <= LARGEST_CSV;
  return isSmall
    ? {
        filename: `report-${period}-${dateOf(startSeconds, timezone)}.csv`,
        contentType: 'text/csv; charset=utf-8',
        content,
      }
    : null;
}
