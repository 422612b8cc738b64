import { isFailing } from '../../core/channel-health.ts';
import { buildChannelMessage } from '../../core/channel-message.ts';
import { claimTelling, recordFailure, type FailingChannel } from '../../models/channel-health.ts';
import { disconnectChannel, type LostConnection } from '../../models/chat-connections.ts';
import { insertDeliveries, type NewDelivery } from '../../models/deliveries.ts';
import { inPoolTransaction } from '../../models/sql.ts';
import type { JobQueues } from '../../queues/job-queues.ts';
import { firstAttempt } from '../record-changes.ts';
import type { Runtime } from '../runtime.ts';

/** A delivery that came to nothing at its receiver, with the sentence of its last attempt. */
export type FailedDelivery = { channelId: string; error: string; atMs: number };

export type HealthNoteDependencies = Pick<Runtime, 'database' | 'newId' | 'now' | 'publicUrl'> & {
  queues: Pick<JobQueues, 'enqueueAttempts'>;
  log: { warn: (fields: object, text: string) => void };
};

/**
 * Makes what notes at a channel that a delivery came to nothing there, and tells the owner's other chats once of a
 * channel that keeps failing. Nothing is switched off. Rejects only when the database is away: at worst one failure is
 * not counted.
 */
export function createFailureNote(dependencies: HealthNoteDependencies): (failed: FailedDelivery) => Promise<void> {
  const { database, now, log } = dependencies;
  return async (failed) => {
    const channel = await recordFailure(database, failed);
    if (channel === null || channel.isTold || !isFailing(channel, now())) return;
    const told = await tell(dependencies, { ...channel, lastError: failed.error });
    if (told.length === 0) return;
    log.warn(
      { channel_id: channel.id, tenant_id: channel.tenantId, failures: channel.failures, told: told.length },
      'channel.failing',
    );
    await enqueueTellings(dependencies, told);
  };
}

/**
 * Makes what marks a chat channel as lost and tells the owner's other chats in the same transaction: of several that
 * find the same one does. Rejects only when the database is away: the next alert then finds it again.
 */
export function createLossNote(dependencies: HealthNoteDependencies): (lost: LostConnection) => Promise<void> {
  const { database, newId, publicUrl, now, log } = dependencies;
  return async (lost) => {
    const told = await disconnectChannel(database, lost, { newId, publicUrl, nowMs: now() });
    if (told === null) return;
    log.warn({ channel_id: lost.channelId, error: lost.problem, told: told.length }, 'channel.disconnected');
    await enqueueTellings(dependencies, told);
  };
}

/** Of several processes that find the same, the one whose mark is first tells. */
async function tell(
  { database, now, newId, publicUrl }: HealthNoteDependencies,
  channel: FailingChannel & { lastError: string },
): Promise<NewDelivery[]> {
  const { id, tenantId, name, type, failures, failingSinceMs, lastError } = channel;
  const nowMs = now();
  const message = buildChannelMessage({
    channel: { id, name, type },
    failures,
    failingSinceMs,
    lastError,
    nowMs,
    publicUrl,
  });
  return await inPoolTransaction(database, async (run) => {
    const channelIds = await claimTelling(run, { channelId: id, nowMs });
    const deliveries = channelIds.map((channelId) => ({
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId: null,
      message,
      createdAtMs: nowMs,
    }));
    await insertDeliveries(run, deliveries);
    return deliveries;
  });
}

/**
 * Adds the jobs of deliveries that tell of channels and are committed. The rows are there: a queue that is away costs
 * only time.
 */
export async function enqueueTellings(
  { queues, log }: Pick<HealthNoteDependencies, 'queues' | 'log'>,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  try {
    await queues.enqueueAttempts(deliveries.map(firstAttempt));
  } catch (error) {
    log.warn({ err: error, deliveries: deliveries.length }, 'delivery.not_queued');
  }
}
