import { MAY_WAIT_AGAIN } from '../../core/alerts/hold.ts';
import { QUIET_AHEAD_MS, planReminder, repeatOf } from '../../core/alerts/rules.ts';
import { releasedSummaryDueAtMs } from '../../core/incidents/storm.ts';
import { createBatched, type Batched } from '../../core/shared-calls.ts';
import { ServiceCalendar } from '../../core/statistics/service-sla.ts';
import { insertDeliveries } from '../../models/alerts/deliveries.ts';
import type { ClaimedAttempt } from '../../models/alerts/delivery-attempts.ts';
import {
  hasOtherHeld,
  holdAgain,
  insertReminders,
  listFollowed,
  lockDueHeld,
  moveToSummary,
  releaseHeld,
  settleHeld,
  type DueHeld,
  type SettledHeld,
} from '../../models/alerts/held-deliveries.ts';
import { addToSummaries, lockSummaries, listNewestSummaries, upsertSummaries } from '../../models/alerts/summaries.ts';
import type { Database } from '../../models/database.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { inTransaction, runOn, type Run } from '../../models/sql.ts';
import { firstAttempt } from '../../queues/enqueue-committed.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';
import { decideByParents } from './join-parents.ts';
import { newSummary } from './write-summaries.ts';

type GatheringParts = {
  database: Database;
  newId: (prefix: IdPrefix) => string;
  publicUrl: string;
  now: () => number;
};

/** Whether a claimed alert is sent now, separately, and the attempts to enqueue. */
type Released = { isSent: boolean; attempts: DueAttempt[] };

/**
 * Decides about claimed alerts that waited. Simultaneous claims share their statements; each step may be repeated after
 * a kill.
 */
export class HeldAlerts {
  readonly #parts: GatheringParts;
  readonly #holdAgain: Batched<ClaimedAttempt, DueAttempt[] | null>;
  readonly #settle: Batched<ClaimedAttempt & { isAlone: boolean }, SettledHeld>;
  readonly #planReminders: Batched<string, DueAttempt[]>;
  readonly #release: Batched<ClaimedAttempt, boolean>;

  constructor(parts: GatheringParts) {
    const { database, newId, now } = parts;
    const run = runOn(database.pool);
    this.#parts = parts;
    this.#holdAgain = createBatched((claimed) => holdAgain(run, claimed, now()));
    this.#settle = createBatched((claimed) => settleHeld(run, claimed, now()));
    this.#planReminders = createBatched((ids) => planReminders(run, ids, { newId, nowMs: now() }));
    this.#release = createBatched((claimed) => releaseHeld(run, claimed, now()));
  }

