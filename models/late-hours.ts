import { DAY_MS, HOUR_MS } from '../core/rollup-spans.ts';
import type { Database } from './database.ts';
import { holdMark, LATE_AFTER_MS, rollDay, rollHour } from './rollups.ts';
import { inPoolTransaction, type Run } from './sql.ts';

/** Hours of sources that are made again in one transaction: while it lasts, who notes one of them waits. */
const CHUNK = 500;

/**
 * Notes the hours of these results that may be rolled up without them, inside the transaction that stores them. Whether an hour is over is asked
 * of the caller's clock, at `nowMs`; whether this transaction began late enough, of the database's, by which the roll-up goes as well: one that
 * began earlier is waited for. A row that is there already is locked, so that it is not taken away before these results can be seen.
 */
export async function noteLateHours(run: Run, results: readonly { monitorNo: number; agentNo: number; dueAtMs: number }[], nowMs: number): Promise<void> {
  const late = results.filter(({ dueAtMs }) => hourOf(dueAtMs) + HOUR_MS <= nowMs);
  if (late.length === 0) return;
  await run(
    `INSERT INTO late_hours (at, monitor_no, agent_no)
     SELECT DISTINCT at, monitor_no, agent_no FROM unnest($1::bigint[], $2::int[], $3::int[]) AS k (at, monitor_no, agent_no)
     WHERE at + ${HOUR_MS + LATE_AFTER_MS} <= extract(epoch FROM now()) * 1000
     ORDER BY 1, 2, 3
     ON CONFLICT (at, monitor_no, agent_no) DO UPDATE SET at = excluded.at WHERE false`,
    [late.map(({ dueAtMs }) => hourOf(dueAtMs)), late.map(({ monitorNo }) => monitorNo), late.map(({ agentNo }) => agentNo)],
  );
}

/**
 * Makes some of the hours again that results came late for, and the days that they belong to; returns how many were taken, 0 = there are none, or
 * another process is at it. What is taken leaves the list in the same transaction, and what is noted meanwhile stays. Hours that are not rolled
 * up yet wait for that.
 */
export async function remakeLateHours(database: Pick<Database, 'pool'>): Promise<number> {
  return await inPoolTransaction(database, async (run) => {
    // A day is made of all its hours: two who make hours of one day at once would each miss the other's.
    const untilMs = await holdMark(run);
    if (untilMs === null) return 0;
    const taken = await run<{ atMs: number; monitorNo: number; agentNo: number }>(
      `WITH taken AS MATERIALIZED (
         SELECT at, monitor_no, agent_no FROM late_hours WHERE at < $1 ORDER BY at, monitor_no, agent_no LIMIT ${CHUNK} FOR UPDATE SKIP LOCKED
       )
       DELETE FROM late_hours l USING taken t WHERE l.at = t.at AND l.monitor_no = t.monitor_no AND l.agent_no = t.agent_no
       RETURNING l.at AS "atMs", l.monitor_no AS "monitorNo", l.agent_no AS "agentNo"`,
      [untilMs],
    );
    for (const [atMs, only] of Map.groupBy(taken, (key) => key.atMs)) await rollHour(run, { atMs, only });
    for (const [atMs, keys] of Map.groupBy(taken, (key) => Math.floor(key.atMs / DAY_MS) * DAY_MS)) {
      const only = [...new Map(keys.map((key) => [`${key.monitorNo}/${key.agentNo}`, key])).values()];
      if (atMs + DAY_MS <= untilMs) await rollDay(run, { atMs, only });
    }
    return taken.length;
  });
}

function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) * HOUR_MS;
}
