import { toLocalTime } from '../time-zones.ts';
import { toUnixSeconds } from '../time.ts';

/**
 * Schedule of a heartbeat's job, as stored and shown. `cron` has five fields in the local time of `timezone`; a ping up
 * to `early_seconds` before a run counts for that run.
 */
export type HeartbeatSchedule = { cron: string; timezone: string; early_seconds: number };

/** A schedule as sent by a customer. */
export type ScheduleInput = { cron: string; timezone?: string; early_seconds?: number };

/**
 * A parsed schedule, with the shortest and the longest time between two of its runs in local time, in seconds. Or the
 * faulty field, with a sentence that begins with its name.
 */
export type ReadSchedule =
  | { ok: true; schedule: HeartbeatSchedule; shortestSeconds: number; longestSeconds: number }
  | { ok: false; field: 'cron' | 'timezone' | 'early_seconds'; message: string };

/** Maximum of `early_seconds`. */
export const MAX_EARLY_SECONDS = 86_400;

/** Default of `early_seconds`, to allow for clock differences. */
const DEFAULT_EARLY_SECONDS = 60;

/** Returns the default of `early_seconds`: a minute, or half of the time between two runs if that is shorter. */
export function defaultEarlySeconds(shortestSeconds: number): number {
  return Math.min(DEFAULT_EARLY_SECONDS, Math.floor(shortestSeconds / 2));
}

/**
 * Runs of a schedule. `runAfter` returns the first one after a moment, both in Unix milliseconds; null if there is
 * none.
 */
export type RunSchedule = {
  cron: string;
  timezone: string;
  earlySeconds: number;
  runAfter: (unixMs: number) => number | null;
};

/** A moment in UTC and in a zone (ISO 8601, the latter with its offset). */
export type ZonedMoment = { at: number; utc: string; local: string; timezone: string };

/** Formats a moment (Unix milliseconds, to the second) in UTC and in a zone that `readTimeZone` accepts. */
export function writeZonedMoment(unixMs: number, timezone: string): ZonedMoment {
  const at = toUnixSeconds(unixMs);
  const localMs = toLocalTime(at * 1000, timezone);
  return {
    at,
    utc: writeSeconds(at * 1000, 'Z'),
    local: writeSeconds(localMs, writeOffset((localMs - at * 1000) / 60_000)),
    timezone,
  };
}

/** Formats a moment for sentences: `2026-11-28 02:00 Europe/Berlin (2026-11-28 01:00 UTC)`. */
export function sayZonedMoment(unixMs: number, timezone: string): string {
  const utc = `${sayMinutes(unixMs)} UTC`;
  return timezone === 'UTC' ? utc : `${sayMinutes(toLocalTime(unixMs, timezone))} ${timezone} (${utc})`;
}

function sayMinutes(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

function writeSeconds(ms: number, offset: string): string {
  return `${new Date(ms).toISOString().slice(0, 19)}${offset}`;
}

function writeOffset(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.round(Math.abs(minutes) % 60)];
  const digits = (number: number) => String(number).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${digits(hours)}:${digits(rest)}`;
}
