import test from 'ava';
import * as fc from 'fast-check';
import {
  arrangeHeartbeat,
  nextExpectedAt,
  PING_KINDS,
  takePing,
  type Heartbeat,
  type HeartbeatSettings,
  type Ping,
} from '../../../core/heartbeats/deadlines.ts';
import type { RunSchedule } from '../../../core/heartbeats/schedule.ts';

const START_MS = 1_700_000_000_000;
const SETTINGS: HeartbeatSettings = {
  intervalSeconds: 60,
  schedule: null,
  graceSeconds: 30,
  maxDurationSeconds: null,
  failEnabled: true,
};

const at = (second: number): number => START_MS + second * 1000;
const ping = (kind: Ping['kind'], exitStatus: number | null = null): Ping => ({ kind, exitStatus, body: null });

function made(settings: Partial<HeartbeatSettings> = {}): Heartbeat {
  return arrangeHeartbeat(null, { settings: { ...SETTINGS, ...settings }, enabled: true }, START_MS);
}

/** Applies pings at the given seconds; returns the heartbeat and the result of the last one. */
function after(heartbeat: Heartbeat, pings: readonly (readonly [second: number, ping: Ping])[]) {
  let current = heartbeat;
  let last: { durationMs: number | null; mayChangeState: boolean } | null = null;
  for (const [second, sent] of pings) {
    const taken = takePing(current, sent, at(second));
    if (taken.outcome === 'refused') throw new Error('refused');
    current = taken.heartbeat;
    last = { durationMs: taken.stored?.durationMs ?? null, mayChangeState: taken.mayChangeState };
  }
  return { heartbeat: current, last };
}

function arranged(heartbeat: Heartbeat, settings: Partial<HeartbeatSettings>, second: number): Heartbeat {
  const { intervalSeconds, schedule, graceSeconds, maxDurationSeconds, failEnabled } = { ...heartbeat, ...settings };
  return arrangeHeartbeat(
    heartbeat,
    { settings: { intervalSeconds, schedule, graceSeconds, maxDurationSeconds, failEnabled }, enabled: true },
    at(second),
  );
}

test('a new heartbeat is due after interval and grace, so a job that never runs is reported', (t) => {
  t.like(made(), { dueAtMs: at(90), overrunAtMs: null, verdict: null, isPaused: false });
});

test('every kind of ping moves the deadline to interval plus grace from now', (t) => {
  for (const sent of [ping('success'), ping('start'), ping('fail'), ping('exit', 0), ping('exit', 255)])
    t.is(after(made(), [[50, sent]]).heartbeat.dueAtMs, at(140));
});

test('the first success and the first one after a failure may change the state, repeated ones do not', (t) => {
  t.true(after(made(), [[1, ping('success')]]).last?.mayChangeState);
  t.false(
    after(made(), [
      [1, ping('success')],
      [61, ping('exit', 0)],
    ]).last?.mayChangeState,
  );
  t.true(
    after(made(), [
      [1, ping('success')],
      [61, ping('fail')],
      [121, ping('exit', 0)],
    ]).last?.mayChangeState,
  );
});

test('every failure may change the state, and a start never does', (t) => {
  t.true(
    after(made(), [
      [1, ping('fail')],
      [61, ping('fail')],
    ]).last?.mayChangeState,
  );
  t.true(
    after(made(), [
      [1, ping('exit', 1)],
      [61, ping('exit', 2)],
    ]).last?.mayChangeState,
  );
  t.false(after(made(), [[1, ping('start')]]).last?.mayChangeState);
  t.is(
    after(made(), [
      [1, ping('fail')],
      [2, ping('start')],
    ]).heartbeat.verdict,
    'down',
  );
});

test('failure pings in any form are refused if they are disabled, and all other pings are accepted', (t) => {
  const heartbeat = made({ failEnabled: false });
  for (const sent of [ping('fail'), ping('exit', 1), ping('exit', 255)])
    t.is(takePing(heartbeat, sent, at(1)).outcome, 'refused');
  for (const sent of [ping('success'), ping('start'), ping('exit', 0)])
    t.is(takePing(heartbeat, sent, at(1)).outcome, 'taken');
});

test('a run is measured from the newest start, and has no duration without one', (t) => {
  t.is(
    after(made(), [
      [1, ping('start')],
      [5, ping('success')],
    ]).last?.durationMs,
    4000,
  );
  t.is(
    after(made(), [
      [1, ping('start')],
      [3, ping('start')],
      [5, ping('exit', 1)],
    ]).last?.durationMs,
    2000,
  );
  t.is(
    after(made(), [
      [1, ping('start')],
      [5, ping('success')],
      [9, ping('success')],
    ]).last?.durationMs,
    null,
  );
});

