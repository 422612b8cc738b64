import type { ChannelType } from '../core/channel.ts';
import { nextAttemptDelayMs } from '../core/retry-timetable.ts';
import type { Database } from '../models/database.ts';
import { claimNextDelivery, recordAttempt, type ClaimedAttempt } from '../models/deliveries.ts';
import type { AttemptOutcome, AttemptResult } from '../notifications/attempt-result.ts';
import type { WebhookDelivery } from '../notifications/webhook/attempt.ts';
import type { DueAttempt } from '../queues/job-queues.ts';
import { createChannelLanes, type ChannelLanes } from './deliver/channel-lanes.ts';

/** Of pino, what is needed here. */
export type DeliveryLog = { info: (fields: object, text: string) => void; warn: (fields: object, text: string) => void };

export type DeliverOptions = {
  database: Database;
  sendWebhook: (delivery: WebhookDelivery) => Promise<AttemptResult>;
  /** Milliseconds within which an attempt ends by itself. */
  deadlineMs: number;
  /** The wait before each retry, in seconds. */
  retrySeconds: readonly number[];
  /** Adds the job of a later attempt; called after its row is committed. */
  enqueueAttempt: (attempt: DueAttempt) => Promise<void>;
  now: () => number;
  /** Draws from [0, 1). */
  random: () => number;
  log: DeliveryLog;
  onAttempt?: (outcome: AttemptOutcome, durationMs: number) => void;
};

/** What a claim outlasts the attempt's deadline by, in milliseconds: for the queries around it, and for clocks that differ. */
const CLAIM_MARGIN_MS = 7000;

/**
 * Makes what works off a channel's deliveries. It may be run twice, late, and for any channel: the rows decide. Its outcomes are those of
 * attempts, and `skipped` where a claim was outlived and the delivery is another's. A run rejects only when the database is away; what it
 * held comes back by the expiry of its claims.
 */
export function createDeliverer(options: DeliverOptions): ChannelLanes {
  const { database, now } = options;
  const claimMs = options.deadlineMs + CLAIM_MARGIN_MS;
  return createChannelLanes<ClaimedAttempt>({
    claim: (channelId) => claimNextDelivery(database, channelId, { nowMs: now(), claimMs }),
    attempt: (claimed) => attemptDelivery(claimed, options),
  });
}

async function attemptDelivery(claimed: ClaimedAttempt, options: DeliverOptions): Promise<AttemptOutcome | 'skipped'> {
  const { deliveryId, channelId, attempt } = claimed;
  const result = refuse(claimed, options) ?? (await send(claimed, options));
  const retryInMs = result.outcome === 'retry' ? nextAttemptDelayMs({ attempt, random: options.random(), timetableSeconds: options.retrySeconds }) : null;
  const outcome = result.outcome === 'retry' && retryInMs === null ? 'failed' : result.outcome;
  const finishedAtMs = options.now();
  const nextAttemptAtMs = retryInMs === null ? null : finishedAtMs + retryInMs;
  const isRecorded = await recordAttempt(options.database, { ...result, outcome, deliveryId, attempt, finishedAtMs, nextAttemptAtMs });
  report(options, claimed, { ...result, outcome });
  if (!isRecorded) return 'skipped';
  if (nextAttemptAtMs !== null) await enqueueRetry(options, { deliveryId, channelId, attempt: attempt + 1, dueAtMs: nextAttemptAtMs });
  return outcome;
}

/** Ends what cannot or must not be sent any more; null for everything else. */
function refuse(claimed: ClaimedAttempt, { retrySeconds }: DeliverOptions): AttemptResult | null {
  // Our own crash is no fault of the receiver's: it is made up for once even after the last attempt, and never again.
  const lastAttempt = retrySeconds.length + 2;
  const error = claimed.refusal ?? (claimed.attempt > lastAttempt ? 'Given up: the attempts before were cut short' : null);
  return error === null ? null : { outcome: 'failed', statusCode: null, durationMs: 0, error, response: null };
}

async function send(claimed: ClaimedAttempt, options: DeliverOptions): Promise<AttemptResult> {
  const startedAtMs = options.now();
  try {
    return await SENDERS[claimed.channelType](claimed, options);
  } catch (error) {
    options.log.warn({ err: error, delivery_id: claimed.deliveryId, channel_id: claimed.channelId, attempt: claimed.attempt }, 'delivery.broke_off');
    return { outcome: 'retry', statusCode: null, durationMs: options.now() - startedAtMs, error: 'The attempt broke off inside the service', response: null };
  }
}

type Send = (claimed: ClaimedAttempt, options: DeliverOptions) => Promise<AttemptResult>;

const SENDERS = {
  webhook: sendToWebhook,
  telegram: refuseType,
  slack: refuseType,
} as const satisfies Record<ChannelType, Send>;

async function sendToWebhook({ webhook, deliveryId, attempt, message }: ClaimedAttempt, { sendWebhook }: DeliverOptions): Promise<AttemptResult> {
  // The operator can bring the key back, so this is retried.
  if (webhook === null) return { outcome: 'retry', statusCode: null, durationMs: 0, error: 'The URL of the channel cannot be read with the present SECRET_KEYS', response: null };
  return await sendWebhook({ ...webhook, deliveryId, attempt, message });
}

/** Such a channel stays pending, so that no delivery is made for it; one that is there all the same ends with a reason. */
function refuseType({ channelType }: ClaimedAttempt): Promise<AttemptResult> {
  return Promise.resolve({ outcome: 'failed', statusCode: null, durationMs: 0, error: `This installation sends nothing to channels of type ${channelType}`, response: null });
}

/** The row is there already: a queue that is away costs the retry its punctuality, not its existence. */
async function enqueueRetry({ enqueueAttempt, log }: DeliverOptions, retry: DueAttempt): Promise<void> {
  try {
    await enqueueAttempt(retry);
  } catch (error) {
    log.warn({ err: error, delivery_id: retry.deliveryId, attempt: retry.attempt }, 'delivery.retry_not_queued');
  }
}

function report({ log, onAttempt }: DeliverOptions, claimed: ClaimedAttempt, result: AttemptResult): void {
  const { deliveryId, tenantId, channelId, monitorId, event, attempt } = claimed;
  log.info(
    {
      delivery_id: deliveryId,
      tenant_id: tenantId,
      channel_id: channelId,
      monitor_id: monitorId,
      delivery_event: event,
      attempt,
      duration_ms: result.durationMs,
      outcome: result.outcome,
      status_code: result.statusCode,
      error: result.error,
    },
    'delivery.attempted',
  );
  onAttempt?.(result.outcome, result.durationMs);
}
