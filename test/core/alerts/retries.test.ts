import test from 'ava';
import * as fc from 'fast-check';
import { nextAttemptDelayMs, nextPutOffDelayMs, nextResolveDelayMs } from '../../../core/alerts/retries.ts';

const TIMETABLE = [5, 25, 125];

test('at the midpoint of the jitter the delays equal the retry schedule', (t) => {
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

test('an empty retry schedule allows no retry', (t) => {
  t.is(nextAttemptDelayMs({ attempt: 1, random: 0, timetableSeconds: [] }), null);
});

test('the jitter ranges from -20 % to +20 %', (t) => {
  t.is(nextAttemptDelayMs({ attempt: 1, random: 0, timetableSeconds: TIMETABLE }), 4000);
  t.is(nextAttemptDelayMs({ attempt: 1, random: 1 - Number.EPSILON, timetableSeconds: TIMETABLE }), 6000);
});

test('every delay is a whole number of milliseconds within 20 % of its schedule entry', (t) => {
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

test('retries after a schedule that ends in 0 still back off, and a postponed message waits one second', (t) => {
  for (const timetableSeconds of [[0], [5, 25, 0], [0.001]]) {
    let [attempt, nowMs] = [1, 0];
    for (let waitMs: number | null = 0; waitMs !== null; attempt += 1) {
      waitMs = nextResolveDelayMs({ attempt, random: 0, timetableSeconds }, { eventAtMs: 0, nowMs });
      nowMs += waitMs ?? 0;
      if (attempt > 3 && waitMs !== null) t.true(waitMs >= 800, `${waitMs} ms after attempt ${attempt}`);
    }
    t.true(nowMs > 7 * 86_400_000 && attempt < 250, `${attempt} attempts`);
    const putOff = { attempt: 10, random: 0, timetableSeconds };
    t.is(nextPutOffDelayMs(putOff, { firstAtMs: 0, nowMs: 0 }), 1000);
  }
});
