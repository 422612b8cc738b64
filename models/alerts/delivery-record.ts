import type { Author, FieldChanges } from '../../core/accounts/audit-entry.ts';
import type { StoredMessage } from '../../core/alerts/envelope.ts';
import type { HoldReason } from '../../core/alerts/hold.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { MAX_ERROR_LENGTH } from './delivery-attempts.ts';

/** The outcome of a delivery so far. */
export type DeliveryOutcome = 'pending' | 'delivered' | 'failed' | 'superseded';

/** A stored delivery. Times are Unix milliseconds. */
export type Delivery = {
  id: string;
  channelId: string;
  /** Null if the event concerns no monitor. */
  monitorId: string | null;
  /** Drill of the delivery; null if there is none. */
  drillId: string | null;
  /** The monitor's name in the message; null if `monitorId` is. */
  monitorName: string | null;
  /** Incident that the change opened, updated or ended; null if there is none, as in a drill. */
  incidentId: string | null;
  /** Null if the event concerns no agent; the name is that in the message. */
  agentId: string | null;
  agentName: string | null;
  event: StoredMessage['event'];
  outcome: DeliveryOutcome;
  /** Attempts of all rounds, including interrupted ones. */
  attemptCount: number;
  /** Number of other changes of its monitor that it replaced while it waited for its rate. */
  merged: number;
  /** Reason for which it waits or waited; null = none. */
  heldBy: HoldReason | null;
  /** Monitor that it waits or waited for, or in whose message it was sent; null = none. */
  heldByMonitorId: string | null;
  /** Last error, as a sentence; null = none. */
  lastError: string | null;
  createdAtMs: number;
  /** Null unless pending. */
  nextAttemptAtMs: number | null;
  /** Null while pending. */
  finishedAtMs: number | null;
};

/**
 * One attempt of a delivery; duration and outcome are null while it is in progress, and forever if its worker was
 * killed.
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

/** Filter for a list of deliveries; absent fields do not restrict it. */
type DeliveryFilter = { outcome?: DeliveryOutcome; event?: string };

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

/** Lists the deliveries of a tenant's channel, newest first; `before` is the last one of the previous page. */
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
  // Conditions are added only if requested, so that the planner can use the separate index of failed deliveries.
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

/** Finds a delivery of a tenant with its message and all attempts in order; null if there is none. */
export async function findDelivery(
  database: Database,
  { tenantId, id }: RowKey,
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

/** A test that was sent to a channel, and its result. `startedAtMs` is Unix milliseconds. */
export type TestedDelivery = {
  id: string;
  channelId: string;
  message: StoredMessage;
  startedAtMs: number;
  attempt: Pick<Attempt, 'statusCode' | 'error' | 'response'> & { durationMs: number };
};

/**
 * Records a test as a finished delivery of the event `test`, with its one attempt. Does nothing if the channel was
 * deleted meanwhile.
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

/** Maximum number of attempts of a delivery in all rounds: its log must be limited. */
export const MAX_ATTEMPTS = 100;

/** A delivery that is pending again, and the number of its next attempt. */
export type ReopenedDelivery = { id: string; channelId: string; attempt: number };

/**
 * Makes a finished delivery pending again, due at once, with a full new round of attempts under its old id. One that
 * waited and was not sent is released: it is sent although it may be outdated, acknowledged or muted, unless a summary
 * has reported its end (`HAS_ENDED_IN_SUMMARY`). Null if it is pending, has used up its attempts, or was deleted: only
 * one of two concurrent requests succeeds.
 */
export async function reopenDelivery(
  database: Database,
  { tenantId, id, author }: RowKey & Authored,
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
    await run('UPDATE held_deliveries SET released_at = $2 WHERE delivery_id = $1 AND released_at IS NULL', [
      id,
      nowMs,
    ]);
    await recordSending(run, author, { tenantId, channelId: row.channelId, changes: { delivery_id: [null, id] } });
    return row;
  });
}

/**
 * Makes failed deliveries of a channel pending again that were created in a time range (Unix milliseconds, both ends
 * included), except tests and drills. Each waits for the first attempt at the previous one, so that they are sent in
 * order of creation; each is due a millisecond later, the last one now. Returns their number, and the first. One
 * statement: of two concurrent requests each gets those that the other has not.
 * 1. `failed`: the failed ones of that time, locked in order of creation.
 * 2. `due`: each with its time, and the previous one.
 * 3. `reopened`: makes them pending again; their attempts so far count for earlier rounds.
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

/** Records a request to send deliveries of a channel again. */
async function recordSending(
  run: Run,
  author: Author | null,
  { tenantId, channelId, changes }: { tenantId: string; channelId: string; changes: FieldChanges },
): Promise<void> {
  if (author === null) return;
  const [channel] = await run<{ name: string }>('SELECT name FROM channels WHERE id = $1', [channelId]);
  await insertAuditEntry(run, author, {
    tenantId,
    object: { kind: 'channel', id: channelId, name: channel?.name ?? channelId },
    changes,
  });
}
