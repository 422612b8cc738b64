import test from 'ava';
import * as fc from 'fast-check';
import {
  hintRecheck,
  recheckAfterMs,
  recheckAtMs,
  secondsToNextCheck,
  worstDetectionSeconds,
} from '../../../core/checks/recheck.ts';
import { msUntilTick, tickMoment } from '../../../core/checks/slots.ts';
import type { Vote } from '../../../core/checks/verdict.ts';
import { stepSource, voteOf, type SourceState, type VotedResult } from '../../../core/incidents/source-state.ts';

function result(dueAtMs: number, verdict: Vote, checksVersion = 2): VotedResult {
  return {
    dueAtMs,
    checksVersion,
    verdict,
    cause: null,
    reason: null,
    httpStatus: null,
    latencyMs: null,
    phases: null,
    answer: null,
  };
}

/** Returns a source after these verdicts, one a minute. */
function after(verdicts: readonly Vote[], downAfterFailures: number): SourceState | null {
  const rule = { downAfterFailures, upAfterSuccesses: 2, intervalSeconds: 60 };
  return verdicts.reduce<SourceState | null>(
    (state, verdict, index) => stepSource(state, result((index + 1) * 60_000, verdict), rule),
    null,
  );
}

/** Returns the recheck delay after the last of the verdicts, at an interval of 60 s. */
function afterLast(verdicts: readonly Vote[], downAfterFailures = 2): number | null {
  const state = after(verdicts.slice(0, -1), downAfterFailures);
  const rule = { downAfterFailures, upAfterSuccesses: 2, intervalSeconds: 60 };
  return recheckAfterMs({ state, rule }, result(verdicts.length * 60_000, verdicts.at(-1) ?? 'none'));
}

const CASES: readonly { verdicts: Vote[]; downAfterFailures?: number; rechecks: boolean; because: string }[] = [
  { verdicts: ['up', 'down'], rechecks: true, because: 'one more failure makes it down' },
  { verdicts: ['down'], rechecks: true, because: 'a new source may be down from the start' },
  { verdicts: ['up', 'down', 'down'], rechecks: false, because: 'this failure makes it down' },
  { verdicts: ['up', 'down', 'down', 'down'], rechecks: false, because: 'it was already down' },
  { verdicts: ['up', 'down'], downAfterFailures: 1, rechecks: false, because: 'one failure is enough' },
  { verdicts: ['up', 'down', 'down'], downAfterFailures: 3, rechecks: true, because: 'a third failure makes it down' },
  {
    verdicts: ['up', 'down', 'down', 'down'],
    downAfterFailures: 3,
    rechecks: false,
    because: 'this is the third failure',
  },
  { verdicts: ['up', 'up'], rechecks: false, because: 'the result is good' },
  { verdicts: ['up', 'none'], rechecks: false, because: 'a no vote is no failure' },
  { verdicts: ['up', 'down', 'none'], rechecks: false, because: 'a no vote is no failure' },
  {
    verdicts: ['up', 'down', 'none', 'down'],
    downAfterFailures: 3,
    rechecks: true,
    because: 'a no vote does not break the streak',
  },
  { verdicts: ['up', 'degraded'], rechecks: true, because: 'one more bad result makes it degraded' },
  { verdicts: ['up', 'degraded', 'degraded'], rechecks: false, because: 'this result makes it degraded' },
  { verdicts: ['up', 'degraded', 'degraded', 'down'], rechecks: true, because: 'it is degraded but not yet down' },
  {
    verdicts: ['up', 'down', 'degraded'],
    downAfterFailures: 3,
    rechecks: true,
    because: 'both results count toward degraded',
  },
  { verdicts: ['up', 'down', 'down', 'degraded'], rechecks: false, because: 'the result is better than the state' },
  { verdicts: ['up', 'down', 'down', 'up', 'down'], rechecks: false, because: 'it has not recovered yet' },
];

for (const { verdicts, downAfterFailures, rechecks, because } of CASES) {
  test(
    `[${verdicts.join(', ')}] with ${downAfterFailures ?? 2} failures to be down is ${rechecks ? '' : 'not '}` +
      `rechecked: ${because}`,
    (t) => {
      t.is(afterLast(verdicts, downAfterFailures), rechecks ? 20_000 : null);
    },
  );
}

for (const [intervalSeconds, expected] of [
  [1, null],
  [2, 1000],
  [3, 1500],
  [10, 5000],
  [39, 19_500],
  [40, 20_000],
  [60, 20_000],
  [86_400, 20_000],
] as const) {
  test(`the recheck delay at an interval of ${intervalSeconds} s, in ms, is ${expected ?? 'none'}`, (t) => {
    t.is(
      recheckAfterMs(
        { state: null, rule: { downAfterFailures: 2, upAfterSuccesses: 1, intervalSeconds } },
        result(5, 'down'),
      ),
      expected,
    );
  });
}

test('a stale, repeated or outdated result causes no recheck, and newer checks start a new streak', (t) => {
  const source = {
    state: after(['up', 'down'], 3),
    rule: { downAfterFailures: 3, upAfterSuccesses: 1, intervalSeconds: 60 },
  };
  t.is(recheckAfterMs(source, result(119_999, 'down')), null);
  t.is(recheckAfterMs(source, result(120_000, 'down')), null);
  t.is(recheckAfterMs(source, result(180_000, 'down', 1)), null);
  t.is(recheckAfterMs(source, result(180_000, 'down')), 20_000);
  t.is(recheckAfterMs(source, result(180_000, 'down', 3)), 20_000);
});

