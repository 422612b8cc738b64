import { useRef } from 'preact/hooks';
import { DAY_MS } from '../../core/time.ts';
import { listAll } from '../client/answer.ts';
import { api, type Schemas } from '../client/api.ts';
import { usePoll, useReload } from '../client/live.ts';
import { canWrite } from '../client/session-state.ts';
import { Button, ButtonLink, IconButton } from '../parts/button.tsx';
import { Choices } from '../parts/choice-fields.tsx';
import { Loaded, Outdated, Placeholder, useLoad } from '../parts/load.tsx';
import { Empty, Page, useWide } from '../parts/page.tsx';
import { useRowKeys } from '../parts/table.tsx';
import { TimesIn, clock, formatDuration, formatMoment, formatUntil, timeZone } from '../parts/time.tsx';
import { fromWallTime, toWallTime } from '../parts/wall-time.ts';
import { PATHS, type PageProps } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate, setQuery } from '../shell/router.ts';
import {
  WindowStatus,
  describeMonitors,
  describeTimes,
  formatSpan,
  type MaintenanceWindow,
} from './maintenance/draft.tsx';

const VIEWS = [
  { value: '', label: 'List' },
  { value: 'calendar', label: 'Calendar' },
] as const;

/** The page of all maintenance windows: a list in order of time, or a month. */
export function MaintenancePage({ query }: PageProps) {
  const load = useLoad(
    (signal) =>
      listAll(
        (page) => api.page('/maintenance-windows', { query: page, signal }),
        ({ maintenance_windows: windows }) => windows,
      ),
    [],
  );
  useReload(load, ['maintenance']);
  useShortcut('n', 'New maintenance window', canWrite() ? () => navigate(PATHS.maintenanceNew) : null);
  const isAny = (load.value.value?.length ?? 0) > 0;
  const isCalendar = query['view'] === 'calendar';
  return (
    <Page
      title="Maintenance"
      lead="Planned work: checks go on, chats and emails wait, and uptime leaves it out."
      {...(isAny && canWrite() && { actions: <NewWindow /> })}
    >
      <Outdated load={load} />
      <Loaded load={load}>
        {(windows) =>
          windows.length === 0 && !isCalendar ? (
            <NoWindows />
          ) : (
            <>
              <div class="mb-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
                <Choices
                  label="View"
                  choices={VIEWS}
                  value={isCalendar ? 'calendar' : ''}
                  onValue={(view) => setQuery({ view, month: '' })}
                />
                <span class="text-xs text-soft">
                  <TimesIn />
                </span>
              </div>
              {isCalendar ? <Calendar month={query['month'] ?? ''} /> : <Listing windows={windows} />}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function NewWindow() {
  return (
    <ButtonLink href={PATHS.maintenanceNew} tone="primary" icon="plus">
      New window
    </ButtonLink>
  );
}

function NoWindows() {
  return (
    <Empty icon="maintenance" title="No maintenance planned" {...(canWrite() && { action: <NewWindow /> })}>
      Plan work once or on a schedule. Chat and email alerts are held until it ends, those to webhooks only if
      configured to, and uptime leaves it out.
    </Empty>
  );
}

const ORDER = { active: 0, scheduled: 1, ended: 2 } as const;

/** Compares windows: first those in progress, then the next ones, then the latest that ended. */
function compare(a: MaintenanceWindow, b: MaintenanceWindow): number {
  if (a.status !== b.status) return ORDER[a.status] - ORDER[b.status];
  if (a.status === 'ended') return b.starts_at - a.starts_at;
  const soon = ({ current, next }: MaintenanceWindow) => current?.ends_at ?? next?.starts_at ?? Infinity;
  return soon(a) - soon(b);
}

function Listing({ windows }: { windows: readonly MaintenanceWindow[] }) {
  const list = useRef<HTMLUListElement>(null);
  useRowKeys(list, 'maintenance window');
  return (
    <ul
      ref={list}
      aria-label="Maintenance windows"
      class="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface"
    >
      {windows.toSorted(compare).map((window) => (
        <li key={window.id}>
          <Row window={window} />
        </li>
      ))}
    </ul>
  );
}

function Row({ window }: { window: MaintenanceWindow }) {
  const when = whenOf(window);
  return (
    <a
      href={`/maintenance/${window.id}`}
      data-row
      class="
        flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 text-ink hover:bg-hover focus-visible:-outline-offset-2
      "
    >
      <span class="min-w-0 flex-1 basis-60">
        <span class="clipped block text-sm font-medium">{window.name}</span>
        <span class="clipped block text-xs text-soft">
          {describeTimes(window)} · {formatDuration(window.duration_seconds)} · {describeMonitors(window)}
        </span>
      </span>
      {when !== '' && <span class="text-[0.8125rem] text-soft">{when}</span>}
      <WindowStatus status={window.status} />
    </a>
  );
}

function whenOf({ status, current, next }: MaintenanceWindow): string {
  if (current !== null) return `until ${formatUntil(current.ends_at)}`;
  if (next !== null) return `next ${formatSpan(next)}`;
  return status === 'scheduled' ? 'next in more than 60 days' : '';
}

type Occurrence = Schemas['MaintenanceOccurrence'];

/** A day of the calendar, `2026-11-30`, from and to a Unix second, with its occurrences. */
type Day = { date: string; from: number; to: number; isOfMonth: boolean; occurrences: readonly Occurrence[] };

/** Most occurrences that a cell has room for. */
const SHOWN = 4;

const POLL_MS = 60_000;

const HEADS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** A month of occurrences in the user's zone: a table of days, and on a phone a list of those with any. */
function Calendar({ month: wanted }: { month: string }) {
  const zone = timeZone.value;
  const today = toWallTime(clock.value, zone).slice(0, 10);
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(wanted) ? wanted : today.slice(0, 7);
  const dates = datesOf(month);
  const startOf = (date: string | undefined) => Math.max(0, fromWallTime(`${date}T00:00:00`, zone) ?? 0);
  const shown = JSON.stringify([month, zone]);
  const load = useLoad(
    async (signal) => {
      const query = { from: startOf(dates[0]), to: startOf(dates.at(-1)) };
      return { of: shown, ...(await api.get('/maintenance-windows/occurrences', { query, signal })) };
    },
    [shown],
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
        {({ of, occurrences }) => {
          if (of !== shown) return <Placeholder class="h-[30rem]" />;
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

/** Returns the days of a month with those that complete its weeks, and the day after them. */
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

/** On a phone: the days of the month that have occurrences. */
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
