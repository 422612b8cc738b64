import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../../models/database.ts';
import { runOn } from '../../models/sql.ts';

/**
 * Writes ten outages of five minutes for each monitor, evenly over the days before `untilMs`, as transitions and
 * incidents.
 */
export async function fillWithOutages(
  database: Database,
  { days, untilMs }: { days: number; untilMs: number },
): Promise<void> {
  const run = runOn(database.pool);
  const fromMs = untilMs - days * DAY_MS;
  const everyMs = Math.floor((untilMs - fromMs) / 10);
  await run('UPDATE monitors SET created_at = $1::bigint / 1000', [fromMs]);
  await run(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, cause, reason,
     evidence)
     SELECT m.id, s, m.tenant_id, CASE WHEN s = 1 THEN 'pending' WHEN s % 2 = 0 THEN 'up' ELSE 'down' END, CASE
       WHEN s % 2 = 0 THEN 'down' ELSE 'up' END, t.at, t.at, NULL, NULL, '{}'
     FROM monitors m, generate_series(1, 21) AS s,
          LATERAL (SELECT CASE WHEN s = 1 THEN $1::bigint
            ELSE $1::bigint + (s / 2 - 1) * $2::bigint + m.no % 1000 * 60000 + CASE WHEN s % 2 = 0 THEN 3600000
            ELSE 3900000 END END AS at) t`,
    [fromMs, everyMs],
  );
  await run(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
     detected_at, resolved_at, resolution)
     SELECT 'inc_' || t.monitor_id || t.sequence, t.tenant_id, t.monitor_id, 'Monitor', 'down',
       'HTTP 503 instead of 2xx', '{local}', t.at, t.at, t.at + 300000, 'recovered'
     FROM transitions t WHERE t.to_state = 'down'`,
  );
  await run('UPDATE monitors SET sequence = 21');
  await run('ANALYZE');
}
