import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import { STORM_WINDOW_MS, isStorm, openSummary, summaryDueAtMs } from '../../core/incidents/storm.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { insertAtRate, type ChangeDelivery } from '../../models/alerts/delivery-rates.ts';
import {
  addToSummaries,
  countChangedMonitors,
  listNewestSummaries,
  upsertSummaries,
  type NewestSummary,
} from '../../models/alerts/summaries.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import type { Run } from '../../models/sql.ts';

type ChatChange = ChangeDelivery & { message: MonitorMessage };
type Parts = { newId: (prefix: IdPrefix) => string; publicUrl: string; nowMs: number };

/** Writes a delivery for each change, or in a storm a summary of all. */
export async function writeInStorm(run: Run, current: readonly ChatChange[], parts: Parts): Promise<NewDelivery[]> {
  if (current.length === 0) return [];
  const tenantIds = unique(current.map(({ tenantId }) => tenantId));
  const changed = await countChangedMonitors(run, tenantIds, parts.nowMs - STORM_WINDOW_MS);
  const newest = await listNewestSummaries(run, unique(current.map(({ channelId }) => channelId)));
  const { gathered = [], single = [] } = Object.groupBy(current, ({ tenantId, channelId }) =>
    newest.get(channelId)?.isOpen === true || isStorm(changed.get(tenantId) ?? 0) ? 'gathered' : 'single',
  );
  const written = await insertAtRate(run, single);
  const opened = await writeSummaries(run, gathered, { newest, ...parts });
  return [...written, ...opened];
}

type Gathering = Parts & { newest: ReadonlyMap<string, NewestSummary> };

/** Adds changes to the summaries of their chats, and returns the summaries that it opened. */
async function writeSummaries(run: Run, gathered: readonly ChatChange[], given: Gathering): Promise<NewDelivery[]> {
  const opened = openSummaries(gathered, given);
  const deliveries = [...opened.values()];
  await insertDeliveries(run, deliveries);
  await upsertSummaries(
    run,
    deliveries.map(({ id, channelId, dueAtMs }) => ({ channelId, deliveryId: id, dueAtMs })),
  );
  await addToSummaries(
    run,
    gathered.map(({ channelId, monitorId, message, createdAtMs }) => ({
      deliveryId: opened.get(channelId)?.id ?? given.newest.get(channelId)?.deliveryId ?? '',
      monitorId,
      name: message.monitor.name,
      state: message.state,
      sequence: message.detail.sequence,
      atMs: createdAtMs,
    })),
  );
  return deliveries;
}

/** A summary, by channel, for each channel that gathers and has none open. */
function openSummaries(
  gathered: readonly ChatChange[],
  { newest, newId, publicUrl, nowMs }: Gathering,
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
