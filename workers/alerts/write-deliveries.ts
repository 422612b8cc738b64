import { QUIET_AHEAD_MS, planReminder } from '../../core/alerts/rules.ts';
import { ServiceCalendar } from '../../core/statistics/service-sla.ts';
import { DAY_MS } from '../../core/time.ts';
import {
  insertDeliveries,
  insertDropped,
  insertHeld,
  pairOf,
  supersedeByRules,
  supersedeHeld,
  supersedeRetries,
  type NewDelivery,
} from '../../models/alerts/deliveries.ts';
import { insertAtRate, scheduleAtRate } from '../../models/alerts/delivery-rates.ts';
import { insertReminders } from '../../models/alerts/held-deliveries.ts';
import { readSnoozes } from '../../models/alerts/mutes.ts';
import { insertParentHolds, type ParentHold } from '../../models/alerts/parent-holds.ts';
import { listAwaitedRecoveries } from '../../models/alerts/routes.ts';
import { lockSummaries } from '../../models/alerts/summaries.ts';
import { listAlertMaintenance } from '../../models/maintenance/maintenance-times.ts';
import type { Run } from '../../models/sql.ts';
import { KEEP_DELIVERIES_DAYS } from '../system/retention.ts';
import { routeChange, type DeliveryParts, type NotifiedChange, type RoutedDelivery } from './route-change.ts';
import { takeFlapping } from './write-flapping.ts';
import { unique, writeGroups, writeInStorm } from './write-summaries.ts';

/** Writes the deliveries of changes, within the rates of their monitors and channels, and returns those to enqueue. */
export async function writeDeliveries(
  run: Run,
  changes: readonly NotifiedChange[],
  parts: DeliveryParts,
): Promise<NewDelivery[]> {
  const { nowMs } = parts;
  const maintenance = await listAlertMaintenance(run, {
    monitorNos: changes.map(({ monitor }) => monitor.no),
    nowMs,
  });
  const calendar = new ServiceCalendar({ fromMs: nowMs, toMs: nowMs + QUIET_AHEAD_MS });
  const routed = changes.flatMap((change) => routeChange(change, { ...parts, maintenance, calendar }));
  // A channel that groups or summarizes gets only a few messages: its alerts do not count towards the rate.
  const { grouping = [], others = [] } = Object.groupBy(routed, ({ groupSeconds, summarizesFlapping }) =>
    groupSeconds > 0 || summarizesFlapping ? 'grouping' : 'others',
  );
  const scheduled = [...(await scheduleAtRate(run, others, nowMs)), ...grouping];
  const { toWebhooks = [], toChats = [] } = Object.groupBy(scheduled, ({ channelType }) =>
    channelType === 'webhook' ? 'toWebhooks' : 'toChats',
  );
  return [
    ...(await writeWebhookDeliveries(run, toWebhooks, { ...parts, calendar })),
    ...(await writeChatDeliveries(run, toChats, { ...parts, calendar })),
  ];
}

/** `calendar` covers the next `QUIET_AHEAD_MS`. */
type WritingParts = DeliveryParts & { calendar: ServiceCalendar };

/** Writes webhooks' deliveries, which are sent at once unless a webhook follows maintenance, has rules or groups. */
async function writeWebhookDeliveries(
  run: Run,
  deliveries: readonly RoutedDelivery[],
  parts: WritingParts,
): Promise<NewDelivery[]> {
  const { nowMs } = parts;
  const { waiting = [], immediate = [] } = Object.groupBy(deliveries, ({ mayWait }) =>
    mayWait ? 'waiting' : 'immediate',
  );
  const { held, current, known } = await writeWaiting(run, waiting, nowMs);
  const { grouping = [], single = [] } = Object.groupBy([...current, ...immediate], ({ groupSeconds }) =>
    groupSeconds > 0 ? 'grouping' : 'single',
  );
  const written = await insertAtRate(run, single, nowMs);
  if (grouping.length > 0) {
    await lockSummaries(run, unique(grouping.map(({ tenantId }) => tenantId)));
    written.push(...(await writeGroups(run, grouping, parts)));
  }
  return [...held, ...written, ...(await writeReminders(run, known, parts))];
}

