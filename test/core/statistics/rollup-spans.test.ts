import test from 'ava';
import * as fc from 'fast-check';
import { cutWindow, type Span } from '../../../core/statistics/rollup-spans.ts';
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';

const T0 = Date.UTC(2026, 2, 14);
const moment = fc.oneof(
  fc.integer({ min: -30, max: 80 }).map((hours) => T0 + hours * HOUR_MS),
  fc.integer({ min: -30 * HOUR_MS, max: 80 * HOUR_MS }).map((ms) => T0 + ms),
);
const rolled = fc.integer({ min: -40, max: 90 }).map((hours) => T0 + hours * HOUR_MS);

function isWhole({ fromMs, toMs }: Span, stepMs: number): boolean {
  return fromMs % stepMs === 0 && toMs % stepMs === 0;
}

test('the parts of a window are contiguous, without gaps or overlaps', (t) => {
  fc.assert(
    fc.property(
      moment,
      moment,
      fc.record({ rolledUntilMs: rolled, coarsest: fc.constantFrom('raw', 'hour', 'day') }),
      (fromMs, toMs, limits) => {
        const { raw, hours, days } = cutWindow({ fromMs, toMs }, limits);
        const parts = [...raw, ...hours, ...days].toSorted((a, b) => a.fromMs - b.fromMs);
        t.true(parts.every((part) => part.fromMs < part.toMs));
        t.true(parts.every((part, index) => part.fromMs === (parts[index - 1]?.toMs ?? fromMs)));
        t.is(parts.at(-1)?.toMs ?? fromMs, Math.max(fromMs, toMs));
        t.true(hours.every((part) => isWhole(part, HOUR_MS) && part.toMs <= limits.rolledUntilMs));
        t.true(days.every((part) => isWhole(part, DAY_MS) && part.toMs <= limits.rolledUntilMs));
      },
    ),
    { numRuns: 2000 },
  );
});

test('a window is read as days in the middle, hours around them and single results at the edges', (t) => {
  const window = { fromMs: T0 - 90 * 60_000, toMs: T0 + 2 * DAY_MS + 90 * 60_000 };
  t.deepEqual(cutWindow(window, { rolledUntilMs: T0 + 3 * DAY_MS, coarsest: 'day' }), {
    raw: [
      { fromMs: window.fromMs, toMs: T0 - HOUR_MS },
      { fromMs: T0 + 2 * DAY_MS + HOUR_MS, toMs: window.toMs },
    ],
    hours: [
      { fromMs: T0 - HOUR_MS, toMs: T0 },
      { fromMs: T0 + 2 * DAY_MS, toMs: T0 + 2 * DAY_MS + HOUR_MS },
    ],
    days: [{ fromMs: T0, toMs: T0 + 2 * DAY_MS }],
  });
});

test('before any rollup a window is read from single results only', (t) => {
  const window = { fromMs: T0, toMs: T0 + DAY_MS };
  t.deepEqual(cutWindow(window, { rolledUntilMs: 0, coarsest: 'day' }), { raw: [window], hours: [], days: [] });
});
