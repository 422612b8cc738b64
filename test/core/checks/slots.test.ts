import test from 'ava';
import * as fc from 'fast-check';
import {
  chooseSlot,
  msUntilTick,
  countSlots,
  isOverdue,
  isTickFar,
  summarizeOverdue,
  slotStartMs,
  planStart,
  startOffsetMs,
  tickMoment,
} from '../../../core/checks/slots.ts';

const COUNTS = [
  { intervalSeconds: 1, slots: 4 },
  { intervalSeconds: 30, slots: 120 },
  { intervalSeconds: 60, slots: 240 },
  { intervalSeconds: 86_400, slots: 240 },
];

for (const { intervalSeconds, slots } of COUNTS) {
  test(`an interval of ${intervalSeconds} s has ${slots} slots, at least 250 ms apart`, (t) => {
    t.is(countSlots(intervalSeconds), slots);
    const starts = Array.from({ length: slots }, (_, slot) => slotStartMs(intervalSeconds, slot));
    t.true(starts.every((start, index) => index === 0 || start - (starts[index - 1] ?? 0) >= 250));
    t.true((starts.at(-1) ?? 0) < intervalSeconds * 1000);
  });
}

test('the first monitors of an interval are spread as far apart as possible', (t) => {
  const occupancy = new Map<number, number>();
  const chosen = Array.from({ length: 4 }, () => {
    const slot = chooseSlot(60, occupancy);
    occupancy.set(slot, 1);
    return slotStartMs(60, slot) / 1000;
  });
  t.deepEqual(chosen, [0, 32, 16, 48]);
});

/** Returns the number of monitors in each slot after this many have chosen theirs in turn. */
function occupy(intervalSeconds: number, monitors: number): Map<number, number> {
  const occupancy = new Map<number, number>();
  for (let monitor = 0; monitor < monitors; monitor += 1) {
    const slot = chooseSlot(intervalSeconds, occupancy);
    occupancy.set(slot, (occupancy.get(slot) ?? 0) + 1);
  }
  return occupancy;
}

const USED = [
  { intervalSeconds: 60, monitors: 14_999, slots: 15 },
  { intervalSeconds: 60, monitors: 15_001, slots: 16 },
  { intervalSeconds: 60, monitors: 30_000, slots: 30 },
  { intervalSeconds: 30, monitors: 600, slots: 15 },
  { intervalSeconds: 4, monitors: 600, slots: 16 },
  { intervalSeconds: 1, monitors: 600, slots: 4 },
  { intervalSeconds: 3600, monitors: 600, slots: 240 },
];

for (const { intervalSeconds, monitors, slots } of USED) {
  test(`${monitors} monitors at ${intervalSeconds} s share ${slots} slots evenly`, (t) => {
    const counts = [...occupy(intervalSeconds, monitors).values()];
    t.is(counts.length, slots);
    t.true(Math.max(...counts) <= Math.max(1000, Math.ceil(monitors / slots)));
    t.true(monitors > 15_000 || Math.max(...counts) - Math.min(...counts) <= 1);
  });
}

test('a new slot is used once all used ones are full, and finally the one with the fewest monitors', (t) => {
  const full = new Map(Array.from({ length: 15 }, (_, index) => [index * 16, 1000]));
  t.is(chooseSlot(60, full), 8);
  const all = new Map(Array.from({ length: 240 }, (_, slot) => [slot, slot === 77 ? 4999 : 5000]));
  t.is(chooseSlot(60, all), 77);
});

test('monitors start within 5 s of their slot, and within the slot or, if longer, 1/15 of the interval', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 86_400 }),
      fc.integer({ min: 1, max: 2 ** 31 - 1 }),
      (intervalSeconds, monitorNo) => {
        const offset = startOffsetMs(intervalSeconds, monitorNo);
        const slotMs = (intervalSeconds * 1000) / countSlots(intervalSeconds);
        return offset >= 0 && offset <= 5000 && offset < Math.max(slotMs, (intervalSeconds * 1000) / 15);
      },
    ),
  );
  t.pass();
});

test('monitors of one slot are spread evenly over it', (t) => {
  const offsets = Array.from({ length: 400 }, (_, index) => startOffsetMs(60, 5000 + index));
  const fifths = [0, 1, 2, 3, 4].map((fifth) => offsets.filter((offset) => Math.floor(offset / 800) === fifth).length);
  t.true(
    fifths.every((count) => count >= 75 && count <= 85),
    fifths.join(),
  );
});

const STARTS = [
  { name: 'an early tick waits for its due time', nowMs: 9700, start: 10_000 },
  { name: 'a slightly late tick starts at once', nowMs: 10_900, start: 10_900 },
  { name: 'a tick so late that the next one is nearer is dropped', nowMs: 45_000, start: null },
  { name: 'a tick that is several intervals late is dropped', nowMs: 500_000, start: null },
];

for (const { name, nowMs, start } of STARTS) {
  test(name, (t) => {
    t.is(planStart({ dueAtMs: 10_000, intervalMs: 60_000, monitorNo: 7 }, nowMs), start);
  });
}

