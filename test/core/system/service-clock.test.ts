import test from 'ava';
import {
  BELIEVED_AFTER_MS,
  correctionAfterStep,
  judgeReading,
  type TimeReading,
} from '../../../core/system/service-clock.ts';

const NOW = Date.UTC(2026, 10, 24, 8);

/** Returns a reading of a PostgreSQL with a correct clock, whose time was agreed on a second ago. */
const readingAt = (given: Partial<TimeReading> = {}): TimeReading => ({
  databaseMs: NOW,
  correctionMs: 0,
  correctedAtMs: NOW - 3_600_000,
  agreedAtMs: NOW - 1000,
  ...given,
});
const held = { serviceMs: NOW, correctionMs: 0, uncertainMs: 1 };

test('neither drift nor the uncertainty of a slow response counts as a step', (t) => {
  t.deepEqual(judgeReading(readingAt(), held), { verdict: 'agrees', offMs: 0 });
  t.deepEqual(judgeReading(readingAt({ databaseMs: NOW - 900 }), held), { verdict: 'agrees', offMs: -900 });
  t.is(judgeReading(readingAt({ databaseMs: NOW + 1900 }), { ...held, uncertainMs: 1000 }).verdict, 'agrees');
});

for (const stepMs of [-86_400_000, -300_000, -7000, 7000, 300_000, 31_536_000_000]) {
  test(`a step of PostgreSQL's clock by ${stepMs / 1000} s is detected and corrected`, (t) => {
    const reading = readingAt({ databaseMs: NOW + stepMs });
    t.deepEqual(judgeReading(reading, held), { verdict: 'database stepped', offMs: stepMs });
    const correctionMs = correctionAfterStep(0, stepMs);
    const after = readingAt({
      databaseMs: NOW + stepMs + 2000,
      correctionMs,
      correctedAtMs: NOW + stepMs,
      agreedAtMs: NOW + stepMs,
    });
    t.is(
      judgeReading(after, { ...held, serviceMs: NOW + 2000, correctionMs }).verdict,
      'agrees',
      'the service time continues as before',
    );
    t.is(
      judgeReading(after, { ...held, serviceMs: NOW + 2000 }).verdict,
      'agrees',
      'also for processes that have not read the correction yet',
    );
    t.is(correctionAfterStep(correctionMs, -stepMs + 3), 0, 'no correction is needed once the clock is set right');
  });
}

test('a correction set by others is followed, as is a PostgreSQL time that others agreed on', (t) => {
  t.deepEqual(judgeReading(readingAt({ correctionMs: 300_000 }), held), { verdict: 'follow', offMs: 300_000 });
  t.deepEqual(judgeReading(readingAt({ databaseMs: NOW + 600_000, agreedAtMs: NOW + 599_000 }), held), {
    verdict: 'follow',
    offMs: 600_000,
  });
});

test('a PostgreSQL time that no process agreed on recently counts as a step', (t) => {
  t.is(judgeReading(readingAt({ databaseMs: NOW - 300_000, agreedAtMs: 0 }), held).verdict, 'database stepped');
  t.is(
    judgeReading(readingAt({ databaseMs: NOW - 300_000, agreedAtMs: NOW - 900_000 }), held).verdict,
    'database stepped',
  );
});

test('a step in either direction is settled after it has lasted for a minute', (t) => {
  for (const correctionMs of [300_000, -300_000]) {
    const own = { serviceMs: NOW + correctionMs, correctionMs, uncertainMs: 1 };
    const stoodFor = (ms: number) => judgeReading(readingAt({ correctionMs, correctedAtMs: NOW - ms }), own).verdict;
    t.is(stoodFor(BELIEVED_AFTER_MS - 1), 'agrees');
    t.is(stoodFor(BELIEVED_AFTER_MS), 'settle');
  }
});
