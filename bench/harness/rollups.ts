import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { Database } from '../../models/database.ts';
import { type Run, runOn } from '../../models/sql.ts';
import { beginRollups } from '../../models/statistics/rollups.ts';
import { createRollupPartitions } from '../../models/system/partitions.ts';

type Partition = { table: string; name: string; bounds: string; fromMs: number; toMs: number };

const KINDS = [
  { table: 'hourly_rollups', stepMs: HOUR_MS, checks: 60, buckets: 20 },
  { table: 'daily_rollups', stepMs: DAY_MS, checks: 1440, buckets: 30 },
] as const;

/**
 * Writes roll-ups of `days` whole days before `untilMs` (a midnight, UTC) for monitors 1 to n, each checked by one
 * agent once a minute. It also records that checks are rolled up until then. An hour's latencies fill 20 buckets, a
 * day's 30. Rows are in time order, as the service writes them; indexes are built when a month is complete, because
 * millions of rows would otherwise take an hour.
 */
export async function fillWithRollups(
  database: Database,
  { monitors, days, untilMs }: { monitors: number; days: number; untilMs: number },
): Promise<void> {
  const run = runOn(database.pool);
  const fromMs = untilMs - days * DAY_MS;
  for (let atMs = fromMs; atMs < untilMs; atMs += DAY_MS) await createRollupPartitions(database, atMs);
  for (const kind of KINDS) {
    for (const partition of await listPartitions(run, kind.table)) {
      const span = { fromMs: Math.max(fromMs, partition.fromMs), toMs: Math.min(untilMs, partition.toMs) };
      if (span.fromMs < span.toMs)
        await withoutIndexes(run, partition, () =>
          run(rollupsOf(partition.name, kind), [
            span.fromMs,
            kind.stepMs,
            (span.toMs - span.fromMs) / kind.stepMs,
            monitors,
          ]),
        );
    }
  }
  await beginRollups(run, untilMs);
}

async function listPartitions(run: Run, table: string): Promise<Partition[]> {
  const rows = await run<{ name: string; bounds: string }>(
    `SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds FROM pg_inherits JOIN pg_class c
     ON c.oid = inhrelid WHERE inhparent = $1::regclass`,
    [table],
  );
  return rows.map(({ name, bounds }) => {
    const [fromMs = 0, toMs = 0] = (bounds.match(/\d+/g) ?? []).map(Number);
    return { table, name, bounds, fromMs, toMs };
  });
}

/** Detaches an empty partition while `fill` writes to it, unlogged; reattaching it builds its indexes. */
async function withoutIndexes(
  run: Run,
  { table, name, bounds }: Partition,
  fill: () => Promise<unknown>,
): Promise<void> {
  await run(`ALTER TABLE ${table} DETACH PARTITION ${name}`);
  await run(`ALTER TABLE ${name} DROP CONSTRAINT ${name}_pkey`);
  await run(`ALTER TABLE ${name} SET UNLOGGED`);
  await fill();
  await run(`ALTER TABLE ${table} ATTACH PARTITION ${name} ${bounds}`);
  await run(`VACUUM ANALYZE ${name}`);
}

function rollupsOf(name: string, { checks, buckets }: { checks: number; buckets: number }): string {
  return `WITH patterns AS MATERIALIZED (
            SELECT pattern, ARRAY(SELECT (80 + pattern + bucket)::smallint
              FROM generate_series(1, ${buckets}) AS bucket) AS buckets FROM generate_series(0, 39) AS pattern
          )
          INSERT INTO ${name} (at, monitor_no, agent_no, up, degraded, down, none, buckets, counts, phases)
          SELECT $1::bigint + step * $2::bigint, monitor_no, 2, ${checks} - monitor_no % 2, 0, monitor_no % 2, 0,
                 patterns.buckets, array_fill(${checks / buckets}, ARRAY[${buckets}]), '{12,6,54,6,84,6,186,6,18,6}'
          FROM generate_series(0, $3::int - 1) AS step, generate_series(1, $4::int) AS monitor_no, patterns
            WHERE pattern = monitor_no % 40`;
}
