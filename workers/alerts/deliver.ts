import type { ChannelType } from '../../core/alerts/channel.ts';
import {
  MAX_LATE_RESOLVES,
  MAX_PUT_OFFS,
  PUT_OFF_FOR_MS,
  countAttempts,
  nextAttemptDelayMs,
  nextPutOffDelayMs,
  nextResolveDelayMs,
} from '../../core/alerts/retries.ts';
import { isStateful } from '../../core/alerts/webhook.ts';
import { createBatched, type Batched } from '../../core/shared-calls.ts';
import { moveChat, updateQuietUntil } from '../../models/alerts/chat-connections.ts';
import {
  claimDeliveries,
  countLateDeliveries,
  countPutOffs,
  postponeClaimed,
  recordAttempts,
  type Claim,
  type ClaimedAttempt,
  type PutOffMark,
  type RecordedAttempt,
} from '../../models/alerts/delivery-attempts.ts';
import { updateGroupMessage } from '../../models/alerts/summaries.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { runOn } from '../../models/sql.ts';
import { holdingBodies } from '../../net/body-budget.ts';
import {
  NO_CONNECTION,
  unsuccessful,
  type AttemptOutcome,
  type ChannelAttempt,
} from '../../notifications/attempt-result.ts';
import { MAIL_ATTEMPT_MS } from '../../notifications/email/sending.ts';
import { enqueueCommitted, enqueueDeliveries } from '../../queues/enqueue-committed.ts';
import type { JobQueues } from '../../queues/job-queues.ts';
import type { WorkerMetrics } from '../system/metrics.ts';
import type { ChannelHealth } from './channel-health.ts';
import { HeldAlerts } from './gather-held.ts';
import { fillBehind } from './join-parents.ts';
import { SENDERS, type SendingParts } from './senders.ts';

/** The methods of a pino logger that are used here. */
type DeliveryLog = {
  info: (fields: object, text: string) => void;
  warn: (fields: object, text: string) => void;
};

export type DelivererParts = SendingParts & {
  newId: (prefix: IdPrefix) => string;
  /** Wait before each retry, in seconds. */
  retrySeconds: readonly number[];
  /** Timeout of an attempt, in milliseconds; emails have a different one. */
  deadlineMs: number;
  channelHealth: Pick<ChannelHealth, 'recordFailure' | 'recordLoss'>;
  queues: Pick<JobQueues, 'enqueueAttempts'>;
  metrics: Pick<WorkerMetrics, 'deliveryAttempted'>;
  log: DeliveryLog;
  /** Returns a random number in [0, 1). */
  random: () => number;
};

/**
 * How long a claim outlasts the attempt's deadline, in milliseconds: for the queries around it, and for differing
 * clocks.
 */
const CLAIM_MARGIN_MS = 7000;

/**
 * Longest pause, in milliseconds, of a webhook whose receiver limits rates without `Retry-After`. It may take only one
 * message after each: with longer pauses, fewer alerts would arrive within the hour in which a 429 uses up no attempt.
 */
const LIMITED_PAUSE_MS = 1000;

/** Maximum attempts of a resolve, more than the seven days of its retries allow. */
const MAX_RESOLVE_ATTEMPTS = 250;

/** How often a delivery was postponed without using up an attempt, and when the first attempt began. */
type PutOffs = { putOffs: number; firstAtMs: number };

/** A finished attempt: its outcome, and the next steps. */
type MadeAttempt = ChannelAttempt &
  RecordedAttempt & {
    channelId: string;
    /** End of the pause that the receiver needs, in Unix milliseconds; null if it needs none. */
    quietUntilMs: number | null;
  };

/**
 * Delivers the due attempts of channels: claims, signs and sends, reads the outcome, plans the retry, records. It may
 * run twice, late, and for any channel: the rows decide. Rejects only if the database is away; its claimed deliveries
 * are free again once their claims expire.
 */
export class Deliverer {
  readonly #parts: DelivererParts;
  readonly #claim: Batched<string, Claim>;
  readonly #record: Batched<RecordedAttempt, boolean>;
  readonly #held: HeldAlerts;

