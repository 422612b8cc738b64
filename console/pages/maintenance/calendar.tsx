import { DAY_MS } from '../../../core/time.ts';
import { api } from '../../client/api.ts';
import { usePoll } from '../../client/reload.ts';
import type { Schemas } from '../../client/shapes.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { useWide } from '../../parts/page.tsx';
import { clock, formatMoment, timeZone } from '../../parts/time.tsx';
import { fromWallTime, toWallTime } from '../../parts/wall-time.ts';
import { setQuery } from '../../shell/router.ts';
import { formatSpan } from './words.tsx';

type Occurrence = Schemas['MaintenanceOccurrence'];

/** A day of the calendar, `2026-11-30`, from and to a Unix second, with what takes place on it. */
type Day = { date: string; from: number; to: number; isOfMonth: boolean; occurrences: readonly Occurrence[] };

/** Occurrences that a cell has room for. */
const SHOWN = 4;

const POLL_MS = 60_000;

const HEADS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** A month of occurrences in the user's zone: a table of days, and on a phone a list of those with any. */
export function Calendar({ month: wanted }: { month: string }) {
  const zone = timeZone.value;
  const today = toWallTime(clock.value, zone).slice(0, 10);
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(wanted) ? wanted : today.slice(0, 7);
  const dates = datesOf(month);
  const startOf = (date: string | undefined) => Math.max(0, fromWallTime(`${date}T00:00:00`, zone) ?? 0);
  const load = useLoad(
    async (signal) => {
      const query = { from: startOf(dates[0]), to: startOf(dates.at(-1)) };
      return (await api.get('/maintenance-windows/occurrences', { query, signal })).occurrences;
    },
    [month, zone],
  );
  usePoll(load, true, POLL_MS);
  const isWide = useWide();
  const step = (months: number) => setQuery({ month: shift(month, months) });
  return (
    <section aria-label="Calendar">
      <div class="mb-3 flex flex-wrap items-center gap-1">
        <h2 class="heading mr-auto text-base" aria-live="polite">
          {formatMoment('longMonth', Date.parse(`${month}-15`) / 1000, 'UTC')}
        </h2>
        <Button size="small" onClick={() => setQuery({ month: '' })}>
          Today
        </Button>
        <IconButton icon="back" label="Previous month" onClick={() => step(-1)} />
        <IconButton icon="chevron" label="Next month" onClick={() => step(1)} />
      </div>
      <Loaded load={load} height="h-[30rem]">
        {(occurrences) => {
          const starts = dates.map(startOf);
          const days = dates.slice(0, -1).map((date, index) => {
            const [from = 0, to = 0] = starts.slice(index, index + 2);
            const onDay = occurrences.filter((one) => one.starts_at < to && one.ends_at > from);
            return { date, from, to, isOfMonth: date.startsWith(month), occurrences: onDay };
          });
          return isWide ? <MonthTable days={days} today={today} /> : <Agenda days={days} today={today} />;
        }}
      </Loaded>
      <p class="mt-2 text-xs text-soft">Occurrences are planned 60 days ahead.</p>
    </section>
  );
}

/** The days of a month with those that fill up its weeks, and the one after them. */
function datesOf(month: string): string[] {
  const first = Date.parse(`${month}-01`);
  const weekday = (new Date(first).getUTCDay() + 6) % 7;
  const next = Date.parse(`${shift(month, 1)}-01`);
  const weeks = Math.ceil((weekday + (next - first) / DAY_MS) / 7);
  return Array.from({ length: weeks * 7 + 1 }, (_, index) =>
    new Date(first + (index - weekday) * DAY_MS).toISOString().slice(0, 10),
  );
}

function shift(month: string, months: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 7);
}

type DaysProps = { days: readonly Day[]; today: string };

function MonthTable({ days, today }: DaysProps) {
  const weeks = Array.from({ length: days.length / 7 }, (_, week) => days.slice(week * 7, week * 7 + 7));
  return (
    <div class="overflow-hidden rounded-xl border border-line bg-surface">
      <table class="w-full table-fixed border-collapse text-xs">
        <caption class="sr-only">Maintenance of the month</caption>
        <thead>
          <tr class="border-b border-line text-left text-soft">
            {HEADS.map((day) => (
              <th key={day} scope="col" class="px-2 py-1.5 font-medium" aria-label={day}>
                {day.slice(0, 3)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={week[0]?.date} class="border-b border-line last:border-0">
              {week.map((day) => (
                <td
                  key={day.date}
                  class={`h-24 border-l border-line p-1 align-top first:border-l-0 ${day.isOfMonth ? '' : 'bg-sunken'}`}
                >
                  <DayNumber date={day.date} isToday={day.date === today} />
                  <Entries day={day} most={SHOWN} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DayNumber({ date, isToday }: { date: string; isToday: boolean }) {
  return (
    <time
      dateTime={date}
      aria-current={isToday ? 'date' : undefined}
      class={`mb-1 inline-block rounded px-1 ${isToday ? 'bg-accent font-medium text-accent-ink' : 'text-soft'}`}
    >
      {Number(date.slice(8))}
    </time>
  );
}

function Entries({ day: { from, occurrences }, most }: { day: Day; most: number }) {
  const more = occurrences.length - most;
  return (
    <ul class="flex flex-col gap-0.5">
      {occurrences.slice(0, most).map((one) => (
        <li key={`${one.window_id} ${one.starts_at}`}>
          <Entry occurrence={one} beginsHere={one.starts_at >= from} />
        </li>
      ))}
      {more > 0 && <li class="px-1 text-soft">{more} more</li>}
    </ul>
  );
}

function Entry({ occurrence, beginsHere }: { occurrence: Occurrence; beginsHere: boolean }) {
  const { window_id: id, name, starts_at: from, skipped } = occurrence;
  return (
    <a
      href={`/maintenance/${id}`}
      title={`${name}, ${formatSpan(occurrence)}${skipped ? ', skipped' : ''}`}
      class={
        'clipped block rounded px-1 leading-5 focus-visible:-outline-offset-2 ' +
        `${skipped ? 'text-soft line-through' : 'bg-accent-tint text-accent hover:underline'}`
      }
    >
      {beginsHere && <span class="tabular-nums">{formatMoment('minutes', from)} </span>}
      {name}
      {skipped && <span class="sr-only"> (skipped)</span>}
    </a>
  );
}

/** On a phone: the days of the month on which anything takes place. */
function Agenda({ days, today }: DaysProps) {
  const busy = days.filter(({ isOfMonth, occurrences }) => isOfMonth && occurrences.length > 0);
  if (busy.length === 0) return <p class="py-6 text-center text-sm text-soft">No maintenance in this month.</p>;
  return (
    <ul class="divide-y divide-line rounded-xl border border-line bg-surface">
      {busy.map((day) => (
        <li key={day.date} class="px-3 py-2 text-sm">
          <span class={`mb-1 block text-xs ${day.date === today ? 'font-medium text-accent' : 'text-soft'}`}>
            {formatMoment('weekday', Date.parse(day.date) / 1000, 'UTC')}
            {day.date === today && ' (today)'}
          </span>
          <Entries day={day} most={24} />
        </li>
      ))}
    </ul>
  );
}
