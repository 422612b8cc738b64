import type { Author } from '../../core/accounts/audit-entry.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { moveHeld } from './held-deliveries.ts';

/** End of the time that alerts wait, in Unix milliseconds; null = they no longer wait. */
type Waiting = { untilMs: number | null; nowMs: number };

/** The attempts that are due at another time now, to be enqueued. */
export type MovedAttempts = Awaited<ReturnType<typeof moveHeld>>;

/**
 * Mutes a monitor, or changes or ends its mute; waiting alerts become due then. Null if the tenant has no such monitor.
 */
export async function muteMonitor(
  database: Database,
  { author, ...key }: RowKey & Authored,
  { untilMs, nowMs }: Waiting,
): Promise<MovedAttempts | null> {
  return await inTransaction(database, async (run) => {
    const [monitor] = await run<{ name: string; untilMs: number | null }>(
      `SELECT m.name, u.muted_until AS "untilMs" FROM monitors m LEFT JOIN monitor_mutes u ON u.id = m.id
       WHERE m.id = $1 AND m.tenant_id = $2 FOR NO KEY UPDATE OF m`,
      [key.id, key.tenantId],
    );
    if (monitor === undefined) return null;
    await writeMute(run, key, untilMs);
    await recordWaiting(run, author, {
      object: { kind: 'monitor', id: key.id, name: monitor.name },
      tenantId: key.tenantId,
      field: 'muted_until',
      before: monitor.untilMs !== null && monitor.untilMs > nowMs ? monitor.untilMs : null,
      after: untilMs,
    });
    return await moveHeld(run, {
      monitorId: key.id,
      reasons: ['mute'],
      reason: 'mute',
      dueAtMs: untilMs ?? nowMs,
    });
  });
}

async function writeMute(run: Run, { id, tenantId }: RowKey, untilMs: number | null): Promise<void> {
  if (untilMs === null) await run('DELETE FROM monitor_mutes WHERE id = $1', [id]);
  else
    await run(
      `INSERT INTO monitor_mutes (id, tenant_id, muted_until) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET muted_until = $3`,
      [id, tenantId, untilMs],
    );
}

/**
 * Moves alerts that were held again by a mute to its present end, if it ends earlier or is over. They were held in a
 * transaction that did not see that end. Alerts that are late only because of their rate (D-320) stay as they are.
 */
export async function releaseUnmuted(run: Run, nowMs: number): Promise<MovedAttempts> {
  return await run(
    `WITH unmuted AS MATERIALIZED (
       SELECT d.id, greatest(u.muted_until, $1::bigint) AS due_at
       FROM deliveries d JOIN held_deliveries h ON h.delivery_id = d.id LEFT JOIN monitor_mutes u ON u.id = d.monitor_id
       WHERE h.reason = 'mute' AND h.held_by = d.next_attempt_at::text AND d.next_attempt_at > $1
         AND coalesce(u.muted_until, 0) < d.next_attempt_at
         AND d.outcome = 'pending' AND d.attempts = 0 AND d.claimed_until IS NULL
       ORDER BY d.no FOR NO KEY UPDATE OF d SKIP LOCKED
     )
     UPDATE deliveries d SET next_attempt_at = u.due_at FROM unmuted u WHERE d.id = u.id
     RETURNING d.id AS "deliveryId", d.channel_id AS "channelId", 1 AS attempt, u.due_at AS "dueAtMs"`,
    [nowMs],
  );
}

/**
 * Snoozes an incident, or changes or ends its snooze; reminders and delayed alerts wait until then. Returns `resolved`
 * if it is over; null if the tenant has no such incident.
 */
export async function snoozeIncident(
  database: Database,
  { author, ...key }: RowKey & Authored,
  { untilMs, nowMs }: Waiting,
): Promise<MovedAttempts | 'resolved' | null> {
  return await inTransaction(database, async (run) => {
    const [incident] = await run<{ name: string; monitorId: string; isOver: boolean; untilMs: number | null }>(
      `SELECT monitor_name AS name, monitor_id AS "monitorId", resolved_at IS NOT NULL AS "isOver",
         snoozed_until AS "untilMs" FROM incidents WHERE id = $1 AND tenant_id = $2 FOR NO KEY UPDATE`,
      [key.id, key.tenantId],
    );
    if (incident === undefined) return null;
    if (incident.isOver) return 'resolved';
    await run('UPDATE incidents SET snoozed_until = $2 WHERE id = $1 AND snoozed_until IS DISTINCT FROM $2', [
      key.id,
      untilMs,
    ]);
    await recordWaiting(run, author, {
      object: { kind: 'incident', id: key.id, name: incident.name },
      tenantId: key.tenantId,
      field: 'snoozed_until',
      before: incident.untilMs !== null && incident.untilMs > nowMs ? incident.untilMs : null,
      after: untilMs,
    });
    return await moveHeld(run, {
      monitorId: incident.monitorId,
      incidentId: key.id,
      reasons: untilMs === null ? ['snooze'] : ['delay', 'reminder', 'snooze'],
      reason: 'snooze',
      dueAtMs: untilMs ?? nowMs,
    });
  });
}

type WaitingRecord = {
  tenantId: string;
  object: { kind: 'monitor' | 'incident'; id: string; name: string };
  field: 'muted_until' | 'snoozed_until';
  before: number | null;
  after: number | null;
};

async function recordWaiting(
  run: Run,
  author: Author | null,
  { tenantId, object, field, before, after }: WaitingRecord,
): Promise<void> {
  const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  const changes = before === after ? {} : { [field]: [timeOf(before), timeOf(after)] as const };
  await insertAuditEntry(run, author, { tenantId, object, changes });
}

/** Returns the end of the snoozes of snoozed incidents, by id, in Unix milliseconds. */
export async function readSnoozes(
  run: Run,
  incidentIds: readonly string[],
  nowMs: number,
): Promise<Map<string, number>> {
  if (incidentIds.length === 0) return new Map();
  const rows = await run<{ id: string; untilMs: number }>(
    `SELECT id, snoozed_until AS "untilMs" FROM incidents WHERE id = ANY ($1::text[]) AND snoozed_until > $2`,
    [incidentIds, nowMs],
  );
  return new Map(rows.map(({ id, untilMs }) => [id, untilMs]));
}

/** Returns the end of the mutes of muted monitors, by id, in Unix milliseconds. */
export async function readMutes(
  { pool }: Pick<Database, 'pool'>,
  { nowMs, ...selection }: ({ tenantId: string } | { monitorIds: readonly string[] }) & { nowMs: number },
): Promise<Map<string, number>> {
  const [condition, value] =
    'tenantId' in selection ? ['tenant_id = $2', selection.tenantId] : ['id = ANY($2::text[])', selection.monitorIds];
  const rows = await runOn(pool)<{ id: string; untilMs: number }>(
    `SELECT id, muted_until AS "untilMs" FROM monitor_mutes WHERE muted_until > $1 AND ${condition}`,
    [nowMs, value],
  );
  return new Map(rows.map(({ id, untilMs }) => [id, untilMs]));
}
