import { splitTags } from '../../../core/monitors/monitor.ts';
import type { Schemas } from '../../client/api.ts';
import { count, joinWords } from '../../parts/figures.ts';
import { judgeTags } from '../../parts/monitors.ts';
import { Badge } from '../../parts/status.tsx';
import { formatMoment, formatShort, timeZone } from '../../parts/time.tsx';
import { toWallTime } from '../../parts/wall-time.ts';
import type { Route } from '../channels/monitor-choice.tsx';

export type MaintenanceWindow = Schemas['MaintenanceWindow'];
/** Fields of the form as the API takes them. */
export type Body = Schemas['MaintenanceWindowCreate'];

/** How a window repeats; the form generates the rules of the first five. */
export type Repeats = 'once' | 'daily' | 'weekly' | 'monthly' | 'monthly-weekday' | 'cron' | 'rrule';

/** Input of a window's form, as text. `start` is local time in `timezone`, `2026-11-30T02:00`. */
export type WindowDraft = {
  name: string;
  description: string;
  startsNow: boolean;
  start: string;
  timezone: string;
  /** Duration, in units of so many seconds. */
  length: string;
  unit: string;
  repeats: Repeats;
  /** 1 for every day, week or month, 2 for every second one, and so on. */
  every: string;
  weekdays: readonly string[];
  /** Last day, `2027-12-31`; empty for none. */
  lastDay: string;
  cron: string;
  rrule: string;
  route: Route;
  alerts: Schemas['MaintenanceAlerts'];
  isExcluded: boolean;
  /** In minutes. */
  settle: string;
};

export const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;

/** Units of a length, the largest first. */
export const UNITS = [
  { value: '86400', label: 'days' },
  { value: '3600', label: 'hours' },
  { value: '60', label: 'minutes' },
] as const;

/** Creates a new window: from the next full hour on, in the user's zone. */
export function newDraft(now: number): WindowDraft {
  const zone = timeZone.value;
  return {
    name: '',
    description: '',
    startsNow: false,
    start: toWallTime(Math.ceil(now / 3600) * 3600, zone).slice(0, 16),
    timezone: zone,
    length: '1',
    unit: '3600',
    repeats: 'once',
    every: '1',
    weekdays: [],
    lastDay: '',
    cron: '',
    rrule: '',
    route: { all: false, ids: [], tags: '', needsAllTags: false },
    alerts: 'hold',
    isExcluded: true,
    settle: '0',
  };
}

/** Converts a stored window to input of the form. A rule that the form would generate is split into its parts. */
export function draftOf(window: MaintenanceWindow): WindowDraft {
  const start = toWallTime(window.starts_at, window.timezone).replace(/:00$/, '');
  const unit = UNITS.find(({ value }) => window.duration_seconds % Number(value) === 0);
  const draft: WindowDraft = {
    name: window.name,
    description: window.description,
    startsNow: false,
    start: window.local_start ?? start,
    timezone: window.timezone,
    length: String(window.duration_seconds / Number(unit?.value ?? 60)),
    unit: unit?.value ?? '60',
    repeats: window.cron !== null ? 'cron' : window.rrule !== null ? 'rrule' : 'once',
    every: /;INTERVAL=(\d+)/.exec(window.rrule ?? '')?.[1] ?? '1',
    weekdays: /;BYDAY=([A-Z,]+)/.exec(window.rrule ?? '')?.[1]?.split(',') ?? [],
    lastDay: (/;UNTIL=(\d{8})$/.exec(window.rrule ?? '')?.[1] ?? '').replace(/(....)(..)(..)/, '$1-$2-$3'),
    cron: window.cron ?? '',
    rrule: window.rrule ?? '',
    route: {
      all: window.all_monitors,
      ids: window.monitor_ids,
      tags: window.tags.join(', '),
      needsAllTags: false,
    },
    alerts: window.alerts,
    isExcluded: window.sla === 'exclude',
    settle: String(window.settle_seconds / 60),
  };
  const made = (['daily', 'weekly', 'monthly', 'monthly-weekday'] as const).find(
    (repeats) => window.rrule !== null && ruleOf({ ...draft, repeats }) === window.rrule,
  );
  return { ...draft, repeats: made ?? draft.repeats };
}

