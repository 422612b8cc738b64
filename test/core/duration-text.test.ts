import test from 'ava';
import { formatDuration } from '../../core/time.ts';

const CASES: readonly [seconds: number, text: string][] = [
  [-5, 'less than a second'],
  [0, 'less than a second'],
  [0.9, 'less than a second'],
  [1, '1 second'],
  [59.9, '59 seconds'],
  [60, '1 minute'],
  [200, '3 minutes 20 seconds'],
  [3599, '59 minutes 59 seconds'],
  [3600, '1 hour'],
  [3659, '1 hour'],
  [7260, '2 hours 1 minute'],
  [86_399, '23 hours 59 minutes'],
  [86_400, '1 day'],
  [90_061, '1 day 1 hour'],
  [8_640_000, '100 days'],
];
for (const [seconds, text] of CASES) {
  test(`${seconds} s is ${text}`, (t) => {
    t.is(formatDuration(seconds), text);
  });
}
