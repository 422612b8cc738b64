import test from 'ava';
import {
  measureServiceHours,
  readServiceHours,
  serviceStretches,
  type ServiceHours,
} from '../../../core/statistics/service-hours.ts';
import { toInstant } from '../../../core/time-zones.ts';

const HALF_HOUR_MS = 1_800_000;

function hoursOf(text: string): ServiceHours {
  const read = readServiceHours(text);
  if (!read.ok) throw new Error(read.problem);
  return read.hours;
}

test('rules add up, weekdays wrap, and times past midnight end on the next day', (t) => {
  const day = { fromMinute: 480, toMinute: 1200 };
  t.deepEqual(hoursOf('Mo-Fr 08:00-20:00'), [[day], [day], [day], [day], [day], [], []]);
  t.deepEqual(hoursOf('sa-mo 8:00-20:00'), [[day], [], [], [], [], [day], [day]]);
  t.deepEqual(hoursOf('We 22:00-06:00; We,Th 08:00-09:00,10:00-24:00'), [
    [],
    [],
    [
      { fromMinute: 1320, toMinute: 1800 },
      { fromMinute: 480, toMinute: 540 },
      { fromMinute: 600, toMinute: 1440 },
    ],
    [
      { fromMinute: 480, toMinute: 540 },
      { fromMinute: 600, toMinute: 1440 },
    ],
    [],
    [],
    [],
  ]);
  t.true(hoursOf('24/7').every(([all]) => all?.fromMinute === 0 && all.toMinute === 1440));
});

for (const [text, problem] of [
  ['', 'has a rule that cannot be read, ""'],
  ['always', 'has a rule that cannot be read, "always"'],
  ['Mo-Fr', 'has a rule that cannot be read, "Mo-Fr"'],
  ['Mo-Fr 08:00-20:00;', 'has a rule that cannot be read, ""'],
  ['Mo-Xx 08:00-20:00', 'has unknown weekdays, "Mo-Xx"'],
  ['Mo-Tu-We 08:00-20:00', 'has unknown weekdays, "Mo-Tu-We"'],
  ['Mo 08:00-25:00', 'has unknown times, "08:00-25:00"'],
  ['Mo 08:60-10:00', 'has unknown times, "08:60-10:00"'],
  ['Mo 24:00-25:00', 'has unknown times, "24:00-25:00"'],
  ['Mo 08:00-8:00', 'has unknown times, "08:00-8:00"'],
] as const) {
  test(`the hours "${text}" are refused with an example`, (t) => {
    t.deepEqual(readServiceHours(text), {
      ok: false,
      problem: `${problem}: write them as in Mo-Fr 08:00-20:00; Sa 09:00-13:00`,
    });
  });
}

test('hours of zero length are refused with a hint on how to write a whole day', (t) => {
  for (const text of ['00:00-00:00', '24:00-24:00'])
    t.deepEqual(readServiceHours(`Mo 08:00-09:00,${text}`), {
      ok: false,
      problem: `has times without a length, "${text}": a whole day is 00:00-24:00`,
    });
});

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Chatham', 'Asia/Kolkata'];
for (const zone of ZONES) {
  test(`the service hours of a year in ${zone} match the calendar, half hour by half hour`, (t) => {
    const [fromMs, toMs] = [Date.UTC(2026, 0, 1, 7, 30), Date.UTC(2027, 0, 1, 7, 30)];
    const stretches = serviceStretches(hoursOf('Mo-Fr 08:00-20:00; Sa 22:00-02:00'), { fromMs, toMs }, (localMs) =>
      toInstant(localMs, zone),
    );
    const format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      weekday: 'short',
      hour: '2-digit',
      hourCycle: 'h23',
    });
    let next = 0;
    for (let at = fromMs; at < toMs; at += HALF_HOUR_MS) {
      while ((stretches[next]?.endMs ?? Number.POSITIVE_INFINITY) <= at) next += 1;
      const [weekday = '', hour = 0] = format
        .formatToParts(at)
        .filter(({ type }) => type === 'weekday' || type === 'hour')
        .map(({ type, value }) => (type === 'hour' ? Number(value) : value));
      const isWorkday = !['Sat', 'Sun'].includes(String(weekday));
      const isLate = (weekday === 'Sat' && Number(hour) >= 22) || (weekday === 'Sun' && Number(hour) < 2);
      const isIn = (isWorkday && Number(hour) >= 8 && Number(hour) < 20) || isLate;
      const isListed = (stretches[next]?.startMs ?? Number.POSITIVE_INFINITY) <= at;
      if (isIn !== isListed) return t.fail(`${new Date(at).toISOString()} is ${isListed ? '' : 'not '}listed`);
    }
    return t.pass();
  });
}

test('downtime and maintenance outside the service hours do not count', async (t) => {
  const day = Date.UTC(2026, 2, 2);
  const span = { fromMs: day, toMs: day + 7 * 86_400_000 };
  const stretches = serviceStretches(hoursOf('Mo-Fr 08:00-20:00'), span, (localMs) => localMs);
  const history = {
    transitions: [
      { atMs: day, to: 'up' as const },
      { atMs: day + 19 * 3_600_000, to: 'down' as const },
      { atMs: day + 33 * 3_600_000, to: 'up' as const },
    ],
    createdAtMs: day - 1000,
    gaps: [],
    maintenance: [{ startMs: day + 19.5 * 3_600_000, endMs: day + 21 * 3_600_000 }],
  };
  t.like(await measureServiceHours(history, stretches), {
    down: 1800 + 3600,
    maintenance: 1800,
    up: 5 * 12 * 3600 - 3600 - 3600,
    paused: 0,
  });
});
