import type { FullReport, Report } from '../../models/reports.ts';
import type { components } from '../schema.generated.ts';

type WireReport = components['schemas']['Report'];

/**
 * A report as lists show it (D-62); its content is stored in its wire form, because a report never changes once it is
 * made.
 */
export function presentReport({
  id,
  period,
  periodStart,
  periodEnd,
  createdAt,
  content: { summary, monitors },
}: Report): WireReport {
  return { id, period, period_start: periodStart, period_end: periodEnd, created_at: createdAt, summary, monitors };
}

/** The same with what only its single read shows, as far as it was made with that. */
export function presentFullReport(report: FullReport): WireReport {
  const { details, content } = report;
  if (details === null) return presentReport(report);
  return {
    ...presentReport(report),
    monitors: content.monitors.map((monitor) => ({ ...monitor, days: details.days[monitor.id] ?? [] })),
    incidents: details.incidents,
    service_gaps: details.service_gaps,
  };
}
