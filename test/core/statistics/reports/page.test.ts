import test from 'ava';
import { DAYS, hatchBar } from '../../../../core/statistics/reports/page.ts';

test('only bars of days that do not count are hatched, within their height', (t) => {
  const states = Object.keys(DAYS) as (keyof typeof DAYS)[];
  const bar = { x: 3, width: 10, height: 14 };
  t.deepEqual(states.filter((state) => hatchBar({ state, ...bar }) !== '').toSorted(), [
    'maintenance',
    'paused',
    'pending',
    'unknown',
  ]);
  t.is(hatchBar({ state: 'unknown', ...bar }), 'M3 2h10M3 6h10M3 10h10');
});
