import { isRecent } from '../../core/incidents/decided-monitor.ts';
import { findSourceStatus } from '../../core/monitors/source-status.ts';
import { listMonitorLocations } from '../../models/incidents/monitor-locations.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { notFound } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { callerOf, idOf } from '../request-context.ts';

/** `GET /monitors/{id}/locations` */
export function getMonitorLocationsHandler({
  database,
  now,
}: Parts<'database' | 'now'>): Handler<'getMonitorLocations'> {
  return async (request, response) => {
    const id = idOf(request);
    const found = await findMonitor(database, { tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    const nowMs = now();
    const { intervalSeconds, downMinSources } = found.monitor;
    const locations = await listMonitorLocations(database, found.monitor, nowMs);
    response.json({
      down_min_sources: downMinSources,
      locations: locations.map((location) => {
        const status = findSourceStatus(location, isRecent(location, { intervalSeconds, waitsForPings: false }, nowMs));
        return {
          id: location.id,
          name: location.name,
          region: location.region,
          status: status === 'votes' ? 'counted' : status,
          last_seen_at: location.lastSeenAt,
          last_result_at: location.newestAtMs === null ? null : Math.floor(location.newestAtMs / 1000),
        };
      }),
    });
  };
}
