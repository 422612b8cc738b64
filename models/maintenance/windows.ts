import { compareFields, goneWith, madeWith } from '../../core/accounts/audit-entry.ts';
import {
  MAX_COVERED,
  MAX_KEPT_WINDOWS,
  MAX_OCCURRENCES,
  MAX_TIMES_ALL,
  MAX_WINDOWS,
  type MaintenanceWindow,
  type Occurrence,
  type WindowSettings,
} from '../../core/maintenance/window.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import { notifyChange } from '../changes.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { coverWindow } from './maintenance-times.ts';
import { endOccurrences, isRecurring, planOccurrences, type Released } from './occurrences.ts';
import { JUST_NOW_MS } from './recurrence.ts';

/** Thrown if a tenant has reached the limit of windows or planned occurrences. */
export class TooManyWindows extends Error {}

/** Thrown if none of the monitors that a window names belongs to its account. */
export class UnknownMonitors extends Error {}

/** Thrown if a window's state does not allow the request; the message is for the customer. */
export class WindowConflict extends Error {}

const SETTINGS = `w.id, w.tenant_id AS "tenantId", w.key, w.name, w.description, w.all_monitors AS "allMonitors",
  w.monitor_ids AS "monitorIds", w.tags, w.local_start AS "localStart", w.timezone, w.starts_at AS "startsAt",
  w.duration_seconds AS "durationSeconds", w.cron, w.rrule, w.alerts, w.sla, w.settle_seconds AS "settleSeconds",
  w.has_more AS "hasMore", w.created_at AS "createdAt", w.updated_at AS "updatedAt"`;

/** SQL: a window with its current and next occurrence, as of `$1`. */
const SELECT = `SELECT ${SETTINGS}, current.occurrence AS current, next.occurrence AS next
  FROM maintenance_windows w
  LEFT JOIN LATERAL (
    SELECT json_build_object('startsAtMs', o.starts_at, 'endsAtMs', o.ends_at) AS occurrence
    FROM maintenance_occurrences o
    WHERE o.window_id = w.id AND o.starts_at <= $1::bigint AND o.ends_at > $1::bigint AND NOT o.is_skipped
    ORDER BY o.ends_at DESC LIMIT 1) current ON true
  LEFT JOIN LATERAL (
    SELECT json_build_object('startsAtMs', o.starts_at, 'endsAtMs', o.ends_at) AS occurrence
    FROM maintenance_occurrences o WHERE o.window_id = w.id AND o.starts_at > $1::bigint AND NOT o.is_skipped
    ORDER BY o.starts_at LIMIT 1) next ON true`;

/** The stored fields of a new window. */
type NewWindow = Omit<MaintenanceWindow, 'hasMore' | 'current' | 'next' | 'updatedAt'>;

/**
 * Stores a window with its occurrences, and covers its monitors if it begins soon. Of `monitorIds` only the tenant's
 * own monitors are kept. If the tenant has used the key already, stores nothing and returns that window. Throws
 * `TooManyWindows`, and `UnknownMonitors` if no monitor is left.
 */
