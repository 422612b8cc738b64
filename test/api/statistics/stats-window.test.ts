import test from 'ava';
import * as fc from 'fast-check';
import { ApiError } from '../../../api/api-error.ts';
import {
  edgesOf,
  readStatsWindow,
  STEP_MS,
  type RequestedWindow,
  type Resolution,
} from '../../../api/statistics/stats-window.ts';

const NOW = 1_773_146_096;
const DAY = 86_400;
const AT = { nowMs: NOW * 1000 + 789, resultDays: 30, results: { since: 0, perSecond: 1 / 60 } };

function refusalOf(requested: RequestedWindow): string {
  try {
    readStatsWindow(requested, AT);
    return 'none';
  } catch (error) {
    return error instanceof ApiError && error.status === 400 ? error.message : String(error);
  }
}

test('the default window is the last day, up to the previous second', (t) => {
  const whole = (from: number, to: number) => ({
    from,
    to,
    resolution: 'five_minutes',
    countedFrom: from,
    countedTo: to,
  });
  t.deepEqual(readStatsWindow({}, AT), whole(NOW - DAY, NOW));
  t.deepEqual(readStatsWindow({ to: NOW + 10_000 }, AT), whole(NOW - DAY, NOW));
  t.deepEqual(readStatsWindow({ to: NOW - 100 }, AT), whole(NOW - 100 - DAY, NOW - 100));
});

test('beyond the retention of results checks are counted by whole hours inside the window', (t) => {
  const counted = (from: number, to: number) => {
    const { countedFrom, countedTo } = readStatsWindow({ from, to }, { ...AT, resultDays: 7 });
    return [countedFrom, countedTo];
  };
  const hour = Math.floor((NOW - 8 * DAY) / 3600) * 3600;
  t.deepEqual(counted(hour + 1, hour + 7201), [hour + 3600, hour + 7200]);
  t.deepEqual(counted(hour + 1, NOW - 5), [hour + 3600, NOW - 5]);
  t.deepEqual(counted(hour + 600, hour + 1200), [hour + 3600, hour + 3600]);
  t.deepEqual(counted(NOW - 6 * DAY, NOW - 5), [NOW - 6 * DAY, NOW - 5]);
});

test('auto chooses a resolution that fits the window, and at least an hour without single results', (t) => {
  const chosen = (from: number, to = NOW) => readStatsWindow({ from, to, resolution: 'auto' }, AT).resolution;
  t.is(chosen(NOW - 1), 'minute');
  t.is(chosen(NOW - 3 * 3600), 'minute');
  t.is(chosen(NOW - 3 * 3600 - 1), 'five_minutes');
  t.is(chosen(NOW - 2 * DAY - 1), 'hour');
  t.is(chosen(NOW - 31 * DAY), 'hour');
  t.is(chosen(NOW - 90 * DAY), 'day');
  t.is(chosen(NOW - 400 * DAY), 'day');
  t.is(chosen(NOW - 60 * DAY, NOW - 60 * DAY + 3600), 'hour');
});

test('before the retention of hours a window with a whole day has no steps of hours, whose checks are gone', (t) => {
  const chosen = (from: number, to: number) => readStatsWindow({ from, to }, AT).resolution;
  const midnight = Math.floor(NOW / DAY) * DAY - 150 * DAY;
  t.is(chosen(midnight, midnight + 31 * DAY), 'day');
  t.is(chosen(midnight, midnight + DAY), 'day');
  t.is(chosen(midnight + 1, midnight + 2 * DAY - 1), 'hour');
  const before = Math.floor(NOW / DAY) * DAY - 100 * DAY;
  t.is(chosen(before, before + 10 * DAY), 'hour');
  t.is(chosen(before - 1, before + 10 * DAY), 'day');
  t.is(
    refusalOf({ from: before - 1, to: before + 10 * DAY, resolution: 'hour' }),
    `resolution must be day when from is before ${before}, got hour: hourly figures are kept for 100 days`,
  );
  t.is(
    refusalOf({ from: midnight, to: midnight + DAY, resolution: 'minute' }),
    `resolution must be day when from is before ${NOW - 30 * DAY}, got minute: raw results are kept for 30 days`,
  );
});

test('with too many single results none are read, and the resolution is an hour', (t) => {
  const often = { ...AT, results: { since: NOW - 3 * DAY, perSecond: 4 } };
  t.is(readStatsWindow({}, often).resolution, 'hour');
  t.is(readStatsWindow({ from: NOW - 74_000 }, often).resolution, 'five_minutes');
  t.is(readStatsWindow({ from: NOW - 40 * DAY }, often).resolution, 'day');
  // There are no results from before the monitor was created.
  t.is(
    readStatsWindow({ from: NOW - DAY }, { ...AT, results: { since: NOW - 74_000, perSecond: 4 } }).resolution,
    'five_minutes',
  );
  t.throws(() => readStatsWindow({ resolution: 'five_minutes' }, often), {
    message:
      'resolution must be hour or coarser for this window, got five_minutes: a monitor that is checked so often has ' +
      'more than 300000 results in it',
  });
});

test('an invalid window is refused with a message that states the limit or what is allowed', (t) => {
  t.is(refusalOf({ from: 100, to: 100 }), 'from must be before to (100), got 100');
  t.is(refusalOf({ from: 200, to: 100 }), 'from must be before to (100), got 200');
  t.is(refusalOf({ from: NOW }), `from must be before now (${NOW}), got ${NOW}`);
  t.is(refusalOf({ from: NOW + 5, to: NOW + 50 }), `from must be before now (${NOW}), got ${NOW + 5}`);
  t.is(
    refusalOf({ from: NOW - 400 * DAY - 1 }),
    `from must be at most 400 days before to (${NOW}), got ${NOW - 400 * DAY - 1}`,
  );
  t.is(
    refusalOf({ from: NOW - 10 * DAY, resolution: 'minute' }),
    'resolution must be hour or coarser for this window, got minute: that would be 14401 points, and the ' +
      'limit is 1500',
  );
  t.is(
    refusalOf({ from: NOW - 4 * DAY, resolution: 'minute' }),
    'resolution must be five_minutes or coarser for this window, got minute: that would be 5761 points, and the ' +
      'limit is 1500',
  );
  t.is(
    refusalOf({ from: NOW - 100 * DAY, resolution: 'hour' }),
    'resolution must be day for this window, got hour: that would be 2401 points, and the limit is 1500',
  );
  t.is(
    refusalOf({ from: NOW - 31 * DAY, to: NOW - 31 * DAY + 60, resolution: 'minute' }),
    `resolution must be hour or day when from is before ${NOW - 30 * DAY}, got minute: raw results are kept ` +
      'for 30 days',
  );
});

test('steps start and end with the window, and the edges between them are multiples of the step', (t) => {
  const window = fc.tuple(
    fc.integer({ min: 0, max: 3 * DAY }),
    fc.integer({ min: 1, max: DAY }),
    fc.constantFrom<Resolution>('minute', 'five_minutes', 'hour', 'day'),
  );
  fc.assert(
    fc.property(window, ([from, length, resolution]) => {
      const edges = edgesOf({ from, to: from + length, resolution });
      t.is(edges[0], from);
      t.is(edges.at(-1), from + length);
      t.true(
        edges
          .slice(1)
          .every(
            (edge, index) => edge > (edges[index] ?? 0) && edge - (edges[index] ?? 0) <= STEP_MS[resolution] / 1000,
          ),
      );
      t.true(edges.slice(1, -1).every((edge) => (edge * 1000) % STEP_MS[resolution] === 0));
    }),
  );
  t.pass();
});
