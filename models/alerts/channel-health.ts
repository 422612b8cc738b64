import { buildLossMessage, type ChannelLoss } from '../../core/alerts/channel-message.ts';
import type { ChannelType } from '../../core/alerts/channel.ts';
import type { Database } from '../database.ts';
import type { IdPrefix } from '../secrets/ids.ts';
import { runOn, type Run } from '../sql.ts';
import { insertDeliveries, type NewDelivery } from './deliveries.ts';

/**
 * Assignments for a channel when a delivery arrives there, or it is reconnected; nothing else clears its last error.
 */
export const HEALED =
  'failures = 0, failing_since = NULL, failing_told_at = NULL, last_error = NULL, last_error_at = NULL';

/**
 * A channel after a failed delivery: the number of consecutive failures, since when, and whether its owner was
 * notified. Times are Unix milliseconds.
 */
export type FailingChannel = {
  id: string;
  tenantId: string;
  name: string;
  type: ChannelType;
  failures: number;
  failingSinceMs: number;
  isNotified: boolean;
};

/**
 * Records that a delivery to a channel failed, with the error that its owner reads; one that is not counted was before.
 * Returns null if the channel was deleted, or is a chat that was lost or ended meanwhile.
 */
export async function recordFailure(
  database: Database,
  { channelId, error, atMs, isCounted = true }: { channelId: string; error: string; atMs: number; isCounted?: boolean },
): Promise<FailingChannel | null> {
  const [row] = await runOn(database.pool)<FailingChannel>(
    `UPDATE channels c SET failures = failures + $4, failing_since = coalesce(failing_since, $3), last_error = $2,
       last_error_at = $3
     WHERE id = $1 AND takes_alerts(c)
     RETURNING id, tenant_id AS "tenantId", name, type, failures, failing_since AS "failingSinceMs",
       failing_told_at IS NOT NULL AS "isNotified"`,
    [channelId, error, atMs, isCounted ? 1 : 0],
  );
  return row ?? null;
}

/**
 * Marks a failing channel as reported, and returns the owner's other chat channels that are enabled and connected, by
 * id. Returns none if it was reported before, a delivery has arrived since, or there is no other chat to notify: then
 * it stays unreported, for a chat that is connected later. Run it in the transaction that writes the deliveries: until
 * it ends, the returned channels cannot be deleted.
 */
export async function claimNotification(
  run: Run,
  { channelId, nowMs }: { channelId: string; nowMs: number },
): Promise<string[]> {
  const listeners = await run<{ id: string }>(
    `SELECT o.id FROM channels o JOIN channels c ON c.tenant_id = o.tenant_id AND c.id <> o.id
     WHERE c.id = $1 AND c.failing_told_at IS NULL AND o.type <> 'webhook' AND o.enabled AND o.status = 'connected'
     ORDER BY o.id FOR KEY SHARE OF o`,
    [channelId],
  );
  if (listeners.length === 0) return [];
  const claimed = await run<{ id: string }>(
    'UPDATE channels SET failing_told_at = $2 WHERE id = $1 AND failing_told_at IS NULL AND failures > 0 RETURNING id',
    [channelId, nowMs],
  );
  return claimed.length === 0 ? [] : listeners.map(({ id }) => id);
}

/** A chat channel that received alerts until now. */
export type LostChannel = { id: string; tenantId: string; name: string; type: ChannelType };

/** Dependencies of deliveries about losses. `publicUrl` is the base URL of links, without a trailing slash. */
export type LossTools = { newId: (prefix: IdPrefix) => string; publicUrl: string; nowMs: number };

/**
 * Inserts deliveries that notify the owners' other chats of lost channels, in the transaction that records the loss.
 * Returns them; the caller adds their jobs. The lost channels themselves, others with the same chat, and webhooks are
 * not notified. Until the transaction ends, a notified channel cannot be deleted.
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
