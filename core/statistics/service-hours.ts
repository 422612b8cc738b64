import { DAY_MS, MINUTE_MS, toUnixSeconds } from '../time.ts';
import { listInParts, noSeconds, type StateHistory, type StateSeconds, type Stretch } from './sla.ts';

/** Hours of one weekday, in minutes after local midnight; an end after 1440 is on the next day. */
type DayHours = { fromMinute: number; toMinute: number };

/** Service hours by weekday, from Monday. */
export type ServiceHours = readonly (readonly DayHours[])[];

/** A monitor's SLA that counts only service hours; `target` is in percent, in (0, 100]. */
export type ServiceSla = { target: number; timezone: string; hours: string; excludeMaintenance: boolean };

/** Result of parsing hours: `problem` continues a sentence that begins with the field's name. */
type ReadHours = { ok: true; hours: ServiceHours } | { ok: false; problem: string };

const WEEKDAYS = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'] as const;
const DAY_MINUTES = 1440;
const EXAMPLE = 'write them as in Mo-Fr 08:00-20:00; Sa 09:00-13:00';

/** Maximum length of service hours, in characters. */
export const MAX_HOURS_LENGTH = 200;

/**
 * Parses service hours: rules separated by `;`, each with weekdays (`Mo-Fr`, `Sa,Su`) and times (`08:00-12:00,
 * 13:00-20:00`), as in OpenStreetMap's opening hours; `24/7` is always. An end before the start is on the next day.
 */
export function readServiceHours(text: string): ReadHours {
  if (text.trim() === '24/7')
    return { ok: true, hours: WEEKDAYS.map(() => [{ fromMinute: 0, toMinute: DAY_MINUTES }]) };
  const hours: DayHours[][] = WEEKDAYS.map(() => []);
  for (const rule of text.split(';').map((each) => each.trim())) {
    const [, dayText = '', timeText = ''] = /^([A-Za-z][A-Za-z, -]*?)\s+(\d[\d:, -]*)$/.exec(rule) ?? [];
    if (dayText === '') return { ok: false, problem: `has a rule that cannot be read, "${rule}": ${EXAMPLE}` };
    const days = readDays(dayText);
    if (days === null) return { ok: false, problem: `has unknown weekdays, "${dayText}": ${EXAMPLE}` };
    const empty = timeText.split(',').find((each) => /^\s*(\d{1,2}:\d\d)\s*-\s*\1\s*$/.test(each));
    if (empty !== undefined)
      return { ok: false, problem: `has times without a length, "${empty.trim()}": a whole day is 00:00-24:00` };
    const times = timeText.split(',').map((each) => readTimes(each.trim()));
    if (times.includes(null)) return { ok: false, problem: `has unknown times, "${timeText}": ${EXAMPLE}` };
    for (const day of days) hours[day]?.push(...times.filter((each) => each !== null));
  }
  return { ok: true, hours };
}

/** Parses weekdays to numbers, from Monday; null if one is unknown. */
function readDays(text: string): number[] | null {
  const days: number[] = [];
  for (const part of text.split(',')) {
    const [from = -1, to = from, ...rest] = part.split('-').map((name) => dayOf(name.trim()));
    if (from < 0 || to < 0 || rest.length > 0) return null;
    for (let day = from; ; day = (day + 1) % WEEKDAYS.length) {
      days.push(day);
      if (day === to) break;
    }
  }
  return [...new Set(days)];
}

function dayOf(name: string): number {
  return WEEKDAYS.findIndex((day) => day.toLowerCase() === name.toLowerCase());
}

function readTimes(text: string): DayHours | null {
  const [, ...parts] = /^(\d{1,2}):(\d\d)\s*-\s*(\d{1,2}):(\d\d)$/.exec(text) ?? [];
  const [fromHour = 99, fromMinutes = 99, toHour = 99, toMinutes = 99] = parts.map(Number);
  const [fromMinute, toMinute] = [fromHour * 60 + fromMinutes, toHour * 60 + toMinutes];
  if (fromMinutes > 59 || toMinutes > 59 || fromMinute >= DAY_MINUTES || toMinute > DAY_MINUTES) return null;
  if (fromMinute === toMinute) return null;
  return { fromMinute, toMinute: toMinute > fromMinute ? toMinute : toMinute + DAY_MINUTES };
}

/**
 * Returns the service hours that touch a window `[fromMs, toMs)` (Unix milliseconds), cut to it, in order and disjoint.
 * `toInstant` converts a local time, given as if it were UTC.
 */
export function serviceStretches(
  hours: ServiceHours,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  toInstant: (localMs: number) => number,
): Stretch[] {
  const stretches: Stretch[] = [];
  // A local day may begin a day before or after the UTC day, and its hours may end on the next.
  for (let dayMs = (Math.floor(fromMs / DAY_MS) - 3) * DAY_MS; dayMs < toMs + 2 * DAY_MS; dayMs += DAY_MS) {
    for (const { fromMinute, toMinute } of hours[(new Date(dayMs).getUTCDay() + 6) % 7] ?? []) {
      const startMs = Math.max(fromMs, toInstant(dayMs + fromMinute * MINUTE_MS));
      const endMs = Math.min(toMs, toInstant(dayMs + toMinute * MINUTE_MS));
      if (startMs < endMs) stretches.push({ startMs, endMs });
    }
  }
  const merged: Stretch[] = [];
  for (const stretch of stretches.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = merged.at(-1);
    if (last !== undefined && stretch.startMs <= last.endMs) last.endMs = Math.max(last.endMs, stretch.endMs);
    else merged.push({ ...stretch });
  }
  return merged;
}

/**
 * Measures how long each state lasted in service hours, which are in order and disjoint. Takes one pass over the
 * history and the hours, in turns of the event loop.
 */
export async function measureServiceHours(history: StateHistory, stretches: readonly Stretch[]): Promise<StateSeconds> {
  const seconds = noSeconds();
  const span = { fromMs: stretches[0]?.startMs ?? 0, toMs: stretches.at(-1)?.endMs ?? 0 };
  let next = 0;
  for await (const part of listInParts({ ...history, ...span }))
    for (const { state, fromSecond, toSecond } of part)
      for (let stretch = stretches[next]; stretch !== undefined; stretch = stretches[(next += 1)]) {
        const [start, end] = [toUnixSeconds(stretch.startMs), toUnixSeconds(stretch.endMs)];
        seconds[state] += Math.max(0, Math.min(end, toSecond) - Math.max(start, fromSecond));
        if (end > toSecond) break;
      }
  return seconds;
}
