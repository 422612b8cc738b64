import type { ChannelStatus, ChannelType } from '../../core/alerts/channel.ts';
import type { StoredMessage } from '../../core/alerts/envelope.ts';
import type { HoldReason } from '../../core/alerts/hold.ts';
import type { WebhookFormat } from '../../core/alerts/webhook.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';
import { HEALED } from './channel-health.ts';
import { IS_OUTDATED, MAY_BE_OVERTAKEN, followsUnreleased } from './deliveries.ts';
import { releaseBehind } from './parent-holds.ts';
import { SUMMARY_OPEN_MS } from './routes.ts';
import { readSummary } from './summaries.ts';
import { openWebhook, type OpenedWebhook } from './webhook-secrets.ts';

/** A claimed attempt, which only its holder may send. */
export type ClaimedAttempt = {
  deliveryId: string;
  tenantId: string;
  channelId: string;
  monitorId: string | null;
  channelType: ChannelType;
  event: StoredMessage['event'];
  message: StoredMessage;
  /** Counts from 1, including attempts interrupted by the end of their worker. */
  attempt: number;
  /** End of the claim, in Unix milliseconds; after it another worker may claim the attempt. */
  claimedUntilMs: number;
  /** Attempts of earlier rounds: 0 unless the delivery was redelivered. */
  attemptsBefore: number;
  /** Null for other types, and if its key is missing from the ring. */
  webhook: OpenedWebhook | null;
  /** Sealed address of a webhook or of Slack's, which identifies the receiver; null for others. */
  sealedUrl: string | null;
  /**
   * Connection of a chat channel: for Telegram the chat id, for Slack the sealed webhook, for email the address. Null
   * for webhooks, and if nothing is connected.
   */
  connection: string | null;
  /** Reason why the channel no longer accepts deliveries; null if it does. */
  refusal: string | null;
  /**
   * Whether the message is for a chat and its monitor has a newer change by now, or was deleted. Never set for
   * webhooks: their receivers use the sequence.
   */
  isOvertaken: boolean;
  /** For Telegram, the alert group of the delivery, and the chat message that shows it; null = none. */
  groupId: string | null;
  chatMessageId: number | null;
  /** Reason for which the delivery waited, if it was not released yet; else null. */
  holdReason: HoldReason | null;
  /** Whether it was held and may still belong in the message of a parent monitor. */
  isBehind: boolean;
  /**
   * Whether a preset's receiver still has an alert of the monitor as unknown, outside of incidents, which this incident
   * message resolves.
   */
  resolvesUnknown: boolean;
  /**
   * Number of the delivery's monitor if alerts wait for it, or were sent in its message (D-530), or this is an update;
   * else null.
   */
  parentNo: number | null;
};

/**
 * The result of requesting an attempt. `claimed` is null if everything due is claimed, or waits for an earlier
 * delivery. `hasMore` is false if no other delivery of the channel was due and unclaimed; true may be outdated by
 * another claim.
 */
export type Claim = { claimed: ClaimedAttempt | null; hasMore: boolean };

/** Start of a claim (Unix milliseconds), and its duration; `emailClaimMs` defaults to `claimMs`. */
type ClaimTimes = { nowMs: number; claimMs: number; emailClaimMs?: number };

/** The outcome of an attempt to record. `nextAttemptAtMs` is null unless the outcome is `retry`. */
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

/**
 * SQL: whether retries of a delivery `d` of a channel `c` are dropped once its monitor has changed again. People and
 * preset receivers ignore the sequence: the start of an incident would open it anew after its end.
 */
const DROPS_OVERTAKEN = `((c.type <> 'webhook' OR c.format ? 'preset') AND ${MAY_BE_OVERTAKEN})`;

/**
 * SQL: the deliveries whose messages contained others, from failed ones that were not sent before. For an update
 * (*Still down*) it is the delivery that the update follows.
 */
const rootsOf = (failed: string) => `SELECT coalesce(n.follows, f.id) FROM (${failed}) f
  LEFT JOIN reminders n ON n.delivery_id = f.id AND n.number < 0`;