export async function createWindow(
  database: Database,
  { author, nowMs, ...window }: NewWindow & Authored & { nowMs: number },
): Promise<{ window: MaintenanceWindow; isNew: boolean }> {
  const { id, tenantId, key } = window;
  return await inTransaction(database, async (run) => {
    await run('SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    const before = key === null ? null : await selectWindow(run, { tenantId, key }, nowMs);
    if (before !== null) return { window: before, isNew: false };
    await run(
      `INSERT INTO maintenance_windows (id, tenant_id, key, name, description, all_monitors, monitor_ids, tags,
         local_start, timezone, starts_at, duration_seconds, cron, rrule, alerts, sla, settle_seconds, planned_until,
         has_more, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, ${OWN_MONITORS}, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0, false, $18,
         $18)`,
      [id, tenantId, key, ...valuesOf(window), window.createdAt],
    );
    await planOccurrences(run, { ...window, fromMs: firstMs(window, nowMs) }, nowMs);
    const { added } = await coverWindow(run, id, nowMs);
    await requireRoom(run, { tenantId, added }, nowMs);
    const stored = await readStored(run, { tenantId, id }, nowMs);
    requireMonitors(stored);
    await insertAuditEntry(run, author, {
      tenantId,
      object: objectOf(stored),
      changes: madeWith({ ...fieldsOf(stored), ...retroactiveOf(stored) }),
    });
    return { window: stored, isNew: true };
  });
}

/** SQL: those of the monitors in `$7` that belong to the tenant `$2`. */
const OWN_MONITORS = `ARRAY(SELECT m.id FROM monitors m WHERE m.tenant_id = $2 AND m.id = ANY($7::text[])
         ORDER BY m.id COLLATE "C")`;

function valuesOf(window: WindowSettings): unknown[] {
  return [
    window.name,
    window.description,
    window.allMonitors,
    window.monitorIds,
    window.tags,
    window.localStart,
    window.timezone,
    window.startsAt,
    window.durationSeconds,
    window.cron,
    window.rrule,
    window.alerts,
    window.sla,
    window.settleSeconds,
  ];
}

/** Returns the first time for which a new window is planned: a rule has no past occurrences. */
export function firstMs(window: WindowSettings, nowMs: number): number {
  const startMs = window.startsAt * 1000;
  return isRecurring(window) && startMs < nowMs - JUST_NOW_MS ? nowMs : startMs;
}

/** Throws `UnknownMonitors` if a window can never cover a monitor. */
function requireMonitors({ allMonitors, monitorIds, tags }: WindowSettings): void {
  if (allMonitors || monitorIds.length > 0 || tags.length > 0) return;
  throw new UnknownMonitors(
    'monitor_ids must name a monitor of the account, and none of these ids is one: list its monitors, or choose them ' +
      'by tags or all_monitors',
  );
}

/**
 * Throws `TooManyWindows` if a change has exceeded a limit; `added` is the number of monitors that it has put into
 * maintenance, or soon will.
 */
async function requireRoom(
  run: Run,
  { tenantId, added }: { tenantId: string; added: number },
  nowMs: number,
): Promise<void> {
  const [counted] = await run<{ windows: number; open: number; planned: number; covered: number; monitors: number }>(
    `SELECT count(*) AS windows, count(*) FILTER (WHERE w.has_more OR EXISTS (
         SELECT FROM maintenance_occurrences o WHERE o.window_id = w.id AND o.ends_at > $2)) AS open,
       (SELECT count(*) FROM maintenance_occurrences WHERE tenant_id = $1 AND starts_at > $2) AS planned,
       (SELECT count(*) FROM current_occurrences c JOIN current_times t ON t.occurrence_no = c.occurrence_no
        WHERE c.tenant_id = $1) AS covered,
       (SELECT count(*) FROM monitors WHERE tenant_id = $1) AS monitors
     FROM maintenance_windows w WHERE w.tenant_id = $1`,
    [tenantId, nowMs],
  );
  const { windows = 0, open = 0, planned = 0, covered = 0, monitors = 0 } = counted ?? {};
  if (open > MAX_WINDOWS)
    throw new TooManyWindows(
      `an account can have at most ${MAX_WINDOWS} maintenance windows that are not over, and this one has reached ` +
        'the limit: delete one first',
    );
  if (windows > MAX_KEPT_WINDOWS)
    throw new TooManyWindows(
      `an account keeps at most ${MAX_KEPT_WINDOWS} maintenance windows, those that are over included, and this one ` +
        'has reached the limit: delete some first',
    );
  const mostCovered = Math.max(MAX_COVERED, MAX_TIMES_ALL * monitors);
  if (added > 0 && covered > mostCovered)
    throw new TooManyWindows(
      'maintenance windows that are in progress, begin soon or ended within the hour can cover at most ' +
        `${mostCovered} monitors of this account, counted once for each window, and with this one it would be more: ` +
        'cover them by fewer windows, or wait until others have been over for an hour',
    );
  if (planned > MAX_OCCURRENCES)
    throw new TooManyWindows(
      `an account's maintenance windows can take place at most ${MAX_OCCURRENCES} times in 60 days, and with ` +
        'this one they would more often: choose a rule that recurs less often',
    );
}

/** Finds a window of a tenant; null if there is none. */
export async function findWindow(database: Database, key: RowKey, nowMs: number): Promise<MaintenanceWindow | null> {
  return await selectWindow(runOn(database.pool), key, nowMs);
}

async function selectWindow(
  run: Run,
  { tenantId, ...one }: { tenantId: string } & ({ id: string } | { key: string }),
  nowMs: number,
): Promise<MaintenanceWindow | null> {
  const [column, value] = 'id' in one ? ['id', one.id] : ['key', one.key];
  const [window] = await run<MaintenanceWindow>(`${SELECT} WHERE w.tenant_id = $2 AND w.${column} = $3`, [
    nowMs,
    tenantId,
    value,
  ]);
  return window ?? null;
}

async function readStored(run: Run, key: RowKey, nowMs: number): Promise<MaintenanceWindow> {
  const window = await selectWindow(run, key, nowMs);
  if (window === null) throw new Error(`Maintenance window ${key.id} is gone in the middle of its own transaction`);
  return window;
}

/** Returns those of `ids` that are windows of the tenant, in no order. */
export async function listWindowsById(
  database: Database,
  { tenantId, ids }: { tenantId: string; ids: readonly string[] },
  nowMs: number,
): Promise<MaintenanceWindow[]> {
  return await runOn(database.pool)<MaintenanceWindow>(`${SELECT} WHERE w.tenant_id = $2 AND w.id = ANY($3::text[])`, [
    nowMs,
    tenantId,
    ids,
  ]);
}

/** Lists a tenant's windows by creation, then id; `after` is the last one of the previous page. */
export async function listWindows(
  database: Database,
  query: {
    tenantId: string;
    /** Only the window with this key; null = all. */
    key: string | null;
    after?: { createdAt: number; id: string };
    limit: number;
    nowMs: number;
  },
): Promise<MaintenanceWindow[]> {
  return await runOn(database.pool)<MaintenanceWindow>(
    `${SELECT} WHERE w.tenant_id = $2 AND ($3::bigint IS NULL OR (w.created_at, w.id) > ($3, $4::text))
       AND ($6::text IS NULL OR w.key = $6)
     ORDER BY w.created_at, w.id LIMIT $5`,
    [query.nowMs, query.tenantId, query.after?.createdAt ?? null, query.after?.id ?? null, query.limit, query.key],
  );
}

/**
 * Changes a window; null if the tenant has none with this id. Occurrences that have begun are kept, and future ones are
 * planned anew; a skipped one remains skipped if it still begins then. Throws `WindowConflict` if it is a one-time
 * window that has begun, and its time is to change; `TooManyWindows`; and `UnknownMonitors` if no monitor would be
 * left.
 */
export async function updateWindow(
  database: Database,
  { author, tenantId, id }: RowKey & Authored,
  { read, nowMs }: { read: (current: MaintenanceWindow) => WindowSettings; nowMs: number },
): Promise<MaintenanceWindow | null> {
  return await inTransaction(database, async (run) => {
    await run('SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    const current = await lockWindow(run, { tenantId, id }, nowMs);
    if (current === null) return null;
    const settings = read(current);
    const hasBegun = !isRecurring(current) && current.startsAt * 1000 <= nowMs;
    const isMoved = JSON.stringify(timesOf(settings)) !== JSON.stringify(timesOf(current));
    if (hasBegun && isMoved)
      throw new WindowConflict(
        `maintenance window ${id} has begun, so that its times stay: end or extend it, or create another`,
      );
    await run(
      `UPDATE maintenance_windows SET updated_at = $3, name = $4, description = $5, all_monitors = $6,
         monitor_ids = ${OWN_MONITORS}, tags = $8, local_start = $9, timezone = $10, starts_at = $11,
         duration_seconds = $12, cron = $13, rrule = $14, alerts = $15, sla = $16, settle_seconds = $17
       WHERE id = $1 AND tenant_id = $2`,
      [id, tenantId, toUnixSeconds(nowMs), ...valuesOf(settings)],
    );
    await lockOccurrences(run, id, nowMs);
    const replaced = await run<{ startsAtMs: number; isSkipped: boolean }>(
      `DELETE FROM maintenance_occurrences WHERE window_id = $1 AND starts_at > $2
       RETURNING starts_at AS "startsAtMs", is_skipped AS "isSkipped"`,
      [id, nowMs],
    );
    const fromMs = isRecurring(settings) ? nowMs : settings.startsAt * 1000;
    if (!hasBegun) await planOccurrences(run, { ...settings, id, fromMs }, nowMs);
    await run(
      'UPDATE maintenance_occurrences SET is_skipped = true WHERE window_id = $1 AND starts_at = ANY($2::bigint[])',
      [id, replaced.filter(({ isSkipped }) => isSkipped).map(({ startsAtMs }) => startsAtMs)],
    );
    const { added } = await coverWindow(run, id, nowMs);
    if (isMoved || added > 0) await requireRoom(run, { tenantId, added }, nowMs);
    const changed = await readStored(run, { tenantId, id }, nowMs);
    // A deleted monitor is no reason to refuse another change.
    if (JSON.stringify(monitorsOf(settings)) !== JSON.stringify(monitorsOf(current))) requireMonitors(changed);
    await insertAuditEntry(run, author, {
      tenantId,
      object: objectOf(changed),
      changes: compareFields(
        { fields: fieldsOf(current) },
        { fields: { ...fieldsOf(changed), ...(isMoved && retroactiveOf(changed)) } },
      ),
    });
    return changed;
  });
}

function monitorsOf({ allMonitors, monitorIds, tags }: WindowSettings): unknown[] {
  return [allMonitors, monitorIds, tags];
}

function timesOf({ timezone, startsAt, durationSeconds, cron, rrule }: WindowSettings): unknown[] {
  return [timezone, startsAt, durationSeconds, cron, rrule];
}

/**
 * Moves the end of the current occurrence; null if the tenant has no such window. Time added after it began is
 * retroactive. Waiting alerts become due at the new end. Throws `WindowConflict` if none is in progress.
 */
export async function moveEnd(
  database: Database,
  { author, tenantId, id }: RowKey & Authored,
  { endOf, nowMs }: { endOf: (occurrence: Occurrence) => number; nowMs: number },
): Promise<{ window: MaintenanceWindow; released: Released[] } | null> {
  return await inTransaction(database, async (run) => {
    const window = await lockWindow(run, { tenantId, id }, nowMs);
    if (window === null) return null;
    if (window.current === null)
      throw new WindowConflict(`maintenance window ${id} is not in progress, so that it has no end to move`);
    const endsAtMs = endOf(window.current);
    const released = await endOccurrences(run, { windowId: id, endsAtMs, nowMs });
    await run('UPDATE maintenance_windows SET updated_at = $2 WHERE id = $1', [id, toUnixSeconds(nowMs)]);
    await notifyChange(run, { tenantId, kind: 'maintenance', id });
    const [before, after] = [window.current.endsAtMs, endsAtMs].map((ms) => Math.floor(ms / 1000));
    const moved = await readStored(run, { tenantId, id }, nowMs);
    await insertAuditEntry(run, author, {
      tenantId,
      object: objectOf(moved),
      changes: {
        ends_at: [before, after],
        ...(endsAtMs > window.current.endsAtMs && {
          retroactive_seconds: [0, Math.floor((endsAtMs - window.current.endsAtMs) / 1000)],
        }),
      },
    });
    return { window: moved, released };
  });
}

/**
 * Skips the occurrence that begins at a given time, or the next one; null if the tenant has no such window. Skipping it
 * again changes nothing. Throws `WindowConflict` if there is none in the future.
 */
export async function skipOccurrence(
  database: Database,
  { author, tenantId, id }: RowKey & Authored,
  { startsAt, nowMs }: { startsAt: number | null; nowMs: number },
): Promise<MaintenanceWindow | null> {
  return await inTransaction(database, async (run) => {
    const window = await lockWindow(run, { tenantId, id }, nowMs);
    if (window === null) return null;
    const startsAtMs = startsAt === null ? window.next?.startsAtMs : startsAt * 1000;
    const [occurrence] = await run<{ no: number; isSkipped: boolean }>(
      `SELECT no, is_skipped AS "isSkipped" FROM maintenance_occurrences
       WHERE window_id = $1 AND starts_at = $2 AND starts_at > $3`,
      [id, startsAtMs ?? null, nowMs],
    );
    if (occurrence === undefined)
      throw new WindowConflict(
        startsAt === null
          ? `maintenance window ${id} has no occurrence to come that could be skipped`
          : `maintenance window ${id} has no occurrence to come that begins at ${startsAt}: ` +
              'its list of occurrences says when they do',
      );
    if (occurrence.isSkipped) return window;
    await run('UPDATE maintenance_occurrences SET is_skipped = true WHERE no = $1', [occurrence.no]);
    await run('DELETE FROM maintenance_times WHERE occurrence_no = $1', [occurrence.no]);
    await run('DELETE FROM current_occurrences WHERE occurrence_no = $1', [occurrence.no]);
    await notifyChange(run, { tenantId, kind: 'maintenance', id });
    await insertAuditEntry(run, author, {
      tenantId,
      object: objectOf(window),
      changes: { skipped: [null, Math.floor((startsAtMs ?? 0) / 1000)] },
    });
    return await readStored(run, { tenantId, id }, nowMs);
  });
}

/**
 * Deletes a window: current occurrences end now, and past ones remain in the statistics. Returns the alerts that waited
 * for it; null if the tenant has no such window.
 */
export async function deleteWindow(
  database: Database,
  { author, tenantId, id }: RowKey & Authored,
  nowMs: number,
): Promise<Released[] | null> {
  return await inTransaction(database, async (run) => {
    const window = await lockWindow(run, { tenantId, id }, nowMs);
    if (window === null) return null;
    await lockOccurrences(run, id, nowMs);
    const released = await endOccurrences(run, { windowId: id, endsAtMs: nowMs, nowMs });
    await run('DELETE FROM maintenance_occurrences WHERE window_id = $1 AND starts_at > $2', [id, nowMs]);
    await run('DELETE FROM maintenance_windows WHERE id = $1', [id]);
    await insertAuditEntry(run, author, { tenantId, object: objectOf(window), changes: goneWith(fieldsOf(window)) });
    return released;
  });
}

async function lockWindow(run: Run, key: RowKey, nowMs: number): Promise<MaintenanceWindow | null> {
  await run('SELECT FROM maintenance_windows WHERE id = $1 AND tenant_id = $2 FOR UPDATE', [key.id, key.tenantId]);
  return await selectWindow(run, key, nowMs);
}

/** Locks the occurrences of a window that are not over, or are yet to be covered, in the same order as the chore. */
async function lockOccurrences(run: Run, windowId: string, nowMs: number): Promise<void> {
  await run(
    `SELECT FROM maintenance_occurrences
     WHERE window_id = $1 AND (ends_at > $2 OR (covered_at IS NULL AND NOT is_skipped)) ORDER BY no FOR UPDATE`,
    [windowId, nowMs],
  );
}

function objectOf({ id, name }: MaintenanceWindow): { kind: 'maintenance'; id: string; name: string } {
  return { kind: 'maintenance', id, name };
}

function fieldsOf(window: MaintenanceWindow) {
  return {
    name: window.name,
    description: window.description,
    all_monitors: window.allMonitors,
    monitor_ids: window.monitorIds,
    tags: window.tags,
    starts_at: window.startsAt,
    timezone: window.timezone,
    duration_seconds: window.durationSeconds,
    cron: window.cron,
    rrule: window.rrule,
    alerts: window.alerts,
    sla: window.sla,
    settle_seconds: window.settleSeconds,
  };
}

/**
 * Returns the part of a one-time window that was entered after the fact, so that the audit log shows such additions.
 */
function retroactiveOf(window: MaintenanceWindow): { retroactive_seconds?: number } {
  if (isRecurring(window)) return {};
  const end = Math.min(window.startsAt + window.durationSeconds, window.updatedAt);
  return end > window.startsAt ? { retroactive_seconds: end - window.startsAt } : {};
}
