import type { Database } from './database.ts';
import { inPoolTransaction, runWith } from './sql.ts';

/** Tables that have a partition for each UTC day of their time column. */
const PARTITIONED = ['check_results', 'heartbeat_pings'] as const;

const DAY_MS = 86_400_000;

/** Days of partitions that exist ahead of today. */
const DAYS_AHEAD = 3;

/** SQLSTATE of a row for which no partition exists. */
export const NO_PARTITION = '23514';

/** Makes the partitions of the UTC days around `nowMs`: yesterday (late results) to three days ahead. Existing ones stay. */
export async function createPartitions(database: Database, nowMs: number): Promise<void> {
  const today = Math.floor(nowMs / DAY_MS);
  await inPoolTransaction(database, async (run) => {
    // Of two processes that create a table at once one fails, IF NOT EXISTS or not.
    await run(`SELECT pg_advisory_xact_lock(hashtextextended('partitions', 0))`);
    for (const table of PARTITIONED) {
      for (let day = today - 1; day <= today + DAYS_AHEAD; day += 1) {
        await run(`CREATE TABLE IF NOT EXISTS ${partitionName(table, day)} PARTITION OF ${table} FOR VALUES FROM (${day * DAY_MS}) TO (${(day + 1) * DAY_MS})`);
      }
    }
  });
}

/** Drops the partitions whose newest row is older than `keepDays`; returns their names. */
export async function dropOldPartitions(database: Database, nowMs: number, keepDays: number): Promise<string[]> {
  const dropped: string[] = [];
  for (const table of PARTITIONED) {
    const rows = await runWith(database)<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = $1::regclass AND c.relname < $2 ORDER BY 1`,
      [table, partitionName(table, Math.floor(nowMs / DAY_MS) - keepDays)],
    );
    for (const { name } of rows) await runWith(database)(`DROP TABLE IF EXISTS ${name}`);
    dropped.push(...rows.map(({ name }) => name));
  }
  return dropped;
}

/** `check_results_20261121`: names sort as days do. */
function partitionName(table: (typeof PARTITIONED)[number], day: number): string {
  return `${table}_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
}
