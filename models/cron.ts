import { Cron, CronPattern } from 'croner';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';

/** Nicknames of expressions. */
const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

/**
 * A cron expression of five fields, or a nickname such as `@daily`, with its times of day in order, in milliseconds. Or
 * a message about its error, which begins with `cron`. The caller limits the length of the text.
 */
type ReadCron = { ok: true; fields: string[]; times: number[] } | { ok: false; message: string };

/** Reads a cron expression. */
export function readCron(text: string): ReadCron {
  const trimmed = text.trim();
  const fields = (NICKNAMES.get(trimmed.toLowerCase()) ?? trimmed).split(/\s+/);
  if (fields.length !== 5)
    return {
      ok: false,
      message:
        'cron must be five fields, minute, hour, day of the month, month and day of the week, such as "0 2 * * SUN"',
    };
  try {
    return { ok: true, fields, times: timesOf(new CronPattern(fields.join(' '), undefined, { mode: '5-part' })) };
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    const reason = error.message.replace(/^CronPattern: /, '');
    return { ok: false, message: `cron must be an expression such as "0 2 * * SUN": ${reason}` };
  }
}

function timesOf({ hour, minute }: CronPattern): number[] {
  const listed = (flags: readonly number[]) => flags.flatMap((flag, index) => (flag > 0 ? [index] : []));
  return listed(hour).flatMap((hours) => listed(minute).map((minutes) => hours * HOUR_MS + minutes * MINUTE_MS));
}

/**
 * Lists the days of an expression after `fromMs` and before `toMs`, in order. Each is given by its start as if the
 * local time were UTC. croner gets the requested years, because it would search a thousand otherwise.
 */
export function* cronDays(
  fields: readonly string[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Generator<number, void> {
  const days = new Cron(`0 0 0 ${fields.slice(2).join(' ')} ${yearsOf(fromMs, toMs)}`, {
    utcOffset: 0,
    mode: '7-part',
    paused: true,
  });
  for (let day = days.nextRun(new Date(fromMs)); day !== null && day.getTime() < toMs; day = days.nextRun(day))
    yield day.getTime();
}

/** Returns the year field for a search from one time to another. */
export function yearsOf(fromMs: number, toMs: number): string {
  // A local date may be a day before or after the UTC date.
  const [from, to] = [fromMs - DAY_MS, toMs + DAY_MS].map((ms) => new Date(ms).getUTCFullYear());
  return `${from}-${to}`;
}