  constructor(parts: DelivererParts) {
    const { database, now } = parts;
    const claimMs = parts.deadlineMs + CLAIM_MARGIN_MS;
    this.#parts = parts;
    const emailClaimMs = MAIL_ATTEMPT_MS + CLAIM_MARGIN_MS;
    this.#claim = createBatched((channelIds) =>
      claimDeliveries(database, channelIds, { nowMs: now(), claimMs, emailClaimMs }),
    );
    this.#held = new HeldAlerts(parts);
    this.#record = createBatched((made) => recordAttempts(database, made));
  }

  /**
   * Claims the channel's oldest due attempt. An alert that waited is first dropped if it is outdated, or gathered with
   * others, and the next one is claimed instead. Alerts that wait for the claimed one are added to its message.
   */
  async claim(channelId: string): Promise<Claim> {
    const { now, queues, log } = this.#parts;
    const { claimed, hasMore } = await this.#claim(channelId);
    if (claimed === null) return { claimed, hasMore };
    if (claimed.holdReason !== null) {
      const { isSent, attempts } = await this.#held.release(claimed);
      const later = attempts.filter(({ dueAtMs }) => dueAtMs > now());
      if (later.length > 0) await enqueueDeliveries(queues, log, later);
      if (!isSent) return await this.claim(channelId);
    }
    const filled = claimed.parentNo === null ? claimed : await fillBehind(claimed, this.#parts, now());
    return filled === null ? await this.claim(channelId) : { claimed: filled, hasMore };
  }

  /** Makes a claimed attempt; `skipped` if the claim expired and the delivery is another process's. */
  async attempt(claimed: ClaimedAttempt): Promise<AttemptOutcome | 'skipped'> {
    // The process stalled. The message may be resolved or superseded by now.
    if (this.#parts.now() >= claimed.claimedUntilMs) return await this.#giveBack(claimed);
    const putOffs = await this.#countPutOffs(claimed);
    const attempts = countAttempts(this.#parts.retrySeconds) + putOffs.putOffs;
    const refused = refuse(claimed, attempts);
    const sent = refused ?? (await this.#send(claimed, claimed.attempt - claimed.attemptsBefore >= attempts));
    const made = await this.#planRetry(claimed, sent, putOffs);
    await this.#storeQuietUntil(claimed, made);
    const isRecorded = await this.#record(made);
    this.#report(claimed, made);
    await this.#updateChat(claimed, made);
    // Other deliveries that wait for the receiver must not wait for this one's retry.
    if (made.quietUntilMs !== made.nextAttemptAtMs) await this.#enqueueNext(made, made.quietUntilMs);
    if (!isRecorded) return 'skipped';
    // An alert that was never sent proves nothing about its receiver.
    if (refused === null && isFailure(claimed, made))
      await this.#recordFailure(made, claimed.webhook === null || putOffs.putOffs === 0);
    await this.#enqueueNext(made, made.nextAttemptAtMs);
    // Alerts that were to be part of its message are due themselves.
    if (made.outcome === 'failed' && claimed.parentNo !== null) await this.#enqueueNext(made, made.finishedAtMs);
    return made.outcome;
  }

  /** Makes the delivery due again, with as many attempts as before, unless another process has claimed it since. */
  async #giveBack(claimed: ClaimedAttempt): Promise<'skipped'> {
    const { database, log, now } = this.#parts;
    const nowMs = now();
    await postponeClaimed(runOn(database.pool), claimed, nowMs);
    const { deliveryId, channelId, attempt, claimedUntilMs } = claimed;
    log.warn(
      { delivery_id: deliveryId, channel_id: channelId, attempt, late_ms: nowMs - claimedUntilMs },
      'delivery.claim_expired',
    );
    await this.#enqueueNext({ ...claimed, attempt: claimed.attempt - 1 }, nowMs);
    return 'skipped';
  }

  async #send(claimed: ClaimedAttempt, isLast: boolean): Promise<ChannelAttempt> {
    const { log } = this.#parts;
    const startedAtMs = performance.now();
    try {
      // Hanging name lookups count for this account, and leave lookups to others.
      return await holdingBodies(claimed.tenantId, () =>
        SENDERS[claimed.channelType](claimed, { ...this.#parts, isLast }),
      );
    } catch (error) {
      log.warn(
        { err: error, delivery_id: claimed.deliveryId, channel_id: claimed.channelId, attempt: claimed.attempt },
        'delivery.broke_off',
      );
      const durationMs = Math.round(performance.now() - startedAtMs);
      return { ...unsuccessful('retry', 'The service interrupted the attempt'), durationMs };
    }
  }

  /** Counts the postponements; a first attempt has none. */
  async #countPutOffs(claimed: ClaimedAttempt): Promise<PutOffs> {
    const { database, now } = this.#parts;
    const putOff = findPutOff(claimed);
    const counted =
      putOff !== undefined && claimed.attempt - claimed.attemptsBefore > 1
        ? await countPutOffs(database, claimed, { ...putOff, withinMs: PUT_OFF_FOR_MS })
        : undefined;
    return { putOffs: Math.min(counted?.putOffs ?? 0, MAX_PUT_OFFS), firstAtMs: counted?.firstAtMs ?? now() };
  }

  async #planRetry(
    claimed: ClaimedAttempt,
    answer: ChannelAttempt,
    { putOffs, firstAtMs }: PutOffs,
  ): Promise<MadeAttempt> {
    const { deliveryId, channelId, attempt, attemptsBefore, message } = claimed;
    const { random, retrySeconds, now } = this.#parts;
    const finishedAtMs = now();
    const timetable = { random: random(), timetableSeconds: retrySeconds };
    const failed = { ...timetable, attempt: attempt - attemptsBefore - putOffs };
    // A receiver that refuses this now may accept it once its key is fixed.
    const isPersistent =
      endsIncident(claimed) && answer.outcome !== 'delivered' && (await this.#mayPersist(claimed, failed.attempt));
    const retriesRefusal = isPersistent && answer.outcome === 'failed' && answer.statusCode !== null;
    const sent = retriesRefusal ? { ...answer, outcome: 'retry' as const } : answer;
    const planWaitMs = (): number | null => {
      if (sent.outcome !== 'retry') return null;
      const putOff = { ...timetable, attempt: putOffs + 1 };
      const putOffMs = isPutOff(claimed, sent) ? nextPutOffDelayMs(putOff, { firstAtMs, nowMs: finishedAtMs }) : null;
      if (putOffMs !== null || !isPersistent) return putOffMs ?? nextAttemptDelayMs(failed);
      return nextResolveDelayMs(failed, { eventAtMs: message.event_at * 1000, nowMs: finishedAtMs });
    };
    const timetableMs = planWaitMs();
    // A receiver that requests a longer pause would only refuse again.
    const retryInMs = timetableMs === null ? null : Math.max(timetableMs, sent.retryAfterMs ?? 0);
    // Without `Retry-After`, too, a receiver that limits rates would only refuse other alerts.
    const isLimited = claimed.webhook !== null && isPutOff(claimed, sent) && retryInMs !== null;
    const pauseMs = sent.retryAfterMs ?? (isLimited ? Math.min(retryInMs, LIMITED_PAUSE_MS) : null);
    return {
      ...sent,
      deliveryId,
      channelId,
      attempt,
      outcome: sent.outcome === 'retry' && retryInMs === null ? 'failed' : sent.outcome,
      finishedAtMs,
      nextAttemptAtMs: retryInMs === null ? null : finishedAtMs + retryInMs,
      quietUntilMs: pauseMs === null ? null : finishedAtMs + pauseMs,
    };
  }

  /**
   * Reports whether a resolve may be retried beyond the timetable: a receiver that is always failing would gather them
   * for days. `attempt` leaves out postponed ones.
   */
  async #mayPersist({ channelId }: ClaimedAttempt, attempt: number): Promise<boolean> {
    const { database, retrySeconds } = this.#parts;
    const attempts = countAttempts(retrySeconds);
    // A resolve that is already being retried is among the counted ones.
    if (attempt !== attempts) return true;
    return (
      (await countLateDeliveries(database, { channelId, attempts: attempts - 1, limit: MAX_LATE_RESOLVES + 1 })) <=
      MAX_LATE_RESOLVES
    );
  }

  async #storeQuietUntil({ channelId, sealedUrl }: ClaimedAttempt, { quietUntilMs }: MadeAttempt): Promise<void> {
    if (quietUntilMs === null) return;
    await updateQuietUntil(runOn(this.#parts.database.pool), { channelId, sealedUrl, untilMs: quietUntilMs });
  }

  #report({ tenantId, monitorId, event, message }: ClaimedAttempt, made: MadeAttempt): void {
    const { log, metrics } = this.#parts;
    const drill = 'drill' in message ? message.drill : undefined;
    log.info(
      {
        delivery_id: made.deliveryId,
        tenant_id: tenantId,
        channel_id: made.channelId,
        ...(drill === undefined ? { monitor_id: monitorId } : { drill_id: drill.id }),
        delivery_event: event,
        attempt: made.attempt,
        duration_ms: made.durationMs,
        outcome: made.outcome,
        status_code: made.statusCode,
        error: made.error,
      },
      'delivery.attempted',
    );
    metrics.deliveryAttempted(made.outcome, made.durationMs);
  }

  /** Stores an attempt's findings about its chat, which apply to all later messages there. */
  async #updateChat(
    { connection, groupId, deliveryId }: ClaimedAttempt,
    { channelId, channelProblem, movedTo, chatMessageId, finishedAtMs }: MadeAttempt,
  ): Promise<void> {
    const { database, channelHealth } = this.#parts;
    if (connection === null) return;
    if (groupId !== null && chatMessageId !== null)
      await updateGroupMessage(runOn(database.pool), { deliveryId, chatMessageId, nowMs: finishedAtMs });
    if (movedTo !== null) await moveChat(runOn(database.pool), { from: connection, to: movedTo });
    if (channelProblem !== null)
      await channelHealth.recordLoss({ channelId, connection: movedTo ?? connection, problem: channelProblem });
  }

  /**
   * Records a failure of the channel; a lost chat is recorded separately. A delivery that was postponed within the hour
   * is counted once, the first time.
   */
  async #recordFailure(
    { channelProblem, channelId, error, finishedAtMs }: MadeAttempt,
    isCounted: boolean,
  ): Promise<void> {
    if (channelProblem !== null) return;
    await this.#parts.channelHealth.recordFailure({
      channelId,
      error: error ?? 'Failed for an unknown reason',
      atMs: finishedAtMs,
      isCounted,
    });
  }

  /**
   * Adds the job of the next attempt. Its row exists already: if the queue is away, the retry is late, but not lost.
   */
  async #enqueueNext(
    { deliveryId, channelId, attempt }: Pick<MadeAttempt, 'deliveryId' | 'channelId' | 'attempt'>,
    dueAtMs: number | null,
  ): Promise<void> {
    const { queues, log } = this.#parts;
    if (dueAtMs === null) return;
    const next = { deliveryId, channelId, attempt: attempt + 1, dueAtMs };
    await enqueueCommitted(() => queues.enqueueAttempts([next]), {
      log,
      line: 'delivery.retry_not_queued',
      fields: { delivery_id: deliveryId, attempt: next.attempt },
    });
  }
}

