export type Schedule = { startsAtMs: number; timezone: string; cron: string | null; rrule: string | null };
export type PlannedStart = { localStart: string; startsAtMs: number };
export function checkRecurrence(_schedule: Schedule, _nowMs: number): { field: string; message: string } | null {
  return null;
}
export function listStarts(schedule: Schedule, span: { fromMs: number; toMs: number; most: number }): PlannedStart[] {
  if (schedule.startsAtMs < span.fromMs || schedule.startsAtMs >= span.toMs) return [];
  return [{ localStart: new Date(schedule.startsAtMs).toISOString().slice(0, 19), startsAtMs: schedule.startsAtMs }];
}
