import test from 'ava';
import * as fc from 'fast-check';
import { backoffMs, retryAfterMs } from '../../agent/service-client.ts';

test('the wait lies between a second and a bound that doubles up to a minute', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (failures, random) => {
        const waitMs = backoffMs({ failures, requestedWaitMs: null, random: () => random });
        return waitMs >= 1000 && waitMs <= Math.min(60_000, 1000 * 2 ** failures);
      },
    ),
  );
  t.is(backoffMs({ failures: 1, requestedWaitMs: null, random: () => 0.999_999 }) > 1900, true);
  t.is(backoffMs({ failures: 20, requestedWaitMs: null, random: () => 0.5 }), 30_500);
});

test('what the server asks for is kept to, ten minutes at the most', (t) => {
  t.is(backoffMs({ failures: 1, requestedWaitMs: 90_000, random: () => 0 }), 90_000);
  t.is(backoffMs({ failures: 1, requestedWaitMs: 0, random: () => 0 }), 1000);
  t.is(backoffMs({ failures: 1, requestedWaitMs: 86_400_000, random: () => 0 }), 600_000);
});

const HEADERS: readonly [header: string | undefined, ms: number | null][] = [
  [undefined, null],
  ['7', 7000],
  ['0', 0],
  ['Fri, 15 Jan 2027 08:00:30 GMT', 30_000],
  ['Fri, 15 Jan 2027 07:00:00 GMT', 0],
  ['soon', null],
  ['-5', 0],
];
for (const [header, ms] of HEADERS) {
  test(`Retry-After ${header} is ${ms} ms`, (t) => {
    // Node reads a bare negative number as a year, which is long past.
    t.is(retryAfterMs(header, Date.parse('2027-01-15T08:00:00Z')), ms);
  });
}