/**
 * Writes chats' deliveries. A chat is not notified of the end of trouble that it was not notified of. Retries that the
 * change supersedes are dropped. In a storm, and while a summary of one is still open, a chat gets a summary of the
 * changes instead of a delivery for each.
 */
async function writeChatDeliveries(
  run: Run,
  deliveries: readonly RoutedDelivery[],
  parts: WritingParts,
): Promise<NewDelivery[]> {
  const { nowMs } = parts;
  const { held, current, known } = await writeWaiting(run, deliveries, nowMs);
  if (current.length === 0) return [...held, ...(await writeReminders(run, known, parts))];
  await lockSummaries(run, unique(current.map(({ tenantId }) => tenantId)));
  await supersedeRetries(run, current, nowMs);
  const { sent, waiting } = await takeFlapping(run, current, parts);
  const { grouping = [], others = [] } = Object.groupBy(sent, ({ groupSeconds }) =>
    groupSeconds > 0 ? 'grouping' : 'others',
  );
  const written = [
    ...waiting,
    ...(await writeGroups(run, grouping, parts)),
    ...(await writeInStorm(run, others, parts)),
  ];
  return [...held, ...written, ...(await writeReminders(run, known, parts))];
}

/**
 * Writes the waiting deliveries, and returns them with those that are sent now, and both together as `known`. If a
 * monitor recovers before its channel was notified, both the waiting alert and the recovery are dropped.
 */
async function writeWaiting(
  run: Run,
  deliveries: readonly RoutedDelivery[],
  nowMs: number,
): Promise<{ held: NewDelivery[]; current: RoutedDelivery[]; known: RoutedDelivery[] }> {
  if (deliveries.length === 0) return { held: [], current: [], known: [] };
  const waited = await supersedeHeld(
    run,
    deliveries.filter(({ message }) => message.state === 'up'),
    nowMs,
  );
  await supersedeByRules(
    run,
    deliveries.flatMap(({ channelId, monitorId, message, hasRules, isDropped, hold }) =>
      hasRules && message.state !== 'up' ? { channelId, monitorId, hold: isDropped ? null : hold } : [],
    ),
    nowMs,
  );
  const kept = await dropUnawaited(run, withoutEnded(deliveries), { nowMs, awaited: waited.map(pairOf) });
  const { dropped = [], known = [] } = Object.groupBy(kept, ({ isDropped }) => (isDropped ? 'dropped' : 'known'));
  await insertDropped(
    run,
    dropped.flatMap(({ hold, ...change }) => (hold === null ? [] : [{ ...change, hold }])),
  );
  const held = await writeHeld(
    run,
    known.filter(({ hold }) => hold !== null),
    nowMs,
  );
  return { held, current: known.filter(({ hold }) => hold === null), known };
}

/**
 * Writes the first reminder of each trouble with reminders that is sent now; the others follow one another. Trouble
 * that waits gets its first one when it is claimed, unless it may be sent in the message of a parent. It must run after
 * the trouble is written, because a monitor's deliveries are sent in the order of writing.
 */
async function writeReminders(
  run: Run,
  deliveries: readonly RoutedDelivery[],
  { newId, calendar, nowMs }: WritingParts,
): Promise<NewDelivery[]> {
  const followed = deliveries.filter(({ repeat, hold }) => repeat !== null && (hold?.reason ?? 'parent') === 'parent');
  const incidentIds = followed.flatMap(({ message }) => message.detail.incident_id ?? []);
  const snoozes = await readSnoozes(run, unique(incidentIds), nowMs);
  const reminders = followed.flatMap(({ id, repeat, hold, message, unlessAcknowledged, ...change }) => {
    if (repeat === null) return [];
    const { everySeconds, most } = repeat;
    const atMs = Math.max(change.createdAtMs, hold?.untilMs ?? 0) + everySeconds * 1000;
    const snoozedUntilMs = snoozes.get(message.detail.incident_id ?? '') ?? null;
    return {
      ...change,
      ...planReminder(repeat, { atMs, snoozedUntilMs }, calendar),
      id: newId('dlv'),
      message: { ...message, reminder: { number: 1, of: most, every_seconds: everySeconds } },
      follows: id,
      number: 1,
      unlessAcknowledged,
    };
  });
  const written = new Set(await insertReminders(run, reminders));
  return reminders.filter(({ id }) => written.has(id));
}

