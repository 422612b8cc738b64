import test from 'ava';
import { Clock } from '../../agent/clock.ts';
import { assign, type Assignment } from '../../agent/work.ts';
import { agentOffsetMs } from '../../core/agents/ticks.ts';
import { manualTime } from '../helpers/manual-time.ts';

function assignment(
  monitorId: string,
  overrides: { intervalSeconds?: number; target?: string; askedAt?: number } = {},
): Assignment {
  const item = {
    monitorId,
    sourceKey: 'agt_1',
    type: 'http',
    target: 'http://127.0.0.1:9/',
    intervalSeconds: 60,
    timeoutMs: 5000,
    method: 'GET',
    expectedStatus: '2xx',
    followRedirects: true,
    checkSpec: {},
    ...overrides,
  } as const;
  return assign(item, { outcome: 'opened', secrets: {} });
}

/** Starts a clock on manual time and records every probe that it starts; each probe takes `probeMs`. */
function startedClock({ probeMs = 100, concurrency = 100, startMs = 1_800_000_000_000 } = {}) {
  const time = manualTime(startMs);
  const starts: { monitorId: string; target: string | undefined; atMs: number; plannedAtMs: number }[] = [];
  let running = 0;
  let mostRunning = 0;
  const clock = new Clock({
    ...time,
    concurrency,
    async run({ monitorId, target }, plannedAtMs) {
      starts.push({ monitorId, target: target?.target, atMs: time.now(), plannedAtMs });
      running += 1;
      mostRunning = Math.max(mostRunning, running);
      await new Promise<void>((resolve) => void time.wake(probeMs, resolve));
      running -= 1;
    },
  });
  return { clock, time, starts, mostRunning: () => mostRunning };
}

const offsetOf = (monitorId: string, intervalSeconds = 60) =>
  agentOffsetMs({ sourceKey: 'agt_1', monitorId, intervalSeconds });

test('new work is checked at once, then at its own offset in each interval', async (t) => {
  const { clock, time, starts } = startedClock();
  clock.assign([assignment('mon_1')]);
  await time.pass(0);
  t.deepEqual(
    starts.map(({ atMs }) => atMs),
    [1_800_000_000_000],
  );
  await time.pass(180_000);
  t.deepEqual(
    starts.slice(1).map(({ atMs }) => atMs % 60_000),
    [offsetOf('mon_1'), offsetOf('mon_1'), offsetOf('mon_1')],
  );
});

test('the offset survives a restart: clocks started at different times tick at the same times', async (t) => {
  const ticks = [0, 23_456].map(async (aheadMs) => {
    const { clock, time, starts } = startedClock({ startMs: 1_800_000_000_000 + aheadMs });
    clock.assign([assignment('mon_1')]);
    await time.pass(130_000);
    return starts.slice(1, 3).map(({ atMs }) => atMs % 60_000);
  });
  const [first, second] = await Promise.all(ticks);
  t.deepEqual(first, second);
});

test('a requested recheck runs once, at once, and leaves the offset unchanged', async (t) => {
  const { clock, time, starts } = startedClock();
  const tickMs = 1_800_000_000_000 + offsetOf('mon_1');
  clock.assign([assignment('mon_1', { askedAt: 1 })]);
  await time.pass(offsetOf('mon_1') + 5000);
  for (let pull = 0; pull < 2; pull += 1) {
    clock.assign([assignment('mon_1', { askedAt: 2 })]);
    await time.pass(1000);
  }
  await time.pass(60_000);
  t.deepEqual(
    starts.slice(1).map(({ atMs }) => atMs),
    [tickMs, tickMs + 5000, tickMs + 60_000],
  );
});

test('new work whose tick is within two seconds waits for it', async (t) => {
  const tickMs = 1_800_000_000_000 + offsetOf('mon_1');
  const { clock, time, starts } = startedClock({ startMs: tickMs - 1500 });
  clock.assign([assignment('mon_1')]);
  await time.pass(10_000);
  t.deepEqual(
    starts.map(({ atMs }) => atMs),
    [tickMs],
  );
});

test('the first checks of many monitors are spread out, about 50 per second', async (t) => {
  const { clock, time, starts } = startedClock();
  clock.assign(Array.from({ length: 200 }, (_, index) => assignment(`mon_${index}`, { intervalSeconds: 3600 })));
  await time.pass(1000);
  t.true(starts.length > 40 && starts.length < 60, `${starts.length} in the first second`);
  await time.pass(4000);
  t.is(new Set(starts.map(({ monitorId }) => monitorId)).size, 200);
});

test('unchanged work keeps its times, changed work runs at once with new settings, removed work stops', async (t) => {
  const { clock, time, starts } = startedClock();
  clock.assign([assignment('mon_1'), assignment('mon_2')]);
  await time.pass(70_000);
  starts.length = 0;
  clock.assign([assignment('mon_1'), assignment('mon_2', { target: 'http://127.0.0.1:10/' })]);
  await time.pass(1);
  t.deepEqual(
    starts.map(({ monitorId, target }) => [monitorId, target]),
    [['mon_2', 'http://127.0.0.1:10/']],
  );
  clock.assign([assignment('mon_1')]);
  starts.length = 0;
  await time.pass(120_000);
  t.deepEqual(
    starts.map(({ monitorId }) => monitorId),
    ['mon_1', 'mon_1'],
  );
});

