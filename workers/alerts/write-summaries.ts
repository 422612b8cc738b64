import type { ChannelType } from '../../core/alerts/channel.ts';
import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import { followUpDueAtMs, groupKeyOf, groupOpenUntilMs, limitedGroupKey } from '../../core/alerts/group.ts';
import { STORM_WINDOW_MS, isStorm, openSummary, summaryDueAtMs, type Opening } from '../../core/incidents/storm.ts';
import { insertDeliveries, pairOf, type NewDelivery, type Pair } from '../../models/alerts/deliveries.ts';
import { insertAtRate, type ChangeDelivery } from '../../models/alerts/delivery-rates.ts';
import {
  addToSummaries,
  countChangedMonitors,
  listGatheredMonitors,
  listNewestSummaries,
  listOpenGroups,
  upsertGroups,
  upsertSummaries,
  type NewestSummary,
  type OpenGroup,
  type SummarisedChange,
  type WrittenGroup,
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
  const written = await insertAtRate(run, single, parts.nowMs);
  const opened = await writeSummaries(run, gathered, { newest, ...parts });
  return [...written, ...opened];
}

/** A summary's channel and due time, with the start of its message; opened now by default. */
type OpenedSummary = Omit<Opening, 'publicUrl' | 'openedAtMs'> & {
  tenantId: string;
  channelId: string;
  dueAtMs: number;
  openedAtMs?: number;
};

/** Creates the delivery of an empty summary. */
export function newSummary(
  { tenantId, channelId, dueAtMs, ...opening }: OpenedSummary,
  { newId, publicUrl, nowMs }: Parts,
): NewDelivery & { dueAtMs: number } {
  return {
    id: newId('dlv'),
    tenantId,
    channelId,
    monitorId: null,
    message: openSummary({ openedAtMs: nowMs, publicUrl, ...opening }),
    createdAtMs: nowMs,
    dueAtMs,
  };
}

type Gathering = Parts & { newest: ReadonlyMap<string, NewestSummary> };

/** Adds changes to the summaries of their chats, and returns the newly opened summaries. */
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

/** Opens a summary for each channel that gathers and has none open; returns them by channel. */
function openSummaries(
  gathered: readonly ChatChange[],
  { newest, ...parts }: Gathering,
): Map<string, NewDelivery & { dueAtMs: number }> {
  const opened = new Map<string, NewDelivery & { dueAtMs: number }>();
  for (const { tenantId, channelId } of gathered) {
    const last = newest.get(channelId) ?? null;
    if (last?.isOpen === true || opened.has(channelId)) continue;
    const dueAtMs = summaryDueAtMs(parts.nowMs, last?.dueAtMs ?? null);
    opened.set(channelId, newSummary({ tenantId, channelId, dueAtMs }, parts));
  }
  return opened;
}

/** A change on its way to a channel that groups subsequent changes within `groupSeconds` into one message. */
type GroupedChange = ChangeDelivery & {
  message: MonitorMessage;
  channelType: ChannelType;
  groupSeconds: number;
};

/**
 * Writes the alerts of channels that group them: the first of a state and cause at once, those that follow closely in
 * one message. Returns the new deliveries. The caller locks the tenants with `lockSummaries`.
 */
export async function writeGroups(run: Run, changes: readonly GroupedChange[], parts: Parts): Promise<NewDelivery[]> {
  if (changes.length === 0) return [];
  const channelIds = unique(changes.map(({ channelId }) => channelId));
  const open = await listOpenGroups(run, channelIds, parts.nowMs);
  const unsent = new Map(open.flatMap((group) => (group.isNewestOpen ? [[group.newestId, group.channelId]] : [])));
  const gathered = await listGatheredMonitors(run, {
    deliveryIds: [...unsent.keys()],
    monitorIds: unique(changes.map(({ monitorId }) => monitorId)),
  });
  const batch = new GroupedBatch(parts, changes);
  for (const group of open) batch.know(group);
  for (const { deliveryId, monitorId } of gathered)
    batch.note({ channelId: unsent.get(deliveryId) ?? '', monitorId }, deliveryId);
  for (const change of changes) batch.add(change);

  const written = [...batch.single, ...batch.messages];
  await insertDeliveries(run, written);
  await addToSummaries(run, batch.gathered);
  await upsertGroups(run, [...batch.changed.values()]);
  return written;
}

