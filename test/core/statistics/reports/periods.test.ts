import test from 'ava';
import {
  dateOf,
  dayEdges,
  endedPeriods,
  periodAround,
  periodBefore,
  formatPeriod,
  type ReportWindow,
} from '../../../../core/statistics/reports/periods.ts';

const shown = ({ startSeconds, endSeconds }: ReportWindow) =>
  `${new Date(startSeconds * 1000).toISOString()} ${new Date(endSeconds * 1000).toISOString()}`;

const WEEKS: readonly (readonly [string, string])[] = [
  ['1970-01-01T00:00:00Z', '1969-12-29 1970-01-05'],
  ['2025-12-31T12:00:00Z', '2025-12-29 2026-01-05'],
  ['2026-03-02T00:00:00Z', '2026-03-02 2026-03-09'],
  ['2026-03-08T23:59:59Z', '2026-03-02 2026-03-09'],
  ['2026-03-29T01:30:00Z', '2026-03-23 2026-03-30'],
];
for (const [at, expected] of WEEKS) {
  test(`the week of ${at} begins on a Monday at 00:00 UTC, regardless of clock changes`, (t) => {
    const week = periodAround('week', Date.parse(at) / 1000);
    t.is(`${dateOf(week.startSeconds)} ${dateOf(week.endSeconds)}`, expected);
    t.is(new Date(week.startSeconds * 1000).getUTCDay(), 1);
  });
}

test('a month is a calendar month, including February of a leap year and December', (t) => {
  t.is(
    shown(periodAround('month', Date.UTC(2028, 1, 29, 23, 59, 59) / 1000)),
    '2028-02-01T00:00:00.000Z 2028-03-01T00:00:00.000Z',
  );
  t.is(shown(periodAround('month', Date.UTC(2026, 11, 1) / 1000)), '2026-12-01T00:00:00.000Z 2027-01-01T00:00:00.000Z');
  t.is(dayEdges(periodAround('month', Date.UTC(2028, 1, 5) / 1000)).length, 30);
});

test('the last 53 weeks and 13 months are listed, oldest first, including one that ends this second', (t) => {
  const ended = endedPeriods(Date.UTC(2026, 5, 1));
  t.is(ended.filter(({ period }) => period === 'week').length, 53);
  t.is(ended.filter(({ period }) => period === 'month').length, 13);
  t.deepEqual(
    ended,
    ended.toSorted((a, b) => a.endSeconds - b.endSeconds),
  );
  // June 1, 2026 is a Monday.
  t.deepEqual(
    ended.slice(-2).map(({ period, endSeconds }) => [period, dateOf(endSeconds)]),
    [
      ['week', '2026-06-01'],
      ['month', '2026-06-01'],
    ],
  );
  const justBefore = endedPeriods(Date.UTC(2026, 5, 1) - 1);
  t.deepEqual(
    justBefore.slice(-1).map(({ period, endSeconds }) => [period, dateOf(endSeconds)]),
    [['week', '2026-05-25']],
  );
  t.is(dateOf(ended.find(({ period }) => period === 'month')?.startSeconds ?? 0), '2025-05-01');
});

test('periods follow each other without gaps', (t) => {
  for (const period of ['week', 'month'] as const) {
    const ended = endedPeriods(Date.UTC(2026, 10, 21)).filter((window) => window.period === period);
    for (const [index, { endSeconds }] of ended.slice(0, -1).entries())
      t.is(ended[index + 1]?.startSeconds, endSeconds);
  }
});

test('a period is formatted as a readable range of dates', (t) => {
  const week = (at: number) => formatPeriod(periodAround('week', at / 1000));
  t.is(week(Date.UTC(2026, 2, 4)), '2 to 8 March 2026');
  t.is(week(Date.UTC(2026, 2, 31)), '30 March to 5 April 2026');
  t.is(week(Date.UTC(2026, 0, 1)), '29 December 2025 to 4 January 2026');
  t.is(formatPeriod(periodAround('month', Date.UTC(2026, 2, 4) / 1000)), 'March 2026');
});

const ZONE_PERIODS: readonly (readonly ['week' | 'month', string, string, string])[] = [
  // The clocks go forward in the night before this week's Sunday.
  ['week', 'Europe/Berlin', '2026-03-29T22:00:00Z', '2026-03-22T23:00:00.000Z 2026-03-29T22:00:00.000Z'],
  ['week', 'Europe/Berlin', '2026-03-29T21:59:59Z', '2026-03-15T23:00:00.000Z 2026-03-22T23:00:00.000Z'],
  ['month', 'Europe/Berlin', '2026-11-05T00:00:00Z', '2026-09-30T22:00:00.000Z 2026-10-31T23:00:00.000Z'],
  ['month', 'Asia/Kolkata', '2026-02-28T18:30:00Z', '2026-01-31T18:30:00.000Z 2026-02-28T18:30:00.000Z'],
  // The first of October 2023 began there at 01:00.
  ['month', 'America/Asuncion', '2023-11-02T00:00:00Z', '2023-10-01T04:00:00.000Z 2023-11-01T03:00:00.000Z'],
  ['week', 'America/New_York', '2026-06-01T04:00:00Z', '2026-05-25T04:00:00.000Z 2026-06-01T04:00:00.000Z'],
];
for (const [period, zone, at, expected] of ZONE_PERIODS) {
  test(`the last ${period} in ${zone} before ${at} consists of whole local days`, (t) => {
    const window = periodBefore(period, Date.parse(at) / 1000, zone);
    t.is(shown(window), expected);
    const edges = dayEdges(window);
    t.is(edges[0], window.startSeconds);
    t.is(edges.at(-1), window.endSeconds);
    t.is(new Set(edges.slice(0, -1).map((edge) => dateOf(edge, zone))).size, edges.length - 1);
    t.true(edges.slice(1).every((edge, day) => [82_800, 86_400, 90_000].includes(edge - (edges[day] ?? 0))));
  });
}

test('a period in another time zone is named after its local days', (t) => {
  const at = Date.parse('2026-03-29T22:00:00Z') / 1000;
  t.is(formatPeriod(periodBefore('week', at, 'Europe/Berlin')), '23 to 29 March 2026');
  t.is(formatPeriod(periodBefore('month', Date.parse('2026-06-01T00:00:00Z') / 1000, 'Asia/Tokyo')), 'May 2026');
});
