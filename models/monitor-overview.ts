import type { Database } from './database.ts';
import type { LISTED, ListedMonitor } from './monitors.ts';

type ValuesOf<Names extends readonly (keyof ListedMonitor)[]> = { -readonly [Index in keyof Names]: ListedMonitor[Names[Index]] };

/** All monitors of a tenant by creation, then id: for thousands at once, without the mapper, and as arrays, which takes two thirds of the time. */
export async function listAllMonitors({ pool }: Pick<Database, 'pool'>, tenantId: string): Promise<ListedMonitor[]> {
  const { rows } = await pool.query<ValuesOf<typeof LISTED>>({
    text: `SELECT id, name, type, target, interval_seconds, timeout_ms, method, expected_status, body_match, follow_redirects, down_after_failures, up_after_successes,
                  down_min_sources, heartbeat_grace_seconds, sla_target, state, enabled, created_at, updated_at
           FROM monitors WHERE tenant_id = $1 ORDER BY created_at, id`,
    values: [tenantId],
    rowMode: 'array',
  });
  return rows.map(monitorOf);
}

function monitorOf([
  id, name, type, target, intervalSeconds, timeoutMs, method, expectedStatus, bodyMatch, followRedirects, downAfterFailures, upAfterSuccesses,
  downMinSources, heartbeatGraceSeconds, slaTarget, state, enabled, createdAt, updatedAt,
]: ValuesOf<typeof LISTED>): ListedMonitor {
  return {
    id, name, type, target, intervalSeconds, timeoutMs, method, expectedStatus, bodyMatch, followRedirects, downAfterFailures, upAfterSuccesses,
    downMinSources, heartbeatGraceSeconds, slaTarget, state, enabled, createdAt, updatedAt,
  };
}
