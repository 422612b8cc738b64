import { DAY_MS, HOUR_MS } from '../../core/rollup-spans.ts';
import type { Database } from '../../models/database.ts';
import { createRollupPartitions } from '../../models/partitions.ts';
import { beginRollups } from '../../models/rollups.ts';
import { runWith } from '../../models/sql.ts';

/**
 * Writes the roll-ups of `days` whole days before `untilMs` (a midnight, UTC) of monitors 1 to n, each watched by one agent once a minute, and says that
 * checks are rolled up until then. An hour's latencies lie in 20 buckets, a day's in 30.
 */
export async function fillWithRollups(database: Database, { monitors, days, untilMs }: { monitors: number; days: number; untilMs: number }): Promise<void> {
  const run = runWith(database);
  for (let atMs = untilMs - days * DAY_MS; atMs < untilMs; atMs += DAY_MS) {
    await createRollupPartitions(database, atMs);
    await run(rollupsOf('hourly_rollups', { checks: 60, buckets: 20 }), [atMs, HOUR_MS, 24, monitors]);
    await run(rollupsOf('daily_rollups', { checks: 1440, buckets: 30 }), [atMs, DAY_MS, 1, monitors]);
  }
  await beginRollups(run, untilMs);
  await run('VACUUM ANALYZE hourly_rollups, daily_rollups');
}

function rollupsOf(table: string, { checks, buckets }: { checks: number; buckets: number }): string {
  return `INSERT INTO ${table} (at, monitor_no, agent_no, up, degraded, down, none, buckets, counts, phases)
          SELECT $1::bigint + step * $2::bigint, monitor_no, 2, ${checks} - monitor_no % 2, 0, monitor_no % 2, 0,
                 ARRAY(SELECT (80 + monitor_no % 40 + bucket)::smallint FROM generate_series(1, ${buckets}) AS bucket),
                 array_fill(${checks / buckets}, ARRAY[${buckets}]), '{12,6,54,6,84,6,186,6,18,6}'
          FROM generate_series(0, $3::int - 1) AS step, generate_series(1, $4::int) AS monitor_no`;
}