/**
 * SQL: releases alerts in messages that have failed, which are then due themselves. A message that was delivered
 * before, and failed when sent again, has reported them.
 */
const RELEASES_BEHIND = `, ${releaseBehind(
  rootsOf(`SELECT delivery_id AS id FROM made WHERE becomes = 'failed' AND attempts_before = 0`),
  '(SELECT max(finished_at) FROM made)',
)}`;

/** SQL: the root deliveries of those given that have failed and were not sent before. */
const FAILED_AT_FIRST = rootsOf(
  `SELECT id FROM deliveries WHERE id = ANY ($1::text[]) AND outcome = 'failed' AND attempts_before = 0`,
);

/**
 * SQL: whether a delivery waits at `$2` for an earlier one of its monitor, or for trouble that a worker held. Nothing
 * else waits for such a delivery, or both could wait for each other.
 */
const waitsForEarlier = (d: string) => `(EXISTS (
  SELECT FROM unheld_ahead(${d}.channel_id, ${d}.monitor_id, ${d}.no, ${d}.after_id, $2))
  OR ${followsUnreleased('pending', d)})`;

/**
 * SQL: whether the receiver of a delivery `d` to a preset of a channel `c` still has its monitor as unknown. The newest
 * of the earlier alerts that it may have determines that, outside of incidents: later ones were held or superseded.
 */
const RESOLVES_UNKNOWN = `(c.format ? 'preset' AND d.event IN ('monitor.down', 'monitor.degraded', 'monitor.up')
  AND d.message #>> '{detail,incident_id}' IS NOT NULL AND coalesce((
    SELECT e.event = 'monitor.unknown' FROM deliveries e
    WHERE e.monitor_id = d.monitor_id AND e.channel_id = d.channel_id AND e.no < d.no AND CASE e.event
      WHEN 'monitor.unknown' THEN e.attempts > 0 AND e.message #>> '{detail,incident_id}' IS NULL
      ELSE e.event LIKE 'monitor.%' AND e.outcome = 'delivered' END
    ORDER BY e.created_at DESC, e.no DESC LIMIT 1), false))`;

/**
 * SQL: whether a summary that was delivered to a chat reports a later recovery than a delivery `d` of a channel `c`. A
 * summary does not wait for single alerts of its monitors that are to be retried, and leaves out a recovery before
 * newer trouble. The first condition on transitions spares most alerts the search for summaries, which has no index.
 */
const HAS_ENDED_IN_SUMMARY = `(c.type <> 'webhook' AND d.attempts_before = 0
  AND d.event IN ('monitor.down', 'monitor.degraded', 'monitor.unknown', 'monitor.up')
  AND EXISTS (SELECT FROM transitions t WHERE t.monitor_id = d.monitor_id AND t.to_state = 'up'
    AND t.sequence > (d.message #>> '{detail,sequence}')::integer)
  AND EXISTS (SELECT FROM deliveries u JOIN summary_changes s ON s.delivery_id = u.id AND s.monitor_id = d.monitor_id
    WHERE u.channel_id = d.channel_id AND u.created_at >= d.created_at - ${SUMMARY_OPEN_MS} AND u.event = 'summary'
      AND u.outcome = 'delivered' AND s.state = 'up'
      AND s.sequence > (d.message #>> '{detail,sequence}')::integer
      AND NOT EXISTS (SELECT FROM transitions t WHERE t.monitor_id = s.monitor_id AND t.sequence > s.sequence
        AND t.to_state IN ('degraded', 'down', 'unknown') AND t.detected_at <= u.finished_at)))`;

/** Maximum length of a stored error, in characters. */
export const MAX_ERROR_LENGTH = 1000;

/** Parameters of the statement that records attempts, in order; each is an array. */
const RECORDED_COLUMNS = [
  'deliveryId',
  'attempt',
  'outcome',
  'statusCode',
  'durationMs',
  'error',
  'response',
  'finishedAtMs',
  'nextAttemptAtMs',
] as const satisfies readonly (keyof RecordedAttempt)[];

/**
 * A row of a claimed attempt; secrets are sealed, and the previous one is set only while it is still used for signing.
 */
