import { withClient } from './with-client.ts';

/** Stores the report of a week in March 2026 with a monitor that was down, from 02:00 UTC on the 18th. */
export async function insertReport(databaseUrl: string, monitorId: string): Promise<void> {
  const [start, end] = [1773619200, 1774224000];
  const ms = { p50: 100, p95: 200, p99: 300 };
  const monitor = {
    id: monitorId,
    name: 'Shop',
    type: 'http',
    uptime_percent: 99.8,
    sla_target: 99.9,
    sla_met: false,
    error_budget_seconds: -605,
    down_seconds: 1210,
    degraded_seconds: 0,
    unknown_seconds: 0,
    paused_seconds: 0,
    incidents: 1,
    longest_incident_seconds: 1210,
    mttr_seconds: 1210,
    checks: 10_000,
    response_ms: ms,
  };
  const summary = {
    monitors: 1,
    incidents: 1,
    uptime_percent: 99.8,
    down_seconds: 1210,
    sla_met: 0,
    sla_missed: 1,
    worst_monitors: [],
  };
  const bad: Partial<Record<number, string>> = { 2: 'down', 4: 'degraded', 5: 'unknown' };
  const days = Array.from({ length: 7 }, (_, day) => ({
    date: `2026-03-${16 + day}`,
    uptime_percent: day === 2 ? 98.6 : 100,
    worst_state: bad[day] ?? 'up',
    response_ms: ms,
  }));
  const incident = {
    id: 'inc_test',
    monitor_id: monitorId,
    monitor_name: 'Shop',
    state: 'down',
    reason: 'HTTP 502 instead of 2xx',
    started_at: start + 180_000,
    resolved_at: start + 181_210,
    duration_seconds: 1210,
    resolution: 'recovered',
  };
  await withClient(databaseUrl, (client) =>
    client.query(
      `INSERT INTO reports (id, tenant_id, period, period_start, period_end, created_at, content, details)
       SELECT 'rep_test', tenant_id, 'week', $2, $3, $3, $4, $5 FROM monitors WHERE id = $1`,
      [
        monitorId,
        start,
        end,
        JSON.stringify({ summary, monitors: [monitor] }),
        JSON.stringify({ days: { [monitorId]: days }, incidents: [incident], service_gaps: [] }),
      ],
    ),
  );
}
