import type { Database } from '../../models/database.ts';
import { runOn } from '../../models/sql.ts';

export type StoredChecks = { monitors: number; perMonitor: number; fromMs: number; everyMs: number };

/** Rows per statement, which has to end within the pool's timeout. */
const ROWS_AT_ONCE = 500_000;

/**
 * Stores checks of monitors 1 to n by one agent in time order, as evaluators do. Most are up, with latencies that vary
 * like a website's, and one in a hundred is down. Timings are stored for those and for one in ten others, as at an
 * interval of a minute.
 */
export async function fillWithResults(
  database: Database,
  { monitors, perMonitor, fromMs, everyMs }: StoredChecks,
): Promise<void> {
  const ticksAtOnce = Math.max(1, Math.floor(ROWS_AT_ONCE / monitors));
  for (let tick = 0; tick < perMonitor; tick += ticksAtOnce) {
    await runOn(database.pool)(
      `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail)
       SELECT $1::bigint + tick * $2::bigint + monitor_no % 1000 * ($2::bigint / 1000), monitor_no, 2,
              (20 + monitor_no % 100 + 15 * exp(2 * random()))::int, CASE WHEN luck < 0.01 THEN 503 ELSE 200 END, CASE
                WHEN luck < 0.01 THEN 3 ELSE 1 END,
              CASE WHEN luck < 0.01 THEN 1503 END,
              CASE WHEN luck < 0.01 THEN '{"reason": "HTTP 503 instead of 2xx", "phases": "2 9 14 31 -"}'::jsonb
                   WHEN luck < 0.109 THEN '{"phases": "2 9 14 31 3"}'::jsonb END
       FROM (SELECT tick, monitor_no, random() AS luck
         FROM generate_series($3::int, $4::int) AS tick, generate_series(1, $5::int) AS monitor_no OFFSET 0) t
         ORDER BY tick`,
      [fromMs, everyMs, tick, Math.min(perMonitor, tick + ticksAtOnce) - 1, monitors],
    );
  }
}