  /**
   * Sends the alert separately, makes it wait again, drops it, or gathers it into a summary. Each step returns null to
   * leave the decision to the next one.
   */
  async release(claimed: ClaimedAttempt): Promise<Released> {
    return (
      (await this.#waitAgain(claimed)) ??
      (await this.#settleByItself(claimed)) ??
      (await this.#followParents(claimed)) ??
      (await this.#gather(claimed)) ??
      (await this.#send(claimed))
    );
  }

  async #waitAgain(claimed: ClaimedAttempt): Promise<Released | null> {
    const { holdReason } = claimed;
    if (holdReason === null || !MAY_WAIT_AGAIN.includes(holdReason)) return null;
    const attempts = await this.#holdAgain(claimed);
    return attempts && unsent(attempts);
  }

  async #settleByItself(claimed: ClaimedAttempt): Promise<Released | null> {
    const isAlone = claimed.channelType === 'webhook' && !claimed.isBehind;
    const settled = await this.#settle({ ...claimed, isAlone });
    return settled === 'open' ? null : { isSent: settled === 'released', attempts: [] };
  }

  async #followParents(claimed: ClaimedAttempt): Promise<Released | null> {
    if (!claimed.isBehind) return null;
    const { outcome, attempts } = await decideByParents(claimed, this.#parts, this.#parts.now());
    if (outcome === 'quiet') return unsent(await this.#planReminders(claimed.deliveryId));
    if (outcome === 'joined') return unsent([...attempts, ...(await this.#planReminders(claimed.deliveryId))]);
    if (outcome === 'waiting') return unsent(attempts);
    // Deciding may have waited for the lock of a recovering parent, and the alert's own monitor may have recovered with
    // it.
    if ((await this.#settle({ ...claimed, isAlone: false })) === 'dropped') return unsent([]);
    return outcome === 'update' ? await this.#send(claimed) : null;
  }

  async #gather(claimed: ClaimedAttempt): Promise<Released | null> {
    const attempts = await gatherHeld(claimed, this.#parts, this.#parts.now());
    return attempts && unsent(attempts);
  }

  async #send(claimed: ClaimedAttempt): Promise<Released> {
    const attempts = await this.#planReminders(claimed.deliveryId);
    return { isSent: await this.#release(claimed), attempts };
  }
}

function unsent(attempts: DueAttempt[]): Released {
  return { isSent: false, attempts };
}

/**
 * Writes the reminders that follow these deliveries, and returns the attempts of each. The present rules of their
 * channels decide whether there is another one, and when.
 */
async function planReminders(
  run: Run,
  deliveryIds: readonly string[],
  { newId, nowMs }: Pick<GatheringParts, 'newId'> & { nowMs: number },
): Promise<DueAttempt[][]> {
  const calendar = new ServiceCalendar({ fromMs: nowMs, toMs: nowMs + QUIET_AHEAD_MS });
  const planned = (await listFollowed(run, deliveryIds)).flatMap(
    ({ snoozedUntilMs, rules, tags, message, deliveryId, ...last }) => {
      const repeat = repeatOf(rules, { event: message.event, tags });
      if (repeat === null || last.number >= repeat.most) return [];
      const { everySeconds, most } = repeat;
      const number = last.number + 1;
      const atMs = nowMs + everySeconds * 1000;
      return {
        ...last,
        ...planReminder(repeat, { atMs, snoozedUntilMs }, calendar),
        followedId: deliveryId,
        id: newId('dlv'),
        message: { ...message, reminder: { number, of: most, every_seconds: everySeconds } },
        number,
        createdAtMs: nowMs,
      };
    },
  );
  const written = new Set(await insertReminders(run, planned));
  const attempts = Map.groupBy(
    planned.filter(({ id }) => written.has(id)),
    ({ followedId }) => followedId,
  );
  return deliveryIds.map((id) => (attempts.get(id) ?? []).map(firstAttempt));
}

/**
 * Gathers waiting alerts that are due at a chat, such as after maintenance, including the claimed one, into one
 * summary. Returns its first attempt and the reminders that follow; null if the claimed one is alone and remains a
 * separate message. It is one transaction: after a kill the claim expires and the work is repeated.
 */
async function gatherHeld(
  claimed: ClaimedAttempt,
  { database, ...parts }: GatheringParts,
  nowMs: number,
): Promise<DueAttempt[] | null> {
  if (claimed.channelType === 'webhook' || claimed.isOvertaken) return null;
  if (!(await hasOtherHeld(runOn(database.pool), claimed, nowMs))) return null;
  return await inTransaction(database, async (run) => {
    await lockSummaries(run, [claimed.tenantId]);
    const held = await lockDueHeld(run, claimed, nowMs);
    if (held.length < 2 || !held.some(({ id }) => id === claimed.deliveryId)) return null;
    return await moveInto(run, { held, claimed, nowMs, ...parts });
  });
}

type Move = Omit<GatheringParts, 'database'> & { held: readonly DueHeld[]; claimed: ClaimedAttempt; nowMs: number };

/** Moves alerts into the open summary of their chat, or into a new one. */
async function moveInto(run: Run, move: Move): Promise<DueAttempt[]> {
  const { held, nowMs, newId } = move;
  const { channelId } = move.claimed;
  const newest = (await listNewestSummaries(run, [channelId])).get(channelId);
  const { deliveryId: summaryId, dueAtMs } =
    newest?.isOpen === true ? newest : await openAnother(run, newest?.dueAtMs ?? null, move);
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
  const ids = held.map(({ id }) => id);
  const reminders = await planReminders(run, ids, { newId, nowMs });
  await moveToSummary(run, { ids, summaryId, nowMs });
  return [{ deliveryId: summaryId, channelId, attempt: 1, dueAtMs }, ...reminders.flat()];
}

/**
 * Writes the next summary of a chat, whose newest one is due at `lastDueAtMs` (Unix milliseconds; null if there is
 * none).
 */
async function openAnother(
  run: Run,
  lastDueAtMs: number | null,
  { held, claimed, ...parts }: Move,
): Promise<{ deliveryId: string; dueAtMs: number }> {
  const { tenantId, channelId } = claimed;
  const dueAtMs = releasedSummaryDueAtMs(parts.nowMs, lastDueAtMs);
  const openedAtMs = Math.min(...held.map(({ eventAt }) => eventAt)) * 1000;
  const maintenance = [...new Set(held.flatMap(({ maintenance: window }) => window ?? []))];
  const summary = newSummary({ tenantId, channelId, dueAtMs, openedAtMs, maintenance }, parts);
  await insertDeliveries(run, [summary]);
  await upsertSummaries(run, [{ channelId, deliveryId: summary.id, dueAtMs }]);
  return { deliveryId: summary.id, dueAtMs };
}
