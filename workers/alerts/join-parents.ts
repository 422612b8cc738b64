import { isDeepStrictEqual } from 'node:util';
import type { MonitorMessage, StoredMessage } from '../../core/alerts/envelope.ts';
import { extendHold, updateDueAtMs, wellUntilMs, type Behind } from '../../core/alerts/parents.ts';
import { dropClaimed, postponeClaimed, type ClaimedAttempt } from '../../models/alerts/delivery-attempts.ts';
import { insertReminders } from '../../models/alerts/held-deliveries.ts';
import {
  FALLBACK_MS,
  awaitOwnResults,
  deleteEndedHolds,
  endParentHold,
  findFollowed,
  hasOwnFailure,
  isAnyWaiting,
  makeDecidedDue,
  readParentStatus,
  readSentRoot,
  storeMessage,
  type DueChannel,
  type ParentStatus,
} from '../../models/alerts/parent-holds.ts';
import { joinParent, readBehind, readSaidBehind, type Joined } from '../../models/alerts/parent-joins.ts';
import type { Database } from '../../models/database.ts';
import { readHoldingParents, readParents, recheckDependents } from '../../models/monitors/dependencies.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { inTransaction, runOn, type Run } from '../../models/sql.ts';
import { firstAttempt } from '../../queues/enqueue-committed.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';

/** A claimed alert that waited, of a monitor with parents that decide about it. */
type ClaimedAlert = ClaimedAttempt & { monitorId: string };

/**
 * The parents' decision on a claimed alert that waited. `sent`: it is sent; `update`: it is sent outside summaries,
 * because it reports that more monitors are behind its own; `joined`: it is part of the message of a parent that is
 * down, which further `attempts` may update; `quiet`: a reminder or an update that is not sent, because its alert was
 * sent that way or waits; `waiting`: it waits for a result of its own monitor, or continues to wait for a parent.
 */
type ParentDecision = { outcome: 'sent' | 'update' | 'joined' | 'quiet' | 'waiting'; attempts: DueAttempt[] };

const SENT: ParentDecision = { outcome: 'sent', attempts: [] };

/** Decides about a claimed alert by the parents of its monitor. Each step may be repeated after a kill. */
export async function decideByParents(
  claimed: ClaimedAttempt,
  { database, newId }: { database: Database; newId: (prefix: IdPrefix) => string },
  nowMs: number,
): Promise<ParentDecision> {
  if (!isTrouble(claimed)) return SENT;
  const run = runOn(database.pool);
  let status = await readParentStatus(run, claimed, nowMs);
  const { parent, isUpdate, isRootBehind, isOtherWaiting } = status;
  if (isUpdate || claimed.message.reminder !== undefined) {
    // An alert that was sent separately reports the monitors behind it itself, whatever the present state of its own
    // parents.
    const isBehind = isUpdate ? isRootBehind : parent !== null;
    if (!isBehind && !isOtherWaiting) return isUpdate ? { outcome: 'update', attempts: [] } : SENT;
    await dropClaimed(run, claimed, nowMs);
    return { outcome: 'quiet', attempts: [] };
  }
  if (parent !== null) {
    const { no: parentNo, id: parentId, rootId, rootNo } = parent;
    const root = { channelId: claimed.channelId, parentNo, parentId, rootId, rootNo };
    const attempts = await inTransaction(database, async (locking) => {
      const joined = await joinParent(locking, root, { claimedId: claimed.deliveryId, nowMs });
      if (joined === null) return null;
      const isUpdated = joined.isSent && claimed.channelType !== 'webhook';
      return isUpdated ? await planUpdate(locking, joined, { newId, nowMs }) : [];
    });
    if (attempts !== null) return { outcome: 'joined', attempts };
    // The parent may have recovered since it was read: then the alert waits for a result of its own monitor (D-532).
    status = await readParentStatus(run, claimed, nowMs);
    if (status.parent !== null) return SENT;
  }
  const { missedRecovery } = status;
  if (missedRecovery !== null && !(await hasOwnFailure(run, { ...claimed, sinceMs: missedRecovery.atMs, nowMs }))) {
    await inTransaction(database, (locking) => makeUpRecovery(locking, { claimed, ...missedRecovery }, nowMs));
    status = await readParentStatus(run, claimed, nowMs);
  }
  const dueAtMs = await findLaterMoment(run, { claimed, ...status }, nowMs);
  if (dueAtMs !== null) {
    await postponeClaimed(run, claimed, dueAtMs);
    const { deliveryId, channelId } = claimed;
    return { outcome: 'waiting', attempts: [{ deliveryId, channelId, attempt: 1, dueAtMs }] };
  }
  if (status.hold !== null) await endParentHold(run, claimed.deliveryId);
  return SENT;
}

/**
 * Makes up for a missed recovery: does for a claimed alert what a parent's recovery does for the alerts that it finds
 * waiting (D-532).
 */
async function makeUpRecovery(
  run: Run,
  { claimed, parentId, atMs }: { claimed: ClaimedAlert; parentId: string; atMs: number },
  nowMs: number,
): Promise<void> {
  const { monitorId } = claimed;
  const { monitorIds } = await awaitOwnResults(run, { parentIds: [parentId], monitorId, wereDown: true }, atMs);
  // `reconcile` adds the job of the check.
  await recheckDependents(run, monitorIds, nowMs);
}