test('after an outage late ticks are spread over the rest of the interval', (t) => {
  const nowMs = 30_000;
  const starts = Array.from(
    { length: 200 },
    (_, index) => planStart({ dueAtMs: 10_000, intervalMs: 60_000, monitorNo: index + 1 }, nowMs) ?? 0,
  );
  t.true(starts.every((start) => start >= nowMs && start <= 70_000));
  const busiestSecond = Math.max(
    ...[...Map.groupBy(starts, (start) => Math.floor(start / 1000)).values()].map((group) => group.length),
  );
  t.true(busiestSecond <= 15, `${busiestSecond} in one second`);
});

test("a monitor's next tick is at its own offset, and a full interval after a tick", (t) => {
  const tick = tickMoment({ intervalSeconds: 60, slot: 60 }, 3);
  const offsetMs = slotStartMs(60, 60) + startOffsetMs(60, 3);
  t.is(msUntilTick(tick, 60_000), offsetMs);
  t.is(msUntilTick(tick, 60_000 + offsetMs), 60_000);
  t.is(msUntilTick(tick, 60_001 + offsetMs), 59_999);
});

test("a new monitor waits for a near tick unless that tick's job has already read its monitors", (t) => {
  const tick = { intervalSeconds: 60, slotMs: 10_000, offsetMs: 1500 };
  t.true(isTickFar(tick, 9000), 'two and a half seconds ahead');
  t.false(isTickFar(tick, 9600), 'in two seconds, and its job fires in a tenth');
  t.true(isTickFar(tick, 9700), 'its job has fired');
  t.true(isTickFar(tick, 11_400));
  t.true(isTickFar(tick, 11_500), 'now: the next one is an interval away');
  for (let nowMs = 0; nowMs < 1000; nowMs += 10)
    t.false(isTickFar({ intervalSeconds: 1, slotMs: 250, offsetMs: 120 }, nowMs), 'the following tick is near as well');
});

const NOW_MS = 1_700_000_000_000;
const OLD = NOW_MS / 1000 - 30 * 86_400;
const watched = {
  type: 'http',
  target: 'https://shop.example',
  enabled: true,
  intervalSeconds: 60,
  createdAt: OLD,
  updatedAt: OLD,
} as const;

const LIMITS = [
  { intervalSeconds: 1, limitSeconds: 61 },
  { intervalSeconds: 30, limitSeconds: 90 },
  { intervalSeconds: 60, limitSeconds: 180 },
  { intervalSeconds: 86_400, limitSeconds: 259_200 },
];

for (const { intervalSeconds, limitSeconds } of LIMITS) {
  test(`checks every ${intervalSeconds} s are overdue more than ${limitSeconds} s after the last one`, (t) => {
    const lastMs = NOW_MS - limitSeconds * 1000;
    t.false(isOverdue({ ...watched, intervalSeconds }, lastMs, NOW_MS));
    t.true(isOverdue({ ...watched, intervalSeconds }, lastMs - 1, NOW_MS));
  });
}

test('overdue time counts from creation or the last edit if there is no later check', (t) => {
  const nowSeconds = NOW_MS / 1000;
  t.true(isOverdue(watched, undefined, NOW_MS));
  t.false(isOverdue({ ...watched, createdAt: nowSeconds - 180, updatedAt: nowSeconds - 180 }, undefined, NOW_MS));
  t.true(isOverdue({ ...watched, createdAt: nowSeconds - 181, updatedAt: nowSeconds - 181 }, undefined, NOW_MS));
  t.false(isOverdue({ ...watched, updatedAt: nowSeconds - 10 }, NOW_MS - 3_600_000, NOW_MS));
  t.false(isOverdue(watched, NOW_MS + 5000, NOW_MS), 'a clock that was ahead');
});

test('paused monitors, drafts and heartbeats are never overdue', (t) => {
  for (const other of [{ enabled: false }, { target: '' }, { type: 'heartbeat' }] as const)
    t.false(isOverdue({ ...watched, ...other }, undefined, NOW_MS));
});

test('if every checked monitor is overdue, checks have stopped since the newest one', (t) => {
  const [older, newer] = [NOW_MS - 900_000, NOW_MS - 600_000];
  const say = (...lastChecks: (number | undefined)[]) =>
    summarizeOverdue(
      [
        ...lastChecks.map((lastCheckAtMs) => ({ ...watched, lastCheckAtMs })),
        { ...watched, enabled: false, lastCheckAtMs: NOW_MS },
        { ...watched, type: 'heartbeat', lastCheckAtMs: NOW_MS },
      ],
      NOW_MS,
    );
  t.deepEqual(say(older, newer, undefined), { overdue: 3, noChecksSinceMs: newer });
  t.deepEqual(say(older, NOW_MS - 1000), { overdue: 1, noChecksSinceMs: null });
  t.deepEqual(say(undefined), { overdue: 1, noChecksSinceMs: null }, 'there was none');
  t.deepEqual(say(), { overdue: 0, noChecksSinceMs: null });
});
