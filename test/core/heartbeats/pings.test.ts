import test from 'ava';
import { arrangeHeartbeat, type Heartbeat, type Ping } from '../../../core/heartbeats/deadlines.ts';
import { admitPing, type AdmittedPing, type PingedHeartbeat } from '../../../core/heartbeats/pings.ts';

const START_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const SUCCESS: Ping = { kind: 'success', exitStatus: null, body: null };
const FAILURE: Ping = { kind: 'fail', exitStatus: null, body: null };

function made(enabled = true, failEnabled = true): Heartbeat {
  const settings = { intervalSeconds: 60, schedule: null, graceSeconds: 30, maxDurationSeconds: null, failEnabled };
  return arrangeHeartbeat(null, { settings, enabled }, START_MS);
}

function pinged(overrides: Partial<PingedHeartbeat> = {}): PingedHeartbeat {
  return {
    monitorNo: 1,
    heartbeat: made(),
    marks: { rowsUsedUpMs: null, bytesUsedUpMs: null },
    waiting: { count: 0, monitorNos: new Set() },
    ...overrides,
  };
}

/** Admits pings a second apart; returns the last result, the heartbeat before it, and its time. */
function after(pings: readonly Ping[], start = pinged()): { last: AdmittedPing; before: Heartbeat; nowMs: number } {
  let [current, before, nowMs]: [PingedHeartbeat, Heartbeat, number] = [start, start.heartbeat, START_MS];
  let last: AdmittedPing = { outcome: 'refused' };
  for (const ping of pings) {
    nowMs += 1000;
    before = current.heartbeat;
    last = admitPing(current, ping, nowMs);
    if (last.outcome !== 'refused') current = { ...current, heartbeat: last.heartbeat, marks: last.marks };
  }
  return { last, before, nowMs };
}

test('an accepted ping yields a row that says whether it may change the state', (t) => {
  t.like(after([SUCCESS]).last, { outcome: 'taken', row: { ping: SUCCESS, mayChangeState: true } });
  t.like(after([SUCCESS, SUCCESS]).last, { outcome: 'taken', row: { ping: SUCCESS, mayChangeState: false } });
});

test('a failure ping to a heartbeat that accepts none is refused and changes nothing', (t) => {
  t.deepEqual(admitPing(pinged({ heartbeat: made(true, false) }), FAILURE, START_MS), { outcome: 'refused' });
});

test('an immediate duplicate ping moves the deadline and uses no quota', (t) => {
  const first = admitPing(pinged(), SUCCESS, START_MS + 1000);
  if (first.outcome === 'refused') return t.fail();
  const again = admitPing(pinged(first), SUCCESS, START_MS + 1100);
  t.like(again, { outcome: 'taken', row: null, marks: first.marks, heartbeat: { dueAtMs: START_MS + 91_100 } });
});

test('over the row quota a repeated ping is accepted without a row, and a changed one only moves the deadline', (t) => {
  const full = Array.from({ length: 100 }, () => SUCCESS);
  const taken = after(full);
  t.like(taken.last, { outcome: 'taken', row: null, heartbeat: { dueAtMs: taken.nowMs + 90_000 } });
  const limited = after([...full, FAILURE]);
  const heartbeat = { ...limited.before, dueAtMs: limited.nowMs + 90_000 };
  t.like(limited.last, { outcome: 'limited', row: null, heartbeat });
  t.is(heartbeat.verdict, 'up');
});

test('a job that starts and ends each minute stores all of its pings and its failure, whatever the interval', (t) => {
  let current = pinged({ heartbeat: { ...made(), intervalSeconds: 86_400 } });
  const send = (ping: Ping, nowMs: number): AdmittedPing => {
    const admitted = admitPing(current, ping, nowMs);
    if (admitted.outcome !== 'refused') current = { ...current, ...admitted };
    return admitted;
  };
  const endings = Array.from({ length: 300 }, (_, minute) => (minute < 299 ? SUCCESS : FAILURE));
  for (const [minute, end] of endings.entries()) {
    const startedMs = START_MS + 1000 + minute * 60_000;
    t.like(send({ ...SUCCESS, kind: 'start' }, startedMs), { outcome: 'taken', row: { atMs: startedMs } });
    t.like(send(end, startedMs + 20_000), { outcome: 'taken', row: { ping: end } });
  }
});

test('over the byte quota a body is cut to 200 characters of its first line, for at most an hour', (t) => {
  const long = { ...SUCCESS, body: `${'x'.repeat(300)}\nand more ${'é'.repeat(5000)}` };
  const pings = Array.from({ length: 10 }, () => long);
  const { last, nowMs } = after(pings);
  if (last.outcome === 'refused') return t.fail();
  t.is(last.row?.ping.body, 'x'.repeat(200));
  const later = admitPing(pinged(last), long, nowMs + HOUR_MS);
  t.like(later, { outcome: 'taken', row: { ping: long } });
});

test('with 3000 pings of an account waiting, a heartbeat may queue only its first change', (t) => {
  const crowded = (no: number, count: number) => pinged({ waiting: { count, monitorNos: new Set([no]) } });
  t.like(admitPing(crowded(1, 2999), FAILURE, START_MS), { outcome: 'taken' });
  t.like(admitPing(crowded(2, 3000), FAILURE, START_MS), { outcome: 'taken' });
  const start = crowded(1, 3000);
  t.like(admitPing(start, FAILURE, START_MS), {
    outcome: 'crowded',
    row: null,
    marks: start.marks,
    heartbeat: { verdict: null, dueAtMs: START_MS + 90_001 },
  });
  const up = after([SUCCESS]).last;
  if (up.outcome === 'refused') return t.fail();
  t.like(admitPing({ ...start, ...up }, SUCCESS, START_MS + 5000), {
    outcome: 'taken',
    row: { mayChangeState: false },
  });
});

test('pings of a paused heartbeat are stored, and move no deadline', (t) => {
  t.like(admitPing(pinged({ heartbeat: made(false) }), FAILURE, START_MS), {
    outcome: 'taken',
    row: { ping: FAILURE, mayChangeState: false },
    heartbeat: { dueAtMs: null, verdict: null },
  });
});