type ClaimedRow = Omit<ClaimedAttempt, 'webhook' | 'refusal'> & {
  enabled: boolean;
  status: ChannelStatus;
  sealedSigningSecret: string | null;
  sealedPreviousSecret: string | null;
  sealedHeaders: string | null;
  format: WebhookFormat;
  /** Whether it is a recovery from trouble that was not sent after all, or trouble already reported to be over. */
  isOver: boolean;
};

/** A requested channel, with an attempt if one was claimed. */
type RequestedRow = (ClaimedRow | { [Column in keyof ClaimedRow]: null }) & { requested: string; hasMore: boolean };

/**
 * Claims attempts for `claimMs` and opens their rows. A channel named several times gets attempts of as many
 * deliveries, the longest due first. The claims are in the order of the names. No delivery of a monitor is claimed
 * before the first attempt at an earlier one is over, so that only retries are overtaken. A chat has one alert claimed
 * at a time of those that waited for the end of maintenance, until it is released or gathered with the others. Claims
 * that are never completed expire, and their attempts stay counted. Retries to chats and presets that a newer change
 * superseded are dropped, and paused channels have nothing to claim.
 */
export async function claimDeliveries(
  database: Database,
  channelIds: readonly string[],
  when: ClaimTimes,
): Promise<Claim[]> {
  const requested = Map.groupBy(channelIds, (channelId) => channelId);
  const byLanes = Map.groupBy(requested.keys(), (channelId) => requested.get(channelId)?.length ?? 0);
  const rows: RequestedRow[] = [];
  for (const [lanes, group] of byLanes) rows.push(...(await claimEach(database, { channelIds: group, lanes }, when)));
  const found = Map.groupBy(await fillOrDrop(database, rows, when.nowMs), (row) => row.requested);
  const withMore = new Set(rows.filter((row) => row.hasMore).map((row) => row.requested));
  return channelIds.map((channelId) => {
    const row = found.get(channelId)?.shift();
    return {
      claimed: row === undefined || row.deliveryId === null ? null : attemptOf(database, row),
      hasMore: withMore.has(channelId),
    };
  });
}

/**
 * Fills the claimed summaries. Empty ones are dropped, as are recoveries from trouble that was not sent, and trouble
 * that a summary has reported to be over. A summary that was sent before is sent again unchanged: to a chat as stored,
 * to a webhook from its changes, which stay as they were.
 */
async function fillOrDrop(database: Database, rows: readonly RequestedRow[], nowMs: number): Promise<RequestedRow[]> {
  const filled: RequestedRow[] = [];
  const run = runOn(database.pool);
  for (const row of rows) {
    if (row.isOver === true) {
      await dropClaimed(run, row, nowMs);
      continue;
    }
    const isSentAgain = row.deliveryId !== null && row.attemptsBefore > 0 && row.channelType !== 'webhook';
    if (row.deliveryId === null || row.message.event !== 'summary' || isSentAgain) {
      filled.push(row);
      continue;
    }
    const message = await readSummary(database, row, row.message);
    if (message.monitors > 0) filled.push({ ...row, message });
    else await dropClaimed(run, row, nowMs);
  }
  return filled;
}

/** Drops a claimed delivery whose attempt was never sent. */
export async function dropClaimed(
  run: Run,
  { deliveryId, attempt }: Pick<ClaimedAttempt, 'deliveryId' | 'attempt'>,
  nowMs: number,
): Promise<void> {
  await run(
    `WITH dropped AS (
       UPDATE deliveries SET outcome = 'superseded', finished_at = $3, claimed_until = NULL, attempts = attempts - 1
       WHERE id = $1 AND attempts = $2 AND outcome = 'pending' RETURNING id)
     DELETE FROM delivery_attempts a USING dropped d WHERE a.delivery_id = d.id AND a.attempt = $2`,
    [deliveryId, attempt, nowMs],
  );
}

/**
 * Returns a claimed delivery whose attempt was never sent, to be due again at `dueAtMs`. Of an alert that still waits
 * nothing was sent, so earlier claims, of workers that were killed, do not count either.
 */
