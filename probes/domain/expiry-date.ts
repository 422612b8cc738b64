type Parts = Readonly<Record<string, string | undefined>>;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH = '(?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?';
const CLOCK = '(?<hour>\\d{1,2}):(?<minute>\\d{2})(?::(?<second>\\d{2})(?:[.,]\\d+)?)?(?:\\s*(?<half>[ap])\\.?m\\b)?';
const ZONE = '(?:\\s*\\(?(?<zone>z|(?:utc|gmt)?[+-]\\d{1,2}(?::?\\d{2})?|[a-z]{2,5})\\)?)?';
const TIME = `(?:[t\\s,]+\\(?${CLOCK}${ZONE})?`;

/**
 * Forms of dates in registries' answers, most specific first: the first match counts. Days come before months unless
 * the month is in letters.
 */
const FORMS = [
  // 2026-08-13T04:00:00Z, 2026.09.16 14:00:00, 2026/05/31, 2026. 07. 05., 2026-08-22 (YYYY-MM-DD)
  `(?<year>\\d{4})[-./]\\s?(?<monthNumber>\\d{1,2})[-./]\\s?(?<day>\\d{1,2})\\.?${TIME}`,
  // 2026-Aug-22., 2026 Aug 22
  `(?<year>\\d{4})[-./ ]${MONTH}[-./ ](?<day>\\d{1,2})\\.?${TIME}`,
  // 21/07/2026, 07-05-2026 10:00:00, 4.7.2026 10:15:55
  `(?<day>\\d{1,2})[-./]\\s?(?<monthNumber>\\d{1,2})[-./]\\s?(?<year>\\d{4})${TIME}`,
  // 14-Feb-2026, 03-Jul-2026 11:42:04, 1st February 2026, 7 Oct, 2026
  `(?:[a-z]{3,9},?\\s+)?(?<day>\\d{1,2})(?:st|nd|rd|th)?(?:\\s+of)?[-./ ]${MONTH}[-./, ]+(?<year>\\d{4})${TIME}`,
  // July 2 2026, Jan 31, 2026 23:59:59 UTC
  `(?:[a-z]{3,9},?\\s+)?${MONTH}\\s+(?<day>\\d{1,2})(?:st|nd|rd|th)?[,\\s]+(?<year>\\d{4})${TIME}`,
  // Tue Jul 14 00:00:00 UTC 2026
  `[a-z]{3,9},?\\s+${MONTH}\\s+(?<day>\\d{1,2})\\s+${CLOCK}${ZONE}\\s+(?<year>\\d{4})`,
  // 20260518, 20260518103000
  '(?<year>\\d{4})(?<monthNumber>\\d{2})(?<day>\\d{2})(?:(?<hour>\\d{2})(?<minute>\\d{2})(?<second>\\d{2})?)?(?!\\d)',
].map((form) => new RegExp(`^${form}(?![\\d:])`, 'i'));

/**
 * UTC offsets, in hours, of zone names that registries write; one that is missing here, or ambiguous, counts as UTC.
 */
const ZONE_HOURS: Readonly<Record<string, number>> = {
  brt: -3,
  clt: -4,
  clst: -3,
  wet: 0,
  west: 1,
  cet: 1,
  cest: 2,
  met: 1,
  mest: 2,
  eet: 2,
  eest: 3,
  msk: 3,
  trt: 3,
  hkt: 8,
  sgt: 8,
  jst: 9,
  kst: 9,
  nzst: 12,
  nzdt: 13,
};
const OFFSET = /^(?:utc|gmt)?(?<sign>[+-])(?<hours>\d{1,2}?):?(?<minutes>\d{2})?$/i;

/** The year in which the first domain was registered: an earlier date stands for none. */
const FIRST_YEAR = 1985;

/**
 * Parses a registry's date into Unix seconds. Without a zone it is in UTC, without a time at the start of the day; null
 * for text that is not a date, and for a date that stands for none, such as 0001-01-01.
 */
export function parseExpiryDate(text: string): number | null {
  const trimmed = text.trim();
  for (const form of FORMS) {
    const parts = form.exec(trimmed)?.groups;
    if (parts !== undefined) return momentOf(parts);
  }
  return null;
}

function momentOf(parts: Parts): number | null {
  const { year, month, day } = dateOf(parts);
  if (year < FIRST_YEAR) return null;
  const midnight = new Date(Date.UTC(year, month - 1, day));
  // `Date.UTC` turns 31 February into 3 March.
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return null;
  const hour = hourOf(parts);
  const minute = Number(parts['minute'] ?? 0);
  const second = Number(parts['second'] ?? 0);
  if (hour > 24 || minute > 59 || second > 60) return null;
  return midnight.getTime() / 1000 + hour * 3600 + minute * 60 + second - offsetSeconds(parts['zone'] ?? '');
}

function dateOf(parts: Parts): { year: number; month: number; day: number } {
  const [year, day] = [Number(parts['year']), Number(parts['day'])];
  const month =
    parts['month'] === undefined ? Number(parts['monthNumber']) : MONTHS.indexOf(parts['month'].toLowerCase()) + 1;
  // A month beyond December reveals the American order.
  return month > 12 ? { year, month: day, day: month } : { year, month, day };
}

function hourOf(parts: Parts): number {
  const hour = Number(parts['hour'] ?? 0);
  if (parts['half'] === undefined) return hour;
  return (hour % 12) + (parts['half'].toLowerCase() === 'p' ? 12 : 0);
}

function offsetSeconds(zone: string): number {
  const offset = OFFSET.exec(zone)?.groups;
  if (offset === undefined) return (ZONE_HOURS[zone.toLowerCase()] ?? 0) * 3600;
  const seconds = Number(offset['hours']) * 3600 + Number(offset['minutes'] ?? 0) * 60;
  return offset['sign'] === '-' ? -seconds : seconds;
}
