import test from 'ava';
import * as fc from 'fast-check';
import {
  stepWatch,
  type ServiceGap,
  type ServicePoll,
  type WatchedService,
} from '../../../core/statistics/service-gaps.ts';

const SECOND = 1000;
const T0 = 1_800_000_000_000;

const at = (second: number) => T0 + second * SECOND;

const FRESH: WatchedService = {
  sweptAtMs: null,
  resumedAtMs: null,
  checkedAtMs: null,
  evaluatedAtMs: null,
  due: null,
  gapOpenSinceMs: { checks: null, evaluation: null },
};

/** State at each second: whether the watch runs, and what it would find. */
type Scenario = (second: number) => {
  awake?: boolean;
  checks?: boolean;
  evaluates?: boolean;
  interval?: number | null;
  waitingSince?: number | null | undefined;
};

/** Polls every ten seconds of a simulated time and keeps the results, as the database would; gaps in seconds. */
function live(
  scenario: Scenario,
  seconds: number,
): { gaps: { kind: string; from: number; to: number | null }[]; watched: WatchedService } {
  let watched = FRESH;
  const gaps: { kind: ServiceGap['kind']; startMs: number; endMs: number | null }[] = [];
  for (let second = 0; second <= seconds; second += 1) {
    const {
      awake = true,
      checks = true,
      evaluates = true,
      interval = 10,
      waitingSince = null,
    } = { ...scenario(second) };
    if (checks && interval !== null && second % interval === 0) watched = { ...watched, checkedAtMs: at(second) };
    if (evaluates && interval !== null && second % interval === 0) watched = { ...watched, evaluatedAtMs: at(second) };
    if (!awake || second % 10 !== 5) continue;
    const waits =
      'waitingSince' in scenario(second) && scenario(second).waitingSince === undefined
        ? undefined
        : waitingSince === null
          ? null
          : at(waitingSince);
    const evidence: ServicePoll = {
      nowMs: at(second),
      shortestIntervalSeconds: interval,
      oldestResultsAtMs: waits,
    };
    const { watchingSinceMs, due, ended, begun } = stepWatch(watched, evidence);
    for (const gap of ended) {
      const open = gaps.find(({ kind, endMs }) => kind === gap.kind && endMs === null);
      if (open === undefined) gaps.push(gap);
      else open.endMs = gap.endMs;
    }
    for (const { kind, startMs } of begun) gaps.push({ kind, startMs, endMs: null });
    const openOf = (kind: string) => gaps.find((gap) => gap.kind === kind && gap.endMs === null)?.startMs ?? null;
    watched = {
      ...watched,
      sweptAtMs: at(second),
      resumedAtMs: watchingSinceMs,
      due,
      gapOpenSinceMs: { checks: openOf('checks'), evaluation: openOf('evaluation') },
    };
  }
  const inSeconds = (ms: number | null) => (ms === null ? null : (ms - T0) / SECOND);
  return {
    gaps: gaps.map(({ kind, startMs, endMs }) => ({ kind, from: inSeconds(startMs) ?? 0, to: inSeconds(endMs) })),
    watched,
  };
}

test('a working service has no gaps, nor has one with nothing to do', (t) => {
  t.deepEqual(live(() => ({}), 3600).gaps, []);
  t.deepEqual(live(() => ({ interval: null, checks: false, evaluates: false }), 3600).gaps, []);
  t.deepEqual(live(() => ({ interval: 3600 }), 7300).gaps, [], 'hourly checks are completed once an hour');
});

test('a restart of a minute is no gap, a longer one is a clock gap from the last poll to the first', (t) => {
  const restart =
    (from: number, to: number): Scenario =>
    (second) => ({ awake: second <= from || second > to, checks: second <= from || second > to });
  t.deepEqual(live(restart(95, 154), 400).gaps, []);
  t.deepEqual(live(restart(95, 164), 400).gaps, [{ kind: 'clock', from: 95, to: 165 }]);
  t.deepEqual(
    live(restart(95, 3694), 5000).gaps,
    [{ kind: 'clock', from: 95, to: 3695 }],
    'checks missed meanwhile are no separate gap',
  );
});

test('checks that stop for a minute and two shortest intervals are a gap from the last one to the next', (t) => {
  const stops: Scenario = (second) => ({ checks: second <= 100 || second >= 600 });
  t.deepEqual(live(stops, 175).gaps, []);
  t.deepEqual(live(stops, 185).gaps, [{ kind: 'checks', from: 100, to: null }]);
  t.deepEqual(live(stops, 1000).gaps, [{ kind: 'checks', from: 100, to: 600 }]);
});

test('a check counts as missing only from when it became due, however long ago the last one was', (t) => {
  const resumed =
    (interval: number | null): Scenario =>
    (second) => ({ interval: second < 1000 ? interval : 10, checks: second < 500 || second >= 1070 });
  t.deepEqual(live(resumed(null), 2000).gaps, [], 'everything was paused');
  t.deepEqual(live(resumed(3600), 2000).gaps, [], 'a faster monitor joined slow ones');
  const never: Scenario = (second) => ({ interval: second < 1000 ? null : 10, checks: second < 500 });
  t.deepEqual(live(never, 1100).gaps, [{ kind: 'checks', from: 1005, to: null }]);
});

