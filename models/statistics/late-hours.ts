import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { LATE_AFTER_MS } from '../checks/recent-results.ts';
import type { Database } from '../database.ts';
import { inTransaction, type Run } from '../sql.ts';
import { setAside, type FailedSource, type SetAsideHour, type SourceKey } from './rollup-faults.ts';
import { holdMark, rollDayWithoutFaulty, rollHourWithoutFaulty, uniqueSources } from './rollups.ts';

/** Hours of sources that are made again in one transaction: while it lasts, who inserts one of them waits. */
const CHUNK = 500;

/**
 * Inserts the hours of these results that may be rolled up without them, inside the transaction that stores them.
 * Whether an hour is over is read from the caller's clock, at `nowMs`; whether this transaction began late enough, of
 * the database's, by which the roll-up goes as well: one that began earlier is waited for. A row that is there already
 * is locked, so that it is not taken away before these results are visible.
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

/** What came of making hours again: how many were taken, and those that could not be made. */
export type RemadeHours = { taken: number; setAside: SetAsideHour[] };

/**
 * Makes hours again that results came late for or that were set aside until now, and the days that they belong to. A
 * few at a time; none where there are none, or another process is at it. What is taken leaves its list in the same
 * transaction, and what is inserted meanwhile stays. Hours that are not rolled up yet wait for that; those that fail
 * are set aside for longer each time.
 */
export async function remakeLateHours(database: Pick<Database, 'pool'>, nowMs: number): Promise<RemadeHours> {
  return await inTransaction(database, async (run) => {
    // A day is made of all its hours: two who make hours of one day at once would each miss the other's.
    const untilMs = await holdMark(run);
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
 * Takes hours off their lists. An hour that was set aside waits for its time also where results came late for it.
 * 1. `taken`: the next late hours that are rolled up and not set aside, locked; what is being inserted is skipped.
 * 2. `late`: they leave their list.
 * 3. `due`: the next hours that were set aside until now.
 * 4. `retried`: these, and those of `taken` that were set aside before, leave the other list with their attempts.
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
