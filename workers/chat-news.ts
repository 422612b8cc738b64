import type { MonitorMessage } from '../core/envelope.ts';
import { isStorm, openSummary, STORM_WINDOW_MS, summaryDueAtMs } from '../core/storm.ts';
import { insertDeliveries, type NewDelivery } from '../models/deliveries.ts';
import type { IdPrefix } from '../models/ids.ts';
import type { Run } from '../models/sql.ts';
import { supersedeRetries } from '../models/superseding.ts';
import { addToSummaries, countChangedMonitors, listNewestSummaries, noteSummaries, type NewestSummary } from '../models/storms.ts';

/** A monitor's change on its way to one chat. */
export type ChatNews = NewDelivery & { monitorId: string; message: MonitorMessage };

/**
 * Writes what chats are told of changes whose transitions are written already, and returns the deliveries whose jobs are to be added. Retries
 * that the news makes pointless are dropped. In a storm, and as long after one as a summary is still open, a chat gets a summary of the
 * changes instead of a delivery for each.
 */
export async function writeChatNews(run: Run, news: readonly ChatNews[], tools: { newId: (prefix: IdPrefix) => string; publicUrl: string }): Promise<NewDelivery[]> {
  if (news.length === 0) return [];
  const nowMs = Math.max(...news.map(({ createdAtMs }) => createdAtMs));
  const changed = await countChangedMonitors(run, unique(news.map(({ tenantId }) => tenantId)), nowMs - STORM_WINDOW_MS);
  const newest = await listNewestSummaries(run, unique(news.map(({ channelId }) => channelId)));
  await supersedeRetries(run, news, nowMs);

  const isGathered = ({ tenantId, channelId }: ChatNews) => newest.get(channelId)?.isOpen === true || isStorm(changed.get(tenantId) ?? 0);
  const gathered = news.filter(isGathered);
  const opened = openSummaries(gathered, newest, { ...tools, nowMs });
  const deliveries = [...news.filter((one) => !isGathered(one)), ...opened.values()];
  await insertDeliveries(run, deliveries);
  await noteSummaries(run, [...opened.values()].map(({ id, channelId, dueAtMs }) => ({ channelId, deliveryId: id, dueAtMs })));
  await addToSummaries(run, gathered.map(({ channelId, monitorId, message, createdAtMs }) => ({
    deliveryId: opened.get(channelId)?.id ?? newest.get(channelId)?.deliveryId ?? '',
    monitorId,
    name: message.monitor.name,
    state: message.state,
    sequence: message.detail.sequence,
    atMs: createdAtMs,
  })));
  return deliveries;
}

type Opening = { newId: (prefix: IdPrefix) => string; publicUrl: string; nowMs: number };

/** A summary, by channel, for each channel that gathers and has none open. */
function openSummaries(gathered: readonly ChatNews[], newest: ReadonlyMap<string, NewestSummary>, { newId, publicUrl, nowMs }: Opening): Map<string, NewDelivery & { dueAtMs: number }> {
  const opened = new Map<string, NewDelivery & { dueAtMs: number }>();
  for (const { tenantId, channelId } of gathered) {
    const last = newest.get(channelId) ?? null;
    if (last?.isOpen === true || opened.has(channelId)) continue;
    const dueAtMs = summaryDueAtMs(nowMs, last?.dueAtMs ?? null);
    opened.set(channelId, { id: newId('dlv'), tenantId, channelId, monitorId: null, message: openSummary({ openedAtMs: nowMs, publicUrl }), createdAtMs: nowMs, dueAtMs });
  }
  return opened;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
