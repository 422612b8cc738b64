import test from 'ava';
import { Cron } from 'croner';
import type { HeartbeatSchedule, ScheduleInput } from '../../../core/heartbeats/schedule.ts';
import { DAY_MS } from '../../../core/time.ts';
import { readSchedule, runScheduleOf } from '../../../models/heartbeats/schedule.ts';
import { runOn } from '../../../models/sql.ts';
import { createTestDatabase, openTestDatabase } from '../../helpers/database.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');

/** Returns the runs in `[fromMs, toMs)`, in Unix milliseconds. */
function listRuns(cron: string, timezone: string, { fromMs, toMs }: { fromMs: number; toMs: number }): number[] {
  const { runAfter } = runScheduleOf(cron, timezone, 0);
  const runs: number[] = [];
  for (let run = runAfter(fromMs - 1); run !== null && run < toMs; run = runAfter(run)) runs.push(run);
  return runs;
}

/**
 * Zones with two clock changes each: by half an hour in Lord Howe, at midnight in Santiago, backwards first in Dublin.
 */
const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'Europe/Dublin'];

/**
 * Computes fixed times in PostgreSQL alone: a run is the first minute of its day at which the local clock has reached
 * the time. The query converts UTC to local times only, because PostgreSQL has a different rule for skipped local
 * times.
 */
const FIXED = (times: string) => `
  SELECT DISTINCT (SELECT min(at) FROM minutes WHERE local >= planned) AS at
  FROM (SELECT DISTINCT local::date + times AS planned, local::date AS day FROM minutes,
        unnest('{${times}}'::time[]) AS times) AS p
  WHERE day > (SELECT min(local)::date FROM minutes) AND day < (SELECT max(local)::date FROM minutes)`;

/** Computes fields with `*` or a step: every minute that matches the local clock, including a repeated one. */
const MATCHING = (condition: string) => `
  SELECT at FROM minutes WHERE ${condition}
    AND local::date > (SELECT min(local)::date FROM minutes) AND local::date < (SELECT max(local)::date FROM minutes)`;

const hour = 'extract(hour FROM local)::int';
const minute = 'extract(minute FROM local)::int';

const CRONS: Readonly<Record<string, string>> = {
  '30 2 * * *': FIXED('02:30'),
  '0 2 * * *': FIXED('02:00'),
  '15 0 * * *': FIXED('00:15'),
  '0 0 * * *': FIXED('00:00'),
  '45 1 * * *': FIXED('01:45'),
  '30 1,2,3 * * *': FIXED('01:30,02:30,03:30'),
  '0,59 0-3 * * *': FIXED('00:00,00:59,01:00,01:59,02:00,02:59,03:00,03:59'),
  '* * * * *': MATCHING('true'),
  '*/15 * * * *': MATCHING(`${minute} % 15 = 0`),
  '0 * * * *': MATCHING(`${minute} = 0`),
  '20 */2 * * *': MATCHING(`${minute} = 20 AND ${hour} % 2 = 0`),
  '*/10 1-2 * * *': MATCHING(`${minute} % 10 = 0 AND ${hour} IN (1, 2)`),
};

const CHANGES = `
  SELECT extract(epoch FROM at)::bigint * 1000 AS at
  FROM generate_series($2::timestamptz, $2::timestamptz + interval '1 year', interval '30 minutes') AS at
  WHERE (at AT TIME ZONE $1) - ((at - interval '30 minutes') AT TIME ZONE $1) <> interval '30 minutes'
  ORDER BY 1`;

test('runs around two clock changes match PostgreSQL in five zones', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  const database = openTestDatabase(databaseUrl);
  t.teardown(async () => {
    await database.pool.end();
    await drop();
  });
  const run = runOn(database.pool);
  for (const zone of ZONES) {
    const changes = await run<{ at: number }>(CHANGES, [zone, '2026-11-26T00:00:00Z']);
    t.is(changes.length, 2, zone);
    for (const { at: changeMs } of changes)
      for (const [cron, expected] of Object.entries(CRONS)) {
        const rows = await run<{ at: number }>(
          `WITH minutes AS MATERIALIZED (
             SELECT extract(epoch FROM m)::bigint * 1000 AS at, m AT TIME ZONE $1 AS local
             FROM generate_series(to_timestamp($2::bigint / 1000) - interval '2 days',
               to_timestamp($2::bigint / 1000) + interval '2 days', interval '1 minute') AS m
           )
           SELECT at, (SELECT min(at) FROM minutes WHERE local::date > (SELECT min(local)::date FROM minutes)) AS first,
             (SELECT min(at) FROM minutes WHERE local::date = (SELECT max(local)::date FROM minutes)) AS last
           FROM (${expected}) AS e ORDER BY at`,
          [zone, changeMs],
        );
        const { first, last } = rows[0] as unknown as { first: number; last: number };
        const asText = (runs: readonly number[]) => runs.map((ms) => new Date(ms).toISOString());
        t.deepEqual(
          asText(listRuns(cron, zone, { fromMs: first, toMs: last })),
          asText(rows.map(({ at }) => at)),
          `${cron} ${zone} ${new Date(changeMs).toISOString()}`,
        );
      }
  }
});

