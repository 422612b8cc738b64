import type { ScheduleChange } from '../core/schedule.ts';
import type { ApiDependencies } from './dependencies.ts';

/**
 * Tells the queue of a committed change without waiting for it: the row is the truth, and where the queue is away the
 * reconcile chore mends what it missed.
 */
export function announceSchedule(
  { onScheduleChange, logger }: Pick<ApiDependencies, 'onScheduleChange' | 'logger'>,
  change: ScheduleChange,
): void {
  if (change.occupied.length + change.emptied.length + change.looks.length === 0) return;
  onScheduleChange(change).catch((error: unknown) => logger.warn({ err: error }, 'schedule.announcement_failed'));
}