test('a monitor changed during its probe is probed again right after it, never concurrently', async (t) => {
  const { clock, time, starts, mostRunning } = startedClock({ probeMs: 4000 });
  clock.assign([assignment('mon_1', { intervalSeconds: 3600 })]);
  await time.pass(1000);
  clock.assign([assignment('mon_1', { intervalSeconds: 3600, target: 'http://127.0.0.1:10/' })]);
  await time.pass(10_000);
  t.deepEqual(
    starts.map(({ atMs, target }) => [atMs - 1_800_000_000_000, target]),
    [
      [0, 'http://127.0.0.1:9/'],
      [4000, 'http://127.0.0.1:10/'],
    ],
  );
  t.is(mostRunning(), 1);
});

test('a tick that would overlap the previous probe is skipped', async (t) => {
  const { clock, time, starts, mostRunning } = startedClock({ probeMs: 2500 });
  clock.assign([assignment('mon_1', { intervalSeconds: 1 })]);
  await time.pass(12_000);
  t.is(mostRunning(), 1);
  t.true(starts.length >= 4 && starts.length <= 5, `${starts.length} starts`);
});

test('probes beyond the concurrency limit start late, and none is lost', async (t) => {
  const { clock, time, starts, mostRunning } = startedClock({ probeMs: 1000, concurrency: 3 });
  clock.assign(Array.from({ length: 30 }, (_, index) => assignment(`mon_${index}`, { intervalSeconds: 3600 })));
  await time.pass(11_000);
  t.is(mostRunning(), 3);
  t.is(new Set(starts.map(({ monitorId }) => monitorId)).size, 30);
  t.true(Math.max(...starts.map(({ atMs, plannedAtMs }) => atMs - plannedAtMs)) > 8000);
});

test('after the machine slept, missed checks are spread out rather than run at once', async (t) => {
  const { clock, time, starts } = startedClock();
  const monitors = Array.from({ length: 100 }, (_, index) => assignment(`mon_${index}`));
  clock.assign(monitors);
  await time.pass(70_000);
  starts.length = 0;
  time.jump(8 * 3_600_000);
  await time.pass(6000);
  t.true(starts.length < 25, `${starts.length} starts in the first seconds`);
  await time.pass(60_000);
  t.is(new Set(starts.map(({ monitorId }) => monitorId)).size, 100);
});

test('an hourly check missed during a short sleep runs before its next tick', async (t) => {
  const tickMs = 1_800_000_000_000 + offsetOf('mon_1', 3600);
  const { clock, time, starts } = startedClock({ startMs: tickMs - 60_000 });
  clock.assign([assignment('mon_1', { intervalSeconds: 3600 })]);
  await time.pass(1000);
  starts.length = 0;
  time.jump(600_000);
  await time.pass(70_000);
  t.is(starts.length, 1);
});

test('checks go on after the clock is set back by an hour', async (t) => {
  const { clock, time, starts } = startedClock();
  clock.assign([assignment('mon_1')]);
  await time.pass(70_000);
  starts.length = 0;
  time.jump(-3_600_000);
  await time.pass(70_000);
  t.is(starts.length, 1);
});

test('a recheck runs once, at its time, and the ticks go on as before', async (t) => {
  const { clock, time, starts } = startedClock();
  clock.assign([assignment('mon_1')]);
  await time.pass(1000 + offsetOf('mon_1'));
  starts.length = 0;
  clock.recheck('mon_1', time.now() + 20_000);
  clock.recheck('mon_1', time.now() + 25_000);
  await time.pass(58_000);
  t.deepEqual(
    starts.map(({ atMs, plannedAtMs }) => [(atMs - offsetOf('mon_1')) % 60_000, plannedAtMs - atMs]),
    [[21_000, 0]],
  );
  await time.pass(2000);
  t.is(starts.length, 2);
});

const NO_RECHECKS: readonly [why: string, monitorId: string, aheadMs: number][] = [
  ['in the past', 'mon_1', -1],
  ['after the next tick', 'mon_1', 59_500],
  ['of an unassigned monitor', 'mon_9', 20_000],
];
for (const [why, monitorId, aheadMs] of NO_RECHECKS) {
  test(`a recheck ${why} is skipped`, async (t) => {
    const { clock, time, starts } = startedClock();
    clock.assign([assignment('mon_1')]);
    await time.pass(1000 + offsetOf('mon_1'));
    starts.length = 0;
    clock.recheck(monitorId, time.now() + aheadMs);
    await time.pass(58_900);
    t.is(starts.length, 0);
  });
}

test('hundreds of monitors share a few timers', async (t) => {
  const { clock, time } = startedClock();
  clock.assign(Array.from({ length: 500 }, (_, index) => assignment(`mon_${index}`)));
  await time.pass(120_000);
  t.true(time.pending() < 10, `${time.pending()} timers`);
});

test('stopping starts no more probes and waits for the running ones', async (t) => {
  const { clock, time, starts } = startedClock({ probeMs: 5000, concurrency: 1 });
  clock.assign([assignment('mon_1'), assignment('mon_2')]);
  await time.pass(1000);
  let isStopped = false;
  const stopped = clock.stop().then(() => (isStopped = true));
  await time.pass(3000);
  t.false(isStopped);
  await time.pass(1500);
  t.true(await stopped);
  await time.pass(120_000);
  t.is(starts.length, 1);
});
