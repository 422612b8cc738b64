import type { ScheduleChange } from '../../core/checks/slots.ts';
import { scheduleRechecks } from '../../models/checks/schedule.ts';
import type { StoredMonitor } from '../../models/monitors/monitor-changes.ts';
import { runOn } from '../../models/sql.ts';
import { ApiError } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';

/** What announcing a committed change of a monitor needs. */
export type AnnouncingParts = Parts<'database' | 'now' | 'rateLimits' | 'onScheduleChange' | 'logger'>;

/**
 * Notifies the queue of a committed change without waiting for it. The row is what counts: the reconcile chore repairs
 * what the queue missed while it was away.
 */
export function announceSchedule(
  { onScheduleChange, logger }: Parts<'onScheduleChange' | 'logger'>,
  change: ScheduleChange,
): void {
  if (change.occupied.length + change.emptied.length + change.rechecks.length === 0) return;
  onScheduleChange(change).catch((error: unknown) => logger.warn({ err: error }, 'schedule.announcement_failed'));
}

/**
 * Plans the rechecks of a committed change of a monitor, as far as the account's rate limit allows, and notifies the
 * queue of the change. Beyond the limit the monitor is checked at its next tick (D-397). Never rejects: the change is
 * stored.
 */
export async function announceMonitor(
  dependencies: AnnouncingParts,
  { monitor, schedule }: StoredMonitor,
): Promise<void> {
  const { database, logger, now } = dependencies;
  const planned = schedule.rechecks.map((agentNo) => ({ monitorNo: monitor.no, agentNo, atMs: now() }));
  try {
    const mayRecheck = planned.length > 0 && (await takesRecheck(dependencies, monitor.tenantId));
    if (mayRecheck) await scheduleRechecks(runOn(database.pool), planned);
    announceSchedule(dependencies, mayRecheck ? schedule : { ...schedule, rechecks: [] });
  } catch (error) {
    logger.warn({ err: error, monitor_id: monitor.id }, 'schedule.recheck_not_planned');
    announceSchedule(dependencies, { ...schedule, rechecks: [] });
  }
}

async function takesRecheck({ rateLimits }: Parts<'rateLimits'>, tenantId: string): Promise<boolean> {
  try {
    await rateLimits.take('earlyCheck', tenantId);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
