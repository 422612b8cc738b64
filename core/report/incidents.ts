import type { ReportIncident } from './content.ts';
import type { ReportWindow } from './periods.ts';

/** What a report says of a monitor's incidents. */
export type IncidentFigures = { incidents: number; longestSeconds: number; mttrSeconds: number | null };

/** Whether an incident belongs to a period: a second of it does, or it began there and was over within that second. */
export function overlaps(
  { started_at: start, resolved_at: end }: Pick<ReportIncident, 'started_at' | 'resolved_at'>,
  { startSeconds, endSeconds }: ReportWindow,
): boolean {
  return start < endSeconds && (end === null || end > startSeconds || start >= startSeconds);
}

/** An incident as it was known when the period ended: what ended later was going on. */
export function asOfEnd(incident: ReportIncident, { endSeconds }: ReportWindow): ReportIncident {
  const isOver = incident.resolved_at !== null && incident.resolved_at <= endSeconds;
  return isOver ? incident : { ...incident, resolved_at: null, duration_seconds: null, resolution: null };
}

/**
 * Counts the incidents of one monitor that touch the period, all of them as of its end. The longest counts with its
 * seconds inside the period, the mean time to recovery is that of the whole length of those that were resolved in it,
 * rounded to seconds; null where none was.
 */
export function countIncidents(incidents: readonly ReportIncident[], window: ReportWindow): IncidentFigures {
  const inside = incidents.map(
    ({ started_at: start, resolved_at: end }) =>
      Math.min(end ?? window.endSeconds, window.endSeconds) - Math.max(start, window.startSeconds),
  );
  const lengths = incidents.flatMap(({ duration_seconds: seconds }) => (seconds === null ? [] : [seconds]));
  return {
    incidents: incidents.length,
    longestSeconds: inside.reduce((longest, seconds) => Math.max(longest, seconds), 0),
    mttrSeconds:
      lengths.length === 0 ? null : Math.round(lengths.reduce((sum, seconds) => sum + seconds, 0) / lengths.length),
  };
}
