import test from 'ava';
import { toInstant } from '../../../core/time-zones.ts';
import { DAY_MS } from '../../../core/time.ts';
import { checkRecurrence, listStarts, type Schedule } from '../../../models/maintenance/recurrence.ts';
import { runOn } from '../../../models/sql.ts';
import { createTestDatabase, openTestDatabase } from '../../helpers/database.ts';
import { TWELVE_ZONES } from '../../helpers/twelve-zones.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const ONCE: Schedule = { startsAtMs: NOW, timezone: 'UTC', cron: null, rrule: null };

const numbers = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, i) => from + i).join();

/** Returns the starts of a schedule as `<local start> <UTC time>`. */
function startsOf(schedule: Partial<Schedule>, [from, to]: readonly [string, string], most = 100): string[] {
  const span = { fromMs: Date.parse(`${from}Z`), toMs: Date.parse(`${to}Z`), most };
  return listStarts({ ...ONCE, ...schedule }, span).map(
    ({ localStart, startsAtMs }) => `${localStart} ${new Date(startsAtMs).toISOString().slice(0, 16)}Z`,
  );
}

/** The same times as a cron expression and as a rule; `weekday` counts from Sunday, null for every day. */
const TIMES = [
  { time: '02:30', every: '1 day', weekday: null, cron: '30 2 * * *', rrule: 'FREQ=DAILY;BYHOUR=2;BYMINUTE=30' },
  { time: '00:15', every: '1 day', weekday: null, cron: '15 0 * * *', rrule: 'FREQ=DAILY;BYHOUR=0;BYMINUTE=15' },
  {
    time: '02:00',
    every: '7 days',
    weekday: 0,
    cron: '0 2 * * SUN',
    rrule: 'FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=0',
  },
] as const;

/**
 * Computes the starts in PostgreSQL alone: a local time is the first quarter of an hour at which the clock has reached
 * it. The query converts UTC to local times only, because PostgreSQL has a different rule for skipped local times.
 */
const EXPECTED = `
  SELECT DISTINCT ON (starts_at) to_char(planned, 'YYYY-MM-DD"T"HH24:MI:SS') AS "localStart",
    (extract(epoch FROM starts_at) * 1000)::bigint AS "startsAtMs"
  FROM generate_series($2::timestamp, $3::timestamp, $4::interval) AS planned,
    LATERAL (
      SELECT moment AT TIME ZONE 'UTC' AS starts_at
      FROM generate_series(planned - interval '15 hours', planned + interval '37 hours', interval '15 min') AS moment
      WHERE moment AT TIME ZONE 'UTC' AT TIME ZONE $1 >= planned ORDER BY moment LIMIT 1
    ) AS first
  WHERE starts_at >= $5::timestamptz AND starts_at < $6::timestamptz
  ORDER BY starts_at, planned`;

test('starts in twelve zones match the local times that PostgreSQL computes', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  const database = openTestDatabase(databaseUrl);
  t.teardown(async () => {
    await database.pool.end();
    await drop();
  });
  for (const [timezone, year] of TWELVE_ZONES)
    for (const { time, every, weekday, cron, rrule } of TIMES) {
      const [fromMs, toMs] = [Date.UTC(year, 0, 1), Date.UTC(year + 2, 0, 1)];
      const first = new Date(fromMs - 2 * DAY_MS);
      if (weekday !== null) first.setUTCDate(first.getUTCDate() - first.getUTCDay() + weekday);
      const expected = await runOn(database.pool)(EXPECTED, [
        timezone,
        `${first.toISOString().slice(0, 10)} ${time}`,
        `${year + 2}-01-02`,
        every,
        new Date(fromMs).toISOString(),
        new Date(toMs).toISOString(),
      ]);
      const schedule = { startsAtMs: fromMs - 10 * DAY_MS, timezone };
      for (const rule of [
        { cron, rrule: null },
        { cron: null, rrule },
      ])
        t.deepEqual(
          listStarts({ ...schedule, ...rule }, { fromMs, toMs, most: 1000 }),
          expected,
          `${timezone} ${rule.cron ?? rule.rrule}`,
        );
    }
});

test('a skipped start moves to the first moment after the gap, and a repeated one is the first', (t) => {
  const berlin = { timezone: 'Europe/Berlin', startsAtMs: Date.parse('2027-01-01T00:00:00Z') };
  for (const rule of [{ cron: '30 2 * * *' }, { rrule: 'FREQ=DAILY;BYHOUR=2;BYMINUTE=30' }]) {
    t.deepEqual(startsOf({ ...berlin, ...rule }, ['2027-03-27T00:00', '2027-03-29T12:00']), [
      '2027-03-27T02:30:00 2027-03-27T01:30Z',
      '2027-03-28T02:30:00 2027-03-28T01:00Z',
      '2027-03-29T02:30:00 2027-03-29T00:30Z',
    ]);
    t.deepEqual(startsOf({ ...berlin, ...rule }, ['2027-10-31T00:00', '2027-11-01T12:00']), [
      '2027-10-31T02:30:00 2027-10-31T00:30Z',
      '2027-11-01T02:30:00 2027-11-01T01:30Z',
    ]);
  }
});

