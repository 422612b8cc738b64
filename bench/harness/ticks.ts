import type { Database } from '../../models/database.ts';
import { runOn } from '../../models/sql.ts';
import { monitorId } from './monitors.ts';

/** A window of whole intervals for monitors 1 to n, in Unix milliseconds: each is due once per interval. */
export type TickWindow = { monitors: number; intervalSeconds: number; fromMs: number; toMs: number };

/**
 * Counts of a window. `missed` counts pairs of monitor and interval without a result; `fewest` and `most` are the
 * intervals with a result of a single monitor.
 */
export type TickCount = { due: number; missed: number; fewest: number; most: number };

/** Counts the stored results of a window by due time, per monitor and interval. */
export async function countTicks(
  database: Database,
  { monitors, intervalSeconds, fromMs, toMs }: TickWindow,
): Promise<TickCount> {
  const everyMs = intervalSeconds * 1000;
  const [row] = await runOn(database.pool)<{ stored: number; fewest: number; most: number }>(
    `SELECT sum(stored)::int AS stored, min(stored)::int AS fewest, max(stored)::int AS most FROM (
       SELECT m.no, count(DISTINCT (r.due_at - $1::bigint) / $3::int) AS stored
       FROM monitors m LEFT JOIN single_results r ON r.monitor_no = m.no AND r.due_at >= $1 AND r.due_at < $2
       WHERE m.id BETWEEN $4 AND $5 GROUP BY m.no
     ) t`,
    [fromMs, toMs, everyMs, monitorId(1), monitorId(monitors)],
  );
  const { stored = 0, fewest = 0, most = 0 } = row ?? {};
  const due = (monitors * (toMs - fromMs)) / everyMs;
  return { due, missed: due - stored, fewest, most };
}