/** Decides for each change of a batch whether it is sent separately, opens a group or joins one. */
class GroupedBatch {
  readonly #parts: Parts;
  /** Monitors of a batch by channel and key: several at once open a group with one message for all. */
  readonly #sizes: ReadonlyMap<string, number>;
  /** By channel and key. */
  readonly #open = new Map<string, Map<string, OpenGroup>>();
  /** The unsent message that contains a monitor of a channel. */
  readonly #unsent = new Map<string, string>();
  readonly single: GroupedChange[] = [];
  readonly messages: NewDelivery[] = [];
  readonly gathered: SummarisedChange[] = [];
  readonly changed = new Map<string, WrittenGroup>();

  constructor(parts: Parts, changes: readonly GroupedChange[]) {
    this.#parts = parts;
    const byKey = Map.groupBy(changes, (change) => `${change.channelId} ${groupKeyOf(change.message)}`);
    this.#sizes = new Map(
      [...byKey].map(([key, alike]) => [key, new Set(alike.map(({ monitorId }) => monitorId)).size]),
    );
  }

  /** Adds an open group. */
  know(group: OpenGroup): void {
    const ofChannel = this.#open.get(group.channelId) ?? new Map<string, OpenGroup>();
    this.#open.set(group.channelId, ofChannel.set(group.key, group));
  }

  /** Records that an unsent message mentions a monitor: its later changes go into that message, too. */
  note(pair: Pair, deliveryId: string): void {
    this.#unsent.set(pairOf(pair), deliveryId);
  }

  add(change: GroupedChange): void {
    const messageId = this.#unsent.get(pairOf(change));
    if (messageId !== undefined) {
      this.#gather(change, messageId);
      return;
    }
    const known = this.#find(change);
    if (known !== undefined) this.#join(change, known);
    // This alert may be dropped, and the group would lack its first message.
    else if ((change.afterId ?? null) !== null) this.single.push(change);
    else if ((this.#sizes.get(`${change.channelId} ${groupKeyOf(change.message)}`) ?? 1) > 1)
      this.#join(change, this.#openWithMessage(change));
    else this.#openWithAlert(change);
  }

  #keyOf({ channelId, message }: GroupedChange): string {
    return limitedGroupKey(groupKeyOf(message), this.#open.get(channelId));
  }

  #find(change: GroupedChange): OpenGroup | undefined {
    return this.#open.get(change.channelId)?.get(this.#keyOf(change));
  }

  /** Opens a group whose first message is the alert itself. */
  #openWithAlert(change: GroupedChange): void {
    this.single.push(change);
    this.#begin(change, { id: change.id, isNewestOpen: false });
    this.#gather(change, change.id);
  }

  #openWithMessage(change: GroupedChange): OpenGroup {
    const message = this.#writeMessage(change, this.#parts.nowMs);
    return this.#begin(change, { id: message.id, isNewestOpen: true });
  }

  #begin(change: GroupedChange, { id, isNewestOpen }: { id: string; isNewestOpen: boolean }): OpenGroup {
    const { nowMs } = this.#parts;
    const { channelId } = change;
    const group = {
      id,
      channelId,
      key: this.#keyOf(change),
      openedAtMs: nowMs,
      newestId: id,
      newestDueAtMs: nowMs,
      isNewestOpen,
    };
    this.know(group);
    this.#change(change, group, [id]);
    return group;
  }

  #join(change: GroupedChange, known: OpenGroup): void {
    const { channelType: type, groupSeconds } = change;
    let group = known;
    if (!known.isNewestOpen) {
      const dueAtMs = followUpDueAtMs(known, { type, groupSeconds, nowMs: this.#parts.nowMs });
      const { id } = this.#writeMessage(change, dueAtMs);
      group = { ...known, newestId: id, newestDueAtMs: dueAtMs, isNewestOpen: true };
      this.know(group);
      this.#change(change, group, [id]);
    } else this.#change(change, group, []);
    this.#gather(change, group.newestId);
    this.note(change, group.newestId);
  }

  #change({ groupSeconds }: GroupedChange, group: OpenGroup, deliveryIds: readonly string[]): void {
    this.changed.set(group.id, {
      ...group,
      openUntilMs: groupOpenUntilMs(group, groupSeconds, this.#parts.nowMs),
      deliveryIds: [...(this.changed.get(group.id)?.deliveryIds ?? []), ...deliveryIds],
    });
  }

  #writeMessage({ tenantId, channelId, message: { reason } }: GroupedChange, dueAtMs: number): NewDelivery {
    const delivery = newSummary({ tenantId, channelId, dueAtMs, reason }, this.#parts);
    this.messages.push(delivery);
    return delivery;
  }

  #gather({ monitorId, message, createdAtMs }: GroupedChange, deliveryId: string): void {
    const { monitor, state, detail } = message;
    const { name } = monitor;
    this.gathered.push({ deliveryId, monitorId, name, state, sequence: detail.sequence, atMs: createdAtMs });
  }
}

export function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
