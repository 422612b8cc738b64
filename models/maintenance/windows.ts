import type { FieldChanges } from '../../core/accounts/field-changes.ts';
import { goneWith, madeWith } from '../../core/accounts/field-changes.ts';
import { MOST_WINDOWS, type MaintenanceWindow, type Occurrence } from '../../core/maintenance/window.ts';
import { recordChange, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { coverOccurrences } from './maintenance-times.ts';

type Key = { tenantId: string; id: string };

/** A window with its occurrence. */
export type PlannedWindow = { window: MaintenanceWindow; occurrence: Occurrence };

/** What a change of an occurrence means for alerts that wait: those of these channels are due from a moment on. */
export type Released = { channelIds: string[]; dueAtMs: number };

/** Says that a tenant has `MOST_WINDOWS` that have not ended. */
export class TooManyWindows extends Error {}

const COLUMNS = `w.id, w.tenant_id AS "tenantId", w.key, w.name, w.description, w.all_monitors AS "allMonitors",
  w.monitor_ids AS "monitorIds", w.tags, w.local_start AS "localStart", w.timezone, w.starts_at AS "startsAt",
  w.duration_seconds AS "durationSeconds", w.alerts, w.sla, w.settle_seconds AS "settleSeconds",
  w.created_at AS "createdAt", w.updated_at AS "updatedAt", o.no AS "occurrenceNo", o.starts_at AS "startsAtMs",
  o.ends_at AS "endsAtMs"`;
const JOINED = 'maintenance_windows w JOIN maintenance_occurrences o ON o.window_id = w.id';

type Row = MaintenanceWindow & { occurrenceNo: number; startsAtMs: number; endsAtMs: number };

/**
 * Stores a window with its occurrence, and covers its monitors where it begins soon. Of `monitorIds` only the tenant's
 * own monitors are kept. With a key that the tenant has used already nothing is stored, and that window is returned.
 * Throws `TooManyWindows`.
 */
export async function createWindow(
  database: Database,
  { author, nowMs, ...window }: MaintenanceWindow & Authored & { nowMs: number },
): Promise<PlannedWindow & { isNew: boolean }> {
  const { id, tenantId, key } = window;
  return await inTransaction(database, async (run) => {
    await run('SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    const [before] =
      key === null ? [] : await run<Row>(`SELECT ${COLUMNS} FROM ${JOINED} WHERE w.tenant_id = $1 AND w.key = $2`, [tenantId, key]);
    if (before !== undefined) return { ...plannedOf(before), isNew: false };
    const [{ count } = { count: 0 }] = await run<{ count: number }>(
      'SELECT count(*) FROM maintenance_occurrences WHERE tenant_id = $1 AND ends_at > $2',
      [tenantId, nowMs],
    );
    if (count >= MOST_WINDOWS) throw new TooManyWindows();
    await insertWindow(run, window, nowMs);
    const planned = await readWindow(run, { tenantId, id });
    if (planned === null) throw new Error('The window was not stored');
    await coverOccurrences(run, { nowMs, occurrenceNo: planned.occurrence.no });
    await recordChange(run, author, { tenantId, object: objectOf(planned.window), changes: madeWith(fieldsOf(planned)) });
    return { ...planned, isNew: true };
  });
}

async function insertWindow(run: Run, window: MaintenanceWindow, nowMs: number): Promise<void> {
  const { id, tenantId } = window;
  await run(
    `INSERT INTO maintenance_windows (id, tenant_id, key, name, description, all_monitors, monitor_ids, tags,
       local_start, timezone, starts_at, duration_seconds, alerts, sla, settle_seconds, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6,
       ARRAY(SELECT m.id FROM monitors m WHERE m.tenant_id = $2 AND m.id = ANY($7::text[]) ORDER BY m.id COLLATE "C"),
       $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)`,
    [
      id,
      tenantId,
      window.key,
      window.name,
      window.description,
      window.allMonitors,
      window.monitorIds,
      window.tags,
      window.localStart,
      window.timezone,
      window.startsAt,
      window.durationSeconds,
      window.alerts,
      window.sla,
      window.settleSeconds,
      window.createdAt,
    ],
  );
  const startsAtMs = window.startsAt * 1000;
  const endsAtMs = startsAtMs + window.durationSeconds * 1000;
  await run(
    `INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
       all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, retroactive)
     SELECT id, tenant_id, name, coalesce(local_start, starts_at::text), $2, $3, all_monitors, monitor_ids, tags, alerts,
       sla, settle_seconds, int8multirange(int8range($2::bigint, greatest($2, least($3, $4::bigint))))
     FROM maintenance_windows WHERE id = $1`,
    [id, startsAtMs, endsAtMs, nowMs],
  );
}

/** One window of a tenant; null when the tenant has no such window. */
export async function findWindow(database: Database, key: Key): Promise<PlannedWindow | null> {
  return await readWindow(runOn(database.pool), key);
}

async function readWindow(run: Run, { tenantId, id }: Key): Promise<PlannedWindow | null> {
  const [row] = await run<Row>(`SELECT ${COLUMNS} FROM ${JOINED} WHERE w.tenant_id = $1 AND w.id = $2`, [tenantId, id]);
  return row === undefined ? null : plannedOf(row);
}

/** A tenant's windows by creation, then id; `after` is the last one of the page before. */
export async function listWindows(
  database: Database,
  { tenantId, after, limit }: { tenantId: string; after?: { createdAt: number; id: string }; limit: number },
): Promise<PlannedWindow[]> {
  const rows = await runOn(database.pool)<Row>(
    `SELECT ${COLUMNS} FROM ${JOINED}
     WHERE w.tenant_id = $1 AND ($2::bigint IS NULL OR (w.created_at, w.id) > ($2, $3::text))
     ORDER BY w.created_at, w.id LIMIT $4`,
    [tenantId, after?.createdAt ?? null, after?.id ?? null, limit],
  );
  return rows.map(plannedOf);
}

/**
 * Moves the end of a window that has not ended; null when the tenant has none, `false` where it has ended. What is
 * added after it began is retroactive. Alerts that wait are due at the new end.
 */
export async function moveEnd(
  database: Database,
  { author, tenantId, id }: Key & Authored,
  { endOf, nowMs }: { endOf: (occurrence: Occurrence) => number; nowMs: number },
): Promise<(PlannedWindow & { released: Released }) | false | null> {
  return await inTransaction(database, async (run) => {
    const planned = await lockWindow(run, { tenantId, id });
    if (planned === null) return null;
    const { occurrence } = planned;
    if (occurrence.endsAtMs <= nowMs) return false;
    const endsAtMs = endOf(occurrence);
    await run(
      `UPDATE maintenance_occurrences SET ends_at = greatest(starts_at, $2::bigint), retroactive = retroactive +
         CASE WHEN starts_at <= $3 AND $2 > ends_at THEN int8multirange(int8range(ends_at, $2)) ELSE '{}' END
       WHERE no = $1`,
      [occurrence.no, endsAtMs, nowMs],
    );
    await run(
      `UPDATE maintenance_times SET ended_at = greatest(started_at, $2::bigint)
       WHERE occurrence_no = $1 AND (ended_at = $3 OR ended_at > $2)`,
      [occurrence.no, endsAtMs, occurrence.endsAtMs],
    );
    await run(
      `UPDATE maintenance_windows w SET duration_seconds = greatest(1, (o.ends_at - o.starts_at) / 1000), updated_at = $2
       FROM maintenance_occurrences o WHERE o.no = $1 AND w.id = o.window_id`,
      [occurrence.no, Math.floor(nowMs / 1000)],
    );
    const released = await release(run, occurrence, endsAtMs);
    const moved = await readWindow(run, { tenantId, id });
    if (moved === null) throw new Error('The window is gone');
    await recordChange(run, author, { tenantId, object: objectOf(moved.window), changes: endChanges(planned, moved, nowMs) });
    return { ...moved, released };
  });
}

/**
 * Deletes a window: one that is in progress ends now, and what has been stays in the accounts. Null when the tenant has
 * none.
 */
export async function deleteWindow(
  database: Database,
  { author, tenantId, id }: Key & Authored,
  nowMs: number,
): Promise<Released | null> {
  return await inTransaction(database, async (run) => {
    const planned = await lockWindow(run, { tenantId, id });
    if (planned === null) return null;
    const { occurrence, window } = planned;
    if (occurrence.startsAtMs > nowMs) await run('DELETE FROM maintenance_occurrences WHERE no = $1', [occurrence.no]);
    else {
      await run('UPDATE maintenance_occurrences SET ends_at = least(ends_at, $2) WHERE no = $1', [occurrence.no, nowMs]);
      await run('UPDATE maintenance_times SET ended_at = greatest(started_at, least(ended_at, $2)) WHERE occurrence_no = $1', [
        occurrence.no,
        nowMs,
      ]);
    }
    await run('DELETE FROM maintenance_windows WHERE id = $1', [id]);
    await recordChange(run, author, { tenantId, object: objectOf(window), changes: goneWith(fieldsOf(planned)) });
    return await release(run, { ...occurrence, settleSeconds: 0 }, Math.min(occurrence.endsAtMs, nowMs));
  });
}

async function lockWindow(run: Run, key: Key): Promise<PlannedWindow | null> {
  await run('SELECT FROM maintenance_windows WHERE id = $1 AND tenant_id = $2 FOR UPDATE', [key.id, key.tenantId]);
  return await readWindow(run, key);
}

/** Makes the alerts that wait for an occurrence due at another end of it. */
async function release(run: Run, { no, settleSeconds }: Occurrence, endsAtMs: number): Promise<Released> {
  const dueAtMs = endsAtMs + settleSeconds * 1000;
  const rows = await run<{ channelId: string }>(
    `UPDATE deliveries d SET next_attempt_at = $2 FROM held_deliveries h
     WHERE h.occurrence_no = $1 AND d.id = h.delivery_id AND d.outcome = 'pending' AND d.attempts = 0
       AND d.claimed_until IS NULL
     RETURNING d.channel_id AS "channelId"`,
    [no, dueAtMs],
  );
  return { channelIds: [...new Set(rows.map(({ channelId }) => channelId))], dueAtMs };
}

/** Deletes occurrences that ended before a moment, and windows without any; returns how many occurrences. */
export async function deleteOldMaintenance(database: Pick<Database, 'pool'>, beforeMs: number): Promise<number> {
  const run = runOn(database.pool);
  const gone = await run('DELETE FROM maintenance_occurrences WHERE ends_at < $1 RETURNING no', [beforeMs]);
  await run(
    'DELETE FROM maintenance_windows w WHERE NOT EXISTS (SELECT FROM maintenance_occurrences o WHERE o.window_id = w.id)',
  );
  return gone.length;
}

function plannedOf({ occurrenceNo: no, startsAtMs, endsAtMs, ...window }: Row): PlannedWindow {
  const { id: windowId, settleSeconds } = window;
  return { window, occurrence: { no, windowId, startsAtMs, endsAtMs, settleSeconds } };
}

function objectOf({ id, name }: MaintenanceWindow): { kind: 'maintenance'; id: string; name: string } {
  return { kind: 'maintenance', id, name };
}

function fieldsOf({ window, occurrence: { startsAtMs, endsAtMs } }: PlannedWindow) {
  return {
    name: window.name,
    description: window.description,
    all_monitors: window.allMonitors,
    monitor_ids: window.monitorIds,
    tags: window.tags,
    starts_at: startsAtMs / 1000,
    ends_at: Math.floor(endsAtMs / 1000),
    timezone: window.timezone,
    alerts: window.alerts,
    sla: window.sla,
    settle_seconds: window.settleSeconds,
    // What of it is entered after the fact: nobody shall tidy a bad month without a trace.
    retroactive_seconds: Math.max(0, Math.min(Math.floor(endsAtMs / 1000), window.createdAt) - startsAtMs / 1000),
  };
}

function endChanges(before: PlannedWindow, after: PlannedWindow, nowMs: number): FieldChanges {
  const isBegun = before.occurrence.startsAtMs <= nowMs;
  const [old, moved] = [before, after].map(({ occurrence }) => Math.floor(occurrence.endsAtMs / 1000));
  if (old === undefined || moved === undefined || old === moved) return {};
  // What is added once it has begun is retroactive.
  return { ends_at: [old, moved], ...(moved > old && isBegun && { retroactive_seconds: [0, moved - old] }) };
}
