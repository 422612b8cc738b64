import { formatDuration } from '../../time.ts';
import { formatUptime, renderReportCsv, type ReportMonitor } from './content.ts';
import { dateOf, type ReportWindow } from './periods.ts';

/** A report's monitors as an email shows them: a heading for each column, a row for each monitor, the worst first. */
export type ReportTable = { columns: readonly string[]; rows: readonly (readonly string[])[]; rest: string | null };

/** A file that an email carries. */
export type EmailAttachment = { filename: string; contentType: string; content: string };

/** Monitors that an email lists; the attached table has all of them. */
const MOST_LISTED = 50;

/** The largest table that is attached, in bytes: mail servers refuse large messages. */
const LARGEST_CSV = 1_000_000;

const COLUMNS = ['Monitor', 'Uptime', 'SLO', 'Incidents', 'Down'];

/** The table of an email, of at most 50 monitors: those with the least uptime, and of these the longest down. */
export function buildReportTable(monitors: readonly ReportMonitor[]): ReportTable {
  const listed = monitors
    .toSorted((a, b) => (a.uptime_percent ?? 101) - (b.uptime_percent ?? 101) || b.down_seconds - a.down_seconds)
    .slice(0, MOST_LISTED);
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

/** The whole table as a file; null where it is too large to be sent. */
export function attachReport(
  monitors: readonly ReportMonitor[],
  { period, startSeconds, timezone }: Omit<ReportWindow, 'endSeconds'>,
): EmailAttachment | null {
  const content = renderReportCsv(monitors);
  // A character has at most three bytes for each UTF-16 unit.
  const isSmall = content.length * 3 <= LARGEST_CSV || new TextEncoder().encode(content).length <= LARGEST_CSV;
  return isSmall
    ? {
        filename: `report-${period}-${dateOf(startSeconds, timezone)}.csv`,
        contentType: 'text/csv; charset=utf-8',
        content,
      }
    : null;
}
