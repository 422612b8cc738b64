import { chooseDefaultSources } from '../../core/default-sources.ts';
import { assignMissingSources, listCheckRegions } from '../../models/agents.ts';
import { withAdvisoryLock } from '../../models/advisory-lock.ts';
import { listDueDeliveries } from '../../models/deliveries.ts';
import { listOccupiedPhases } from '../../models/schedule.ts';
import type { Runtime } from '../runtime.ts';

/** Lost deliveries that one round brings back; the next round brings the next. */
const DELIVERIES_PER_ROUND = 2000;

/** Every so many milliseconds each job scheduler is looked at, not only their number. */
const THOROUGH_EVERY_MS = 300_000;

/** How often reconcile runs: what makes one round in many a thorough one. */
const ROUND_MS = 10_000;

/**
 * Makes the queue say again what the database says: job schedulers of every occupied phase, jobs of deliveries that are overdue,
 * sources of monitors that were made before there was an agent. One process at a time.
 */
export async function reconcile({ database, queues, metrics, now, log }: Runtime): Promise<{ schedules: number; deliveries: number }> {
  const mended = await withAdvisoryLock(database, 'reconcile', async () => {
    const nowMs = now();
    const regions = await listCheckRegions(database);
    await queues.applyScheduleChange(await assignMissingSources(database, chooseDefaultSources), regions);
    const thorough = nowMs % THOROUGH_EVERY_MS < ROUND_MS;
    const schedules = await queues.reconcileSchedules(await listOccupiedPhases(database), regions, { nowMs, thorough });
    const overdue = await listDueDeliveries(database, { nowMs, limit: DELIVERIES_PER_ROUND });
    for (const { deliveryId, attempt } of overdue) await queues.enqueueDelivery({ deliveryId, attempt, delayMs: 0 });
    return { schedules, deliveries: overdue.length };
  });
  if (mended === null) return { schedules: 0, deliveries: 0 };
  metrics.schedulesMended(mended.schedules);
  if (mended.schedules + mended.deliveries > 0) log.info(mended, 'queue.mended');
  return mended;
}