/** Returns the rule of a draft, as RFC 5545 writes it; null if it has none. */
function ruleOf({ repeats, every, weekdays, lastDay, start, rrule }: WindowDraft): string | null {
  if (repeats === 'once' || repeats === 'cron') return null;
  if (repeats === 'rrule') return rrule.trim();
  const interval = every.trim() === '1' ? '' : `;INTERVAL=${every.trim()}`;
  const until = lastDay === '' ? '' : `;UNTIL=${lastDay.replaceAll('-', '')}`;
  const days = {
    daily: 'FREQ=DAILY',
    weekly: 'FREQ=WEEKLY',
    monthly: 'FREQ=MONTHLY',
    'monthly-weekday': 'FREQ=MONTHLY',
  };
  const byDay = {
    daily: '',
    weekly: `;BYDAY=${chosenWeekdays({ weekdays, start }).join()}`,
    monthly: `;BYMONTHDAY=${Number(start.slice(8, 10))}`,
    'monthly-weekday': `;BYDAY=${nthOf(start) > 4 ? -1 : nthOf(start)}${weekdayOf(start)}`,
  };
  return days[repeats] + interval + byDay[repeats] + until;
}

/** Returns the chosen days of the week in order; that of the start if none is chosen. */
export function chosenWeekdays({ weekdays, start }: Pick<WindowDraft, 'weekdays' | 'start'>): readonly string[] {
  return weekdays.length === 0 ? [weekdayOf(start)] : WEEKDAYS.filter((day) => weekdays.includes(day));
}

/** Returns the position of a day among the same weekdays of its month, from 1 to 5. */
function nthOf(start: string): number {
  return Math.ceil(Number(start.slice(8, 10)) / 7);
}

/** Returns the weekday of a local time, as RRULE writes it. */
function weekdayOf(start: string): string {
  const day = new Date(`${start.slice(0, 10)}T00:00:00Z`).getUTCDay();
  return WEEKDAYS[(day + 6) % 7] ?? 'MO';
}

/** Returns the length in whole seconds; NaN if it is no number. */
function lengthOf({ length, unit }: WindowDraft): number {
  return Math.round(Number(length) * Number(unit));
}

/** Finds the errors of a draft, by the fields of the API; null or undefined for none. */
export function judgeWindow(draft: WindowDraft): Record<string, string | null> {
  const { route, repeats } = draft;
  const seconds = lengthOf(draft);
  const isSimple = repeats === 'daily' || repeats === 'weekly' || repeats.startsWith('monthly');
  return {
    name: draft.name.trim() === '' ? 'Enter a name' : null,
    starts_at: !draft.startsNow && draft.start === '' ? 'Choose a date and a time' : null,
    duration_seconds: seconds >= 60 && seconds <= 2_592_000 ? null : 'From a minute to 30 days',
    cron: repeats === 'cron' && draft.cron.trim() === '' ? 'Enter an expression, like 30 3 * * SUN' : null,
    rrule:
      repeats === 'rrule' && draft.rrule.trim() === ''
        ? 'Enter a rule, like FREQ=MONTHLY;BYDAY=1SU'
        : isSimple && !/^[1-9]\d{0,2}$/.test(draft.every.trim())
          ? 'A number from 1 to 999'
          : null,
    settle_seconds:
      /^\d{1,2}(\.\d+)?$/.test(draft.settle) && Number(draft.settle) <= 60 ? null : 'From 0 to 60 minutes',
    monitor_ids:
      route.all || route.ids.length > 0 || splitTags(route.tags).length > 0 ? null : 'Choose monitors or enter tags',
    tags: (route.all ? undefined : judgeTags(route.tags)) ?? null,
  };
}

/** Converts a draft to the fields of the API. */
export function bodyOf(draft: WindowDraft): Body {
  const { route, repeats } = draft;
  return {
    name: draft.name.trim(),
    description: draft.description,
    all_monitors: route.all,
    monitor_ids: route.all ? [] : [...route.ids],
    tags: route.all ? [] : splitTags(route.tags),
    ...(!startsNow(draft) && { starts_at: draft.start }),
    timezone: draft.timezone,
    duration_seconds: lengthOf(draft),
    cron: repeats === 'cron' ? draft.cron.trim() : null,
    rrule: ruleOf(draft),
    alerts: draft.alerts,
    sla: draft.isExcluded ? 'exclude' : 'count',
    settle_seconds: Math.round(Number(draft.settle) * 60),
  };
}

/** Reports whether a window begins when it is saved: only one that does not repeat can. */
export function startsNow({ startsNow: isChosen, repeats }: WindowDraft): boolean {
  return isChosen && repeats === 'once';
}

