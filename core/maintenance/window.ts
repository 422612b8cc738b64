import { DAY_SECONDS } from '../time.ts';
import { readTimeZone, toInstant } from '../time-zones.ts';

/** What becomes of alerts of chats: they wait until the end, are never sent, or are sent at once. */
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
  alerts: AlertsDuring;
  sla: SlaDuring;
  /** After the end alerts wait for so much longer, so that monitors can recover. */
  settleSeconds: number;
};

/** A window as it is stored. */
export type MaintenanceWindow = WindowSettings & {
  id: string;
  tenantId: string;
  key: string | null;
  createdAt: number;
  updatedAt: number;
};

/** A time at which a window takes place, in Unix milliseconds. */
export type Occurrence = { no: number; windowId: string; startsAtMs: number; endsAtMs: number; settleSeconds: number };

/** Lengths of a window, in seconds. */
export const SHORTEST_SECONDS = 60;
export const LONGEST_SECONDS = 30 * DAY_SECONDS;

/** Windows begin at most this long before they are entered, and this long after it, in seconds. */
const PAST_SECONDS = 31 * DAY_SECONDS;
const FUTURE_SECONDS = 366 * DAY_SECONDS;

/** The most windows of a tenant that have not ended. */
export const MOST_WINDOWS = 500;

/** A start as it was sent: a moment, or a local time with its zone; null = now. */
type Start = { at: number | string | null; timezone: string | null };

/** What comes of reading a start: `field` and a sentence about it where it is none. */
type ReadStart =
  | { ok: true; startsAt: number; localStart: string | null; timezone: string }
  | { ok: false; field: string; message: string };

/**
 * Reads the start of a window. Of a local time that there is twice it is the first, and one that the clocks skip is the
 * first moment after the gap.
 */
export function readStart({ at, timezone }: Start, nowSeconds: number): ReadStart {
  const zone = timezone === null ? 'UTC' : readTimeZone(timezone);
  if (zone === null || zone === 'browser')
    return {
      ok: false,
      field: 'timezone',
      message: `timezone must be a zone of the IANA time zone database, such as Europe/Berlin, got "${timezone}"`,
    };
  const localMs = typeof at === 'string' ? Date.parse(`${at.length === 16 ? `${at}:00` : at}Z`) : null;
  if (localMs !== null && !(Number.isFinite(localMs) && new Date(localMs).toISOString().startsWith(String(at))))
    return {
      ok: false,
      field: 'starts_at',
      message: `starts_at must be a date that exists, such as 2026-11-30T02:00, got "${at}"`,
    };
  const startsAt = localMs === null ? Number(at ?? nowSeconds) : Math.floor(toInstant(localMs, zone) / 1000);
  if (startsAt < nowSeconds - PAST_SECONDS || startsAt > nowSeconds + FUTURE_SECONDS)
    return {
      ok: false,
      field: 'starts_at',
      message: 'starts_at must be at most 31 days in the past and at most 366 days in the future',
    };
  return { ok: true, startsAt, localStart: typeof at === 'string' ? at : null, timezone: zone };
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
 * What the windows that a monitor is in mean together for an alert: it is held where any of them holds, until the last
 * of those is over, dropped where the others drop, and sent where all send. Null outside maintenance.
 */
export function chooseMaintenance(windows: readonly AlertMaintenance[]): AlertMaintenance | null {
  const last = (alerts: AlertsDuring) =>
    windows.filter((window) => window.alerts === alerts).toSorted((a, b) => b.untilMs - a.untilMs)[0];
  return last('hold') ?? last('drop') ?? last('send') ?? null;
}
