import type { ReportSummary } from './content.ts';
import type { ReportPeriod, ReportWindow } from './periods.ts';

/**
 * That a report was made, as it is stored with its delivery to a chat that wants it. Times are Unix seconds; `event_at`
 * is the period's end.
 */
export type ReportMessage = {
  version: '1';
  event: 'report';
  event_at: number;
  /** `id` is null of a period in a zone other than UTC, of which there is an email alone. */
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

/** Monitors that a chat names. */
const MOST_NAMED = 3;

/**
 * The message of a report; `publicUrl` is the base of links, without a slash at its end. The service's description
 * knows no such event, so that no webhook gets it.
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
      .slice(0, MOST_NAMED)
      .map(({ name, uptime_percent }) => ({ name, uptime_percent })),
    url: id === null ? `${publicUrl}/reports` : `${publicUrl}/reports/${id}`,
  };
}
