import { formatterOf } from '../../parts/time.tsx';

/** The period of a report in Unix seconds, UTC; the end is exclusive. */
export type ReportWindow = { period: 'week' | 'month'; period_start: number; period_end: number };

/** Each kind in a word. */
export const KINDS = { week: 'Week', month: 'Month' } as const;

/** Formats a period, whose days are those of UTC: `March 2026`, `Mar 16 – 22, 2026`. */
export function formatPeriod({ period, period_start: start, period_end: end }: ReportWindow): string {
  return period === 'month'
    ? formatterOf('longMonth', 'UTC').format(start * 1000)
    : formatterOf('day', 'UTC').formatRange(start * 1000, (end - 1) * 1000);
}

/** Whether a text names a period. */
export function isPeriod(text: string | undefined): text is ReportWindow['period'] {
  return text === 'week' || text === 'month';
}
