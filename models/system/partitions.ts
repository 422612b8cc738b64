import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, sqlStateOf, type Run } from '../sql.ts';
import { rolledUntilMs, rollupsFailingSinceMs } from '../statistics/rollups.ts';

/**
 * Tables partitioned by their time column (Unix milliseconds): single events by UTC day, roll-ups by calendar month.
 */
const PARTITIONED = {
  check_results: 'day',
  heartbeat_pings: 'day',
  packed_results: 'day',
  hourly_rollups: 'month',
  daily_rollups: 'month',
} as const;

type Table = keyof typeof PARTITIONED;

const TABLES = Object.keys(PARTITIONED) as Table[];

/** Number of days ahead for which partitions exist. */
const DAYS_AHEAD = 3;

/** SQLSTATE of a row for which no partition exists. */
export const NO_PARTITION = '23514';

/**
 * Time that single events are kept beyond their limit while all roll-ups fail, in milliseconds: after it disk space is
 * more important.
 */
const PATIENCE_MS = 7 * DAY_MS;

/** Retention of each table, in days. */
type KeptDays = Readonly<Record<Table, number>>;

type Partition = { name: string; fromMs: number; toMs: number };

/**
 * Creates the partitions of the UTC days around `nowMs`, yesterday (late results) to three days ahead, and of their
 * months. Existing ones stay. Throws if a table is locked for `lockMs`, by default as long as a statement may take.
 */
export async function createPartitions(
  database: Pick<Database, 'pool'>,
  nowMs: number,
  { lockMs = null }: { lockMs?: number | null } = {},
): Promise<void> {
  const moments = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => nowMs + (index - 1) * DAY_MS);
  const wanted = TABLES.flatMap((table) => moments.map((atMs) => ({ table, partition: partitionOf(table, atMs) })));
  await create(database, wanted, lockMs);
}

/** Creates the partitions for roll-ups of the month of `atMs`, however long ago it was. */
export async function createRollupPartitions(database: Pick<Database, 'pool'>, atMs: number): Promise<void> {
  await create(
    database,
    (['hourly_rollups', 'daily_rollups'] as const).map((table) => ({ table, partition: partitionOf(table, atMs) })),
    CHORE_LOCK_MS,
  );
}

/**
 * Maximum time that a chore waits for a table, in milliseconds. A long read such as a dump blocks its lock, and
 * everyone else waits behind that one (D-761). Who needs a missing partition now waits longer: so do all others.
 */
export const CHORE_LOCK_MS = 2000;

/**
 * Creates partitions in a separate transaction for each table. A common one would hold the lock of one table while it
 * waits for another, and queries lock them in any order.
 */
async function create(
  database: Pick<Database, 'pool'>,
  wanted: readonly { table: Table; partition: Partition }[],
  lockMs: number | null,
): Promise<void> {
  for (const [table, partitions] of Map.groupBy(wanted, (one) => one.table)) {
    await inTransaction(database, async (run) => {
      // Without this lock, one of two processes that create a table concurrently fails, even with IF NOT EXISTS.
      await run(`SELECT pg_advisory_xact_lock(hashtextextended('partitions', 0))`);
      if (lockMs !== null) await run(`SET LOCAL lock_timeout = ${lockMs}`);
      for (const { partition } of partitions) {
        await run(
          `CREATE TABLE IF NOT EXISTS ${partition.name} PARTITION OF ${table} FOR VALUES
           FROM (${partition.fromMs}) TO (${partition.toMs})`,
        );
      }
    });
  }
}

/**
 * Drops the partitions whose newest row is older than their table's retention, and returns their names. Single events
 * stay until they are rolled up, even on days without runs, unless all runs of the roll-ups have failed for a week.
 * Throws if a table is locked for long.
 */
export async function dropOldPartitions(
  database: Pick<Database, 'pool'>,
  nowMs: number,
  keptDays: KeptDays,
): Promise<string[]> {
  const run = runOn(database.pool);
  const failingSinceMs = await rollupsFailingSinceMs(run);
  const isGivenUp = failingSinceMs !== null && nowMs - failingSinceMs > PATIENCE_MS;
  const rolledMs = isGivenUp ? Number.POSITIVE_INFINITY : await rolledUntilMs(run);
  const dropped: string[] = [];
  for (const table of TABLES) {
    const keptFromMs = (Math.floor(nowMs / DAY_MS) - keptDays[table]) * DAY_MS;
    const endsByMs = PARTITIONED[table] === 'day' ? Math.min(keptFromMs, rolledMs) : keptFromMs;
    for (const { name } of (await listPartitions(run, table)).filter(({ toMs }) => toMs <= endsByMs)) {
      await inTransaction(database, async (drop) => {
        await drop(`SET LOCAL lock_timeout = ${CHORE_LOCK_MS}`);
        await drop(`DROP TABLE IF EXISTS ${name}`);
      });
      dropped.push(name);
    }
  }
  return dropped;
}

/** SQLSTATE of a lock timeout. */
export const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Updates the time indexes of the partitions around `atMs`, so that an hour is found without reading the whole day.
 * Postponed if a partition is locked for long: that only costs time.
 */
export async function indexNewTimes(database: Pick<Database, 'pool'>, atMs: number): Promise<void> {
  try {
    await inTransaction(database, async (run) => {
      await run(`SET LOCAL lock_timeout = ${CHORE_LOCK_MS}`);
      await run(
        `SELECT brin_summarize_new_values(c.oid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a
         ON a.oid = c.relam
         WHERE a.amname = 'brin' AND i.indrelid IN (SELECT to_regclass(name) FROM unnest($1::text[]) AS name)`,
        [TABLES.map((table) => partitionOf(table, atMs).name)],
      );
    });
  } catch (error) {
    if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
  }
}

/** Returns the start of the oldest UTC day with results or pings, in Unix milliseconds; null if there are none. */
export async function findOldestDay(run: Run): Promise<number | null> {
  const days: number[] = [];
  for (const table of TABLES.filter((name) => PARTITIONED[name] === 'day')) {
    for (const { name, fromMs } of await listPartitions(run, table)) {
      const rows = await run(`SELECT 1 FROM ${name} LIMIT 1`);
      if (rows.length === 0) continue;
      days.push(fromMs);
      break;
    }
  }
  return days.length === 0 ? null : Math.min(...days);
}

/** Lists a table's partitions, oldest first. */
async function listPartitions(run: Run, table: Table): Promise<Partition[]> {
  const rows = await run<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::regclass
     ORDER BY 1`,
    [table],
  );
  return rows.map(({ name }) => partitionOf(table, firstMomentOf(name)));
}

function partitionOf(table: Table, atMs: number): Partition {
  const at = new Date(atMs);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  const isDay = PARTITIONED[table] === 'day';
  const [fromMs, toMs] = isDay
    ? [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)]
    : [Date.UTC(year, month), Date.UTC(year, month + 1)];
  // The names sort in order of time: check_results_20261121, hourly_rollups_202611.
  return {
    name: `${table}_${new Date(fromMs)
      .toISOString()
      .slice(0, isDay ? 10 : 7)
      .replaceAll('-', '')}`,
    fromMs,
    toMs,
  };
}

function firstMomentOf(name: string): number {
  const digits = name.slice(name.lastIndexOf('_') + 1);
  return Date.UTC(Number(digits.slice(0, 4)), Number(digits.slice(4, 6)) - 1, Number(digits.slice(6, 8) || 1));
}
