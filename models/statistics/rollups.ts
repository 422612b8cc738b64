import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { LATE_AFTER_MS, requireRecentResults } from '../checks/recent-results.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import {
  rollDayWithoutFaulty,
  rollHourWithoutFaulty,
  setAside,
  uniqueSources,
  type FailedSource,
  type SetAsideHour,
  type SourceKey,
} from './make-rollups.ts';

/** Name of the mark up to which checks are rolled up, by hours and days. */
const MARK = 'rollups';

/** Name of the mark that exists while whole runs fail, and gives the time since when. */
const FAILING_MARK = 'rollups_failing';

/** Time after its end at which an hour is rolled up, in milliseconds. */
export const SETTLED_AFTER_MS = 90_000;

/** Longer than any transaction takes, in milliseconds: after it an hour no longer waits for open ones. */
const PATIENCE_MS = 600_000;

/**
 * Time limit for the hour of a large installation, in milliseconds, and memory to sort and hash it: only for these
 * transactions.
 */
const MAX_STATEMENT_MS = 600_000;
const ROOM = [`SET LOCAL statement_timeout = ${MAX_STATEMENT_MS}`, "SET LOCAL work_mem = '64MB'"];

/**
 * The outcome of a request for the next hour. `rolled`: it was rolled up, except for the sources that were set aside.
 * `early`: it is not over yet, or open transactions may contain results of it. `busy`: another process is working on
 * it.
 */
type NextHour =
  | { outcome: 'rolled'; atMs: number; rows: number; setAside: SetAsideHour[] }
  | { outcome: 'early' | 'busy' };

/**
 * Returns the time until which all hours, and all days that ended by then, are rolled up. It is a whole hour in Unix
 * milliseconds, 0 before the first one.
 */
export async function rolledUntilMs(run: Run): Promise<number> {
  const [row] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [MARK]);
  return row?.at ?? 0;
}

