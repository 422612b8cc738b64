import type { ChannelStatus, ChannelType } from '../core/channel.ts';
import type { MonitorMessage } from '../core/envelope.ts';
import type { MonitorEvent } from '../core/event.ts';
import { openWebhook } from './channels.ts';
import type { Database } from './database.ts';
import { runOn, type Run } from './sql.ts';

/** One event to one channel, to be stored. */
export type NewDelivery = { id: string; tenantId: string; channelId: string; monitorId: string; message: MonitorMessage; createdAtMs: number };

/** A delivery that is not finished: when it may be attempted next, counting a claim that still holds. */
export type PendingDelivery = { channelId: string; dueAtMs: number };

/** One attempt that its holder alone may make. */
export type ClaimedAttempt = {
  deliveryId: string;
  tenantId: string;
  channelId: string;
  monitorId: string | null;
  channelType: ChannelType;
  event: MonitorEvent;
  message: MonitorMessage;
  /** From 1; attempts that were cut short by the end of their worker count. */
  attempt: number;
  /** Null where there is none, or where its key is missing from the ring. */
  webhook: { url: string; signingSecret: string } | null;
  /** Why the channel takes nothing any more; null = it does. */
  refusal: string | null;
};

/** What came of an attempt, as it is stored. `nextAttemptAtMs` is null unless the outcome is `retry`. */
export type RecordedAttempt = {
  deliveryId: string;
  attempt: number;
  outcome: 'delivered' | 'retry' | 'failed';
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  response: string | null;
  finishedAtMs: number;
  nextAttemptAtMs: number | null;
};

/** A delivery that nobody seems to work on is due for longer than this, in milliseconds: its job is then taken for lost. */
const OVERDUE_MS = 10_000;

type ClaimedRow = {
  tenant_id: string;
  channel_id: string;
  monitor_id: string | null;
  type: ChannelType;
  event: MonitorEvent;
  message: MonitorMessage;
  attempts: number;
  enabled: boolean;
  status: ChannelStatus;
  sealed_url: string | null;
  sealed_signing_secret: string | null;
};