/** Adds the start or zone to the changes of a window for a PATCH: a start belongs to its zone. */
export function withZone(changes: Partial<Body>, { starts_at: start, timezone }: Body): Partial<Body> {
  const isMoved = 'starts_at' in changes || 'timezone' in changes;
  return { ...changes, ...(isMoved && start !== undefined && { starts_at: start, timezone }) };
}

const STATUSES = {
  active: { label: 'In progress', tone: 'warning' },
  scheduled: { label: 'Scheduled', tone: 'good' },
  ended: { label: 'Ended', tone: 'plain' },
} as const;

/** A badge that shows whether a window is in progress, to come, or over. */
export function WindowStatus({ status }: Pick<MaintenanceWindow, 'status'>) {
  const { label, tone } = STATUSES[status];
  return <Badge tone={tone}>{label}</Badge>;
}

/** Effects of a window on alerts. */
export const ALERTS: Readonly<Record<Schemas['MaintenanceAlerts'], { label: string; hint: string }>> = {
  hold: { label: 'Hold until the end', hint: 'Sent after the end for what is still down.' },
  drop: { label: 'Drop', hint: 'Never sent.' },
  send: { label: 'Send at once', hint: 'As if there were no maintenance.' },
};

const DAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;
const NTH_NAMES = ['first', 'second', 'third', 'fourth', 'last'] as const;

/** Returns a weekday's name: `Sunday` for `SU`. */
export function dayName(weekday: string): string {
  return DAY_NAMES[WEEKDAYS.findIndex((day) => day === weekday)] ?? weekday;
}

/** Returns the position of a local time's weekday in its month: `the first Sunday`. */
export function nthWeekday(start: string): string {
  return `the ${NTH_NAMES[nthOf(start) - 1] ?? 'last'} ${dayName(weekdayOf(start))}`;
}

/** Describes the times of a window: `Every 2 weeks on Monday and Sunday at 02:00 in Asia/Tokyo`. */
export function describeTimes(window: MaintenanceWindow): string {
  const draft = draftOf(window);
  const { repeats, every, start, rrule } = draft;
  if (repeats === 'once') return 'Once';
  const zone = window.timezone === timeZone.value ? '' : ` in ${window.timezone.replaceAll('_', ' ')}`;
  const at = `at ${formatMoment('minutes', Date.parse(`${start}Z`) / 1000, 'UTC')}${zone}`;
  const each = (unit: string) => (every === '1' ? `Every ${unit}` : `Every ${every} ${unit}s`);
  const until = draft.lastDay === '' ? '' : `, until ${formatMoment('day', Date.parse(draft.lastDay) / 1000, 'UTC')}`;
  // The form cannot generate a rule for another day than that of the start, but such rules are common.
  const [, nth = '', day = ''] = /^FREQ=MONTHLY;BYDAY=(-1|[1-4])([A-Z]{2})$/.exec(rrule) ?? [];
  switch (repeats) {
    case 'daily':
      return `${each('day')} ${at}${until}`;
    case 'weekly':
      return `${each('week')} on ${joinWords(chosenWeekdays(draft).map(dayName))} ${at}${until}`;
    case 'monthly':
      return `${each('month')} on day ${Number(start.slice(8, 10))} ${at}${until}`;
    case 'monthly-weekday':
      return `${each('month')} on ${nthWeekday(start)} ${at}${until}`;
    case 'cron':
      return `Cron ${draft.cron}${zone}`;
    default:
      return nth === ''
        ? `${rrule}${zone}`
        : `Every month on the ${NTH_NAMES.at(Number(nth) - Number(nth > '0'))} ${dayName(day)} ${at}`;
  }
}

/** Describes the monitors of a window: `all monitors`, `2 monitors, and tagged db`. */
export function describeMonitors({ all_monitors: all, monitor_ids: ids, tags }: MaintenanceWindow): string {
  if (all) return 'all monitors';
  const tagged = `tagged ${tags.join(' or ')}`;
  if (tags.length === 0) return count(ids.length, 'monitor');
  return ids.length === 0 ? `monitors ${tagged}` : `${count(ids.length, 'monitor')}, and those ${tagged}`;
}

/** Formats a period: the end as a time alone if it is on the same day. */
export function formatSpan({ starts_at: from, ends_at: to }: Schemas['MaintenanceTime'], zone?: string): string {
  const isSameDay = formatMoment('day', from, zone) === formatMoment('day', to, zone);
  return `${formatShort(from, zone)} – ${isSameDay ? formatMoment('minutes', to, zone) : formatShort(to, zone)}`;
}