export async function postponeClaimed(
  run: Run,
  { deliveryId, attempt }: Pick<ClaimedAttempt, 'deliveryId' | 'attempt'>,
  dueAtMs: number,
): Promise<void> {
  await run(
    `WITH given AS (
       UPDATE deliveries d SET claimed_until = NULL, next_attempt_at = $3,
         attempts = CASE WHEN EXISTS (SELECT FROM held_deliveries h WHERE h.delivery_id = d.id AND h.summary_id IS NULL
           AND h.released_at IS NULL) THEN d.attempts_before ELSE d.attempts - 1 END
       WHERE id = $1 AND attempts = $2 AND outcome = 'pending' RETURNING id, attempts)
     DELETE FROM delivery_attempts a USING given g WHERE a.delivery_id = g.id AND a.attempt > g.attempts`,
    [deliveryId, attempt, dueAtMs],
  );
}

/**
 * Claims up to `lanes` attempts of each channel; returns one row for each, and at least one for each channel.
 * 1. `requested`: the channels, without paused ones.
 * 2. `superseded`: ends due retries to chats and presets that a newer change overtook.
 * 3. `turn`: for each chat, the held alert that may be sent now; none while another is in progress. It is chosen once,
 *    because after an outage of all workers thousands wait for each other.
 * 4. `next`: for each channel, the longest due deliveries that wait for no earlier one, locked; those that another
 *    claim locks are skipped. A recovery waits for its trouble that a worker held, until that is released or dropped.
 *    Nothing is sent to a preset while an earlier delivery of its monitor is in progress, including retries.
 * 5. `claimed`, `opened`: claims them, counts their attempts and opens these. The commit does not wait for the disk,
 *    which took half of its time: a crash of PostgreSQL can only undo a claim, and the attempt is then repeated with
 *    the same `delivery_id`, which the documentation tells receivers to expect.
 * 6. Adds the connection of each receiver, and whether its channel has more due deliveries.
 */