test('a start on a skipped calendar day happens once, at the beginning of the next day', (t) => {
  const apia = { timezone: 'Pacific/Apia', startsAtMs: Date.parse('2011-01-01T00:00:00Z'), rrule: 'FREQ=HOURLY' };
  const starts = startsOf(apia, ['2011-12-30T09:00', '2011-12-30T12:00']);
  t.deepEqual(starts, [
    '2011-12-29T23:00:00 2011-12-30T09:00Z',
    '2011-12-30T00:00:00 2011-12-30T10:00Z',
    '2011-12-31T01:00:00 2011-12-30T11:00Z',
  ]);
  t.deepEqual(startsOf(apia, ['2011-12-30T10:00', '2011-12-30T12:00']), starts.slice(1));
});

test('the start of a schedule keeps its own moment even if the clocks skip or repeat it', (t) => {
  const timezone = 'Europe/Berlin';
  const daily = { timezone, rrule: 'FREQ=DAILY;COUNT=2' };
  const skipped = { startsAtMs: toInstant(Date.parse('2027-03-28T02:30Z'), timezone), localStart: '2027-03-28T02:30' };
  t.deepEqual(startsOf({ ...daily, ...skipped }, ['2027-03-01T00:00', '2027-05-01T00:00']), [
    '2027-03-28T02:30:00 2027-03-28T01:00Z',
    '2027-03-29T02:30:00 2027-03-29T00:30Z',
  ]);
  t.deepEqual(
    startsOf({ ...daily, startsAtMs: Date.parse('2027-10-31T01:30Z') }, ['2027-10-01T00:00', '2027-12-01T00:00']),
    ['2027-10-31T02:30:00 2027-10-31T01:30Z', '2027-11-01T02:30:00 2027-11-01T01:30Z'],
  );
});

test('a schedule without a rule takes place once', (t) => {
  t.is(checkRecurrence(ONCE, NOW), null);
  t.deepEqual(startsOf({}, ['2026-11-01T00:00', '2026-12-01T00:00']), ['2026-11-26T12:00:00 2026-11-26T12:00Z']);
  t.deepEqual(startsOf({}, ['2026-11-26T12:01', '2026-12-01T00:00']), []);
});

test('nothing is listed before the start or beyond the requested number', (t) => {
  for (const rule of [{ cron: '@daily' }, { rrule: 'FREQ=DAILY;BYHOUR=0;BYMINUTE=0' }])
    t.deepEqual(startsOf(rule, ['2026-01-01T00:00', '2028-01-01T00:00'], 2), [
      '2026-11-27T00:00:00 2026-11-27T00:00Z',
      '2026-11-28T00:00:00 2026-11-28T00:00Z',
    ]);
});

test('occurrences before the start are listed on request, at the weekday and time of the rule', (t) => {
  const span = { fromMs: NOW - 15 * DAY_MS, toMs: NOW + DAY_MS, most: 10, alsoBefore: true };
  for (const rule of [{ cron: '0 12 * * THU' }, { rrule: 'FREQ=WEEKLY;COUNT=2' }])
    t.deepEqual(
      listStarts({ ...ONCE, ...rule }, span).map(({ localStart }) => localStart),
      ['2026-11-12T12:00:00', '2026-11-19T12:00:00', '2026-11-26T12:00:00'],
    );
});

test('UNTIL with a moment ends at that moment in every zone', (t) => {
  const schedule = { timezone: 'America/New_York', rrule: 'FREQ=DAILY;BYHOUR=20;BYMINUTE=0;UNTIL=20261129T005959Z' };
  t.deepEqual(startsOf(schedule, ['2026-11-01T00:00', '2027-01-01T00:00']), [
    '2026-11-26T20:00:00 2026-11-27T01:00Z',
    '2026-11-27T20:00:00 2026-11-28T01:00Z',
  ]);
});

test('five-field cron expressions are accepted, with names, steps, last days and numbered weekdays', (t) => {
  const next: Record<string, string> = {
    '0 2 * * SUN': '2026-11-29T02:00',
    '0 2 * * 7': '2026-11-29T02:00',
    '*/30 22-23 1 jan-mar *': '2027-01-01T22:00',
    '0 2 L * *': '2026-11-30T02:00',
    '0 2 LW * *': '2026-11-30T02:00',
    '0 2 15W * *': '2026-12-15T02:00',
    '0 2 * * TUE#2': '2026-12-08T02:00',
    '0 2 * * FRI#L': '2026-11-27T02:00',
    '0 2 13 * FRI': '2026-11-27T02:00',
    '0 2 29 2 *': '2028-02-29T02:00',
    ' 0  2 * * ? ': '2026-11-27T02:00',
    '@Weekly': '2026-11-29T00:00',
    '@monthly': '2026-12-01T00:00',
  };
  for (const [cron, time] of Object.entries(next)) {
    t.is(checkRecurrence({ ...ONCE, cron }, NOW), null, cron);
    t.deepEqual(startsOf({ cron }, ['2026-11-26T12:00', '2030-01-01T00:00'], 1), [`${time}:00 ${time}Z`], cron);
  }
});

