import { noScheduleChange } from '../../core/checks/slots.ts';
import { chooseDefaultSources } from '../../core/monitors/defaults.ts';
import { assignMissingSources, listCheckRegions } from '../../models/agents/shared-agents.ts';
import { listOverdueChannels } from '../../models/alerts/deliveries.ts';
import { listOccupiedSlots, listOverdueRechecks } from '../../models/checks/schedule.ts';
import { inTransaction, runOn, withAdvisoryLock } from '../../models/sql.ts';
import { findSetBack } from '../../models/statistics/service-time.ts';
import { pullBackTimes } from '../../models/system/future-times.ts';
import type { Runtime } from '../runtime.ts';

/** Maximum channels whose lost deliveries one round restores; the next round restores more. */
const CHANNELS_PER_ROUND = 500;

/** Interval at which each job scheduler is compared, not only their number, in milliseconds. */
const THOROUGH_EVERY_MS = 300_000;

/** Time after which an unclaimed recheck is enqueued again, in milliseconds. */
const FORGOTTEN_AFTER_MS = 5000;

/**
 * Time within which processes learn that the service's time was set back, in milliseconds: times that they wrote
 * meanwhile are that much further ahead.
 */
const LEARNED_WITHIN_MS = 2000;

/** Interval of reconcile, in milliseconds, which determines the share of thorough rounds. */
const ROUND_MS = 10_000;

/**
 * Reconciles the queue with the database. It adds job schedulers of every occupied slot, jobs of channels with overdue
 * deliveries, rechecks that were not claimed, and sources of monitors that were created before there was an agent. For
 * a while after the service's time was set back it also corrects rows and jobs with times of the old clock. One process
 * does this at a time. `signal` is aborted when the process stops.
 */
export async function reconcile(
  { database, queues, metrics, now, log }: Runtime,
  when: { signal?: AbortSignal } = {},
): Promise<{ schedules: number; deliveries: number }> {
  const mended = await withAdvisoryLock(database, 'reconcile', async () => {
    const nowMs = now();
    const regions = await listCheckRegions(database);
    const isSetBack = await findSetBack(runOn(database.pool), nowMs);
    if (isSetBack) {
      await inTransaction(database, (_run, client) =>
        pullBackTimes(client, { nowMs: nowMs + LEARNED_WITHIN_MS, backMs: 0 }),
      );
      await queues.clearAfterClockSetBack(regions);
    }
    await queues.applyScheduleChange(
      await assignMissingSources(database, { choose: chooseDefaultSources, nowMs }),
      regions,
    );
    await queues.applyScheduleChange(
      { ...noScheduleChange(), rechecks: await listOverdueRechecks(database, nowMs - FORGOTTEN_AFTER_MS) },
      regions,
    );
    const thorough = isSetBack || nowMs % THOROUGH_EVERY_MS < ROUND_MS;
    const listOccupied = (agentNo: number) => listOccupiedSlots(database, [agentNo]);
    const schedules = await queues.reconcileSchedules(listOccupied, regions, { ...when, nowMs, thorough });
    const overdue = await listOverdueChannels(database, { nowMs, limit: CHANNELS_PER_ROUND });
    // Each channel has a separate job: one that already waits must not keep those of other channels from being added.
    for (const attempt of overdue) await queues.enqueueAttempts([attempt]);
    return { schedules, deliveries: overdue.reduce((sum, { deliveries }) => sum + deliveries, 0) };
  });
  if (mended === null) return { schedules: 0, deliveries: 0 };
  metrics.schedulesMended(mended.schedules);
  metrics.deliveriesMended(mended.deliveries);
  if (mended.schedules + mended.deliveries > 0) log.info(mended, 'queue.mended');
  return mended;
}
