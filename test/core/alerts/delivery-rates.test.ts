import test from 'ava';
import * as fc from 'fast-check';
import { nextAttemptDelayMs, planDue, usedUpBy } from '../../../core/alerts/delivery-rates.ts';

const NOW = 1_763_720_000_000;
const toChannels = (monitorId: string, count: number) =>
  Array.from({ length: count }, () => ({ tenantId: 'ten_1', monitorId }));

test('what fails at once is reported at once: 1000 monitors on three channels, or one monitor on 1000, twice', (t) => {
  const outage = Array.from({ length: 1000 }, (_, no) => toChannels(`mon_${no}`, 3)).flat();
  t.true(planDue(outage, new Map(), NOW).every((dueAtMs) => dueAtMs === NOW));
  const marks = usedUpBy(toChannels('mon_1', 1000));
  t.true(
    planDue(toChannels('mon_1', 1000), new Map([...marks].map(([key, ms]) => [key, NOW + ms])), NOW).every(
      (dueAtMs) => dueAtMs === NOW,
    ),
  );
});

test(
  'beyond its rate each delivery waits for its turn, in steps of five seconds and no longer than an hour, whatever ' +
    'the marks say',
  (t) => {
    const marks = new Map<string, number>();
    const due = planDue(toChannels('mon_1', 5000), marks, NOW);
    t.is(due[2999], NOW);
    for (const [index, dueAtMs] of due.entries()) {
      t.true(dueAtMs >= (due[index - 1] ?? NOW) && (dueAtMs === NOW || dueAtMs % 5000 === 0));
      if (index >= 3000) t.true(dueAtMs >= NOW + (index - 2999) * 20);
    }
    const [flapping = 0] = planDue(toChannels('mon_1', 1), new Map([['mon_1', NOW + 302_000]]), NOW);
    t.true(flapping >= NOW + 61_000 && flapping <= NOW + 66_000);
    const [other = 0] = planDue(toChannels('mon_1', 1), new Map([['mon_1', NOW + 10 ** 12]]), NOW);
    t.true(other <= NOW + 3_605_000);
  },
);

const TIMETABLE = [5, 25, 125];

test('in the middle of the jitter the waits are those of the timetable', (t) => {
  const waits = [1, 2, 3].map((attempt) => nextAttemptDelayMs({ attempt, random: 0.5, timetableSeconds: TIMETABLE }));
  t.deepEqual(waits, [5000, 25_000, 125_000]);
});

test('the fourth attempt is the last one', (t) => {
  t.is(nextAttemptDelayMs({ attempt: 4, random: 0.5, timetableSeconds: TIMETABLE }), null);
  t.is(nextAttemptDelayMs({ attempt: 5, random: 0.5, timetableSeconds: TIMETABLE }), null);
  t.is(
    nextAttemptDelayMs({ attempt: 4, random: 0.5, timetableSeconds: [1, 1, 1, 1, 1] }),
    null,
    'however long the timetable is',
  );
});

test('an empty timetable allows no retry', (t) => {
  t.is(nextAttemptDelayMs({ attempt: 1, random: 0, timetableSeconds: [] }), null);
});

test('the jitter reaches both of its ends', (t) => {
  t.is(nextAttemptDelayMs({ attempt: 1, random: 0, timetableSeconds: TIMETABLE }), 4000);
  t.is(nextAttemptDelayMs({ attempt: 1, random: 1 - Number.EPSILON, timetableSeconds: TIMETABLE }), 6000);
});

test('every wait is a whole number of milliseconds within 20 % of its place in any timetable', (t) => {
  const timetables = fc.array(fc.integer({ min: 0, max: 86_400 }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(
      timetables,
      fc.nat(),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (timetableSeconds, pick, random) => {
        const attempt = 1 + (pick % timetableSeconds.length);
        const plannedMs = (timetableSeconds[attempt - 1] ?? 0) * 1000;
        const waitMs = nextAttemptDelayMs({ attempt, random, timetableSeconds });
        return waitMs !== null && Number.isInteger(waitMs) && Math.abs(waitMs - plannedMs) <= plannedMs * 0.2 + 0.5;
      },
    ),
  );
  t.pass();
});
