import type { ChannelType } from '../../core/alerts/channel.ts';
import { buildAlert } from '../../core/alerts/chat/alert.ts';
import type { ChatMessage } from '../../core/alerts/chat/message.ts';
import { isChatOnly } from '../../core/alerts/envelope.ts';
import { MAX_RETRIES, nextAttemptDelayMs } from '../../core/alerts/retry-timetable.ts';
import { updateQuietUntil, moveChat, type LostConnection } from '../../models/alerts/chat-connections.ts';
import {
  claimDeliveries,
  recordAttempts,
  type Claim,
  type ClaimedAttempt,
  type RecordedAttempt,
} from '../../models/alerts/deliveries.ts';
import { openSlackWebhook } from '../../models/alerts/slack-connections.ts';
import { createBatched, type Batched } from '../../models/batched.ts';
import type { Database } from '../../models/database.ts';
import { runOn } from '../../models/sql.ts';
import type { AttemptOutcome, AttemptResult } from '../../notifications/attempt-result.ts';
import { NOTHING_MORE, type ChatAttempt } from '../../notifications/chat-attempt.ts';
import type { WebhookDelivery } from '../../notifications/webhook/attempt.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';
import type { FailedDelivery } from './channel-health.ts';
import { createChannelLanes, type ChannelLanes } from './channel-lanes.ts';

/** Of pino, what is needed here. */
export type DeliveryLog = {
  info: (fields: object, text: string) => void;
  warn: (fields: object, text: string) => void;
};

export type DeliverOptions = {
  database: Database;
  sendWebhook: (delivery: WebhookDelivery) => Promise<AttemptResult>;
  /** Null while the installation has no bot. */
  sendTelegram: ((chatId: string, message: ChatMessage) => Promise<ChatAttempt>) | null;
  sendSlack: (webhookUrl: string, message: ChatMessage) => Promise<ChatAttempt>;
  /** Milliseconds within which an attempt ends by itself. */
  deadlineMs: number;
  /** The wait before each retry, in seconds. */
  retrySeconds: readonly number[];
  /** Adds the job of a later attempt; called after its row is committed. */
  enqueueAttempt: (attempt: DueAttempt) => Promise<void>;
  now: () => number;
  /** Draws from [0, 1). */
  random: () => number;
  /** Called with each delivery that came to nothing at its receiver, once that is committed. */
  recordFailure: (failed: FailedDelivery) => Promise<void>;
  /** Called with a chat that cannot be reached any more, which may have been connected anew by then. */
  recordLoss: (lost: LostConnection) => Promise<void>;
  log: DeliveryLog;
  onAttempt?: (outcome: AttemptOutcome, durationMs: number) => void;
};

/**
 * What a claim outlasts the attempt's deadline by, in milliseconds: for the queries around it, and for clocks that
 * differ.
 */
const CLAIM_MARGIN_MS = 7000;

/**
 * Makes what works off a channel's deliveries. It may be run twice, late, and for any channel: the rows decide. Its
 * outcomes are those of attempts, and `skipped` where a claim was outlived and the delivery is another's. A run rejects
 * only when the database is away; what it held comes back by the expiry of its claims.
 */
export function createDeliverer(options: DeliverOptions): ChannelLanes {
  const { database, now } = options;
  const claimMs = options.deadlineMs + CLAIM_MARGIN_MS;
  const record = createBatched<RecordedAttempt, boolean>((made) => recordAttempts(database, made));
  return createChannelLanes<ClaimedAttempt>({
    claim: createBatched<string, Claim>((channelIds) =>
      claimDeliveries(database, channelIds, { nowMs: now(), claimMs }),
    ),
    attempt: (claimed) => attemptDelivery(claimed, { ...options, record }),
  });
}

type Recording = DeliverOptions & { record: Batched<RecordedAttempt, boolean> };

async function attemptDelivery(claimed: ClaimedAttempt, options: Recording): Promise<AttemptOutcome | 'skipped'> {
  const { deliveryId, channelId, attempt, attemptsBefore } = claimed;
  const refused = refuse(claimed, options);
  const result = refused ?? (await send(claimed, options));
  const timetableMs =
    result.outcome === 'retry'
      ? nextAttemptDelayMs({
          attempt: attempt - attemptsBefore,
          random: options.random(),
          timetableSeconds: options.retrySeconds,
        })
      : null;
  // A receiver that asks for a longer pause would only refuse once more.
  const retryInMs = timetableMs === null ? null : Math.max(timetableMs, result.retryAfterMs ?? 0);
  const outcome = result.outcome === 'retry' && retryInMs === null ? 'failed' : result.outcome;
  const finishedAtMs = options.now();
  const nextAttemptAtMs = retryInMs === null ? null : finishedAtMs + retryInMs;
  const quietUntilMs = result.retryAfterMs === null ? null : finishedAtMs + result.retryAfterMs;
  if (quietUntilMs !== null) await updateQuietUntil(runOn(options.database.pool), { channelId, untilMs: quietUntilMs });
  const isRecorded = await options.record({ ...result, outcome, deliveryId, attempt, finishedAtMs, nextAttemptAtMs });
  report(options, claimed, { ...result, outcome });
  await heedChat(options, claimed, result);
  // What else waits for the chat must not wait for this one's retry.
  if (quietUntilMs !== null && quietUntilMs !== nextAttemptAtMs)
    await enqueueRetry(options, { deliveryId, channelId, attempt: attempt + 1, dueAtMs: quietUntilMs });
  if (!isRecorded) return 'skipped';
  // A lost chat is recorded by itself, and an alert that was never sent says nothing of its receiver.
  if (outcome === 'failed' && refused === null && result.channelProblem === null)
    await options.recordFailure({ channelId, error: result.error ?? 'Failed without a reason', atMs: finishedAtMs });
  if (nextAttemptAtMs !== null)
    await enqueueRetry(options, { deliveryId, channelId, attempt: attempt + 1, dueAtMs: nextAttemptAtMs });
  return outcome;
}