test('a target that stays down is rechecked one time fewer than the failures needed, and then is down', (t) => {
  for (let downAfterFailures = 1; downAfterFailures <= 5; downAfterFailures += 1) {
    const rule = { downAfterFailures, upAfterSuccesses: 1, intervalSeconds: 60 };
    let state = stepSource(null, result(0, 'up'), rule);
    let rechecks = 0;
    for (let dueAtMs: number | null = 60_000; dueAtMs !== null;) {
      const bad = result(dueAtMs, 'down');
      const afterMs = recheckAfterMs({ state, rule }, bad);
      state = stepSource(state, bad, rule);
      dueAtMs = afterMs === null ? null : dueAtMs + afterMs;
      rechecks += afterMs === null ? 0 : 1;
    }
    t.is(rechecks, downAfterFailures - 1);
    t.is(voteOf(state), 'down');
  }
});

const TICK = { intervalSeconds: 60, slotMs: 0, offsetMs: 0 };
const DUE_MS = 1_700_000_040_000;

for (const { name, given, afterDueMs } of [
  {
    name: 'a recheck starts on the first whole second after its delay',
    given: { dueAtMs: DUE_MS + 120, afterMs: 20_000, nowMs: DUE_MS + 400 },
    afterDueMs: 21_000,
  },
  {
    name: 'a short delay is exact to the millisecond',
    given: { dueAtMs: DUE_MS + 120, afterMs: 1500, nowMs: DUE_MS + 400 },
    afterDueMs: 1620,
  },
  {
    name: 'a late result is rechecked half a second after it is evaluated',
    given: { dueAtMs: DUE_MS, afterMs: 1500, nowMs: DUE_MS + 1400 },
    afterDueMs: 1900,
  },
  {
    name: 'no recheck is scheduled after the next tick',
    given: { dueAtMs: DUE_MS + 41_000, afterMs: 20_000, nowMs: DUE_MS + 41_300 },
    afterDueMs: null,
  },
  {
    name: 'no recheck is scheduled just before the next tick',
    given: { dueAtMs: DUE_MS + 39_700, afterMs: 20_000, nowMs: DUE_MS + 41_300 },
    afterDueMs: null,
  },
  {
    name: 'a result evaluated after the next tick has no recheck',
    given: { dueAtMs: DUE_MS, afterMs: 20_000, nowMs: DUE_MS + 61_000 },
    afterDueMs: null,
  },
]) {
  test(name, (t) => {
    t.is(recheckAtMs(given, TICK), afterDueMs === null ? null : DUE_MS + afterDueMs);
  });
}

test('in any slot a recheck is at most 1.5 s behind its delay and at least 0.5 s before the next tick', (t) => {
  const moments = fc.record({
    intervalSeconds: fc.integer({ min: 2, max: 3600 }),
    slot: fc.integer({ min: 0, max: 239 }),
    monitorNo: fc.integer({ min: 1, max: 1e6 }),
    dueAtMs: fc.integer({ min: DUE_MS, max: DUE_MS + 3_600_000 }),
    lagMs: fc.integer({ min: 0, max: 90_000 }),
  });
  fc.assert(
    fc.property(moments, ({ dueAtMs, lagMs, monitorNo, ...slot }) => {
      const tick = tickMoment(slot, monitorNo);
      const afterMs = Math.max(1000, Math.min(tick.intervalSeconds * 500, 20_000));
      const nowMs = dueAtMs + lagMs;
      const atMs = recheckAtMs({ dueAtMs, afterMs, nowMs }, tick);
      if (atMs === null) return true;
      return (
        atMs > nowMs &&
        atMs >= dueAtMs + afterMs &&
        atMs < Math.max(dueAtMs + afterMs, nowMs) + 1500 &&
        atMs + 500 <= dueAtMs + msUntilTick(tick, dueAtMs)
      );
    }),
  );
  t.pass();
});

test('the displayed time to the next check after a failure is that of the recheck', (t) => {
  for (const intervalSeconds of [1, 2, 3, 10, 30, 60, 3600]) {
    const rule = { downAfterFailures: 3, upAfterSuccesses: 1, intervalSeconds };
    const afterMs = recheckAfterMs({ state: null, rule }, result(60_000, 'down'));
    t.is(
      secondsToNextCheck({ type: 'http', intervalSeconds, timeoutMs: 1 }),
      afterMs === null ? intervalSeconds : afterMs / 1000,
      String(intervalSeconds),
    );
  }
  t.is(secondsToNextCheck({ type: 'vendor', intervalSeconds: 120, timeoutMs: 1 }), 120);
  const settings = { type: 'http', intervalSeconds: 60, timeoutMs: 10_000, downAfterFailures: 2 } as const;
  t.is(worstDetectionSeconds(settings), 90);
  t.is(worstDetectionSeconds({ ...settings, intervalSeconds: 10, timeoutMs: 5000, downAfterFailures: 3 }), 26);
});

const SOURCE = { state: null, rule: { downAfterFailures: 3, upAfterSuccesses: 1, intervalSeconds: 60 } };

test('the newest of several results decides on a recheck after the older ones are applied', (t) => {
  t.is(hintRecheck(SOURCE, []), null);
  t.is(hintRecheck(SOURCE, [result(1, 'down')]), 20_000);
  t.is(hintRecheck(SOURCE, [result(2, 'down'), result(1, 'down')]), 20_000);
  t.is(hintRecheck(SOURCE, [result(3, 'down'), result(1, 'down'), result(2, 'down')]), null, 'the third makes it down');
  t.is(hintRecheck(SOURCE, [result(1, 'down'), result(2, 'down'), result(3, 'up')]), null);
  t.is(hintRecheck(SOURCE, [result(3, 'down'), result(2, 'up'), result(1, 'down')]), 20_000);
});
