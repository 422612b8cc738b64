import { toLocalTime } from '../time-zones.ts';

/**
 * When a heartbeat's job runs, as it is stored and shown. `cron` has five fields over the clock of `timezone`; a ping
 * up to `early_seconds` before a run counts for that run.
 */
export type HeartbeatSchedule = { cron: string; timezone: string; early_seconds: number };

/** A schedule as a customer sends it. */
export type ScheduleInput = { cron: string; timezone?: string; early_seconds?: number };

/**
 * A schedule that was read, with the shortest and the longest time between two of its runs by the local clock, in
 * seconds. Or the field that is wrong, with a sentence that begins with its name.
 */
export type ReadSchedule =
  | { ok: true; schedule: HeartbeatSchedule; shortestSeconds: number; longestSeconds: number }
  | { ok: false; field: 'cron' | 'timezone' | 'early_seconds'; message: string };

/** The longest that a ping may come before its run, in seconds. */
export const MAX_EARLY_SECONDS = 86_400;

/** How early a ping may come where the schedule does not say, in seconds: clocks differ. */
const DEFAULT_EARLY_SECONDS = 60;

/** The default of `early_seconds`: a minute, or half of the time between two runs where that is shorter. */
export function defaultEarlySeconds(shortestSeconds: number): number {
  return Math.min(DEFAULT_EARLY_SECONDS, Math.floor(shortestSeconds / 2));
}

/**
 * The runs of a schedule. `runAfter` returns the first one after a moment, both in Unix milliseconds; null where it
 * knows none.
 */
export type RunSchedule = {
  cron: string;
  timezone: string;
  earlySeconds: number;
  runAfter: (unixMs: number) => number | null;
};

/** A moment in UTC and in a zone (ISO 8601, the latter with its offset). */
export type ZonedMoment = { at: number; utc: string; local: string; timezone: string };

/** Writes a moment (Unix milliseconds, to the second) in UTC and in a zone that `readTimeZone` knows. */
export function writeZonedMoment(unixMs: number, timezone: string): ZonedMoment {
  const at = Math.floor(unixMs / 1000);
  const localMs = toLocalTime(at * 1000, timezone);
  return {
    at,
    utc: writeSeconds(at * 1000, 'Z'),
    local: writeSeconds(localMs, writeOffset((localMs - at * 1000) / 60_000)),
    timezone,
  };
}

/** `2026-11-28 02:00 Europe/Berlin (2026-11-28 01:00 UTC)`, for sentences. */
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