test('a gap in checks ends when none is due anymore', (t) => {
  t.deepEqual(live((second) => ({ checks: second <= 100, interval: second < 400 ? 10 : null }), 1000).gaps, [
    { kind: 'checks', from: 100, to: 405 },
  ]);
});

test('queued results that are not evaluated are a gap since the oldest was queued, slow evaluation is none', (t) => {
  const stops: Scenario = (second) => ({
    evaluates: second <= 100 || second >= 600,
    waitingSince: second > 100 && second < 600 ? 103 : null,
  });
  t.deepEqual(live(stops, 1000).gaps, [{ kind: 'evaluation', from: 103, to: 600 }]);
  t.deepEqual(
    live((second) => ({ waitingSince: Math.max(0, second - 900) }), 3600).gaps,
    [],
    'a quarter of an hour behind, but progressing',
  );
  const backlog: Scenario = (second) => ({
    evaluates: second <= 300 || second >= 600,
    waitingSince: second < 600 ? 20 : null,
  });
  t.deepEqual(live(backlog, 1000).gaps, [{ kind: 'evaluation', from: 300, to: 600 }], 'it progressed until then');
});

test('lost results end a gap, and an unreachable queue neither starts nor ends one', (t) => {
  const lost: Scenario = (second) => ({
    evaluates: second <= 100,
    waitingSince: second > 100 && second < 400 ? 103 : null,
  });
  t.deepEqual(live(lost, 1000).gaps, [{ kind: 'evaluation', from: 103, to: 405 }]);
  const withoutEvidence: Scenario = (second) => ({
    evaluates: second <= 100,
    waitingSince: second > 300 ? undefined : second > 100 ? 103 : null,
  });
  t.deepEqual(live(withoutEvidence, 1000).gaps, [{ kind: 'evaluation', from: 103, to: null }]);
  t.deepEqual(
    live((second) => ({ evaluates: second <= 100, waitingSince: second > 100 ? undefined : null }), 1000).gaps,
    [],
  );
});

test('a clock gap ends open gaps, and those that persist start again after it', (t) => {
  const both: Scenario = (second) => ({
    checks: second <= 100 || second >= 3000,
    awake: second <= 500 || second > 2000,
  });
  t.deepEqual(live(both, 4000).gaps, [
    { kind: 'checks', from: 100, to: 495 },
    { kind: 'clock', from: 495, to: 2005 },
    { kind: 'checks', from: 2005, to: 3000 },
  ]);
});

test('a clock that is set back causes no gap, nor does its return', (t) => {
  const before: WatchedService = {
    ...FRESH,
    sweptAtMs: at(1000),
    resumedAtMs: at(0),
    checkedAtMs: at(995),
    evaluatedAtMs: at(995),
    due: { sinceMs: at(0), intervalSeconds: 10 },
  };
  const evidence = { shortestIntervalSeconds: 10, oldestResultsAtMs: null };
  for (const second of [-3600, 900, 1000, 1060]) {
    const { ended, begun, watchingSinceMs } = stepWatch(before, { ...evidence, nowMs: at(second) });
    t.deepEqual({ ended, begun, watchingSinceMs }, { ended: [], begun: [], watchingSinceMs: at(0) }, `${second}`);
  }
});

test('gaps of one kind never overlap or end before they start, and all but check gaps exceed a minute', (t) => {
  const change = fc.record({
    at: fc.integer({ min: 0, max: 2000 }),
    awake: fc.boolean(),
    checks: fc.boolean(),
    evaluates: fc.boolean(),
    interval: fc.constantFrom(null, 1, 10, 60),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      const sorted = changes.toSorted((a, b) => a.at - b.at);
      const stateAt = (second: number) =>
        sorted.findLast((one) => one.at <= second) ?? { awake: true, checks: true, evaluates: true, interval: 10 };
      const stoppedAt = (second: number) =>
        sorted.findLast((one, index) => one.at <= second && !one.evaluates && (sorted[index - 1]?.evaluates ?? true))
          ?.at ?? second;
      const { gaps } = live((second) => {
        const state = stateAt(second);
        return { ...state, waitingSince: state.evaluates ? null : stoppedAt(second) };
      }, 2000);
      for (const [kind, ofKind] of Map.groupBy(gaps, (gap) => gap.kind)) {
        for (const [index, gap] of ofKind.entries()) {
          if ((gap.to ?? Infinity) < gap.from) return false;
          if (index > 0 && (ofKind[index - 1]?.to ?? Infinity) > gap.from) return false;
          // Every gap lasts more than a minute, except one of checks.
          const until = gap.to ?? 2000;
          if (until - gap.from <= 60 && kind !== 'checks') return false;
        }
      }
      return true;
    }),
    { numRuns: 300 },
  );
  t.pass();
});
