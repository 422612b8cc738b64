import type { ChannelStatus, ChannelType } from '../core/channel.ts';
import type { EventMessage } from '../core/envelope.ts';
import { openWebhook } from './channels.ts';
import type { Database } from './database.ts';
import { runOn, type Run } from './sql.ts';

/** One event to one channel, to be stored; `monitorId` is null where the event is no monitor's. */
export type NewDelivery = { id: string; tenantId: string; channelId: string; monitorId: string | null; message: EventMessage; createdAtMs: number };

/** One attempt that its holder alone may make. */
export type ClaimedAttempt = {
  deliveryId: string;
  tenantId: string;
  channelId: string;
  monitorId: string | null;
  channelType: ChannelType;
  event: EventMessage['event'];
  message: EventMessage;
  /** From 1; attempts that were cut short by the end of their worker count. */
  attempt: number;
  /** Null where there is none, or where its key is missing from the ring. */
  webhook: { url: string; signingSecret: string } | null;
  /** Why the channel takes nothing any more; null = it does. */
  refusal: string | null;
  /** False where nothing else of the channel was due and unclaimed; true may have been overtaken by another's claim. */
  hasMore: boolean;
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

/** A channel's longest due delivery, the number of its next attempt, and how many of the channel are overdue. */
export type OverdueChannel = { channelId: string; deliveryId: string; attempt: number; dueAtMs: number; deliveries: number };

/** A delivery that nobody seems to work on is due for longer than this, in milliseconds: its job is then taken for lost. */
const OVERDUE_MS = 10_000;

/**
 * Ends its transaction without waiting for the disk, which was half of what claim and record took. What a crash of PostgreSQL takes back is an
 * attempt's claim or its record; the attempt is then made once more under the same `delivery_id`, which receivers are told to expect. It is
 * a part of the statement because one of its own would cost as much as it saves.
 */
const WITHOUT_WAITING = `hurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))`;

/** Of the channel $1, at the time $2. */
const DUE = `channel_id = $1 AND outcome = 'pending' AND next_attempt_at <= $2 AND coalesce(claimed_until, 0) <= $2`;

type ClaimedRow = {
  id: string;
  tenant_id: string;
  channel_id: string;
  monitor_id: string | null;
  type: ChannelType;
  event: EventMessage['event'];
  message: EventMessage;
  attempts: number;
  enabled: boolean;
  status: ChannelStatus;
  sealed_url: string | null;
  sealed_signing_secret: string | null;
  has_more: boolean;
};

/** Writes deliveries, due at once, in the transaction of the change that causes them. */
export async function insertDeliveries(run: Run, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await run(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
     SELECT d.id, d."tenantId", d."channelId", d."monitorId", d.message ->> 'event', d.message, d."createdAtMs", d."createdAtMs"
     FROM json_to_recordset($1::json) AS d (id text, "tenantId" text, "channelId" text, "monitorId" text, message json, "createdAtMs" bigint)`,
    [JSON.stringify(deliveries)],
  );
}

/**
 * Claims the next attempt of the channel's longest due delivery for `claimMs` and opens its row; of many that ask at once each gets another
 * delivery. Null when none of the channel's is due that is not claimed already. A claim that its holder never answered for expires, and its
 * attempt stays counted.
 */
export async function claimNextDelivery(database: Database, channelId: string, { nowMs, claimMs }: { nowMs: number; claimMs: number }): Promise<ClaimedAttempt | null> {
  const [row] = await runOn(database.pool)<ClaimedRow>(
    `WITH next AS (
       SELECT id FROM deliveries WHERE ${DUE}
       ORDER BY next_attempt_at, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
     ), ${WITHOUT_WAITING}, claimed AS (
       UPDATE deliveries d SET attempts = d.attempts + 1, claimed_until = $2::bigint + $3
       FROM next, hurried WHERE d.id = next.id
       RETURNING d.id, d.tenant_id, d.channel_id, d.monitor_id, d.event, d.message, d.attempts
     ), opened AS (
       INSERT INTO delivery_attempts (delivery_id, attempt, started_at) SELECT id, attempts, $2 FROM claimed
     )
     SELECT claimed.*, c.type, c.enabled, c.status, c.sealed_url, c.sealed_signing_secret,
            EXISTS (SELECT FROM deliveries WHERE ${DUE} AND id <> claimed.id) AS has_more
     FROM claimed JOIN channels c ON c.id = claimed.channel_id`,
    [channelId, nowMs, claimMs],
  );
  if (row === undefined) return null;
  return {
    deliveryId: row.id,
    tenantId: row.tenant_id,
    channelId: row.channel_id,
    monitorId: row.monitor_id,
    channelType: row.type,
    event: row.event,
    message: row.message,
    attempt: row.attempts,
    webhook: openSecrets(database, row),
    refusal: refusalOf(row),
    hasMore: row.has_more,
  };
}

/**
 * Writes what came of a claimed attempt and what becomes of its delivery, in one statement. False when the claim had expired and
 * another attempt was begun since: then only the attempt is recorded, and the delivery stays the other's.
 */
export async function recordAttempt(database: Database, made: RecordedAttempt): Promise<boolean> {
  const rows = await runOn(database.pool)<{ id: string }>(
    `WITH ${WITHOUT_WAITING}, recorded AS (
       UPDATE delivery_attempts SET duration_ms = $3, outcome = $4, status_code = $5, error = $6, response = $7
       WHERE delivery_id = $1 AND attempt = $2
     )
     UPDATE deliveries
     SET outcome = CASE $4::text WHEN 'retry' THEN 'pending' ELSE $4 END, claimed_until = NULL,
         next_attempt_at = coalesce($8::bigint, next_attempt_at), finished_at = CASE $4::text WHEN 'retry' THEN NULL ELSE $9::bigint END
     FROM hurried WHERE id = $1 AND attempts = $2 AND outcome = 'pending'
     RETURNING id`,
    [made.deliveryId, made.attempt, made.durationMs, made.outcome, made.statusCode, made.error, made.response, made.nextAttemptAtMs, made.finishedAtMs],
  );
  return rows.length > 0;
}

/**
 * Channels with deliveries that should long have been attempted while nobody is at work there, the longest due first: their jobs were lost
 * with the queue, or their worker with its claims. A channel of which any delivery is claimed is left to whoever holds the claim.
 */
export async function listOverdueChannels(database: Database, { nowMs, limit }: { nowMs: number; limit: number }): Promise<OverdueChannel[]> {
  const rows = await runOn(database.pool)<{ channel_id: string; id: string; attempts: number; due_at: number; deliveries: number }>(
    `SELECT d.channel_id, longest.id, longest.attempts, longest.next_attempt_at AS due_at, d.deliveries
     FROM (SELECT channel_id, min(next_attempt_at) AS due_at, count(*) FILTER (WHERE next_attempt_at <= $1) AS deliveries
           FROM deliveries WHERE outcome = 'pending' AND next_attempt_at <= $2
           GROUP BY channel_id HAVING min(next_attempt_at) <= $1 AND coalesce(max(claimed_until), 0) <= $2
           ORDER BY due_at LIMIT $3) d,
     LATERAL (SELECT id, attempts, next_attempt_at FROM deliveries
              WHERE channel_id = d.channel_id AND outcome = 'pending' ORDER BY next_attempt_at, id LIMIT 1) longest
     ORDER BY due_at`,
    [nowMs - OVERDUE_MS, nowMs, limit],
  );
  return rows.map((row) => ({ channelId: row.channel_id, deliveryId: row.id, attempt: row.attempts + 1, dueAtMs: row.due_at, deliveries: row.deliveries }));
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
