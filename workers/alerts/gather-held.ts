import { openSummary, releasedSummaryDueAtMs } from '../../core/incidents/storm.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import type { ClaimedAttempt } from '../../models/alerts/delivery-attempts.ts';
import {
  hasOtherHeld,
  lockDueHeld,
  moveToSummary,
  releaseHeld,
  type DueHeld,
} from '../../models/alerts/held-deliveries.ts';
import type { Database } from '../../models/database.ts';
import { addToSummaries, holdSummaries, listNewestSummaries, upsertSummaries } from '../../models/incidents/storms.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { inTransaction, runOn, type Run } from '../../models/sql.ts';
import { firstAttempt } from '../../queues/enqueue-committed.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';

export type GatheringParts = { database: Database; newId: (prefix: IdPrefix) => string; publicUrl: string };

/**
 * Gathers alerts that waited for the end of maintenance and are due at a chat, the claimed one among them, into one
 * summary. Returns its first attempt; null where the claimed one is alone and stays a message of its own. One
 * transaction: killed in between, the claim expires and it is done again.
 */
export async function gatherHeld(
  claimed: ClaimedAttempt,
  { database, ...parts }: GatheringParts,
  nowMs: number,
): Promise<DueAttempt | null> {
  const run = runOn(database.pool);
  const isAlone = claimed.isOvertaken || !(await hasOtherHeld(run, claimed, nowMs));
  const gathered = isAlone
    ? null
    : await inTransaction(database, async (inside) => {
        await holdSummaries(inside, [claimed.tenantId]);
        const held = await lockDueHeld(inside, claimed, nowMs);
        if (held.length < 2 || !held.some(({ id }) => id === claimed.deliveryId)) return null;
        return await moveInto(inside, { held, claimed, nowMs, ...parts });
      });
  if (gathered === null) await releaseHeld(run, claimed.deliveryId);
  return gathered;
}

type Move = Omit<GatheringParts, 'database'> & { held: readonly DueHeld[]; claimed: ClaimedAttempt; nowMs: number };

/** Moves alerts into the summary of their chat that is open, or into a new one. */
async function moveInto(run: Run, { held, claimed, nowMs, newId, publicUrl }: Move): Promise<DueAttempt> {
  const { tenantId, channelId } = claimed;
  const newest = (await listNewestSummaries(run, [channelId])).get(channelId);
  const [summaryId, dueAtMs] =
    newest?.isOpen === true
      ? [newest.deliveryId, newest.dueAtMs]
      : [newId('dlv'), releasedSummaryDueAtMs(nowMs, newest?.dueAtMs ?? null)];
  const summary: NewDelivery & { dueAtMs: number } = {
    id: summaryId,
    tenantId,
    channelId,
    monitorId: null,
    message: openSummary({
      openedAtMs: Math.min(...held.map(({ eventAt }) => eventAt)) * 1000,
      publicUrl,
      maintenance: [...new Set(held.flatMap(({ maintenance }) => maintenance ?? []))],
    }),
    createdAtMs: nowMs,
    dueAtMs,
  };
  if (newest?.isOpen !== true) {
    await insertDeliveries(run, [summary]);
    await upsertSummaries(run, [{ channelId, deliveryId: summaryId, dueAtMs }]);
  }
  await addToSummaries(
    run,
    held.map(({ monitorId, name, state, sequence, createdAtMs }) => ({
      deliveryId: summaryId,
      monitorId,
      name,
      state,
      sequence,
      atMs: createdAtMs,
    })),
  );
  await moveToSummary(run, { ids: held.map(({ id }) => id), summaryId, nowMs });
  return firstAttempt(summary);
}