test('a run must end in time; a second start does not extend the limit, and any end clears it', (t) => {
  const heartbeat = made({ maxDurationSeconds: 20 });
  t.is(after(heartbeat, [[1, ping('start')]]).heartbeat.overrunAtMs, at(21));
  t.is(
    after(heartbeat, [
      [1, ping('start')],
      [10, ping('start')],
    ]).heartbeat.overrunAtMs,
    at(21),
  );
  for (const end of [ping('success'), ping('fail'), ping('exit', 3)])
    t.is(
      after(heartbeat, [
        [1, ping('start')],
        [10, end],
      ]).heartbeat.overrunAtMs,
      null,
    );
  t.is(after(made(), [[1, ping('start')]]).heartbeat.overrunAtMs, null);
});

test('a duplicate ping within 200 ms only moves the deadline; a different or later one counts', (t) => {
  const first = after(made(), [[1, ping('exit', 1)]]).heartbeat;
  const repeated = takePing(first, ping('exit', 1), at(1.199));
  t.like(repeated, { outcome: 'taken', stored: null, mayChangeState: false });
  t.is(repeated.outcome === 'taken' && repeated.heartbeat.dueAtMs, at(91.199));
  t.like(takePing(first, ping('exit', 2), at(1.1)), { mayChangeState: true });
  t.like(takePing(first, ping('exit', 1), at(1.2)), { mayChangeState: true });
});

test('pings to a paused heartbeat are accepted and change nothing', (t) => {
  const paused = arrangeHeartbeat(
    after(made(), [[1, ping('start')]]).heartbeat,
    { settings: SETTINGS, enabled: false },
    at(2),
  );
  t.like(paused, { isPaused: true, verdict: null, dueAtMs: null, overrunAtMs: null, runStartedAtMs: null });
  const { heartbeat, last } = after(paused, [
    [3, ping('start')],
    [4, ping('fail')],
  ]);
  t.like(heartbeat, { isPaused: true, verdict: null, dueAtMs: null, overrunAtMs: null, runStartedAtMs: null });
  t.deepEqual(last, { durationMs: null, mayChangeState: false });
});

test('a resumed heartbeat starts over, and a success as before the pause may change the state', (t) => {
  const paused = arrangeHeartbeat(
    after(made(), [[1, ping('success')]]).heartbeat,
    { settings: SETTINGS, enabled: false },
    at(2),
  );
  const resumed = arrangeHeartbeat(paused, { settings: SETTINGS, enabled: true }, at(3600));
  t.like(resumed, { verdict: null, dueAtMs: at(3690) });
  t.true(after(resumed, [[3600, ping('success')]]).last?.mayChangeState);
});

test('a new interval counts from the newest ping, and a shorter one never causes a missed ping', (t) => {
  const pinged = after(made(), [[10, ping('success')]]).heartbeat;
  t.is(arranged(pinged, { intervalSeconds: 600 }, 50).dueAtMs, at(640));
  t.is(arranged(pinged, { intervalSeconds: 5, graceSeconds: 5 }, 50).dueAtMs, at(60));
  t.is(arranged(pinged, { intervalSeconds: 5, graceSeconds: 5 }, 95).dueAtMs, at(100));
  t.is(arranged(pinged, {}, 95).dueAtMs, pinged.dueAtMs);
  t.is(arranged({ ...pinged, dueAtMs: null }, { intervalSeconds: 600 }, 50).dueAtMs, null);
});

test('a new maximum duration counts from the start of the current run, and clearing it removes the limit', (t) => {
  const running = after(made({ maxDurationSeconds: 20 }), [[1, ping('start')]]).heartbeat;
  t.is(arranged(running, { maxDurationSeconds: 40 }, 10).overrunAtMs, at(41));
  t.is(arranged(running, { maxDurationSeconds: 5 }, 10).overrunAtMs, at(10));
  t.is(arranged(running, { maxDurationSeconds: null }, 10).overrunAtMs, null);
  t.is(arranged(after(made(), [[1, ping('start')]]).heartbeat, { maxDurationSeconds: 30 }, 10).overrunAtMs, at(31));
  t.is(arranged(made(), { maxDurationSeconds: 30 }, 10).overrunAtMs, null);
});

test('in any order of pings, times only increase, the deadline is ahead, and the last end gives the verdict', (t) => {
  const pings = fc.array(
    fc.tuple(
      fc.integer({ min: -3000, max: 100_000 }),
      fc.constantFrom(...PING_KINDS),
      fc.integer({ min: 0, max: 255 }),
    ),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(pings, (sent) => {
      let heartbeat = made({ maxDurationSeconds: 50 });
      let expected: Heartbeat['verdict'] = null;
      for (const [offsetMs, kind, status] of sent) {
        const report = ping(kind, kind === 'exit' ? status : null);
        const taken = takePing(heartbeat, report, START_MS + offsetMs);
        if (taken.outcome === 'refused') return false;
        if (taken.stored !== null && taken.stored.atMs <= heartbeat.receivedAtMs) return false;
        if (kind !== 'start') expected = kind === 'fail' || (kind === 'exit' && status !== 0) ? 'down' : 'up';
        heartbeat = taken.heartbeat;
        if ((heartbeat.dueAtMs ?? 0) < START_MS + offsetMs + 90_000 || heartbeat.verdict !== expected) return false;
        if ((heartbeat.overrunAtMs !== null) !== (heartbeat.runStartedAtMs !== null)) return false;
      }
      return true;
    }),
  );
  t.pass();
});

