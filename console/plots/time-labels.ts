import { DAY_SECONDS } from '../../core/time.ts';
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'short', year: '2-digit' });
const MOMENT = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const SECOND = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const DAY_SECOND = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const WHOLE_DAY = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** What stands below the ticks of a time axis (Unix seconds): midnights by their day. */
export function labelTicks(ticks: readonly number[]): string[] {
  const every = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  if (every >= 28 * DAY_SECONDS) return ticks.map((at) => MONTH.format(at * 1000));
  if (every >= DAY_SECONDS) return ticks.map((at) => DAY.format(at * 1000));
  return ticks.map((at) => (isMidnight(at) ? DAY.format(at * 1000) : TIME.format(at * 1000)));
}

/** A step of a series: when it began, or the day that it is. Days are UTC's, as everywhere in reports. */
export function labelStep(at: number, stepSeconds: number): string {
  return stepSeconds >= DAY_SECONDS ? WHOLE_DAY.format(at * 1000) : MOMENT.format(at * 1000);
}

/** A single moment to the second: of today its time alone. */
export function labelMoment(at: number): string {
  const isToday = new Date(at * 1000).toDateString() === new Date().toDateString();
  return (isToday ? SECOND : DAY_SECOND).format(at * 1000);
}

function isMidnight(at: number): boolean {
  const date = new Date(at * 1000);
  return date.getHours() === 0 && date.getMinutes() === 0;
}