test('an invalid recurrence is rejected with the field and a message', (t) => {
  const flaws: readonly (readonly [Partial<Schedule>, field: 'timezone' | 'cron' | 'rrule', RegExp])[] = [
    [{ timezone: 'Mars/Olympus' }, 'timezone', /zone of the IANA .* got "Mars\/Olympus"$/],
    [{ timezone: 'browser' }, 'timezone', /zone of the IANA/],
    [{ cron: '0 2 * * *', rrule: 'FREQ=DAILY' }, 'rrule', /must not be given together/],
    [{ cron: '0 0 2 * * *' }, 'cron', /must be five fields, minute, hour,/],
    [{ cron: '0 0 2 * * * 2027' }, 'cron', /must be five fields/],
    [{ cron: '2027-01-01T00:00:00' }, 'cron', /must be five fields/],
    [{ cron: '@reboot' }, 'cron', /must be five fields/],
    [{ cron: '' }, 'cron', /must be five fields/],
    [{ cron: '60 2 * * *' }, 'cron', /such as "0 2 \* \* SUN": Invalid value for minute: 60$/],
    [{ cron: '0 2 * FOO *' }, 'cron', /such as "0 2/],
    [{ cron: '*/30 * * * *' }, 'cron', /at most 24 starts on a day, got 48$/],
    [{ cron: `0 2 * * ${'1,'.repeat(300)}1` }, 'cron', /at most 500 characters/],
    [{ cron: '0 2 30 2 *' }, 'cron', /has no occurrences in the next ten years/],
    [{ rrule: 'FREQ=MINUTELY' }, 'rrule', /must have FREQ, one of/],
    [{ rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' }, 'rrule', /has no occurrences in the next ten years/],
    [{ rrule: 'FREQ=DAILY;UNTIL=20261125' }, 'rrule', /has no occurrences/],
    [{ rrule: 'FREQ=DAILY;UNTIL=20261125T000000Z' }, 'rrule', /has no occurrences/],
  ];
  for (const [schedule, field, message] of flaws) {
    const flaw = checkRecurrence({ ...ONCE, ...schedule }, NOW);
    t.is(flaw?.field, field, JSON.stringify(schedule));
    t.regex(flaw?.message ?? '', message);
  }
  t.is(checkRecurrence({ ...ONCE, startsAtMs: NOW - 400 * DAY_MS, rrule: 'FREQ=DAILY;COUNT=10' }, NOW)?.field, 'rrule');
});

test('no rule is expensive to check or to list for sixty days, even ten years after its start', (t) => {
  const hours = numbers(0, 23);
  const hostile: Partial<Schedule>[] = [
    ...[
      'FREQ=HOURLY',
      'FREQ=HOURLY;COUNT=10000',
      'FREQ=DAILY;COUNT=10000',
      'FREQ=HOURLY;UNTIL=20461125T000000Z',
      'FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30',
      'FREQ=HOURLY;BYYEARDAY=366;BYMONTH=3',
      'FREQ=HOURLY;INTERVAL=23;BYHOUR=3;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO',
      'FREQ=HOURLY;BYDAY=MO;BYMONTHDAY=13;BYMONTH=2;BYYEARDAY=44;COUNT=10000',
      'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
      'FREQ=WEEKLY;BYMONTH=2;BYDAY=MO;BYSETPOS=300',
      'FREQ=YEARLY;INTERVAL=10000',
      `FREQ=YEARLY;BYYEARDAY=${numbers(1, 100)};BYHOUR=${hours};COUNT=10000`,
      `FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=${hours};BYSETPOS=${numbers(1, 99)}`,
      `FREQ=YEARLY;BYDAY=${'MO,'.repeat(140)}MO;BYWEEKNO=53;BYMONTH=6`,
      `FREQ=YEARLY;INTERVAL=9;BYMONTHDAY=${numbers(1, 31)};BYHOUR=${hours}`,
    ].map((rrule) => ({ rrule })),
    ...['0 * * * *', '0 2 30 2 *', '0 * 31 2 +MON#1', `0 2 31 2,4,6,9,11 +${'1,'.repeat(200)}1`, '0 * 31W 2,4 *'].map(
      (cron) => ({ cron }),
    ),
  ];
  const cost = (schedule: Schedule): number => {
    const before = process.cpuUsage();
    checkRecurrence(schedule, NOW);
    listStarts(schedule, { fromMs: NOW, toMs: NOW + 60 * DAY_MS, most: 1500 });
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  for (const startsAtMs of [NOW, NOW - 3650 * DAY_MS])
    for (const rule of hostile) {
      const schedule = { ...ONCE, timezone: 'America/New_York', startsAtMs, ...rule };
      // The minimum of three, because other processes use the machine, too.
      const ms = Math.min(...Array.from({ length: 3 }, () => cost(schedule)));
      t.true(ms < 100, `${rule.rrule ?? rule.cron} took ${ms} ms`);
    }
});
