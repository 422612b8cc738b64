import { findUnstorable, type Problem, type Read } from '../../core/input.ts';
import {
  LONGEST_SECONDS,
  SHORTEST_SECONDS,
  readLocal,
  readStart,
  type MaintenanceWindow,
  type WindowSettings,
} from '../../core/maintenance/window.ts';
import { sortTags } from '../../core/monitors/monitor.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { isRecurring, scheduleOf } from '../../models/maintenance/occurrences.ts';
import { checkRecurrence } from '../../models/maintenance/recurrence.ts';
import type { Body } from '../handler.ts';
import { isId } from '../request-context.ts';

type Sent = Body<'createMaintenanceWindow'> | Body<'updateMaintenanceWindow'>;

/** Ids that are not monitors of the account are dropped, in any format. */
const ONLY_LOOKED_UP = { field: '', except: ['monitor_ids'] };

/** Defaults of a new window. */
const DEFAULTS = {
  description: '',
  allMonitors: false,
  monitorIds: [],
  tags: [],
  cron: null,
  rrule: null,
  alerts: 'hold',
  sla: 'exclude',
  settleSeconds: 0,
} as const;

/** Fields that a start depends on, and a rule. */
const STARTS = ['starts_at', 'timezone', 'cron', 'rrule'] as const;
const RULE = ['cron', 'rrule', 'starts_at', 'timezone', 'ends_at'] as const;

/**
 * Reads the body for a window; returns all of its problems if there are any. `current` is the window that a PATCH
 * changes.
 */
export function readWindow(
  sent: Sent,
  { current, nowMs }: { current: MaintenanceWindow | null; nowMs: number },
): Read<WindowSettings> {
  const problems: Problem[] = [];
  findUnstorable(sent, ONLY_LOOKED_UP, problems);
  if (problems.length > 0) return { ok: false, problems };
  const before = current ?? DEFAULTS;
  const time = readTime(sent, { current, nowMs }, problems);
  const settings = {
    name: sent.name?.trim() ?? current?.name ?? '',
    description: sent.description ?? before.description,
    allMonitors: sent.all_monitors ?? before.allMonitors,
    monitorIds: sent.monitor_ids === undefined ? before.monitorIds : [...new Set(sent.monitor_ids.filter(isId))],
    tags: sent.tags === undefined ? before.tags : sortTags(sent.tags),
    cron: sent.cron === undefined ? before.cron : sent.cron,
    rrule: sent.rrule === undefined ? before.rrule : sent.rrule,
    alerts: sent.alerts ?? before.alerts,
    sla: sent.sla ?? before.sla,
    settleSeconds: sent.settle_seconds ?? before.settleSeconds,
    ...time,
  };
  checkMonitors(settings, problems);
  // An unchanged rule is not validated again: its window may be over.
  if (current === null || RULE.some((field) => sent[field] !== undefined))
    checkRule(settings, { sent, nowMs }, problems);
  return problems.length === 0 ? { ok: true, value: settings } : { ok: false, problems };
}

type Time = Pick<WindowSettings, 'startsAt' | 'localStart' | 'timezone' | 'durationSeconds'>;

/** Reads the start of a window, or of each occurrence, and its duration. */
function readTime(
  sent: Sent,
  { current, nowMs }: { current: MaintenanceWindow | null; nowMs: number },
  problems: Problem[],
): Time {
  // A recurrence may have begun long ago, but a one-time window may not, so an unchanged start is not validated again.
  const isSent = current === null || STARTS.some((field) => sent[field] !== undefined);
  const timezone = sent.timezone ?? current?.timezone ?? null;
  // A new time zone moves a start that was given in local time.
  const at = sent.starts_at ?? current?.localStart ?? current?.startsAt ?? null;
  const start = isSent
    ? readStart({ at, timezone, isRecurring: isRule(sent, current) }, toUnixSeconds(nowMs))
    : { ok: true as const, ...startOf(current) };
  if (!start.ok) {
    problems.push({ field: start.field, message: start.message });
    return { startsAt: 0, localStart: null, timezone: 'UTC', durationSeconds: 0 };
  }
  const { startsAt, localStart, timezone: zone } = start;
  const before = current?.durationSeconds ?? null;
  const durationSeconds = readDuration(sent, { startsAt, zone, before }, problems);
  return { startsAt, localStart, timezone: zone, durationSeconds };
}

/** Reports whether the window recurs after the change. */
function isRule(sent: Sent, current: MaintenanceWindow | null): boolean {
  const { cron = current?.cron ?? null, rrule = current?.rrule ?? null } = sent;
  return cron !== null || rrule !== null;
}

function startOf({ startsAt, localStart, timezone }: MaintenanceWindow): Omit<Time, 'durationSeconds'> {
  return { startsAt, localStart, timezone };
}

function readDuration(
  { ends_at: end, duration_seconds: duration }: Sent,
  { startsAt, zone, before }: { startsAt: number; zone: string; before: number | null },
  problems: Problem[],
): number {
  const refuse = (field: string, message: string) => {
    problems.push({ field, message });
    return 0;
  };
  if (end === undefined) {
    const seconds = duration ?? before;
    return seconds ?? refuse('duration_seconds', 'duration_seconds or ends_at is required: say how long it lasts');
  }
  if (duration !== undefined)
    return refuse('ends_at', 'ends_at must not be sent together with duration_seconds: send only one of them');
  const read = typeof end === 'string' ? readLocal('ends_at', end, zone) : { ok: true as const, at: end };
  if (!read.ok) return refuse('ends_at', read.message);
  const seconds = read.at - startsAt;
  if (seconds <= 0) return refuse('ends_at', 'ends_at must be after starts_at, got an end before the start');
  if (seconds < SHORTEST_SECONDS || seconds > LONGEST_SECONDS)
    return refuse('ends_at', 'ends_at must be from a minute to 30 days after starts_at');
  return seconds;
}

function checkMonitors({ allMonitors, monitorIds, tags }: WindowSettings, problems: Problem[]): void {
  if (!allMonitors && monitorIds.length === 0 && tags.length === 0)
    problems.push({
      field: 'monitor_ids',
      message: 'monitor_ids, tags or all_monitors must say which monitors the window is for, got none of them',
    });
}

function checkRule(
  settings: WindowSettings,
  { sent, nowMs }: { sent: Sent; nowMs: number },
  problems: Problem[],
): void {
  if (!isRecurring(settings) || problems.length > 0) return;
  if (settings.cron !== null && settings.rrule !== null)
    problems.push({ field: 'rrule', message: 'rrule must not be set together with cron: set one of them to null' });
  else if (sent.ends_at !== undefined)
    problems.push({
      field: 'ends_at',
      message: 'ends_at is for windows that take place once: send duration_seconds with cron or rrule',
    });
  else {
    const problem = checkRecurrence(scheduleOf(settings), nowMs);
    if (problem !== null) problems.push(problem);
  }
}
