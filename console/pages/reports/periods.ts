/** What a report is about: Unix seconds, UTC; the end is the first second after it. */
export type ReportWindow = { period: 'week' | 'month'; period_start: number; period_end: number };

/** Each kind in a word. */
export const KINDS = { week: 'Week', month: 'Month' } as const;

const MONTH = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const DAYS = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** `March 2026`, `16 – 22 March 2026`, in the order of this person's language. */
export function formatPeriod({ period, period_start: start, period_end: end }: ReportWindow): string {
  return period === 'month' ? MONTH.format(start * 1000) : DAYS.formatRange(start * 1000, (end - 1) * 1000);
}

/** Whether an address names a kind of report. */
export function isPeriod(text: string | undefined): text is ReportWindow['period'] {
  return text === 'week' || text === 'month';
}