/** Returns the deliveries without waiting ones that the same batch ends. */
function withoutEnded(deliveries: readonly RoutedDelivery[]): RoutedDelivery[] {
  const ended = new Set<string>();
  const kept = deliveries.toReversed().filter((change) => {
    if (change.message.state !== 'up') return change.hold === null || !ended.has(pairOf(change));
    ended.add(pairOf(change));
    return true;
  });
  return kept.toReversed();
}

/**
 * Writes the waiting deliveries, and returns the new ones. For maintenance and mutes only the newest of each chat and
 * monitor is kept; deliveries held by rules were superseded before, if necessary.
 */
async function writeHeld(run: Run, held: readonly RoutedDelivery[], nowMs: number): Promise<NewDelivery[]> {
  const due = held.map((delivery) => ({
    ...delivery,
    dueAtMs: Math.max(delivery.dueAtMs ?? 0, delivery.hold?.untilMs ?? 0),
  }));
  const { newest = [], all = [] } = Object.groupBy(due, ({ hold }) =>
    hold?.reason === 'maintenance' || hold?.reason === 'mute' ? 'newest' : 'all',
  );
  const written = await insertAtRate(run, newest, nowMs);
  await insertDeliveries(run, all);
  await insertParentHolds(run, all.flatMap(parentHoldOf));
  const ids = new Set(written.map(({ id }) => id));
  const isNew = ({ id }: RoutedDelivery) => ids.has(id);
  const inserted = [...newest.filter(isNew), ...all];
  await insertHeld(
    run,
    inserted.flatMap(({ id, hold, unlessAcknowledged }) =>
      hold === null ? [] : [{ id, ...hold, unlessAcknowledged }],
    ),
  );
  return [...written, ...all];
}

function parentHoldOf({ id, monitorId, message, hold, sinceMs }: RoutedDelivery): ParentHold[] {
  if (hold?.reason !== 'parent' || hold.heldBy === null) return [];
  return [{ deliveryId: id, monitorId, sequence: message.detail.sequence, parentId: hold.heldBy, sinceMs }];
}

/**
 * Drops each `up` that ends trouble its chat was not notified of (D-44). Such a chat was created, connected, enabled or
 * routed while the monitor was down. Recoveries whose trouble a worker is sending wait for its outcome.
 */
async function dropUnawaited(
  run: Run,
  deliveries: readonly RoutedDelivery[],
  known: { nowMs: number; awaited: readonly string[] },
): Promise<readonly RoutedDelivery[]> {
  const handled = new Set<string>();
  // Earlier changes of the monitor in the same batch, which the chat will be notified of, are not written yet.
  const recoveries = deliveries.filter((change) => {
    const isFirst = !handled.has(pairOf(change));
    handled.add(pairOf(change));
    return isFirst && change.message.state === 'up';
  });
  const found = await listAwaitedRecoveries(
    run,
    recoveries.map((recovery) => ({ ...recovery, sequence: recovery.message.detail.sequence })),
    known.nowMs - KEEP_DELIVERIES_DAYS * DAY_MS,
  );
  const awaited = new Map([
    ...found.map((recovery) => [pairOf(recovery), recovery.afterId] as const),
    ...known.awaited.map((pair) => [pair, null] as const),
  ]);
  const undecided = new Set(recoveries);
  return deliveries.flatMap((change) => {
    if (!undecided.has(change)) return change;
    const afterId = awaited.get(pairOf(change));
    return afterId === undefined ? [] : { ...change, afterId };
  });
}
