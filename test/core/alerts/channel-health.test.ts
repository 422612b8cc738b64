import test from 'ava';
import { isFailing } from '../../../core/alerts/channel-message.ts';

const NOW_MS = 1_763_720_000_000;
const DAY_MS = 86_400_000;

const CASES: [failures: number, forMs: number, expected: boolean][] = [
  [1, 0, false],
  [99, 3 * DAY_MS - 1, false],
  [100, 0, true],
  [101, 0, true],
  [2, 3 * DAY_MS, true],
  [2, 3 * DAY_MS - 1, false],
  [0, 30 * DAY_MS, false],
];

for (const [failures, forMs, expected] of CASES) {
  test(`${failures} failures in a row over ${forMs} ms are ${expected ? '' : 'not yet '}worth telling`, (t) => {
    t.is(isFailing({ failures, failingSinceMs: NOW_MS - forMs }, NOW_MS), expected);
  });
}