/**
 * Returns until when an alert continues to wait: for a result of its own monitor, or for a parent that is being
 * decided. Null if it is sent.
 */
async function findLaterMoment(
  run: Run,
  { claimed, monitorNo, hold }: { claimed: ClaimedAlert } & Pick<ParentStatus, 'monitorNo' | 'hold'>,
  nowMs: number,
): Promise<number | null> {
  if (hold === null || monitorNo === null) return null;
  const { awaitsOwn, sinceMs } = hold;
  if (awaitsOwn) return (await hasOwnFailure(run, { ...claimed, sinceMs, nowMs })) ? null : nowMs + FALLBACK_MS;
  const parents = await readParents(run, { monitorNos: [monitorNo], nowMs });
  return extendHold(parents.get(monitorNo) ?? [], { sinceMs, nowMs });
}

function isTrouble(claimed: ClaimedAttempt): claimed is ClaimedAlert & { message: MonitorMessage } {
  return claimed.monitorId !== null && claimed.event.startsWith('monitor.') && claimed.event !== 'monitor.up';
}

/**
 * Plans a message about the monitors that joined behind one since its own message was sent. One is planned at a time,
 * and a limited number in all.
 */
async function planUpdate(
  run: Run,
  { rootId }: Joined,
  { newId, nowMs }: { newId: (prefix: IdPrefix) => string; nowMs: number },
): Promise<DueAttempt[]> {
  const root = await readSentRoot(run, rootId);
  const number = (root?.updates ?? 0) + 1;
  const dueAtMs = updateDueAtMs(number, nowMs);
  if (root === null || dueAtMs === null || !isDownMessage(root.message)) return [];
  const { updates: _updates, message, ...sent } = root;
  const update = {
    ...sent,
    message,
    id: newId('dlv'),
    createdAtMs: nowMs,
    dueAtMs,
    follows: rootId,
    number: -number,
    reason: 'parent' as const,
    heldBy: null,
    unlessAcknowledged: false,
  };
  const written = await insertReminders(run, [update]);
  return written.length === 0 ? [] : [firstAttempt(update)];
}

function isDownMessage(message: StoredMessage): message is MonitorMessage & { event: 'monitor.down' } {
  return message.event === 'monitor.down';
}

/**
 * Adds the alerts that wait behind the monitor of a claimed alert to its message, by name. Null if the alert is an
 * update without changes: then it is dropped.
 */
export async function fillBehind(
  claimed: ClaimedAttempt,
  { database }: { database: Database },
  nowMs: number,
): Promise<ClaimedAttempt | null> {
  const { message, channelId, deliveryId, parentNo, monitorId } = claimed;
  if (parentNo === null || monitorId === null || !isDownMessage(message) || message.drill !== undefined) return claimed;
  const run = runOn(database.pool);
  const followed = await findFollowed(run, deliveryId);
  const rootId = followed?.rootId ?? deliveryId;
  await inTransaction(database, (locking) =>
    joinParent(
      locking,
      { channelId, parentNo, parentId: monitorId, rootId, rootNo: parentNo },
      { claimedId: null, nowMs },
    ),
  );
  const behind = await readBehind(run, rootId);
  const isUpdate = followed?.isUpdate === true;
  if (behind === null && !isUpdate) return claimed;
  if (behind === null || (isUpdate && (await wasSaid(run, rootId, behind)))) {
    await dropClaimed(run, claimed, nowMs);
    return null;
  }
  const filled = {
    ...message,
    detail: { ...message.detail, behind: { ...behind, ...(isUpdate && { update: true as const }) } },
  };
  await storeMessage(run, deliveryId, filled);
  return { ...claimed, message: filled };
}

/** Reports whether the newest delivered message about a monitor that is down lists the same monitors behind it. */
async function wasSaid(run: Run, rootId: string, behind: Behind): Promise<boolean> {
  const said = await readSaidBehind(run, rootId);
  return said?.monitors === behind.monitors && isDeepStrictEqual(said.names, behind.names);
}

/** Maximum alerts that one round of the watch makes due. */
const MADE_DUE_AT_ONCE = 1000;

/**
 * Makes alerts due that need not wait any longer: their parents were checked, or their own monitors failed again.
 * Returns the attempts to add jobs for, and whether there may be more.
 */
export async function watchParents(
  { database }: { database: Pick<Database, 'pool'> },
  nowMs: number,
): Promise<{ due: DueAttempt[]; mayHaveMore: boolean }> {
  const run = runOn(database.pool);
  if (!(await isAnyWaiting(run))) return { due: [], mayHaveMore: false };
  await deleteEndedHolds(run);
  const holding = await readHoldingParents(run, nowMs);
  const parents = holding.map((parent) => ({ no: parent.no, untilMs: wellUntilMs(parent) }));
  const { channels, mayHaveMore } = await makeDecidedDue(run, { parents, nowMs, limit: MADE_DUE_AT_ONCE });
  return { due: channels.map(firstOfChannel), mayHaveMore };
}

/** Returns an attempt that stands for its channel: a job finds all due deliveries of the channel. */
export function firstOfChannel({ deliveryId, channelId, dueAtMs }: DueChannel): DueAttempt {
  return { deliveryId, channelId, attempt: 1, dueAtMs };
}
