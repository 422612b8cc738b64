import { buildLossMessage, type ChannelLoss } from '../../core/alerts/channel-message.ts';
import type { ChannelType } from '../../core/alerts/channel.ts';
import type { IdPrefix } from '../secrets/ids.ts';
import type { Run } from '../sql.ts';
import { insertDeliveries, type NewDelivery } from './deliveries.ts';

/** A chat channel that took alerts until just now. */
export type LostChannel = { id: string; tenantId: string; name: string; type: ChannelType };

/** What the deliveries about losses need. `publicUrl` is the base of links, without a slash at its end. */
export type LossTools = { newId: (prefix: IdPrefix) => string; publicUrl: string; nowMs: number };

/**
 * Inserts deliveries that notify the owners' other chats of lost channels, in the transaction that records the loss.
 * Returns them; the caller adds their jobs. Not notified are the lost channels themselves, others that lead to the same
 * chat, and webhooks. Until the transaction ends, a channel that is notified cannot be deleted.
 */
export async function insertLossDeliveries(
  run: Run,
  lost: readonly LostChannel[],
  how: LossTools & { loss: ChannelLoss; lastError: string },
): Promise<NewDelivery[]> {
  if (lost.length === 0) return [];
  const { loss, lastError, nowMs, newId, publicUrl } = how;
  const listeners = await run<{ lost_id: string; id: string }>(
    `SELECT c.id AS lost_id, o.id FROM channels c JOIN channels o ON o.tenant_id = c.tenant_id
     WHERE c.id = ANY ($1::text[]) AND o.id <> ALL ($1::text[]) AND o.type <> 'webhook' AND o.enabled
       AND o.status = 'connected'
       AND (o.chat_id IS NULL OR o.chat_id IS DISTINCT FROM c.chat_id)
       AND (o.address IS NULL OR o.address IS DISTINCT FROM c.address)
     ORDER BY o.id, c.id FOR KEY SHARE OF o`,
    [lost.map(({ id }) => id)],
  );
  const byChannel = Map.groupBy(listeners, (listener) => listener.lost_id);
  const deliveries = lost.flatMap(({ tenantId, ...channel }) => {
    const message = buildLossMessage({ channel, loss, lastError, nowMs, publicUrl });
    return (byChannel.get(channel.id) ?? []).map(({ id }) => ({
      id: newId('dlv'),
      tenantId,
      channelId: id,
      monitorId: null,
      message,
      createdAtMs: nowMs,
    }));
  });
  await insertDeliveries(run, deliveries);
  return deliveries;
}