async function claimEach(
  database: Database,
  { channelIds, lanes }: { channelIds: readonly string[]; lanes: number },
  { nowMs, claimMs, emailClaimMs = claimMs }: ClaimTimes,
): Promise<RequestedRow[]> {
  // Ids are passed on as an array, so that the planner expects few of them: for many it would read whole tables.
  return await runOn(database.pool)<RequestedRow>(
    `WITH requested AS MATERIALIZED (
       SELECT * FROM channels WHERE id = ANY ($1::text[]) AND coalesce(quiet_until, 0) <= $2
     ), superseded AS (
       UPDATE deliveries SET outcome = 'superseded', finished_at = $2
       WHERE id = ANY (ARRAY (
         SELECT d.id FROM requested c JOIN deliveries d ON d.channel_id = c.id
         WHERE ${DROPS_OVERTAKEN} AND is_due(d, $2) AND d.attempts > d.attempts_before AND ${IS_OUTDATED}
         FOR NO KEY UPDATE OF d SKIP LOCKED))
       RETURNING id
     ), turn AS MATERIALIZED (
       SELECT c.id AS channel_id, (
         SELECT e.id FROM deliveries e
         WHERE e.channel_id = c.id AND is_due(e, $2)
           AND EXISTS (SELECT FROM held_deliveries h WHERE h.delivery_id = e.id AND h.summary_id IS NULL
             AND h.released_at IS NULL)
           AND NOT ${waitsForEarlier('e')}
         ORDER BY e.next_attempt_at, e.id LIMIT 1) AS id
       FROM requested c WHERE c.type <> 'webhook' AND NOT EXISTS (
         SELECT FROM deliveries e JOIN held_deliveries h ON h.delivery_id = e.id AND h.summary_id IS NULL
           AND h.released_at IS NULL
         WHERE e.channel_id = c.id AND e.outcome = 'pending' AND e.next_attempt_at <= $2 AND e.claimed_until > $2)
     ), next AS MATERIALIZED (
       SELECT n.id FROM requested c, LATERAL (
         SELECT d.id FROM deliveries d
         WHERE d.channel_id = c.id AND is_due(d, $2) AND d.id <> ALL (ARRAY (SELECT id FROM superseded))
           AND NOT ${waitsForEarlier('d')}
           AND (c.type = 'webhook'
             OR NOT EXISTS (SELECT FROM held_deliveries h WHERE h.delivery_id = d.id AND h.summary_id IS NULL
               AND h.released_at IS NULL)
             OR d.id = (SELECT t.id FROM turn t WHERE t.channel_id = c.id LIMIT 1))
           AND CASE WHEN c.format ? 'preset' THEN NOT EXISTS (
             SELECT FROM deliveries e WHERE e.channel_id = d.channel_id AND e.monitor_id = d.monitor_id
               AND e.no < d.no AND e.outcome = 'pending' AND e.claimed_until > $2) ELSE true END
         ORDER BY d.next_attempt_at, d.id LIMIT $4 FOR NO KEY UPDATE OF d SKIP LOCKED
       ) n
     ), claimed AS (
       UPDATE deliveries d SET attempts = d.attempts + 1, claimed_until = $2 + CASE
         WHEN EXISTS (SELECT FROM requested c WHERE c.id = d.channel_id AND c.type = 'email') THEN $5::bigint
         ELSE $3::bigint END
       FROM set_config('synchronous_commit', 'off', true) WHERE d.id = ANY (ARRAY (SELECT id FROM next))
       RETURNING d.*
     ), opened AS (
       INSERT INTO delivery_attempts (delivery_id, attempt, started_at) SELECT id, attempts, $2 FROM claimed
     )
     SELECT c.id AS requested, d.id AS "deliveryId", d.tenant_id AS "tenantId", d.channel_id AS "channelId",
            CASE WHEN d.event NOT LIKE 'agent.%' THEN d.monitor_id END AS "monitorId", c.type AS "channelType",
            d.event, d.message, d.attempts AS attempt, d.attempts_before AS "attemptsBefore",
            d.claimed_until AS "claimedUntilMs", c.enabled, c.status,
            CASE WHEN c.type <> 'webhook' THEN coalesce(c.chat_id, c.sealed_url, c.address) END AS connection,
            c.type <> 'webhook'
              AND EXISTS (SELECT FROM outdated_alert(d.event, d.monitor_id, d.message)) AS "isOvertaken",
            (SELECT h.reason FROM held_deliveries h WHERE h.delivery_id = d.id AND h.summary_id IS NULL
              AND h.released_at IS NULL) AS "holdReason",
            q.group_id AS "groupId",
            (SELECT g.chat_message_id FROM alert_groups g WHERE g.id = q.group_id) AS "chatMessageId",
            (c.type <> 'webhook' OR c.follows_maintenance)
              AND EXISTS (SELECT FROM held_deliveries h WHERE h.delivery_id = d.id AND h.released_at IS NULL
              AND (h.reason = 'parent' OR EXISTS (SELECT FROM monitors m
                JOIN monitor_dependencies e ON e.monitor_no = m.no AND e.mode = 'hold'
                WHERE m.id = d.monitor_id))) AS "isBehind",
            CASE WHEN d.event = 'monitor.down' THEN (SELECT p.no FROM monitors p WHERE p.id = d.monitor_id AND (
              EXISTS (SELECT FROM reminders n WHERE n.delivery_id = d.id AND n.number < 0)
              OR EXISTS (SELECT FROM monitor_dependencies e JOIN monitors b ON b.no = e.monitor_no
                JOIN parent_holds k ON k.monitor_id = b.id AND k.sequence = b.sequence
                WHERE e.parent_no = p.no AND e.mode = 'hold'))) END AS "parentNo",
            (d.event = 'monitor.up' AND ${followsUnreleased('superseded')}) OR ${HAS_ENDED_IN_SUMMARY} AS "isOver",
            ${RESOLVES_UNKNOWN} AS "resolvesUnknown",
            c.sealed_url AS "sealedUrl", c.sealed_signing_secret AS "sealedSigningSecret",
            CASE WHEN c.previous_secret_until > $2 THEN c.sealed_previous_secret END AS "sealedPreviousSecret",
            c.sealed_headers AS "sealedHeaders", c.format,
            EXISTS (SELECT FROM deliveries m WHERE m.channel_id = c.id AND is_due(m, $2)
              AND m.id <> ALL (ARRAY (SELECT id FROM next))) AS "hasMore"
     FROM requested c LEFT JOIN claimed d ON d.channel_id = c.id
       LEFT JOIN grouped_deliveries q ON c.type = 'telegram' AND q.delivery_id = d.id
     ORDER BY d.next_attempt_at, d.id`,
    [channelIds, nowMs, claimMs, lanes, emailClaimMs],
  );
}