const iso = (runs: readonly number[]): string[] => runs.map((ms) => new Date(ms).toISOString().slice(0, 16));
const day = (text: string) => ({ fromMs: Date.parse(text), toMs: Date.parse(text) + DAY_MS });

test('a fixed time skipped by a clock change runs right after it; a step skipped by it does not run', (t) => {
  const spring = day('2027-03-28T00:00:00Z');
  t.deepEqual(iso(listRuns('30 2 * * *', 'Europe/Berlin', spring)), ['2027-03-28T01:00']);
  t.deepEqual(iso(listRuns('*/30 2 * * *', 'Europe/Berlin', spring)), []);
});

test('a fixed time repeated by a clock change runs once, a step repeated by it runs twice', (t) => {
  const autumn = { fromMs: Date.parse('2027-10-31T00:00:00Z'), toMs: Date.parse('2027-10-31T02:00:00Z') };
  t.deepEqual(iso(listRuns('30 2 * * *', 'Europe/Berlin', autumn)), ['2027-10-31T00:30']);
  t.deepEqual(iso(listRuns('*/30 2 * * *', 'Europe/Berlin', autumn)), [
    '2027-10-31T00:00',
    '2027-10-31T00:30',
    '2027-10-31T01:00',
    '2027-10-31T01:30',
  ]);
});

test('the next run does not depend on earlier lookups, whether these go forwards or backwards', (t) => {
  const runs = listRuns('*/7 1-3 * * *', 'America/New_York', { fromMs: NOW, toMs: NOW + 30 * DAY_MS });
  const { runAfter } = runScheduleOf('*/7 1-3 * * *', 'America/New_York', 0);
  for (const [index, run] of runs.entries()) {
    const before = runs.at(-1 - index) ?? 0;
    t.is(runAfter(run - 1), run);
    t.is(runAfter(before - 60_000), before);
    t.is(runAfter(run), runs[index + 1] ?? runAfter(run));
  }
});

test('the search covers 40 years without a Monday 29 February, and more years than a cached search', (t) => {
  const { runAfter } = runScheduleOf('0 0 29 2 +MON', 'UTC', 0);
  let run = runAfter(Date.parse('2060-01-01T00:00:00Z'));
  const found: string[] = [];
  for (; run !== null && found.length < 4; run = runAfter(run)) found.push(new Date(run).toISOString().slice(0, 10));
  t.deepEqual(found, ['2072-02-29', '2112-02-29', '2140-02-29', '2168-02-29']);
});

test('an unknown time zone has no runs and does not fail', (t) => {
  t.is(runScheduleOf('0 0 * * *', 'Nowhere/City', 0).runAfter(NOW), null);
});

const ACCEPTED: readonly [ScheduleInput, HeartbeatSchedule, shortest: number, longest: number][] = [
  [{ cron: '0 2 * * *' }, { cron: '0 2 * * *', timezone: 'UTC', early_seconds: 60 }, 86_400, 86_400],
  [
    { cron: ' 0  2 * * MON-FRI ', timezone: 'europe/berlin', early_seconds: 300 },
    { cron: '0 2 * * MON-FRI', timezone: 'Europe/Berlin', early_seconds: 300 },
    86_400,
    3 * 86_400,
  ],
  [{ cron: '* * * * *' }, { cron: '* * * * *', timezone: 'UTC', early_seconds: 30 }, 60, 60],
  [{ cron: '@hourly' }, { cron: '@hourly', timezone: 'UTC', early_seconds: 60 }, 3600, 3600],
  [
    { cron: '0,59 0,23 1 * *', early_seconds: 3539 },
    { cron: '0,59 0,23 1 * *', timezone: 'UTC', early_seconds: 3539 },
    3540,
    30 * 86_400 + 60,
  ],
  [{ cron: '0,59 0,23 * * *' }, { cron: '0,59 0,23 * * *', timezone: 'UTC', early_seconds: 30 }, 60, 22 * 3600 + 60],
  [{ cron: '0 0 29 2 *' }, { cron: '0 0 29 2 *', timezone: 'UTC', early_seconds: 60 }, 1461 * 86_400, 1461 * 86_400],
];
for (const [input, schedule, shortestSeconds, longestSeconds] of ACCEPTED) {
  test(`${JSON.stringify(input)} is a valid schedule with these shortest and longest intervals`, (t) => {
    t.deepEqual(readSchedule(input, NOW), { ok: true, schedule, shortestSeconds, longestSeconds });
  });
}

