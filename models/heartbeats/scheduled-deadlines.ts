import { deadlineAfter } from '../../core/heartbeats/deadlines.ts';
import type { Run } from '../sql.ts';
import { scheduleOf, type ScheduleColumns } from './heartbeats.ts';

/** A heartbeat that waits for a run of its schedule. */
export type ScheduledRow = ScheduleColumns & {
  monitorNo: number;
  intervalSeconds: number;
  graceSeconds: number;
  dueAtMs: number;
};

/** The columns of `heartbeats` that make such a row. */
export const SCHEDULED_COLUMNS = `monitor_no AS "monitorNo", cron, time_zone AS "timezone",
  early_seconds AS "earlySeconds", interval_seconds AS "intervalSeconds", grace_seconds AS "graceSeconds",
  due_at AS "dueAtMs"`;

/** Heartbeats whose runs are computed and moved at a time, so that neither the process nor pings wait for long. */
export const SCHEDULED_CHUNK = 500;

/**
 * Moves deadlines of schedules, and returns how many. `toMs` chooses from the deadline that is and the one that a ping
 * at `nowMs` would set, both in Unix milliseconds. Rows are locked by number; one whose deadline has changed meanwhile
 * keeps it.
 */
export async function moveDeadlines(
  run: Run,
  rows: readonly ScheduledRow[],
  { nowMs, toMs }: { nowMs: number; toMs: (isMs: number, wouldBeMs: number) => number },
): Promise<number> {
  const moved = rows
    .map((row) => {
      const settings = { ...row, schedule: scheduleOf(row), maxDurationSeconds: null, failEnabled: true };
      return { ...row, nextMs: toMs(row.dueAtMs, deadlineAfter(settings, nowMs)) };
    })
    .filter(({ dueAtMs, nextMs }) => nextMs !== dueAtMs);
  if (moved.length === 0) return 0;
  const [counted] = await run<{ moved: number }>(
    `WITH locked AS (
       SELECT h.monitor_no, k.next_at FROM heartbeats h
       JOIN unnest($1::int[], $2::bigint[], $3::bigint[]) AS k (monitor_no, due_at, next_at)
         ON k.monitor_no = h.monitor_no AND k.due_at = h.due_at
       ORDER BY h.monitor_no FOR NO KEY UPDATE OF h
     ), changed AS (
       UPDATE heartbeats h SET due_at = l.next_at FROM locked l WHERE h.monitor_no = l.monitor_no RETURNING 1
     )
     SELECT count(*) AS moved FROM changed`,
    [moved.map(({ monitorNo }) => monitorNo), moved.map(({ dueAtMs }) => dueAtMs), moved.map(({ nextMs }) => nextMs)],
  );
  return counted?.moved ?? 0;
}
