import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import { describeFlapping, planFlapping, type FlappingPlan } from '../../core/alerts/flapping.ts';
import { insertDeliveries, insertHeld, pairOf, type NewDelivery } from '../../models/alerts/deliveries.ts';
import type { ChangeDelivery } from '../../models/alerts/delivery-rates.ts';
import {
  listFlappingMessages,
  listNewestChanges,
  updateFlappingMarks,
  updateFlappingMessages,
  type ChangedMessage,
  type SentOfPair,
} from '../../models/alerts/flapping.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import type { Run } from '../../models/sql.ts';

type Change = ChangeDelivery & { message: MonitorMessage; summarizesFlapping: boolean };

type Parts = { newId: (prefix: IdPrefix) => string; nowMs: number };

/** A pair's newest change, and the plan for its messages. */
type Planned<Delivery extends Change> = { pair: SentOfPair; plan: FlappingPlan; newest: Delivery };

/**
 * Replaces changes of flapping monitors by the message about them (D-537), and writes it. Returns the remaining
 * changes, which are sent, and the messages that are now due at another time. The caller locks the tenants with
 * `lockSummaries`.
 */
export async function takeFlapping<Delivery extends Change>(
  run: Run,
  changes: readonly Delivery[],
  parts: Parts,
): Promise<{ sent: Delivery[]; waiting: NewDelivery[] }> {
  const { summarizing = [], others = [] } = Object.groupBy(changes, ({ summarizesFlapping }) =>
    summarizesFlapping ? 'summarizing' : 'others',
  );
  if (summarizing.length === 0) return { sent: others, waiting: [] };
  const byPair = Map.groupBy(summarizing, pairOf);
  const pairs = [...byPair.values()].flatMap(([first]) =>
    first === undefined ? [] : [{ channelId: first.channelId, monitorId: first.monitorId }],
  );
  const known = await listFlappingMessages(run, pairs, parts.nowMs);
  const sent = new Set<Delivery>();
  const planned = known.map((pair) => planPair(pair, byPair.get(pairOf(pair)) ?? [], sent));
  await updateFlappingMarks(
    run,
    planned.map(({ pair: { channelId, monitorId }, plan: { usedUpMs } }) => ({ channelId, monitorId, usedUpMs })),
  );
  const waiting = await writeMessages(
    run,
    planned.filter(({ plan }) => !plan.isSent),
    parts,
  );
  return { sent: changes.filter((change) => !change.summarizesFlapping || sent.has(change)), waiting };
}

function planPair<Delivery extends Change>(
  pair: SentOfPair,
  changes: readonly Delivery[],
  sent: Set<Delivery>,
): Planned<Delivery> {
  let messages = pair;
  let last: Planned<Delivery> | null = null;
  for (const change of changes) {
    const plan = planFlapping(messages, { state: change.message.state, nowMs: change.createdAtMs });
    if (plan.isSent) sent.add(change);
    messages = { ...messages, ...plan };
    last = { pair, plan, newest: change };
  }
  if (last === null) throw new Error('A pair without a change');
  return last;
}

/** Writes new waiting messages in place of the old ones, and returns them. */
async function writeMessages(
  run: Run,
  planned: readonly Planned<Change>[],
  { newId, nowMs }: Parts,
): Promise<NewDelivery[]> {
  if (planned.length === 0) return [];
  const monitorIds = [...new Set(planned.map(({ pair }) => pair.monitorId))];
  const changes = await listNewestChanges(run, monitorIds, nowMs);
  const inserted: (NewDelivery & { heldBy: string; dueAtMs: number })[] = [];
  const changed: (NewDelivery & ChangedMessage)[] = [];
  const dropped: ChangedMessage[] = [];
  for (const { pair, plan, newest } of planned) {
    const history = changes.get(pair.monitorId) ?? [];
    for (const [heldBy, id, dueAtMs] of [
      ['unstable', pair.unstableId, plan.unstableDueMs],
      ['stable', pair.stableId, plan.stableDueMs],
    ] as const) {
      if (dueAtMs === null) {
        if (id !== null) dropped.push({ id, message: null, dueAtMs: nowMs, createdAtMs: newest.createdAtMs });
        continue;
      }
      const isStable = heldBy === 'stable' || plan.endsThen;
      const flapping = describeFlapping(history, { nowMs: dueAtMs, isStable });
      const message = { ...newest.message, detail: { ...newest.message.detail, flapping } };
      const delivery = { ...newest, message, dueAtMs, afterId: null };
      if (id === null) inserted.push({ ...delivery, id: newId('dlv'), heldBy });
      else changed.push({ ...delivery, id });
    }
  }
  await updateFlappingMessages(run, [...changed, ...dropped]);
  await insertDeliveries(run, inserted);
  await insertHeld(
    run,
    inserted.map(({ id, heldBy, dueAtMs }) => ({
      id,
      reason: 'flapping',
      untilMs: dueAtMs,
      occurrenceNo: null,
      heldBy,
    })),
  );
  return [...inserted, ...changed];
}
