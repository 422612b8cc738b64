import { toUnixSeconds } from '../../core/time.ts';
import type { ListedIncident } from '../../models/incidents/history.ts';
import type { components } from '../schema.generated.ts';

/** An incident as it is shown (D-45); an open one lasts until now. */
export function presentIncident(incident: ListedIncident, nowMs: number): components['schemas']['Incident'] {
  const startedAt = toUnixSeconds(incident.startedAtMs);
  const resolvedAt = incident.resolvedAtMs === null ? null : toUnixSeconds(incident.resolvedAtMs);
  return {
    id: incident.id,
    monitor_id: incident.monitorId,
    monitor_name: incident.monitorName,
    status: resolvedAt === null ? 'open' : 'resolved',
    state: incident.state,
    reason: incident.reason,
    sources_down: incident.sourcesDown,
    started_at: startedAt,
    detected_at: toUnixSeconds(incident.detectedAtMs),
    resolved_at: resolvedAt,
    duration_seconds: Math.max(0, (resolvedAt ?? toUnixSeconds(nowMs)) - startedAt),
    resolution: incident.resolution,
    acknowledged_at: incident.acknowledgedAtMs === null ? null : toUnixSeconds(incident.acknowledgedAtMs),
    acknowledged_by: incident.acknowledgedBy,
  };
}