/** Schedules a run at each multiple of the given seconds from the start; a ping may arrive 20 s early. */
function every(seconds: number): RunSchedule {
  const runAfter = (ms: number) => at((Math.floor((ms - START_MS) / 1000 / seconds) + 1) * seconds);
  return { cron: `every ${seconds}`, timezone: 'UTC', earlySeconds: 20, runAfter };
}

const HOURLY = { schedule: every(3600), graceSeconds: 300 };

test('a new heartbeat with a schedule is due at its next run plus grace', (t) => {
  const heartbeat = made(HOURLY);
  t.is(heartbeat.dueAtMs, at(3900));
  t.is(nextExpectedAt(heartbeat, at(10)), at(3600));
});

test('just before a run a new heartbeat expects it; a resumed one does not, as its ping may have arrived', (t) => {
  const settings = { ...SETTINGS, ...HOURLY };
  const created = arrangeHeartbeat(null, { settings, enabled: true }, at(3590));
  t.is(nextExpectedAt(created, at(3590)), at(3600));
  const paused = arrangeHeartbeat(created, { settings, enabled: false }, at(3591));
  t.is(nextExpectedAt(arrangeHeartbeat(paused, { settings, enabled: true }, at(3592)), at(3592)), at(7200));
  t.is(nextExpectedAt(arrangeHeartbeat(paused, { settings, enabled: true }, at(3570)), at(3570)), at(7200));
});

const RUNS: readonly [ping: number, run: number, what: string][] = [
  [3579, 3600, 'more than early_seconds before a run does not count for that run'],
  [3580, 7200, 'early_seconds before a run counts for that run'],
  [3599, 7200, 'shortly before a run counts for that run'],
  [3600, 7200, 'at the time of a run counts for that run'],
  [3899, 7200, 'within the grace period counts for the run before it'],
  [7100, 7200, 'after the grace period does not count for the next run'],
];
for (const [second, run, what] of RUNS) {
  test(`a ping to a scheduled heartbeat ${what}`, (t) => {
    for (const sent of [ping('success'), ping('start'), ping('fail'), ping('exit', 0)]) {
      const { heartbeat } = after(made(HOURLY), [[second, sent]]);
      t.is(heartbeat.dueAtMs, at(run + 300));
      t.is(nextExpectedAt(heartbeat, at(second)), at(run));
    }
  });
}

test('an early start and an end after the scheduled time count as one run', (t) => {
  const { heartbeat } = after(made(HOURLY), [
    [3590, ping('start')],
    [3700, ping('success')],
  ]);
  t.is(nextExpectedAt(heartbeat, at(3700)), at(7200));
});

test('a duplicate ping within 200 ms also moves the deadline of a schedule', (t) => {
  const first = after(made(HOURLY), [[3579.9, ping('success')]]).heartbeat;
  const repeated = takePing(first, ping('success'), at(3580));
  t.like(repeated, { outcome: 'taken', stored: null });
  t.is(repeated.outcome === 'taken' && repeated.heartbeat.dueAtMs, at(7500));
});

test('the expected time is null while paused, the next run after a miss, one interval without a schedule', (t) => {
  const settings = { ...SETTINGS, ...HOURLY };
  const paused = arrangeHeartbeat(made(HOURLY), { settings, enabled: false }, at(1));
  t.is(nextExpectedAt(paused, at(2)), null);
  const missed = { ...made(HOURLY), verdict: 'down' as const, dueAtMs: null };
  t.is(nextExpectedAt(missed, at(4000)), at(7200));
  t.is(nextExpectedAt(made(), at(0)), at(60));
  t.is(nextExpectedAt({ ...made(), dueAtMs: null }, at(100)), null);
});

test('a schedule set later counts from the newest ping and never marks an earlier run as missed', (t) => {
  const pinged = after(made({ intervalSeconds: 600 }), [[3500, ping('success')]]).heartbeat;
  t.is(arranged(pinged, HOURLY, 3550).dueAtMs, at(3900));
  t.is(arranged(pinged, HOURLY, 4000).dueAtMs, at(4130), 'the old deadline, because the run has passed');
  const scheduled = after(made(HOURLY), [[3650, ping('success')]]).heartbeat;
  t.is(arranged(scheduled, {}, 3700).dueAtMs, scheduled.dueAtMs);
  const created = arrangeHeartbeat(null, { settings: { ...SETTINGS, ...HOURLY }, enabled: true }, at(3590));
  t.is(arranged(created, { maxDurationSeconds: 5 }, 3591).dueAtMs, at(3900), 'an edit of something else');
  t.is(arranged(scheduled, { schedule: every(600) }, 3700).dueAtMs, at(4500));
  t.is(arranged(scheduled, { schedule: null }, 3700).dueAtMs, at(4060), 'as if the ping came now');
});

test('the interval counts if the schedule has no next run', (t) => {
  const schedule = { ...every(3600), runAfter: () => null };
  t.is(after(made({ schedule }), [[50, ping('success')]]).heartbeat.dueAtMs, at(140));
});
