import { isFailing } from '../../core/alerts/channel-loss.ts';
import { buildChannelMessage } from '../../core/alerts/channel-message.ts';
import { claimNotification, recordFailure, type FailingChannel } from '../../models/alerts/channel-health.ts';
import { disconnectChannel, type LostConnection } from '../../models/alerts/chat-connections.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { inPoolTransaction } from '../../models/sql.ts';
import type { JobQueues } from '../../queues/job-queues.ts';
import { firstAttempt } from '../incidents/record-changes.ts';
import type { Runtime } from '../runtime.ts';

/** A delivery that came to nothing at its receiver, with the sentence of its last attempt. */
export type FailedDelivery = { channelId: string; error: string; atMs: number };

export type ChannelHealthDependencies = Pick<Runtime, 'database' | 'newId' | 'now' | 'publicUrl'> & {
  queues: Pick<JobQueues, 'enqueueAttempts'>;
  log: { warn: (fields: object, text: string) => void };
};

/**
 * Makes the recorder of failed deliveries of a channel, and notifies the owner's other chats once of a
 * channel that keeps failing. Nothing is switched off. Rejects only when the database is away: at worst one failure is
 * not counted.
 */
export function createFailureRecorder(
  dependencies: ChannelHealthDependencies,
): (failed: FailedDelivery) => Promise<void> {
  const { database, now, log } = dependencies;
  return async (failed) => {
    const channel = await recordFailure(database, failed);
    if (channel === null || channel.isNotified || !isFailing(channel, now())) return;
    const deliveries = await insertNotifications(dependencies, { ...channel, lastError: failed.error });
    if (deliveries.length === 0) return;
    log.warn(
      {
        channel_id: channel.id,
        tenant_id: channel.tenantId,
        failures: channel.failures,
        deliveries: deliveries.length,
      },
      'channel.failing',
    );
    await enqueueFirstAttempts(dependencies, deliveries);
  };
}

/**
 * Makes the recorder of lost chat channels and notifies the owner's other chats in the same transaction: of several
 * that find the same one does. Rejects only when the database is away: the next alert then finds it again.
 */
export function createLossRecorder(dependencies: ChannelHealthDependencies): (lost: LostConnection) => Promise<void> {
  const { database, newId, publicUrl, now, log } = dependencies;
  return async (lost) => {
    const deliveries = await disconnectChannel(database, lost, { newId, publicUrl, nowMs: now() });
    if (deliveries === null) return;
    log.warn(
      { channel_id: lost.channelId, error: lost.problem, deliveries: deliveries.length },
      'channel.disconnected',
    );
    await enqueueFirstAttempts(dependencies, deliveries);
  };
}

/** Of several processes that find the same, the one whose update is first notifies. */
async function insertNotifications(
  { database, now, newId, publicUrl }: ChannelHealthDependencies,
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
    const channelIds = await claimNotification(run, { channelId: id, nowMs });
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
 * Adds the jobs of deliveries about channels and are committed. The rows are there: a queue that is away costs
 * only time.
 */
export async function enqueueFirstAttempts(
  { queues, log }: Pick<ChannelHealthDependencies, 'queues' | 'log'>,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  try {
    await queues.enqueueAttempts(deliveries.map(firstAttempt));
  } catch (error) {
    log.warn({ err: error, deliveries: deliveries.length }, 'delivery.not_queued');
  }
}
