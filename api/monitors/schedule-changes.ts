import type { ScheduleChange } from '../../core/checks/slots.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { scheduleRechecks } from '../../models/checks/schedule.ts';
import { runOn } from '../../models/sql.ts';
import { ApiError } from '../api-error.ts';
import type { ApiDependencies, HandlerDependencies } from '../dependencies.ts';

/**
 * Notifies the queue of a committed change without waiting for it: the row is the truth, and where the queue is away
 * the reconcile chore mends what it missed.
 */
export function announceSchedule(
  { onScheduleChange, logger }: Pick<ApiDependencies, 'onScheduleChange' | 'logger'>,
  change: ScheduleChange,
): void {
  if (change.occupied.length + change.emptied.length + change.rechecks.length === 0) return;
  onScheduleChange(change).catch((error: unknown) => logger.warn({ err: error }, 'schedule.announcement_failed'));
}

/**
 * Plans the rechecks that a committed change of a monitor holds, where the account has turns left, and tells the queue
 * of the change. Without a turn the monitor is checked at its next tick (D-397). Never rejects: the change is stored.
 */
export async function announceMonitor(
  dependencies: HandlerDependencies,
  { monitor, schedule }: { monitor: Monitor; schedule: ScheduleChange },
): Promise<void> {
  const { database, logger, now } = dependencies;
  const planned = schedule.rechecks.map((agentNo) => ({ monitorNo: monitor.no, agentNo, atMs: now() }));
  try {
    const mayRecheck = planned.length > 0 && (await takesRecheck(dependencies, monitor.tenantId));
    if (mayRecheck) await scheduleRechecks(runOn(database.pool), planned);
    announceSchedule(dependencies, mayRecheck ? schedule : { ...schedule, rechecks: [] });
  } catch (error) {
    logger.warn({ err: error, monitor_id: monitor.id }, 'schedule.look_not_planned');
    announceSchedule(dependencies, { ...schedule, rechecks: [] });
  }
}

async function takesRecheck({ rateLimits }: HandlerDependencies, tenantId: string): Promise<boolean> {
  try {
    await rateLimits.take('earlyCheck', tenantId);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