/** Returns the time of the database's clock, in Unix milliseconds, which determines whether a result is late. */
export async function databaseNowMs(run: Run): Promise<number> {
  const [row] = await run<{ at: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at');
  return row?.at ?? 0;
}

/**
 * Returns the end of the oldest hour that is not rolled up, in Unix milliseconds; it may be in the future. Before the
 * first run that is the hour of the oldest result; null if there is none.
 */
export async function unrolledSinceMs(run: Run): Promise<number | null> {
  const untilMs = await rolledUntilMs(run);
  if (untilMs > 0) return untilMs + HOUR_MS;
  const [row] = await run<{ at: number | null }>(
    'SELECT least((SELECT min(due_at) FROM single_results), (SELECT min(at) FROM heartbeat_pings)) AS at',
  );
  return row === undefined || row.at === null ? null : Math.floor(row.at / HOUR_MS) * HOUR_MS + HOUR_MS;
}

/**
 * Records that a whole run failed at `nowMs`, unless the previous one did already, or that a run succeeded. Unix
 * milliseconds.
 */
export async function recordRollupRun(run: Run, { failed, nowMs }: { failed: boolean; nowMs: number }): Promise<void> {
  if (failed)
    await run('INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING', [
      FAILING_MARK,
      nowMs,
    ]);
  else await run('DELETE FROM service_marks WHERE name = $1', [FAILING_MARK]);
}

/** Returns since when every run has failed, in Unix milliseconds; null if the last one succeeded. */
export async function rollupsFailingSinceMs(run: Run): Promise<number | null> {
  const [row] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1', [FAILING_MARK]);
  return row?.at ?? null;
}

/** Records the first hour to roll up, unless it was recorded before. */
export async function beginRollups(run: Run, fromMs: number): Promise<void> {
  const hourMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS;
  await run('INSERT INTO service_marks (name, at, resumed_at) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING', [
    MARK,
    hourMs,
  ]);
}

/**
 * Rolls up the oldest hour that is not rolled up, and its day with the last of its hours. One transaction with the
 * mark: after any interruption nothing remains, and the hour is made the next time. One of two concurrent processes
 * finds the other busy.
 */
export async function rollNextHour(database: Pick<Database, 'pool'>, nowMs: number): Promise<NextHour> {
  return await inTransaction(database, async (_, client) => {
    const run = runOn(client, MAX_STATEMENT_MS);
    const atMs = await lockMark(run);
    if (atMs === null) return { outcome: 'busy' };
    const endMs = atMs + HOUR_MS;
    if (nowMs < endMs + SETTLED_AFTER_MS) return { outcome: 'early' };
    if (nowMs < endMs + PATIENCE_MS && (await isOpenSince(run, endMs + LATE_AFTER_MS))) return { outcome: 'early' };
    for (const setting of ROOM) await run(setting);
    const { rows, failed } = await rollHourWithoutFaulty(run, { atMs });
    const ofDay = endMs % DAY_MS === 0 ? (await rollDayWithoutFaulty(run, { atMs: endMs - DAY_MS })).failed : [];
    const hours = uniqueSources([...failed, ...ofDay]).map((source) => ({ ...source, atMs, attempts: 1 }));
    await setAside(run, hours, nowMs);
    await run('UPDATE service_marks SET at = $2 WHERE name = $1', [MARK, endMs]);
    return { outcome: 'rolled', atMs, rows, setAside: hours };
  });
}

/**
 * Locks the making of roll-ups for the caller's transaction, and returns the time until which they are made, in Unix
 * milliseconds. Null if another process holds the lock, or no beginning was ever recorded. Throws if the newest results
 * are lost: they would be missing forever.
 */
async function lockMark(run: Run): Promise<number | null> {
  await requireRecentResults(run);
  const [mark] = await run<{ at: number }>('SELECT at FROM service_marks WHERE name = $1 FOR UPDATE SKIP LOCKED', [
    MARK,
  ]);
  return mark?.at ?? null;
}

/**
 * Reports whether a transaction of the service is open that began before this time, in Unix milliseconds by the
 * database's clock.
 */
export async function isOpenSince(run: Run, beforeMs: number): Promise<boolean> {
  const rows = await run(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user
       AND split_part(application_name, ':', 1) = split_part(current_setting('application_name'), ':', 1)
       AND pid <> pg_backend_pid() AND xact_start < to_timestamp($1::bigint / 1000.0) LIMIT 1`,
    [beforeMs],
  );
  return rows.length > 0;
}

/** Number of hours of sources remade in one transaction: while it runs, inserts of them wait. */
const CHUNK = 500;

/**
 * Records the hours of these results that may be rolled up without them, inside the transaction that stores them. The
 * caller's clock, `nowMs`, determines whether an hour is over. The database's clock, which the roll-up uses as well,
 * determines whether this transaction began late enough: the roll-up waits for one that began earlier. An existing row
 * is locked, so that it is not taken before these results are visible.
 */
export async function insertLateHours(
  run: Run,
  results: readonly { monitorNo: number; agentNo: number; dueAtMs: number }[],
  nowMs: number,
): Promise<void> {
  const late = results.filter(({ dueAtMs }) => hourOf(dueAtMs) + HOUR_MS <= nowMs);
  if (late.length === 0) return;
  await run(
    `INSERT INTO late_hours (at, monitor_no, agent_no)
     SELECT DISTINCT at, monitor_no, agent_no
       FROM unnest($1::bigint[], $2::int[], $3::int[]) AS k (at, monitor_no, agent_no)
     WHERE at + ${HOUR_MS + LATE_AFTER_MS} <= extract(epoch FROM now()) * 1000
     ORDER BY 1, 2, 3
     ON CONFLICT (at, monitor_no, agent_no) DO UPDATE SET at = excluded.at WHERE false`,
    [
      late.map(({ dueAtMs }) => hourOf(dueAtMs)),
      late.map(({ monitorNo }) => monitorNo),
      late.map(({ agentNo }) => agentNo),
    ],
  );
}

/** Result of remaking hours: the number taken, and those that failed. */
type RemadeHours = { taken: number; setAside: SetAsideHour[] };

/**
 * Remakes hours with late results or that were set aside until now, and the days that they belong to. Takes a few at a
 * time; none if there are none, or another process is working on it. Hours leave their list in the same transaction,
 * and those inserted meanwhile stay. Hours that are not rolled up yet wait for that; those that fail are set aside for
 * longer each time.
 */
export async function remakeLateHours(database: Pick<Database, 'pool'>, nowMs: number): Promise<RemadeHours> {
  return await inTransaction(database, async (run) => {
    // A day is made of all its hours: two concurrent processes that make hours of one day would miss each other's.
    const untilMs = await lockMark(run);
    if (untilMs === null) return { taken: 0, setAside: [] };
    const taken = await takeHours(run, untilMs, nowMs);
    const failed: (FailedSource & { hourMs: number })[] = [];
    for (const [atMs, only] of Map.groupBy(taken, (key) => key.atMs)) {
      failed.push(
        ...(await rollHourWithoutFaulty(run, { atMs, only })).failed.map((source) => ({ ...source, hourMs: atMs })),
      );
    }
    for (const [atMs, keys] of Map.groupBy(taken, (key) => Math.floor(key.atMs / DAY_MS) * DAY_MS)) {
      if (atMs + DAY_MS > untilMs) continue;
      const ofDay = (await rollDayWithoutFaulty(run, { atMs, only: uniqueSources(keys) })).failed;
      failed.push(
        ...ofDay.flatMap((source) =>
          keys.filter((key) => isSame(key, source)).map((key) => ({ ...source, hourMs: key.atMs })),
        ),
      );
    }
    const setAsideHours = taken.flatMap(({ attempts, ...key }) => {
      const failure = failed.find((one) => one.hourMs === key.atMs && isSame(one, key));
      return failure === undefined ? [] : [{ ...key, attempts: attempts + 1, error: failure.error }];
    });
    await setAside(run, setAsideHours, nowMs);
    return { taken: taken.length, setAside: setAsideHours };
  });
}

type TakenHour = SourceKey & { atMs: number; attempts: number };

/**
 * Takes hours off their lists. An hour that was set aside waits for its time even if results were late for it.
 * 1. `taken`: the next late hours that are rolled up and not set aside, locked; skips those being inserted.
 * 2. `late`: removes them from their list.
 * 3. `due`: the next hours that were set aside until now.
 * 4. `retried`: removes these, and those of `taken` that were set aside before, from the other list with their
 *    attempts.
 */
async function takeHours(run: Run, untilMs: number, nowMs: number): Promise<TakenHour[]> {
  return await run<TakenHour>(
    `WITH taken AS MATERIALIZED (
       SELECT l.at, l.monitor_no, l.agent_no FROM late_hours l
       WHERE l.at < $1 AND NOT EXISTS (SELECT FROM set_aside_hours a WHERE a.at = l.at AND a.monitor_no = l.monitor_no
         AND a.agent_no = l.agent_no AND a.retry_at > $2)
       ORDER BY l.at, l.monitor_no, l.agent_no LIMIT ${CHUNK} FOR UPDATE OF l SKIP LOCKED
     ), late AS (
       DELETE FROM late_hours l USING taken t WHERE l.at = t.at AND l.monitor_no = t.monitor_no
         AND l.agent_no = t.agent_no
       RETURNING l.at, l.monitor_no, l.agent_no
     ), due AS MATERIALIZED (
       SELECT at, monitor_no, agent_no FROM set_aside_hours WHERE retry_at <= $2 ORDER BY at, monitor_no, agent_no
         LIMIT ${CHUNK}
     ), retried AS (
       DELETE FROM set_aside_hours a USING (SELECT * FROM taken UNION SELECT * FROM due) t
       WHERE a.at = t.at AND a.monitor_no = t.monitor_no AND a.agent_no = t.agent_no
       RETURNING a.at, a.monitor_no, a.agent_no, a.attempts
     )
     SELECT at AS "atMs", monitor_no AS "monitorNo", agent_no AS "agentNo", coalesce(r.attempts, 0) AS attempts
     FROM late FULL JOIN retried r USING (at, monitor_no, agent_no) ORDER BY 1, 2, 3`,
    [untilMs, nowMs],
  );
}

function isSame(one: SourceKey, other: SourceKey): boolean {
  return one.monitorNo === other.monitorNo && one.agentNo === other.agentNo;
}

function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) * HOUR_MS;
}