const SIX_FIELDS = /^cron must be five fields/;
const NO_EXPRESSION = /^cron must be an expression such as "0 2 \* \* SUN": /;
const NO_RUNS = /^cron has no runs in the next ten years/;
const NO_ZONE = /^timezone must be a zone of the IANA time zone database/;

const REFUSED: readonly [ScheduleInput, field: 'cron' | 'timezone' | 'early_seconds', message: RegExp][] = [
  [{ cron: '* * * * * *' }, 'cron', SIX_FIELDS],
  [{ cron: '*/10 * * * * *' }, 'cron', SIX_FIELDS],
  [{ cron: '0 2 * *' }, 'cron', SIX_FIELDS],
  [{ cron: '@reboot' }, 'cron', SIX_FIELDS],
  [{ cron: '60 2 * * *' }, 'cron', NO_EXPRESSION],
  [{ cron: '0 24 * * *' }, 'cron', NO_EXPRESSION],
  [{ cron: '*/0 * * * *' }, 'cron', NO_EXPRESSION],
  [{ cron: 'a b c d e' }, 'cron', NO_EXPRESSION],
  [{ cron: '0 0 31 2 *' }, 'cron', NO_RUNS],
  [{ cron: '0 0 30 FEB *' }, 'cron', NO_RUNS],
  [{ cron: '0 0 31 4,6,9,11 *' }, 'cron', NO_RUNS],
  [{ cron: '0 0 31W 2 *' }, 'cron', NO_RUNS],
  [{ cron: '* * 30,31 2 *' }, 'cron', NO_RUNS],
  [{ cron: '0 0 30 2 +MON-SUN' }, 'cron', NO_RUNS],
  [{ cron: '0 0 29 2 +MON#1' }, 'cron', NO_RUNS],
  [{ cron: `${'0,'.repeat(100)}0 0 * * *` }, 'cron', /^cron must be at most 200 characters long/],
  [{ cron: '0 2 * * *', timezone: 'Europe/Atlantis' }, 'timezone', NO_ZONE],
  [{ cron: '0 2 * * *', timezone: '+05:00' }, 'timezone', NO_ZONE],
  [{ cron: '0 2 * * *', timezone: 'browser' }, 'timezone', NO_ZONE],
  [{ cron: '0 2 * * *', early_seconds: 86_400 }, 'early_seconds', /^early_seconds must be at most 86399, less than/],
  [{ cron: '* * * * *', early_seconds: 60 }, 'early_seconds', /^early_seconds must be at most 59, less than/],
];
for (const [input, field, message] of REFUSED) {
  test(`${JSON.stringify(input).slice(0, 80)} is an invalid schedule, with an error for ${field}`, (t) => {
    const read = readSchedule(input, NOW);
    if (read.ok) return t.fail();
    t.is(read.field, field);
    t.regex(read.message, message);
  });
}

test.serial('the next runs of thousands of schedules are computed once, until they are over', (t) => {
  let searches = 0;
  const schedules = Array.from({ length: 3000 }, (_, index) =>
    runScheduleOf(`${index % 60} ${Math.floor(index / 60) % 24} ${1 + Math.floor(index / 1440)} 1 *`, 'UTC', 0),
  );
  const before = schedules.map(({ runAfter }) => runAfter(NOW));
  const { nextRun } = Cron.prototype;
  Cron.prototype.nextRun = function count(...values) {
    searches += 1;
    return nextRun.apply(this, values);
  };
  t.teardown(() => (Cron.prototype.nextRun = nextRun));
  t.deepEqual(
    schedules.map(({ runAfter }) => runAfter(NOW + DAY_MS)),
    before,
  );
  t.is(searches, 0);
});