/** What an attempt says of its chat holds for all that is sent there later. */
async function heedChat(
  { database, recordLoss }: DeliverOptions,
  { channelId, connection }: ClaimedAttempt,
  { channelProblem, movedTo }: ChatAttempt,
): Promise<void> {
  if (connection === null) return;
  if (movedTo !== null) await moveChat(runOn(database.pool), { from: connection, to: movedTo });
  if (channelProblem !== null)
    await recordLoss({ channelId, connection: movedTo ?? connection, problem: channelProblem });
}

/** Ends what cannot or must not be sent any more; null for everything else. */
function refuse(claimed: ClaimedAttempt, { retrySeconds }: DeliverOptions): ChatAttempt | null {
  // An attempt that our crash cut short may have reached the receiver: it counts like any other.
  const lastAttempt = Math.min(retrySeconds.length, MAX_RETRIES) + 1;
  const error =
    claimed.refusal ??
    (claimed.attempt - claimed.attemptsBefore > lastAttempt ? 'Given up: the attempts before were cut short' : null);
  return error === null ? null : unsent('failed', error);
}

function unsent(outcome: 'retry' | 'failed', error: string): ChatAttempt {
  return { ...NOTHING_MORE, outcome, statusCode: null, durationMs: 0, error, response: null };
}

async function send(claimed: ClaimedAttempt, options: DeliverOptions): Promise<ChatAttempt> {
  const startedAtMs = options.now();
  try {
    return await SENDERS[claimed.channelType](claimed, options);
  } catch (error) {
    options.log.warn(
      { err: error, delivery_id: claimed.deliveryId, channel_id: claimed.channelId, attempt: claimed.attempt },
      'delivery.broke_off',
    );
    return { ...unsent('retry', 'The attempt broke off inside the service'), durationMs: options.now() - startedAtMs };
  }
}

type Send = (claimed: ClaimedAttempt, options: DeliverOptions) => Promise<ChatAttempt>;

const SENDERS = {
  webhook: sendToWebhook,
  telegram: sendToTelegram,
  slack: sendToSlack,
} as const satisfies Record<ChannelType, Send>;

async function sendToWebhook(
  { webhook, deliveryId, attempt, message }: ClaimedAttempt,
  { sendWebhook }: DeliverOptions,
): Promise<ChatAttempt> {
  // The operator can bring the key back, so this is retried.
  if (webhook === null) return unsent('retry', 'The URL of the channel cannot be read with the present SECRET_KEYS');
  if (isChatOnly(message)) return unsent('failed', `${message.event} is sent to chats only`);
  return { ...NOTHING_MORE, ...(await sendWebhook({ ...webhook, deliveryId, attempt, message })) };
}

async function sendToTelegram(claimed: ClaimedAttempt, { sendTelegram, now }: DeliverOptions): Promise<ChatAttempt> {
  // The operator can bring the bot back.
  if (sendTelegram === null) return unsent('retry', 'This installation has no Telegram bot at the moment');
  if (claimed.connection === null) return unsent('failed', 'The channel has no chat');
  return await sendTelegram(claimed.connection, alertOf(claimed, now()));
}

async function sendToSlack(
  claimed: ClaimedAttempt,
  { database, sendSlack, now }: DeliverOptions,
): Promise<ChatAttempt> {
  const { channelId, connection } = claimed;
  if (connection === null) return unsent('failed', 'The channel has no webhook');
  let webhookUrl: string;
  try {
    webhookUrl = openSlackWebhook(database, { channelId, sealedUrl: connection });
  } catch {
    // The operator can bring the key back.
    return unsent('retry', 'The webhook of the channel cannot be read with the present SECRET_KEYS');
  }
  return await sendSlack(webhookUrl, alertOf(claimed, now()));
}

function alertOf({ message, attemptsBefore, isOvertaken }: ClaimedAttempt, nowMs: number): ChatMessage {
  return buildAlert(message, nowMs, { isSentAgain: attemptsBefore > 0, isOvertaken });
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
