import test from 'ava';
import { readRule } from '../../../core/maintenance/rrule.ts';

function flawOf(text: string): string | null {
  const read = readRule(text);
  return read.ok ? null : read.message;
}

test('a rule is parsed in any case, with or without the RRULE prefix', (t) => {
  for (const text of ['FREQ=WEEKLY;BYDAY=SU,MO', ' freq=weekly;byday=su,mo ', 'RRULE:FREQ=WEEKLY;BYDAY=SU,MO']) {
    const read = readRule(text);
    t.deepEqual(read.ok && read.rule.weekdays, [
      { weekday: 6, nth: null },
      { weekday: 0, nth: null },
    ]);
  }
});

test('lists are sorted and deduplicated', (t) => {
  const read = readRule('FREQ=DAILY;BYHOUR=22,2,2;BYMONTHDAY=-1,+5');
  t.deepEqual(read.ok && [read.rule.hours, read.rule.monthDays], [
    [2, 22],
    [-1, 5],
  ]);
});

test('an invalid rule is refused with a message that names the faulty part', (t) => {
  const flaws: Record<string, RegExp> = {
    '': /must be parts such as FREQ=WEEKLY;BYDAY=SU, got ""/,
    'every sunday': /must be parts such as/,
    'FREQ=DAILY;': /must be parts such as/,
    'FREQ=DAILY;BYHOUR=': /must be parts such as/,
    'BYDAY=MO': /must have FREQ, one of YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY$/,
    'FREQ=MINUTELY': /must have FREQ, one of/,
    'FREQ=SECONDLY;INTERVAL=3600': /must have FREQ, one of/,
    'FREQ=DAILY;FREQ=WEEKLY': /must have FREQ once/,
    'FREQ=DAILY;BYEASTER=1': /no part BYEASTER; the parts are FREQ, INTERVAL,/,
    'FREQ=DAILY;RSCALE=HEBREW': /no part RSCALE/,
    'DTSTART:20270101T020000Z\nRRULE:FREQ=DAILY': /without DTSTART, TZID, RDATE and EXDATE: starts_at and timezone say/,
    'FREQ=DAILY;TZID=Europe/Berlin': /without DTSTART, TZID/,
    'FREQ=DAILY\nEXDATE:20270101T020000Z': /without DTSTART, TZID/,
    'FREQ=DAILY;INTERVAL=0': /INTERVAL as a number from 1 to 10000, got "0"/,
    'FREQ=DAILY;INTERVAL=999999999': /INTERVAL as a number from 1 to 10000/,
    'FREQ=DAILY;INTERVAL=1.5': /INTERVAL as a number/,
    'FREQ=DAILY;COUNT=-1': /COUNT as a number from 1 to 10000/,
    'FREQ=DAILY;COUNT=2;UNTIL=20270101': /COUNT or UNTIL, not both/,
    'FREQ=DAILY;UNTIL=20270230': /UNTIL as a date that exists, such as 20271231,.* got "20270230"/,
    'FREQ=DAILY;UNTIL=2027-01-01': /UNTIL as a date that exists/,
    'FREQ=DAILY;BYHOUR=24': /BYHOUR as numbers from 0 to 23, got "24"/,
    'FREQ=DAILY;BYHOUR=-1': /BYHOUR as numbers/,
    'FREQ=MONTHLY;BYMONTHDAY=0': /BYMONTHDAY as numbers from 1 to 31 or, from the end, negative, got "0"/,
    'FREQ=MONTHLY;BYMONTHDAY=1,,2': /BYMONTHDAY as numbers .* got ""/,
    'FREQ=WEEKLY;BYDAY=XX': /BYDAY as days such as MO, .* got "XX"/,
    'FREQ=MONTHLY;BYDAY=6MO': /BYDAY as days such as MO, or 2MO and -1FR up to 5 /,
    'FREQ=WEEKLY;BYDAY=1MO': /days with a number, such as 1MO, only with FREQ=MONTHLY/,
    'FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO': /days with a number/,
    'FREQ=MONTHLY;BYWEEKNO=1': /BYWEEKNO only with FREQ=YEARLY$/,
    'FREQ=DAILY;BYYEARDAY=1': /BYYEARDAY only with FREQ=YEARLY or HOURLY$/,
    'FREQ=WEEKLY;BYMONTHDAY=1': /BYMONTHDAY only with/,
    'FREQ=WEEKLY;WKST=1': /WKST as one of MO, TU,/,
    'FREQ=DAILY;BYSETPOS=1': /BYSETPOS only with another part/,
    'FREQ=DAILY;BYHOUR=0,6,12,18;BYMINUTE=0,10,20,30,40,50,55': /at most 24 starts on a day, got 28/,
    'FREQ=HOURLY;BYMINUTE=0,30': /at most 24 starts on a day, got 48/,
    [`FREQ=DAILY;BYHOUR=${'1,'.repeat(300)}1`]: /at most 500 characters/,
  };
  for (const [text, flaw] of Object.entries(flaws)) t.regex(flawOf(text) ?? 'none', flaw, text);
});

test('weekdays are deduplicated, and BYSETPOS beyond the starts of an hour is refused', (t) => {
  const read = readRule('FREQ=WEEKLY;BYDAY=MO,TU,MO,MO');
  t.deepEqual(read.ok && read.rule.weekdays?.map(({ weekday }) => weekday), [0, 1]);
  t.deepEqual(readRule('FREQ=HOURLY;BYDAY=MO;BYSETPOS=2,-3'), {
    ok: false,
    message: 'rrule must have BYSETPOS within the starts of an hour, which has 1',
  });
  t.true(readRule('FREQ=HOURLY;INTERVAL=6;BYMINUTE=0,30;BYSETPOS=-2').ok);
});
