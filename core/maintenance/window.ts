import { readNamedZone, toInstant } from '../time-zones.ts';
import { DAY_SECONDS } from '../time.ts';

/** What becomes of alerts to chats: they wait until the end, are never sent, or are sent at once. */
export type AlertsDuring = 'hold' | 'drop' | 'send';

/** Whether maintenance is left out of uptime and SLA. */
export type SlaDuring = 'exclude' | 'count';

/** A window as its owner plans it, complete. Moments are Unix seconds. */
export type WindowSettings = {
  name: string;
  description: string;
  /** Monitors of the window: all, those named, and those with any of the tags. */
  allMonitors: boolean;
  monitorIds: readonly string[];
  tags: readonly string[];
  /** The start as it was given in local time, `2026-11-30T02:00`; null where a moment was given. */
  localStart: string | null;
  timezone: string;
  startsAt: number;
  durationSeconds: number;
  /** Five fields over the zone's clock, or an RRULE of RFC 5545; both null: the window takes place once. */
  cron: string | null;
  rrule: string | null;
  alerts: AlertsDuring;
  sla: SlaDuring;
  /** After the end alerts wait for so much longer, so that monitors can recover. */
  settleSeconds: number;
};

/** A time at which a window takes place, in Unix milliseconds. */
export type Occurrence = { startsAtMs: number; endsAtMs: number };

/** A window as it is stored, with the occurrence that is in progress and the next one that is not skipped. */
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

/** Whether a window is in progress, comes, or is over. */
export function statusOfWindow({
  current,
  next,
  hasMore,
}: Pick<MaintenanceWindow, 'current' | 'next' | 'hasMore'>): 'active' | 'scheduled' | 'ended' {
  if (current !== null) return 'active';
  return next === null && !hasMore ? 'ended' : 'scheduled';
}

/** Lengths of an occurrence, in seconds. */
export const SHORTEST_SECONDS = 60;
export const LONGEST_SECONDS = 30 * DAY_SECONDS;

/** The longest time to settle, in seconds. */
export const LONGEST_SETTLE_SECONDS = 3600;

/**
 * Windows begin at most this long before they are entered, and this long after it, in seconds. A rule has no past: it
 * may be edited for as long as it takes place.
 */
const PAST_SECONDS = 31 * DAY_SECONDS;
const PAST_SECONDS_OF_RULES = 10 * 366 * DAY_SECONDS;
const FUTURE_SECONDS = 366 * DAY_SECONDS;

/** The most windows of a tenant that are not over, and the most that are kept with those that are. */
export const MAX_WINDOWS = 500;
export const MAX_KEPT_WINDOWS = 10_000;

/** The most monitors of all windows of a tenant that are in progress, begin soon or ended within the hour, together. */
export const MAX_COVERED = 100_000;

/** Of a tenant with more than a tenth of that it is this many times its monitors. */
export const MAX_TIMES_ALL = 10;

/** The most occurrences of a tenant's windows that are planned ahead. */
export const MAX_OCCURRENCES = 40_000;

/** A start as it was sent: a moment, or a local time with its zone; null = now. */
type Start = { at: number | string | null; timezone: string | null; isRecurring: boolean };

/** What comes of reading a start: `field` and a sentence about it where it is none. */
type ReadStart =
  | { ok: true; startsAt: number; localStart: string | null; timezone: string }
  | { ok: false; field: string; message: string };

/**
 * Reads the start of a window, in Unix seconds. Of a local time that there is twice it is the first, and one that the
 * clocks skip is the first moment after the gap.
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

/** The moment of a local time such as `2026-11-30T02:00` in a zone, in Unix seconds. */
export function readLocal(
  field: string,
  text: string,
  zone: string,
): { ok: true; at: number } | { ok: false; message: string } {
  const localMs = Date.parse(`${text.length === 16 ? `${text}:00` : text}Z`);
  if (!Number.isFinite(localMs) || !new Date(localMs).toISOString().startsWith(text))
    return { ok: false, message: `${field} must be a date that exists, such as 2026-11-30T02:00, got "${text}"` };
  return { ok: true, at: Math.floor(toInstant(localMs, zone) / 1000) };
}

/** Maintenance of a monitor, as alerts look at it; `untilMs` includes the time to settle. */
export type AlertMaintenance = {
  occurrenceNo: number;
  windowId: string;
  windowName: string;
  alerts: AlertsDuring;
  endsAtMs: number;
  untilMs: number;
};

/**
 * What the windows that a monitor is in mean together for an alert. It is held where any of them holds, until the last
 * of those is over, dropped where the others drop, and sent where all send. Null outside maintenance.
 */
export function chooseMaintenance(windows: readonly AlertMaintenance[]): AlertMaintenance | null {
  const last = (alerts: AlertsDuring) =>
    windows.filter((window) => window.alerts === alerts).toSorted((a, b) => b.untilMs - a.untilMs)[0];
  return last('hold') ?? last('drop') ?? last('send') ?? null;
}
