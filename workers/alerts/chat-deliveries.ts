import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import { isStorm, openSummary, STORM_WINDOW_MS, summaryDueAtMs } from '../../core/incidents/storm.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { insertAtRate } from '../../models/alerts/delivery-rates.ts';
import { listAwaitedRecoveries } from '../../models/alerts/notified-chats.ts';
import { supersedeRetries } from '../../models/alerts/superseding.ts';
import {
  addToSummaries,
  countChangedMonitors,
  listNewestSummaries,
  upsertSummaries,
  type NewestSummary,
} from '../../models/incidents/storms.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import type { Run } from '../../models/sql.ts';
import { KEEP_DELIVERIES_DAYS } from '../system/retention.ts';

/** A monitor's change on its way to one chat. */
export type ChatDelivery = NewDelivery & { monitorId: string; message: MonitorMessage };

/**
 * Writes what chats are notified of changes whose transitions are written already, and returns the deliveries whose
 * jobs are to be added. A chat is not notified of the end of what it was never notified of. Retries that the change
 * supersedes are dropped. In a storm, and as long after one as a summary is still open, a chat gets a summary of
 * the changes instead of a delivery for each.
 */
export async function writeChatDeliveries(
  run: Run,
  changes: readonly ChatDelivery[],
  tools: { newId: (prefix: IdPrefix) => string; publicUrl: string },
): Promise<NewDelivery[]> {
  const nowMs = Math.max(...changes.map(({ createdAtMs }) => createdAtMs));
  const current = await dropUnawaited(run, changes, nowMs);
  if (current.length === 0) return [];
  const changed = await countChangedMonitors(
    run,
    unique(current.map(({ tenantId }) => tenantId)),
    nowMs - STORM_WINDOW_MS,
  );
  const newest = await listNewestSummaries(run, unique(current.map(({ channelId }) => channelId)));
  await supersedeRetries(run, current, nowMs);

  const isGathered = ({ tenantId, channelId }: ChatDelivery) =>
    newest.get(channelId)?.isOpen === true || isStorm(changed.get(tenantId) ?? 0);
  const gathered = current.filter(isGathered);
  const opened = openSummaries(gathered, newest, { ...tools, nowMs });
  const single = await insertAtRate(
    run,
    current.filter((one) => !isGathered(one)),
  );
  await insertDeliveries(run, [...opened.values()]);
  await upsertSummaries(
    run,
    [...opened.values()].map(({ id, channelId, dueAtMs }) => ({ channelId, deliveryId: id, dueAtMs })),
  );
  await addToSummaries(
    run,
    gathered.map(({ channelId, monitorId, message, createdAtMs }) => ({
      deliveryId: opened.get(channelId)?.id ?? newest.get(channelId)?.deliveryId ?? '',
      monitorId,
      name: message.monitor.name,
      state: message.state,
      sequence: message.detail.sequence,
      atMs: createdAtMs,
    })),
  );
  return [...single, ...opened.values()];
}

/**
 * Without each `up` that ends what its chat was not notified of (D-44): one that was made, connected, enabled or routed
 * while it was down.
 */
async function dropUnawaited(
  run: Run,
  changes: readonly ChatDelivery[],
  nowMs: number,
): Promise<readonly ChatDelivery[]> {
  const keyOf = ({ channelId, monitorId }: { channelId: string; monitorId: string }) => `${channelId} ${monitorId}`;
  const handled = new Set<string>();
  // What else the chat is notified of the monitor in this very batch, before it, is not written yet.
  const changed = changes.filter((change) => {
    const isFirst = !handled.has(keyOf(change));
    handled.add(keyOf(change));
    return isFirst && change.message.state === 'up';
  });
  const recoveries = changed.map(({ channelId, monitorId, message }) => ({
    channelId,
    monitorId,
    sequence: message.detail.sequence,
  }));
  const awaited = new Set(
    (await listAwaitedRecoveries(run, recoveries, nowMs - KEEP_DELIVERIES_DAYS * 86_400_000)).map(keyOf),
  );
  const old = new Set(changed.filter((change) => !awaited.has(keyOf(change))));
  return changes.filter((change) => !old.has(change));
}

type Opening = { newId: (prefix: IdPrefix) => string; publicUrl: string; nowMs: number };

/** A summary, by channel, for each channel that gathers and has none open. */
function openSummaries(
  gathered: readonly ChatDelivery[],
  newest: ReadonlyMap<string, NewestSummary>,
  { newId, publicUrl, nowMs }: Opening,
): Map<string, NewDelivery & { dueAtMs: number }> {
  const opened = new Map<string, NewDelivery & { dueAtMs: number }>();
  for (const { tenantId, channelId } of gathered) {
    const last = newest.get(channelId) ?? null;
    if (last?.isOpen === true || opened.has(channelId)) continue;
    const dueAtMs = summaryDueAtMs(nowMs, last?.dueAtMs ?? null);
    opened.set(channelId, {
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId: null,
      message: openSummary({ openedAtMs: nowMs, publicUrl }),
      createdAtMs: nowMs,
      dueAtMs,
    });
  }
  return opened;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
