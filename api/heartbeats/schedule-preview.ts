import { writeZonedMoment, type ZonedMoment } from '../../core/heartbeats/schedule.ts';
import { readSchedule, runScheduleOf } from '../../models/heartbeats/schedule.ts';
import { badRequest } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';

/** The runs that a preview shows. */
const SHOWN = 5;

/** `POST /monitors/schedule-preview` */
export function previewScheduleHandler({ now }: Parts<'now'>): Handler<'previewSchedule'> {
  return async (request, response) => {
    const nowMs = now();
    const read = readSchedule(request.body, nowMs);
    if (!read.ok) throw badRequest(read.message);
    const { cron, timezone, early_seconds: earlySeconds } = read.schedule;
    const { runAfter } = runScheduleOf(cron, timezone, earlySeconds);
    const runs: ZonedMoment[] = [];
    for (let run = runAfter(nowMs); run !== null && runs.length < SHOWN; run = runAfter(run))
      runs.push(writeZonedMoment(run, timezone));
    response.json({ schedule: read.schedule, runs });
  };
}
