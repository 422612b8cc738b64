import { isFailing, buildChannelMessage } from '../../core/alerts/channel-message.ts';
import { claimNotification, recordFailure, type FailingChannel } from '../../models/alerts/channel-health.ts';
import { disconnectChannel, type LostConnection } from '../../models/alerts/chat-connections.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { inTransaction } from '../../models/sql.ts';
import { enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import type { JobQueues } from '../../queues/job-queues.ts';
import type { Runtime } from '../runtime.ts';

/**
 * A delivery that failed at its receiver, with the sentence of its last attempt. It is not counted if it was before.
 * Default: counted.
 */
type FailedDelivery = { channelId: string; error: string; atMs: number; isCounted?: boolean };

type ChannelHealthParts = Pick<Runtime, 'database' | 'newId' | 'now' | 'publicUrl'> & {
  queues: Pick<JobQueues, 'enqueueAttempts'>;
  log: { warn: (fields: object, text: string) => void };
};

/** Records failed deliveries and lost chats, and notifies the owner's other chats once about a channel. */
export class ChannelHealth {
  readonly #parts: ChannelHealthParts;

  constructor(parts: ChannelHealthParts) {
    this.#parts = parts;
  }

  /**
   * Counts a failed delivery; a channel that keeps failing stays enabled. Rejects only if the database is away: at
   * worst one failure is not counted.
   */
  async recordFailure(failed: FailedDelivery): Promise<void> {
    const { database, queues, log, now } = this.#parts;
    const channel = await recordFailure(database, failed);
    if (channel === null || channel.isNotified || !isFailing(channel, now())) return;
    const deliveries = await this.#insertNotifications({ ...channel, lastError: failed.error });
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
    await enqueueDeliveries(queues, log, deliveries.map(firstAttempt));
  }

  /**
   * Disconnects an unreachable chat, and notifies in the same transaction. It may have been reconnected meanwhile; of
   * several calls that find the same, one does this. Rejects only if the database is away: the next alert then finds it
   * again.
   */
  async recordLoss(lost: LostConnection): Promise<void> {
    const { database, queues, newId, publicUrl, now, log } = this.#parts;
    const deliveries = await disconnectChannel(database, lost, { newId, publicUrl, nowMs: now() });
    if (deliveries === null) return;
    log.warn(
      { channel_id: lost.channelId, error: lost.problem, deliveries: deliveries.length },
      'channel.disconnected',
    );
    await enqueueDeliveries(queues, log, deliveries.map(firstAttempt));
  }

  /** Notifies about a failing channel; of several processes that find the same, the one with the first update does. */
  async #insertNotifications(channel: FailingChannel & { lastError: string }): Promise<NewDelivery[]> {
    const { database, now, newId, publicUrl } = this.#parts;
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
    return await inTransaction(database, async (run) => {
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
}