/** Reports whether a delivery closes an incident at a receiver that keeps it open until then. */
function endsIncident({ webhook, message }: ClaimedAttempt): boolean {
  return (
    webhook !== null &&
    isStateful(webhook.format) &&
    message.event === 'monitor.up' &&
    message.detail.incident_id !== null
  );
}

/**
 * Marks of postponed messages. They exceeded the bot's limit, the capacity of the mail server, or the rate of a
 * webhook's receiver.
 */
const PUT_OFFS: Partial<Record<ChannelType, PutOffMark>> = {
  telegram: { statusCode: 429 },
  email: { error: NO_CONNECTION },
  webhook: { statusCode: 429 },
};

/**
 * Returns the mark of a channel's postponed messages; undefined if none are. Late messages of a template could overtake
 * newer ones. A 429 to an envelope is final, but the webhook may have had a preset before.
 */
function findPutOff({ channelType, webhook }: ClaimedAttempt): PutOffMark | undefined {
  const format = webhook?.format ?? null;
  return format !== null && 'template' in format ? undefined : PUT_OFFS[channelType];
}

function isPutOff(claimed: ClaimedAttempt, { statusCode, error }: ChannelAttempt): boolean {
  const putOff = findPutOff(claimed);
  return putOff !== undefined && ('error' in putOff ? error === putOff.error : statusCode === putOff.statusCode);
}

/**
 * Reports whether an attempt is a failure of its channel. A limit of the receiver's own is, at once: it can last. One
 * that all accounts share proves nothing about the receiver.
 */
function isFailure(claimed: ClaimedAttempt, made: MadeAttempt): boolean {
  return isPutOff(claimed, made) ? claimed.webhook !== null : made.outcome === 'failed';
}

/** Returns the failure of a message that cannot or must not be sent any more; null otherwise. */
function refuse(claimed: ClaimedAttempt, attempts: number): ChannelAttempt | null {
  // An attempt that a crash interrupted may have reached the receiver: it counts like any other.
  const lastAttempt = endsIncident(claimed) ? MAX_RESOLVE_ATTEMPTS : attempts;
  const error =
    claimed.refusal ??
    (claimed.attempt - claimed.attemptsBefore > lastAttempt
      ? 'Gave up: earlier attempts were interrupted or postponed'
      : null);
  return error === null ? null : unsuccessful('failed', error);
}
