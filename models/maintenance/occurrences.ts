import { MAX_OCCURRENCES, type Occurrence, type WindowSettings } from '../../core/maintenance/window.ts';
import { DAY_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { listStarts, type Schedule } from './recurrence.ts';

/** Time ahead for which occurrences are planned, in milliseconds. */
const PLANNED_MS = 60 * DAY_MS;

/** Time without an occurrence after which a rule has no more, in milliseconds. */
const NEVER_MS = 3660 * DAY_MS;

/** Maximum number of occurrences of a window planned at a time. */
const MAX_STARTS = 1500;

/** The settings that determine when a window takes place. */
type Recurrence = Pick<WindowSettings, 'startsAt' | 'timezone' | 'localStart' | 'cron' | 'rrule'>;

/** Reports whether a window recurs by a rule. */
export function isRecurring({ cron, rrule }: Pick<Recurrence, 'cron' | 'rrule'>): boolean {
  return cron !== null || rrule !== null;
}

/** Returns the schedule of a window, for `recurrence.ts`. */
export function scheduleOf(window: Recurrence): Schedule {
  const { timezone, localStart, cron, rrule } = window;
  return { startsAtMs: window.startsAt * 1000, timezone, localStart, cron, rrule };
}

/**
 * Creates the occurrences of a window that begin from `fromMs` to 60 days from now, at most `most`, and returns their
 * number. A future one that exists keeps its time, even if a new time zone database moves it. `coverWindow` adds their
 * monitors.
 */
export async function planOccurrences(
  run: Run,
  { id, fromMs, most = MAX_STARTS, ...window }: Recurrence & { id: string; fromMs: number; most?: number },
  nowMs: number,
): Promise<number> {
  const schedule = scheduleOf(window);
  const untilMs = isRecurring(window) ? nowMs + PLANNED_MS : schedule.startsAtMs + 1;
  const listed = listStarts(schedule, { fromMs, toMs: untilMs, most: most + 1 });
  const starts = listed.slice(0, most);
  const more = listStarts(schedule, { fromMs: untilMs, toMs: untilMs + NEVER_MS, most: 1 });
  await run(
    `INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
       all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, retroactive)
     SELECT id, tenant_id, name, s.local_start, s.starts_at, s.starts_at + duration_seconds * 1000::bigint,
       all_monitors, monitor_ids, tags, alerts, sla, settle_seconds,
       int8multirange(int8range(s.starts_at,
         greatest(s.starts_at, least(s.starts_at + duration_seconds * 1000::bigint, $4::bigint))))
     FROM maintenance_windows, unnest($2::text[], $3::bigint[]) AS s (local_start, starts_at)
     WHERE id = $1 AND NOT EXISTS (SELECT FROM maintenance_occurrences o
       WHERE o.window_id = $1 AND o.starts_at > $4 AND o.local_start = s.local_start)
     ON CONFLICT DO NOTHING`,
    [id, starts.map(({ localStart }) => localStart), starts.map(({ startsAtMs }) => startsAtMs), nowMs],
  );
  await run('UPDATE maintenance_windows SET planned_until = $2, has_more = $3 WHERE id = $1', [
    id,
    untilMs,
    more.length > 0 || listed.length > most,
  ]);
  return starts.length;
}

/** Number of windows planned in one transaction. */
export const PLANNED_AT_ONCE = 50;

/** Interval of planning, in milliseconds: once a day suffices 60 days ahead. */
const REPLANNED_MS = DAY_MS;

/**
 * Creates the occurrences of recurring windows up to 60 days from now, for 50 windows; returns the number of windows. A
 * window's creation does not consider rules that begin, or recur more often, after those 60 days: occurrences beyond an
 * account's limit are left out then. The next day continues after the last one that was created.
 */
export async function planWindows(database: Database, nowMs: number): Promise<number> {
  return await inTransaction(database, async (run) => {
    const windows = await run<Recurrence & { id: string; tenantId: string; fromMs: number }>(
      `SELECT id, tenant_id AS "tenantId", starts_at AS "startsAt", timezone, local_start AS "localStart", cron, rrule,
         least(planned_until, greatest($2, (
           SELECT max(o.starts_at) + 1 FROM maintenance_occurrences o WHERE o.window_id = w.id))) AS "fromMs"
       FROM maintenance_windows w WHERE has_more AND planned_until < $1 ORDER BY planned_until LIMIT ${PLANNED_AT_ONCE}
       FOR UPDATE SKIP LOCKED`,
      [nowMs + PLANNED_MS - REPLANNED_MS, nowMs],
    );
    const planned = await countPlanned(
      run,
      windows.map(({ tenantId }) => tenantId),
      nowMs,
    );
    for (const window of windows) {
      const before = planned.get(window.tenantId) ?? 0;
      const most = Math.min(MAX_STARTS, Math.max(0, MAX_OCCURRENCES - before));
      const made = await planOccurrences(run, { ...window, most }, nowMs);
      planned.set(window.tenantId, before + made);
    }
    return windows.length;
  });
}

/** Counts the future occurrences of tenants, by tenant; those without any are absent. */
async function countPlanned(run: Run, tenantIds: readonly string[], nowMs: number): Promise<Map<string, number>> {
  const rows = await run<{ tenantId: string; planned: number }>(
    `SELECT tenant_id AS "tenantId", count(*) AS planned FROM maintenance_occurrences
     WHERE tenant_id = ANY($1::text[]) AND starts_at > $2 GROUP BY tenant_id`,
    [tenantIds, nowMs],
  );
  return new Map(rows.map(({ tenantId, planned }) => [tenantId, planned]));
}

/** An occurrence of a window in lists. */
export type ListedOccurrence = Occurrence & {
  windowId: string;
  windowName: string;
  localStart: string;
  isSkipped: boolean;
  sla: WindowSettings['sla'];
};

/** Lists occurrences of a tenant's windows, or of one, that overlap `[fromMs, toMs)`, the earliest first. */
export async function listOccurrences(
  database: Database,
  span: { tenantId: string; windowId: string | null; fromMs: number; toMs: number; limit: number },
): Promise<ListedOccurrence[]> {
  return await runOn(database.pool)<ListedOccurrence>(
    `SELECT window_id AS "windowId", window_name AS "windowName", local_start AS "localStart",
       starts_at AS "startsAtMs", ends_at AS "endsAtMs", is_skipped AS "isSkipped", sla
     FROM maintenance_occurrences
     WHERE tenant_id = $1 AND ($2::text IS NULL OR window_id = $2) AND starts_at < $4
       AND starts_at > $3::bigint - $6::bigint AND ends_at > $3
     ORDER BY starts_at, no LIMIT $5`,
    [span.tenantId, span.windowId, span.fromMs, span.toMs, span.limit, LONGEST_WITH_EXTENSIONS_MS],
  );
}

/** Maximum duration of an occurrence, including extensions. */
const LONGEST_WITH_EXTENSIONS_MS = 31 * DAY_MS;

/** A delivery that waited, with its new due time. */
export type Released = { deliveryId: string; channelId: string; attempt: number; dueAtMs: number };

/**
 * Ends the occurrences of a window that are in progress, or extends the last of them, including their monitors' times.
 * Returns the alerts that waited.
 */
export async function endOccurrences(
  run: Run,
  { windowId, endsAtMs, nowMs }: { windowId: string; endsAtMs: number; nowMs: number },
): Promise<Released[]> {
  // The occurrences are locked first: only the next statement sees monitors that were added until then.
  const locked = await run<{ no: number; endsAtMs: number }>(
    `SELECT no, ends_at AS "endsAtMs" FROM maintenance_occurrences
     WHERE window_id = $1 AND starts_at <= $2 AND ends_at > $2 AND NOT is_skipped ORDER BY no FOR UPDATE`,
    [windowId, nowMs],
  );
  const current = locked.toSorted((a, b) => a.endsAtMs - b.endsAtMs);
  const moved = await run<{ no: number; settleSeconds: number }>(
    `WITH before AS (
       SELECT no, ends_at FROM maintenance_occurrences WHERE no = ANY($1::bigint[])),
     times AS (
       UPDATE maintenance_times t SET ended_at = greatest(t.started_at, $2::bigint) FROM before b
       WHERE t.occurrence_no = b.no AND (t.ended_at = b.ends_at OR t.ended_at > $2))
     UPDATE maintenance_occurrences o SET ends_at = greatest(o.starts_at, $2::bigint), retroactive = o.retroactive +
       CASE WHEN $2 > b.ends_at THEN int8multirange(int8range(b.ends_at, $2)) ELSE '{}' END
     FROM before b WHERE o.no = b.no
     RETURNING o.no, o.settle_seconds AS "settleSeconds"`,
    [(endsAtMs > nowMs ? current.slice(-1) : current).map(({ no }) => no), endsAtMs],
  );
  await run('UPDATE current_occurrences SET has_ended = $2::bigint <= $3 WHERE occurrence_no = ANY($1::bigint[])', [
    moved.map(({ no }) => no),
    endsAtMs,
    nowMs,
  ]);
  const released: Released[] = [];
  for (const { no, settleSeconds } of moved)
    released.push(...(await release(run, { no, dueAtMs: endsAtMs + settleSeconds * 1000 })));
  return released;
}

/**
 * Moves the alerts that wait for an occurrence to its new end. One that has waited for something else since, such as a
 * snooze, keeps its time.
 */
async function release(run: Run, { no, dueAtMs }: { no: number; dueAtMs: number }): Promise<Released[]> {
  const rows = await run<{ deliveryId: string; channelId: string }>(
    `UPDATE deliveries d SET next_attempt_at = $2 FROM held_deliveries h
     WHERE h.occurrence_no = $1 AND h.reason = 'maintenance' AND d.id = h.delivery_id AND d.outcome = 'pending'
       AND d.attempts = 0 AND d.claimed_until IS NULL
     RETURNING d.id AS "deliveryId", d.channel_id AS "channelId"`,
    [no, dueAtMs],
  );
  return rows.map((row) => ({ ...row, attempt: 1, dueAtMs }));
}

/**
 * Makes alerts due that still wait for an occurrence that has ended, or that their monitor has left. They were written
 * or held again in a transaction that did not see the new end, or their monitor lost its tag. Alerts that are late only
 * because of their rate stay as they are: they do not wait for the end that their message states, nor for that of the
 * occurrence, nor for the one until which they were held again.
 */
export async function releaseUncovered(run: Run, nowMs: number): Promise<Released[]> {
  return await run<Released>(
    `WITH uncovered AS MATERIALIZED (
       SELECT d.id, greatest(e.ended_at + o.settle_seconds * 1000, $1::bigint) AS due_at
       FROM current_occurrences c JOIN maintenance_occurrences o ON o.no = c.occurrence_no
         JOIN held_deliveries h ON h.occurrence_no = o.no AND h.reason = 'maintenance'
         JOIN deliveries d ON d.id = h.delivery_id, LATERAL (
           SELECT coalesce(max(t.ended_at), $1) AS ended_at FROM monitors m
             JOIN maintenance_times t ON t.monitor_no = m.no AND t.occurrence_no = o.no
           WHERE m.id = d.monitor_id) e
       WHERE d.outcome = 'pending' AND d.attempts = 0 AND d.claimed_until IS NULL
         AND (coalesce((d.message #>> '{detail,maintenance,ends_at}')::bigint > e.ended_at / 1000, true)
           OR h.held_by = d.next_attempt_at::text
           OR (e.ended_at < o.ends_at AND d.next_attempt_at >= o.ends_at + o.settle_seconds * 1000))
         AND d.next_attempt_at > greatest(e.ended_at + o.settle_seconds * 1000, $1)
       ORDER BY d.no FOR NO KEY UPDATE OF d SKIP LOCKED
     )
     UPDATE deliveries d SET next_attempt_at = u.due_at FROM uncovered u WHERE d.id = u.id
     RETURNING d.id AS "deliveryId", d.channel_id AS "channelId", 1 AS attempt, u.due_at AS "dueAtMs"`,
    [nowMs],
  );
}

/** Number of occurrences that one statement deletes: each has up to all monitors of its account. */
const DELETED_AT_ONCE = 10;

/**
 * Deletes occurrences that ended before a time, in chunks while `mayGoOn` returns true. Also deletes windows that have
 * been over since another time. Returns the number of occurrences.
 */
export async function deleteOldMaintenance(
  database: Pick<Database, 'pool'>,
  { occurrencesBeforeMs, windowsBeforeMs }: { occurrencesBeforeMs: number; windowsBeforeMs: number },
  mayGoOn: () => boolean = () => true,
): Promise<number> {
  const run = runOn(database.pool);
  let deleted = 0;
  for (let last = DELETED_AT_ONCE; last === DELETED_AT_ONCE && mayGoOn(); deleted += last) {
    const gone = await run(
      `DELETE FROM maintenance_occurrences WHERE no IN (
         SELECT no FROM maintenance_occurrences WHERE ends_at < $1 LIMIT ${DELETED_AT_ONCE})
       RETURNING no`,
      [occurrencesBeforeMs],
    );
    last = gone.length;
  }
  await run(
    `DELETE FROM maintenance_windows w WHERE NOT w.has_more AND w.updated_at < $1::bigint / 1000
       AND NOT EXISTS (SELECT FROM maintenance_occurrences o WHERE o.window_id = w.id AND o.ends_at > $1)`,
    [windowsBeforeMs],
  );
  return deleted;
}
