import type { Schemas } from '../../client/shapes.ts';
import { count, joinWords } from '../../parts/figures.ts';
import { Badge } from '../../parts/status.tsx';
import { formatMoment, formatShort, timeZone } from '../../parts/time.tsx';
import { chosenWeekdays, draftOf, nthOf, WEEKDAYS, weekdayOf, type MaintenanceWindow } from './draft.ts';

const STATUSES = {
  active: { label: 'In progress', tone: 'warning' },
  scheduled: { label: 'Scheduled', tone: 'good' },
  ended: { label: 'Ended', tone: 'plain' },
} as const;

/** Whether a window is in progress, to come, or over. */
export function WindowStatus({ status }: Pick<MaintenanceWindow, 'status'>) {
  const { label, tone } = STATUSES[status];
  return <Badge tone={tone}>{label}</Badge>;
}

/** What becomes of alerts. */
export const ALERTS: Readonly<Record<Schemas['MaintenanceAlerts'], { label: string; hint: string }>> = {
  hold: { label: 'Hold until the end', hint: 'Sent after the end for what is still down.' },
  drop: { label: 'Drop', hint: 'Never sent.' },
  send: { label: 'Send at once', hint: 'As if there were no maintenance.' },
};

const DAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;
const NTH_NAMES = ['first', 'second', 'third', 'fourth', 'last'] as const;

/** `Sunday` for `SU`. */
export function dayName(weekday: string): string {
  return DAY_NAMES[WEEKDAYS.findIndex((day) => day === weekday)] ?? weekday;
}

/** `the first Sunday`, of the month of a local time. */
export function nthWeekday(start: string): string {
  return `the ${NTH_NAMES[nthOf(start) - 1] ?? 'last'} ${dayName(weekdayOf(start))}`;
}

/** When a window takes place, in words: `Every 2 weeks on Monday and Sunday at 02:00 in Asia/Tokyo`. */
export function describeTimes(window: MaintenanceWindow): string {
  const draft = draftOf(window);
  const { repeats, every, start, rrule } = draft;
  if (repeats === 'once') return 'Once';
  const zone = window.timezone === timeZone.value ? '' : ` in ${window.timezone.replaceAll('_', ' ')}`;
  const at = `at ${formatMoment('minutes', Date.parse(`${start}Z`) / 1000, 'UTC')}${zone}`;
  const each = (unit: string) => (every === '1' ? `Every ${unit}` : `Every ${every} ${unit}s`);
  const until = draft.lastDay === '' ? '' : `, until ${formatMoment('day', Date.parse(draft.lastDay) / 1000, 'UTC')}`;
  // A day that is not the one of the start is no rule of the form, and common all the same.
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

/** Which monitors a window is for: `all monitors`, `2 monitors, and tagged db`. */
export function describeMonitors({ all_monitors: all, monitor_ids: ids, tags }: MaintenanceWindow): string {
  if (all) return 'all monitors';
  const tagged = `tagged ${tags.join(' or ')}`;
  if (tags.length === 0) return count(ids.length, 'monitor');
  return ids.length === 0 ? `monitors ${tagged}` : `${count(ids.length, 'monitor')}, and those ${tagged}`;
}

/** From when to when: the end as a time alone where that is on the same day. */
export function formatSpan({ starts_at: from, ends_at: to }: Schemas['MaintenanceTime'], zone?: string): string {
  const isSameDay = formatMoment('day', from, zone) === formatMoment('day', to, zone);
  return `${formatShort(from, zone)} – ${isSameDay ? formatMoment('minutes', to, zone) : formatShort(to, zone)}`;
}