function attemptOf(database: Database, row: ClaimedRow & Pick<RequestedRow, 'requested' | 'hasMore'>): ClaimedAttempt {
  const { requested: _requested, hasMore: _hasMore, isOver: _isOver, enabled: _enabled, ...rest } = row;
  const { status: _status, sealedSigningSecret: _secret, ...others } = rest;
  const { sealedPreviousSecret: _previous, sealedHeaders: _headers, format: _format, ...claimed } = others;
  return { ...claimed, webhook: openSecrets(database, row), refusal: refusalOf(row) };
}

/**
 * Opens a webhook's secrets; null if their key is missing. An operator can restore it: the attempt fails, and the
 * delivery is retried.
 */
function openSecrets(database: Database, row: ClaimedRow): ClaimedAttempt['webhook'] {
  if (row.sealedUrl === null || row.sealedSigningSecret === null) return null;
  try {
    return openWebhook(database, {
      channelId: row.channelId,
      url: row.sealedUrl,
      signingSecret: row.sealedSigningSecret,
      previousSecret: row.sealedPreviousSecret,
      headers: row.sealedHeaders,
      format: row.format,
    });
  } catch {
    return null;
  }
}

function refusalOf(channel: Pick<ClaimedRow, 'enabled' | 'status'>): string | null {
  if (!channel.enabled) return 'The channel is disabled';
  return channel.status === 'connected' ? null : 'The channel is not connected';
}

/** The status or the error that identifies an attempt which was only put off. */
export type PutOffMark = { statusCode: number } | { error: string };

/**
 * Counts the attempts beyond `attemptsBefore` that were only put off within `withinMs` of the first, and returns when
 * that began.
 */
export async function countPutOffs(
  { pool }: Pick<Database, 'pool'>,
  { deliveryId, attemptsBefore }: Pick<ClaimedAttempt, 'deliveryId' | 'attemptsBefore'>,
  { withinMs, ...mark }: { withinMs: number } & PutOffMark,
): Promise<{ putOffs: number; firstAtMs: number } | undefined> {
  const [counted] = await runOn(pool)<{ putOffs: number; firstAtMs: number }>(
    `SELECT f.started_at AS "firstAtMs", count(a.attempt)::int AS "putOffs"
     FROM delivery_attempts f LEFT JOIN delivery_attempts a ON a.delivery_id = f.delivery_id AND a.attempt >= f.attempt
       AND a.outcome = 'retry' AND (a.status_code = $4 OR a.error = $5)
       AND a.started_at + a.duration_ms <= f.started_at + $3
     WHERE f.delivery_id = $1 AND f.attempt = $2 + 1 GROUP BY f.started_at`,
    [
      deliveryId,
      attemptsBefore,
      withinMs,
      'statusCode' in mark ? mark.statusCode : null,
      'error' in mark ? mark.error : null,
    ],
  );
  return counted;
}

/** Counts a channel's recoveries with more than this number of attempts that are still pending, up to a limit. */
export async function countLateDeliveries(
  { pool }: Pick<Database, 'pool'>,
  { channelId, attempts, limit }: { channelId: string; attempts: number; limit: number },
): Promise<number> {
  const [counted] = await runOn(pool)<{ late: number }>(
    `SELECT count(*)::int AS late FROM (
       SELECT FROM deliveries WHERE channel_id = $1 AND outcome = 'pending' AND attempts - attempts_before > $2
         AND event = 'monitor.up' LIMIT $3
     ) counted`,
    [channelId, attempts, limit],
  );
  return counted?.late ?? 0;
}

