/** The period of a report in Unix seconds, UTC; the end is exclusive. */
export type ReportWindow = { period: 'week' | 'month'; period_start: number; period_end: number };

/** Each kind in a word. */
export const KINDS = { week: 'Week', month: 'Month' } as const;

const MONTH = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const DAYS = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Formats a period in the user's language: `March 2026`, `16 – 22 March 2026`. */
export function formatPeriod({ period, period_start: start, period_end: end }: ReportWindow): string {
  return period === 'month' ? MONTH.format(start * 1000) : DAYS.formatRange(start * 1000, (end - 1) * 1000);
}

/** Whether a text names a period. */
export function isPeriod(text: string | undefined): text is ReportWindow['period'] {
  return text === 'week' || text === 'month';
}