/** Writes deliveries, due at once, in the transaction of the transition that causes them. */
export async function insertDeliveries(run: Run, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await run(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
     SELECT d.id, d."tenantId", d."channelId", d."monitorId", d.message ->> 'event', d.message, d."createdAtMs", d."createdAtMs"
     FROM json_to_recordset($1::json) AS d (id text, "tenantId" text, "channelId" text, "monitorId" text, message json, "createdAtMs" bigint)`,
    [JSON.stringify(deliveries)],
  );
}

/** Where a delivery stands; null when it is finished or does not exist. */
export async function findPendingDelivery(database: Database, id: string): Promise<PendingDelivery | null> {
  const [row] = await runOn(database.pool)<{ channel_id: string; due_at: number }>(
    `SELECT channel_id, greatest(next_attempt_at, claimed_until) AS due_at FROM deliveries WHERE id = $1 AND outcome = 'pending'`,
    [id],
  );
  return row === undefined ? null : { channelId: row.channel_id, dueAtMs: row.due_at };
}

/**
 * Claims the next attempt of a delivery for `claimMs` and opens its row; of two that try at once one gets it. Null when the delivery is
 * finished, not due, claimed by another, or gone. A claim that its holder never answered for expires, and its attempt stays counted.
 */
export async function claimDelivery(database: Database, id: string, { nowMs, claimMs }: { nowMs: number; claimMs: number }): Promise<ClaimedAttempt | null> {
  const [row] = await runOn(database.pool)<ClaimedRow>(
    `WITH claimed AS (
       UPDATE deliveries SET attempts = attempts + 1, claimed_until = $2::bigint + $3
       WHERE id = $1 AND outcome = 'pending' AND next_attempt_at <= $2 AND coalesce(claimed_until, 0) <= $2
       RETURNING id, tenant_id, channel_id, monitor_id, event, message, attempts
     ), opened AS (
       INSERT INTO delivery_attempts (delivery_id, attempt, started_at) SELECT id, attempts, $2 FROM claimed
     )
     SELECT claimed.*, c.type, c.enabled, c.status, c.sealed_url, c.sealed_signing_secret
     FROM claimed JOIN channels c ON c.id = claimed.channel_id`,
    [id, nowMs, claimMs],
  );
  if (row === undefined) return null;
  return {
    deliveryId: id,
    tenantId: row.tenant_id,
    channelId: row.channel_id,
    monitorId: row.monitor_id,
    channelType: row.type,
    event: row.event,
    message: row.message,
    attempt: row.attempts,
    webhook: openSecrets(database, row),
    refusal: refusalOf(row),
  };
}

/**
 * Writes what came of a claimed attempt and what becomes of its delivery, in one statement. False when the claim had expired and
 * another attempt was begun since: then only the attempt is recorded, and the delivery stays the other's.
 */
export async function recordAttempt(database: Database, made: RecordedAttempt): Promise<boolean> {
  const rows = await runOn(database.pool)<{ id: string }>(
    `WITH recorded AS (
       UPDATE delivery_attempts SET duration_ms = $3, outcome = $4, status_code = $5, error = $6, response = $7
       WHERE delivery_id = $1 AND attempt = $2
     )
     UPDATE deliveries
     SET outcome = CASE $4::text WHEN 'retry' THEN 'pending' ELSE $4 END, claimed_until = NULL,
         next_attempt_at = coalesce($8::bigint, next_attempt_at), finished_at = CASE $4::text WHEN 'retry' THEN NULL ELSE $9::bigint END
     WHERE id = $1 AND attempts = $2 AND outcome = 'pending'
     RETURNING id`,
    [made.deliveryId, made.attempt, made.durationMs, made.outcome, made.statusCode, made.error, made.response, made.nextAttemptAtMs, made.finishedAtMs],
  );
  return rows.length > 0;
}

/**
 * Deliveries that should long have been attempted, the longest due first, with the number of the attempt that they wait for: their jobs
 * were lost with the queue, or their worker with its claim.
 */
export async function listDueDeliveries(database: Database, { nowMs, limit }: { nowMs: number; limit: number }): Promise<{ deliveryId: string; attempt: number }[]> {
  const rows = await runOn(database.pool)<{ id: string; attempts: number }>(
    `SELECT id, attempts FROM deliveries
     WHERE outcome = 'pending' AND next_attempt_at <= $1 AND coalesce(claimed_until, 0) <= $2
     ORDER BY next_attempt_at LIMIT $3`,
    [nowMs - OVERDUE_MS, nowMs, limit],
  );
  return rows.map((row) => ({ deliveryId: row.id, attempt: row.attempts + 1 }));
}

/** How many deliveries are not finished, and when the oldest of them was made (Unix milliseconds; null = there is none). */
export async function countPendingDeliveries(database: Database): Promise<{ pending: number; oldestCreatedAtMs: number | null }> {
  const [row] = await runOn(database.pool)<{ pending: number; oldest: number | null }>(
    `SELECT count(*) AS pending, min(created_at) AS oldest FROM deliveries WHERE outcome = 'pending'`,
  );
  return { pending: row?.pending ?? 0, oldestCreatedAtMs: row?.oldest ?? null };
}

/** A missing key is an operator's mistake that can be mended: the attempt fails, the delivery is retried. */
function openSecrets(database: Database, row: ClaimedRow): ClaimedAttempt['webhook'] {
  if (row.sealed_url === null || row.sealed_signing_secret === null) return null;
  try {
    return openWebhook(database, { channelId: row.channel_id, url: row.sealed_url, signingSecret: row.sealed_signing_secret });
  } catch {
    return null;
  }
}

function refusalOf(channel: Pick<ClaimedRow, 'enabled' | 'status'>): string | null {
  if (!channel.enabled) return 'The channel is disabled';
  return channel.status === 'connected' ? null : 'The channel is not connected';
}

/** Deletes deliveries that were finished before `beforeMs`, with their attempts; returns how many. */
export async function deleteOldDeliveries(database: Database, beforeMs: number): Promise<number> {
  const [row] = await runOn(database.pool)<{ deleted: number }>(
    'WITH gone AS (DELETE FROM deliveries WHERE finished_at < $1 RETURNING 1) SELECT count(*) AS deleted FROM gone',
    [beforeMs],
  );
  return row?.deleted ?? 0;
}