/**
 * Records the outcomes of claimed attempts and updates their deliveries, in one statement; reports for each whether it
 * still held its delivery. False if its claim had expired and another attempt was begun since: then only the attempt is
 * recorded. A retry to a chat or preset with a newer change of the monitor becomes `superseded` at once. A failing
 * channel that accepted one is healed, which costs healthy channels no extra statement.
 * 1. `made`: the attempts as rows, each with its channel and the new state of its delivery.
 * 2. `recorded`: stores the outcome of each attempt.
 * 3. `healed`: failing channels that accepted one, locked in a fixed order.
 * 4. `freed`, `behind`: releases alerts that were in a failed message, which are then due themselves.
 * 5. Deliveries whose newest attempt it is are finished, superseded, or due again. As with claims the commit does not
 *    wait for the disk.
 */
export async function recordAttempts(database: Database, made: readonly RecordedAttempt[]): Promise<boolean[]> {
  // With a condition on `outcome`, the planner may read the whole index of pending deliveries, whose statistics are
  // outdated in a storm.
  const rows = await runOn(database.pool)<{ id: string; attempts: number }>(
    `WITH made AS MATERIALIZED (
       SELECT m.*, d.channel_id, d.attempts_before, CASE
                WHEN m.outcome <> 'retry' THEN m.outcome
                WHEN ${DROPS_OVERTAKEN} AND ${IS_OUTDATED} THEN 'superseded'
                ELSE 'pending' END AS becomes
       FROM unnest($1::text[], $2::smallint[], $3::text[], $4::smallint[], $5::integer[], $6::text[],
         $7::text[], $8::bigint[], $9::bigint[])
         AS m (delivery_id, attempt, outcome, status_code, duration_ms, error, response, finished_at, next_attempt_at)
       JOIN deliveries d ON d.id = m.delivery_id JOIN channels c ON c.id = d.channel_id
     ), recorded AS (
       UPDATE delivery_attempts a SET duration_ms = m.duration_ms, outcome = m.outcome, status_code = m.status_code,
         error = left(m.error, ${MAX_ERROR_LENGTH}), response = m.response
       FROM made m WHERE a.delivery_id = m.delivery_id AND a.attempt = m.attempt
     ), healed AS (
       UPDATE channels SET ${HEALED}
       WHERE id = ANY (ARRAY (
         SELECT c.id FROM channels c
         WHERE c.id IN (SELECT channel_id FROM made WHERE outcome = 'delivered') AND is_ailing(c) AND takes_alerts(c)
         ORDER BY c.id FOR NO KEY UPDATE))
     )${made.some(({ outcome }) => outcome === 'failed') ? RELEASES_BEHIND : ''}
     UPDATE deliveries d SET outcome = m.becomes, claimed_until = NULL,
       next_attempt_at = coalesce(m.next_attempt_at, d.next_attempt_at),
       finished_at = CASE WHEN m.becomes <> 'pending' THEN m.finished_at END
     FROM set_config('synchronous_commit', 'off', true), made m
     WHERE d.id = m.delivery_id AND d.attempts = m.attempt AND d.finished_at IS NULL
     RETURNING d.id, d.attempts`,
    RECORDED_COLUMNS.map((column) => made.map((attempt) => attempt[column])),
  );
  const failed = made.filter(({ outcome }) => outcome === 'failed');
  // The statement does not find alerts that were added to the failed messages while it waited for a lock.
  if (failed.length > 0)
    await runOn(database.pool)(`WITH ${releaseBehind(FAILED_AT_FIRST, '$2::bigint')} SELECT`, [
      failed.map(({ deliveryId }) => deliveryId),
      Math.max(...failed.map(({ finishedAtMs }) => finishedAtMs)),
    ]);
  const recorded = new Set(rows.map(({ id, attempts }) => `${id}-${attempts}`));
  return made.map(({ deliveryId, attempt }) => recorded.has(`${deliveryId}-${attempt}`));
}
