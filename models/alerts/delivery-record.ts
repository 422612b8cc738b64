import type { Author, FieldChanges } from '../../core/accounts/audit-entry.ts';
import type { StoredMessage } from '../../core/alerts/envelope.ts';
import type { HoldReason } from '../../core/alerts/hold.ts';
import { recordChange, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { MAX_ERROR_LENGTH } from './delivery-attempts.ts';

/** The outcome of a delivery so far. */
export type DeliveryOutcome = 'pending' | 'delivered' | 'failed' | 'superseded';

/** A delivery as it stands. Times are Unix milliseconds. */
export type Delivery = {
  id: string;
  channelId: string;
  /** Null where the event is no monitor's. */
  monitorId: string | null;
  /** The drill that it belongs to; null where it is none. */
  drillId: string | null;
  /** The monitor's name as the message has it; null as `monitorId` is. */
  monitorName: string | null;
  /** The incident that the change opened, touched or ended; null where there was none, as in a drill. */
  incidentId: string | null;
  /** Null where the event is no agent's; the name is that of the message. */
  agentId: string | null;
  agentName: string | null;
  event: StoredMessage['event'];
  outcome: DeliveryOutcome;
  /** Of all rounds, those that were cut short included. */
  attemptCount: number;
  /** How many other changes of its monitor it took in: those that came while it waited for its rate. */
  merged: number;
  /** What it waits for, or waited for; null where it did not. */
  heldBy: HoldReason | null;
  /** The monitor that it waits or waited for, or in whose message it came; null where it was none. */
  heldByMonitorId: string | null;
  /** What went wrong last, as a sentence; null where nothing did. */
  lastError: string | null;
  createdAtMs: number;
  /** Null unless pending. */
  nextAttemptAtMs: number | null;
  /** Null while pending. */
  finishedAtMs: number | null;
};

/**
 * One attempt of a delivery; duration and outcome are null while it is under way, and for ever where its worker did not
 * survive it.
 */
export type Attempt = {
  attempt: number;
  startedAtMs: number;
  durationMs: number | null;
  outcome: 'delivered' | 'retry' | 'failed' | null;
  statusCode: number | null;
  error: string | null;
  response: string | null;
};

/** Which deliveries are listed; an absent field narrows nothing. */
export type DeliveryFilter = { outcome?: DeliveryOutcome; event?: string };

type Key = { tenantId: string; id: string };

const DELIVERY_COLUMNS = `d.id, d.channel_id AS "channelId",
  CASE WHEN d.monitor_id LIKE 'drl\\_%' THEN d.message #>> '{monitor,id}'
    WHEN d.event NOT LIKE 'agent.%' THEN d.monitor_id END AS "monitorId",
  d.message #>> '{drill,id}' AS "drillId",
  CASE WHEN d.monitor_id IS NOT NULL THEN d.message #>> '{monitor,name}' END AS "monitorName",
  CASE WHEN d.monitor_id NOT LIKE 'drl\\_%' THEN d.message #>> '{detail,incident_id}' END AS "incidentId",
  d.message #>> '{agent,id}' AS "agentId", d.message #>> '{agent,name}' AS "agentName", d.event, d.outcome,
  d.attempts AS "attemptCount",
  coalesce((SELECT m.changes FROM merged_deliveries m WHERE m.delivery_id = d.id), 0) AS merged,
  (SELECT h.reason FROM held_deliveries h WHERE h.delivery_id = d.id) AS "heldBy",
  (SELECT h.held_by FROM held_deliveries h WHERE h.delivery_id = d.id AND h.reason = 'parent') AS "heldByMonitorId",
  (SELECT a.error FROM delivery_attempts a WHERE a.delivery_id = d.id AND a.error IS NOT NULL ORDER BY a.attempt DESC
    LIMIT 1) AS "lastError",
  d.created_at AS "createdAtMs", CASE WHEN d.outcome = 'pending' THEN d.next_attempt_at END AS "nextAttemptAtMs",
    d.finished_at AS "finishedAtMs"`;

/** The deliveries of a tenant's channel, newest first; `before` is the last one of the page before. */
export async function listDeliveries(
  database: Database,
  query: {
    tenantId: string;
    channelId: string;
    filter: DeliveryFilter;
    before?: { createdAtMs: number; id: string };
    limit: number;
  },
): Promise<Delivery[]> {
  const { tenantId, channelId, filter, before, limit } = query;
  const conditions = ['d.channel_id = $1', 'd.tenant_id = $2'];
  const bind: unknown[] = [channelId, tenantId];
  const bound = (value: unknown) => `$${bind.push(value)}`;
  // Only what is asked for: the planner then sees that what failed has an index of its own.
  if (filter.outcome !== undefined) conditions.push(`d.outcome = ${bound(filter.outcome)}`);
  if (filter.event !== undefined) conditions.push(`d.event = ${bound(filter.event)}`);
  if (before !== undefined)
    conditions.push(`(d.created_at, d.id) < (${bound(before.createdAtMs)}, ${bound(before.id)})`);
  return await runOn(database.pool)<Delivery>(
    `SELECT ${DELIVERY_COLUMNS} FROM deliveries d WHERE ${conditions.join(' AND ')}
     ORDER BY d.created_at DESC, d.id DESC LIMIT ${bound(limit)}`,
    bind,
  );
}

/** One delivery of a tenant with its message and every attempt in order; null when the tenant has no such delivery. */
export async function findDelivery(
  database: Database,
  { tenantId, id }: Key,
): Promise<(Delivery & { message: StoredMessage; attempts: Attempt[] }) | null> {
  const run = runOn(database.pool);
  const [delivery] = await run<Delivery & { message: StoredMessage }>(
    `SELECT ${DELIVERY_COLUMNS}, d.message FROM deliveries d WHERE d.id = $1 AND d.tenant_id = $2`,
    [id, tenantId],
  );
  if (delivery === undefined) return null;
  const attempts = await run<Attempt>(
    `SELECT attempt, started_at AS "startedAtMs", duration_ms AS "durationMs", outcome, status_code AS "statusCode",
     error, response
     FROM delivery_attempts WHERE delivery_id = $1 ORDER BY attempt`,
    [id],
  );
  return { ...delivery, attempts };
}

/** A test that was sent to a channel, and what came of it. `startedAtMs` is Unix milliseconds. */
export type TestedDelivery = {
  id: string;
  channelId: string;
  message: StoredMessage;
  startedAtMs: number;
  attempt: Pick<Attempt, 'statusCode' | 'error' | 'response'> & { durationMs: number };
};

/**
 * Records a test as a finished delivery of the event `test`, with its one attempt. A channel that was deleted meanwhile
 * has no log any more.
 */
export async function insertTestDelivery(
  run: Run,
  { id, channelId, message, startedAtMs, attempt }: TestedDelivery,
): Promise<void> {
  const { durationMs, statusCode, error, response } = attempt;
  const outcome: DeliveryOutcome = error === null ? 'delivered' : 'failed';
  await run(
    `WITH tested AS (
       INSERT INTO deliveries (id, tenant_id, channel_id, event, message, outcome, attempts, next_attempt_at,
         created_at, finished_at)
       SELECT $1, tenant_id, id, 'test', $3::json, $4::text, 1, $5::bigint, $5::bigint, $5::bigint + $6::integer
       FROM channels WHERE id = $2 FOR KEY SHARE
       RETURNING id
     )
     INSERT INTO delivery_attempts (delivery_id, attempt, started_at, duration_ms, outcome, status_code, error,
       response)
     SELECT id, 1, $5::bigint, $6::integer, $4::text, $7::smallint, left($8::text, ${MAX_ERROR_LENGTH}), $9::text
       FROM tested`,
    [id, channelId, JSON.stringify(message), outcome, startedAtMs, durationMs, statusCode, error, response],
  );
}

/** The most attempts of a delivery, all rounds together: its log must end somewhere. */
export const MAX_ATTEMPTS = 100;

/** A delivery that is pending again, and the number of its next attempt. */
export type ReopenedDelivery = { id: string; channelId: string; attempt: number };

/**
 * Makes a finished delivery pending again, due at once, with a whole new round of attempts under its old id. Null where
 * it is pending, has had its attempts, or is gone: of two that ask at once one gets it.
 */
export async function reopenDelivery(
  database: Database,
  { tenantId, id, author }: Key & Authored,
  nowMs: number,
): Promise<ReopenedDelivery | null> {
  return await inTransaction(database, async (run) => {
    const [row] = await run<ReopenedDelivery>(
      `UPDATE deliveries SET outcome = 'pending', attempts_before = attempts, next_attempt_at = $3,
       claimed_until = NULL, finished_at = NULL, after_id = NULL
       WHERE id = $1 AND tenant_id = $2 AND outcome <> 'pending' AND attempts < ${MAX_ATTEMPTS}
       RETURNING id, channel_id AS "channelId", attempts + 1 AS attempt`,
      [id, tenantId, nowMs],
    );
    if (row === undefined) return null;
    await recordSending(run, author, { tenantId, channelId: row.channelId, changes: { delivery_id: [null, id] } });
    return row;
  });
}

/**
 * Makes all failed deliveries of a channel, but for tests and drills, pending again that were made between two moments
 * (Unix milliseconds, both included). Each waits for the first attempt at the one before it, so that they are sent in
 * the order in which they were made; each is due a millisecond later, the last of them now. Returns how many, and the
 * first. One statement: of two that ask at once each gets what the other has not.
 * 1. `failed`: the failed ones of that time, locked in the order in which they were made.
 * 2. `due`: each with its moment, and the one before it.
 * 3. `reopened`: they are pending again; their attempts so far are those of earlier rounds.
 */
export async function replayDeliveries(
  database: Database,
  replay: { tenantId: string; channelId: string; sinceMs: number; untilMs: number; nowMs: number } & Authored,
): Promise<{ count: number; first: ReopenedDelivery | null }> {
  const { channelId, tenantId, sinceMs, untilMs, nowMs, author } = replay;
  return await inTransaction(database, async (run) => {
    const rows = await run<ReopenedDelivery>(
      `WITH failed AS (
         SELECT id, no FROM deliveries
         WHERE channel_id = $1 AND tenant_id = $2 AND outcome = 'failed' AND event <> 'test'
           AND (monitor_id IS NULL OR monitor_id NOT LIKE 'drl\\_%')
           AND created_at BETWEEN $3 AND $4
           AND attempts < ${MAX_ATTEMPTS}
         ORDER BY no FOR NO KEY UPDATE
       ), due AS (
         SELECT id, $5::bigint + 1 - row_number() OVER (ORDER BY no DESC) AS at, lag(id) OVER (ORDER BY no) AS after_id
           FROM failed
       ), reopened AS (
         UPDATE deliveries d SET outcome = 'pending', attempts_before = d.attempts, next_attempt_at = due.at,
           claimed_until = NULL, finished_at = NULL, after_id = due.after_id
         FROM due WHERE d.id = due.id
         RETURNING d.id, d.channel_id AS "channelId", d.attempts + 1 AS attempt, due.at
       )
       SELECT id, "channelId", attempt FROM reopened ORDER BY at`,
      [channelId, tenantId, sinceMs, untilMs, nowMs],
    );
    const changes: FieldChanges = {
      since: [null, Math.floor(sinceMs / 1000)],
      until: [null, Math.floor(untilMs / 1000)],
      replayed: [null, rows.length],
    };
    if (rows.length > 0) await recordSending(run, author, { tenantId, channelId, changes });
    return { count: rows.length, first: rows[0] ?? null };
  });
}

/** The record of a request to send again what a channel had sent. */
async function recordSending(
  run: Run,
  author: Author | null,
  { tenantId, channelId, changes }: { tenantId: string; channelId: string; changes: FieldChanges },
): Promise<void> {
  if (author === null) return;
  const [channel] = await run<{ name: string }>('SELECT name FROM channels WHERE id = $1', [channelId]);
  await recordChange(run, author, {
    tenantId,
    object: { kind: 'channel', id: channelId, name: channel?.name ?? channelId },
    changes,
  });
}
