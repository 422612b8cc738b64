import { readNamedZone, toInstant } from '../time-zones.ts';
import { DAY_SECONDS, toUnixSeconds } from '../time.ts';

/** Treatment of alerts to chats: they wait until the end, are never sent, or are sent at once. */
type AlertsDuring = 'hold' | 'drop' | 'send';

/** Whether maintenance is excluded from uptime and SLA. */
type SlaDuring = 'exclude' | 'count';

/** Complete settings of a window. Moments are Unix seconds. */
export type WindowSettings = {
  name: string;
  description: string;
  /** Monitors of the window: all, those named, and those with any of the tags. */
  allMonitors: boolean;
  monitorIds: readonly string[];
  tags: readonly string[];
  /** The start as entered in local time, `2026-11-30T02:00`; null if a moment was given. */
  localStart: string | null;
  timezone: string;
  startsAt: number;
  durationSeconds: number;
  /** Five cron fields in the zone's local time, or an RRULE of RFC 5545; both null: the window takes place once. */
  cron: string | null;
  rrule: string | null;
  alerts: AlertsDuring;
  sla: SlaDuring;
  /** Further delay of alerts after the end, so that monitors can recover. */
  settleSeconds: number;
};

/** Time of one occurrence of a window, in Unix milliseconds. */
export type Occurrence = { startsAtMs: number; endsAtMs: number };

/** A window as stored, with the occurrence in progress and the next one that is not skipped. */
export type MaintenanceWindow = WindowSettings & {
  id: string;
  tenantId: string;
  key: string | null;
  hasMore: boolean;
  createdAt: number;
  updatedAt: number;
  current: Occurrence | null;
  next: Occurrence | null;
};

/** Returns whether a window is in progress, scheduled, or over. */
export function statusOfWindow({
  current,
  next,
  hasMore,
}: Pick<MaintenanceWindow, 'current' | 'next' | 'hasMore'>): 'active' | 'scheduled' | 'ended' {
  if (current !== null) return 'active';
  return next === null && !hasMore ? 'ended' : 'scheduled';
}

/** Minimum and maximum length of an occurrence, in seconds. */
export const SHORTEST_SECONDS = 60;
export const LONGEST_SECONDS = 30 * DAY_SECONDS;

/** Maximum time to settle, in seconds. */
export const LONGEST_SETTLE_SECONDS = 3600;

/**
 * How far in the past and future a window may begin when entered, in seconds. A rule's start may be much older: it may
 * be edited for as long as it takes place.
 */
const PAST_SECONDS = 31 * DAY_SECONDS;
const PAST_SECONDS_OF_RULES = 10 * 366 * DAY_SECONDS;
const FUTURE_SECONDS = 366 * DAY_SECONDS;

/** Maximum number of a tenant's windows that are not over, and in all. */
export const MAX_WINDOWS = 500;
export const MAX_KEPT_WINDOWS = 10_000;

/**
 * Maximum number of monitors in all windows of a tenant that are in progress, begin soon or ended within the hour,
 * together. It limits new and changed windows: one that was planned earlier always covers its monitors.
 */
export const MAX_COVERED = 100_000;

/** For a tenant with more than a tenth of that many monitors the limit is this many times their number. */
export const MAX_TIMES_ALL = 10;

/** Maximum number of a tenant's planned occurrences. */
export const MAX_OCCURRENCES = 40_000;

/** A start as sent: a moment, or a local time with its zone; null = now. */
type Start = { at: number | string | null; timezone: string | null; isRecurring: boolean };

/** Result of reading a start: `field` and a sentence about it if it is invalid. */
type ReadStart =
  | { ok: true; startsAt: number; localStart: string | null; timezone: string }
  | { ok: false; field: string; message: string };

/**
 * Reads the start of a window, in Unix seconds. For an ambiguous local time it is the first of the two, for a skipped
 * one the first moment after the gap.
 */
export function readStart({ at, timezone, isRecurring }: Start, nowSeconds: number): ReadStart {
  const named = readNamedZone('timezone', timezone ?? 'UTC');
  if (!named.ok) return { ok: false, field: 'timezone', message: named.message };
  const zone = named.value;
  const read = typeof at === 'string' ? readLocal('starts_at', at, zone) : { ok: true as const, at: at ?? nowSeconds };
  if (!read.ok) return { ok: false, field: 'starts_at', message: read.message };
  const pastSeconds = isRecurring ? PAST_SECONDS_OF_RULES : PAST_SECONDS;
  if (read.at < nowSeconds - pastSeconds || read.at > nowSeconds + FUTURE_SECONDS)
    return {
      ok: false,
      field: 'starts_at',
      message:
        `starts_at must be at most ${isRecurring ? 'ten years' : '31 days'} in the past and at most 366 days in the ` +
        'future',
    };
  return { ok: true, startsAt: read.at, localStart: typeof at === 'string' ? at : null, timezone: zone };
}

/** Converts a local time such as `2026-11-30T02:00` in a zone to Unix seconds. */
export function readLocal(
  field: string,
  text: string,
  zone: string,
): { ok: true; at: number } | { ok: false; message: string } {
  const localMs = Date.parse(`${text.length === 16 ? `${text}:00` : text}Z`);
  if (!Number.isFinite(localMs) || !new Date(localMs).toISOString().startsWith(text))
    return { ok: false, message: `${field} must be a date that exists, such as 2026-11-30T02:00, got "${text}"` };
  return { ok: true, at: toUnixSeconds(toInstant(localMs, zone)) };
}

/** Maintenance of a monitor, as far as it affects alerts; `untilMs` includes the time to settle. */
export type AlertMaintenance = {
  occurrenceNo: number;
  windowId: string;
  windowName: string;
  alerts: AlertsDuring;
  endsAtMs: number;
  untilMs: number;
};

/**
 * Chooses the window that decides an alert's treatment. It is held if any window holds, until the last of those is
 * over, otherwise dropped if any drops, and sent if all send. Null outside maintenance.
 */
export function chooseMaintenance(windows: readonly AlertMaintenance[]): AlertMaintenance | null {
  const last = (alerts: AlertsDuring) =>
    windows.filter((window) => window.alerts === alerts).toSorted((a, b) => b.untilMs - a.untilMs)[0];
  return last('hold') ?? last('drop') ?? last('send') ?? null;
}
