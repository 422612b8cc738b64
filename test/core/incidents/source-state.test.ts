import test from 'ava';
import * as fc from 'fast-check';
import type { Verdict, Vote } from '../../../core/checks/verdict.ts';
import {
  decidingResults,
  firstFailureOf,
  stepSource,
  voteOf,
  type SourceState,
  type VotedResult,
} from '../../../core/incidents/source-state.ts';

const RULE = { downAfterFailures: 2, upAfterSuccesses: 2, intervalSeconds: 60 };

function result(dueAtMs: number, verdict: Vote, checksVersion = 1): VotedResult {
  return {
    dueAtMs,
    checksVersion,
    verdict,
    cause: verdict === 'up' ? null : `cause_${dueAtMs}`,
    reason: null,
    httpStatus: null,
    latencyMs: 5,
    phases: null,
    answer: null,
  };
}

function after(verdicts: readonly Vote[]): SourceState | null {
  return verdicts.reduce<SourceState | null>(
    (state, verdict, index) => stepSource(state, result(index + 1, verdict), RULE),
    null,
  );
}

function settled(verdicts: readonly [Vote, ...Vote[]]): SourceState {
  const [first, ...rest] = verdicts;
  return rest.reduce(
    (state, verdict, index) => stepSource(state, result(index + 2, verdict), RULE),
    stepSource(null, result(1, first), RULE),
  );
}

const CASES: readonly { verdicts: Vote[]; vote: Verdict | null }[] = [
  { verdicts: [], vote: null },
  { verdicts: ['up'], vote: 'up' },
  { verdicts: ['down'], vote: null },
  { verdicts: ['down', 'down'], vote: 'down' },
  { verdicts: ['down', 'up'], vote: 'up' },
  { verdicts: ['up', 'down'], vote: 'up' },
  { verdicts: ['up', 'down', 'up', 'down'], vote: 'up' },
  { verdicts: ['up', 'down', 'down'], vote: 'down' },
  { verdicts: ['up', 'down', 'down', 'up'], vote: 'down' },
  { verdicts: ['up', 'down', 'down', 'up', 'down', 'up'], vote: 'down' },
  { verdicts: ['up', 'down', 'down', 'up', 'up'], vote: 'up' },
  { verdicts: ['up', 'degraded'], vote: 'up' },
  { verdicts: ['up', 'degraded', 'degraded'], vote: 'degraded' },
  { verdicts: ['up', 'down', 'degraded', 'down'], vote: 'degraded' },
  { verdicts: ['up', 'down', 'down', 'degraded', 'degraded'], vote: 'degraded' },
  { verdicts: ['up', 'down', 'none', 'down'], vote: 'down' },
  { verdicts: ['up', 'none'], vote: 'up' },
  { verdicts: ['up', 'none', 'none'], vote: 'up' },
  { verdicts: ['up', 'none', 'none', 'none'], vote: null },
  { verdicts: ['up', 'none', 'none', 'none', 'none'], vote: null },
  { verdicts: ['up', 'none', 'none', 'up', 'none', 'none'], vote: 'up' },
  { verdicts: ['up', 'none', 'none', 'none', 'up'], vote: 'up' },
  { verdicts: ['up', 'none', 'none', 'none', 'down'], vote: 'up' },
  { verdicts: ['none'], vote: null },
  { verdicts: ['up', 'none', 'up'], vote: 'up' },
];

for (const { verdicts, vote } of CASES) {
  test(`a source with the results [${verdicts.join(', ')}] votes ${vote ?? 'nothing'}`, (t) => {
    t.is(voteOf(after(verdicts)), vote);
  });
}

test('a success in a steady up state returns the same object, so nothing is written', (t) => {
  const steady = settled(['up', 'up']);
  t.is(stepSource(steady, result(3, 'up'), RULE), steady);
});

test('a failure in a steady down state returns the same object', (t) => {
  const steady = settled(['up', 'down', 'down']);
  t.is(stepSource(steady, result(4, 'down'), RULE), steady);
});

test('a repeated result is not counted twice', (t) => {
  const once = settled(['up', 'down']);
  t.is(stepSource(once, result(2, 'down'), RULE), once);
  t.is(voteOf(stepSource(once, result(2, 'down'), RULE)), 'up');
});

test('a result older than the newest applied one changes nothing', (t) => {
  const state = settled(['up', 'down', 'down']);
  t.is(stepSource(state, result(2, 'up'), RULE), state);
});

test('a new version of the checks resets the streak but keeps the vote', (t) => {
  const almostDown = settled(['up', 'down']);
  const patched = stepSource(almostDown, result(3, 'down', 2), RULE);
  t.is(voteOf(patched), 'up');
  t.is(patched.failing.streak.length, 1);
  t.is(voteOf(stepSource(patched, result(4, 'down', 2), RULE)), 'down');
});

test('a result of an older version of the checks changes nothing', (t) => {
  const state = stepSource(null, result(5, 'up', 2), RULE);
  t.is(stepSource(state, result(6, 'down', 1), RULE), state);
});

test('the deciding results are kept as evidence, first failure first', (t) => {
  const state = settled(['up', 'down', 'down']);
  t.deepEqual(
    state?.failing.decidedBy.map((evidence) => [evidence.atMs, evidence.cause]),
    [
      [2, 'cause_2'],
      [3, 'cause_3'],
    ],
  );
});

test('a streak keeps the reasons of its first result and of the newest of each verdict', (t) => {
  const verdicts: Vote[] = ['down', 'down', 'degraded', 'degraded', 'degraded', 'up', 'up'];
  const state = verdicts.reduce<SourceState | null>(
    (before, verdict, index) =>
      stepSource(
        before,
        { ...result(index + 1, verdict), reason: `no. ${index + 1}` },
        { ...RULE, upAfterSuccesses: 5 },
      ),
    null,
  );
  t.deepEqual(
    state?.failing.decidedBy.map(({ atMs, reason }) => [atMs, reason]),
    [
      [3, 'no. 3'],
      [4, null],
      [5, 'no. 5'],
      [6, null],
      [7, 'no. 7'],
    ],
  );
  t.is(decidingResults(state).at(-1)?.reason, 'no. 5', 'of degraded after down');
});

test('a source abstains after three consecutive results without a vote, and further ones need no write', (t) => {
  const silent = settled(['up', 'none', 'none', 'none']);
  t.like(silent.abstention, { inARow: 3 });
  const repeated = { ...result(5, 'none'), cause: silent.abstention?.cause ?? null };
  t.is(stepSource(silent, repeated, RULE), silent);
});

test("an abstention's reason is updated when it changes and cleared by the next vote", (t) => {
  const first = stepSource(settled(['up']), { ...result(2, 'none'), reason: 'this' }, RULE);
  t.like(first.abstention, { reason: 'this', inARow: 1 });
  const second = stepSource(first, { ...result(3, 'none'), reason: 'that' }, RULE);
  t.like(second.abstention, { reason: 'that', inARow: 2 });
  t.is(stepSource(second, result(4, 'up'), RULE).abstention, null);
});

/** Returns a source that was up and then got these verdicts, the given number of intervals apart. */
function spaced(verdicts: readonly Vote[], intervals: number): SourceState {
  const everyMs = intervals * RULE.intervalSeconds * 1000;
  return verdicts.reduce(
    (state, verdict, index) => stepSource(state, result((index + 1) * everyMs, verdict), RULE),
    stepSource(null, result(0, 'up'), RULE),
  );
}

test('failures up to three intervals apart are consecutive, those further apart are not', (t) => {
  t.is(voteOf(spaced(['down', 'down'], 3)), 'down');
  const apart = spaced(['down', 'down'], 3.001);
  t.is(voteOf(apart), 'up');
  t.deepEqual(
    apart.failing.streak.map(({ atMs }) => atMs),
    [360_120],
    'the second starts a new streak',
  );
  t.is(firstFailureOf(apart)?.first.atMs, 360_120);
  t.is(voteOf(stepSource(apart, result(380_120, 'down'), RULE)), 'down', 'and the next check confirms it');
});

test('degraded results, or successes after an outage, are not consecutive either if too far apart', (t) => {
  t.is(voteOf(spaced(['degraded', 'degraded'], 3)), 'degraded');
  t.is(voteOf(spaced(['degraded', 'degraded'], 4)), 'up');
  const down = spaced(['down', 'down'], 1);
  const goodAt = (...dueAtMs: number[]) =>
    voteOf(dueAtMs.reduce((state, at) => stepSource(state, result(at, 'up'), RULE), down));
  t.is(goodAt(180_000, 360_000), 'up');
  t.is(goodAt(180_000, 360_001), 'down');
});

test('results without a vote count as a gap between failures', (t) => {
  t.is(voteOf(spaced(['down', 'none', 'none', 'down'], 1)), 'down');
  t.is(voteOf(spaced(['down', 'none', 'none', 'none', 'down'], 1)), 'up');
});

test('a source goes down only after enough failures, each within three intervals of the previous one', (t) => {
  const checks = fc.array(
    fc.record({
      waitMs: fc.integer({ min: 1, max: 400_000 }),
      verdict: fc.constantFrom<Vote>('up', 'down', 'degraded', 'none'),
    }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(checks, fc.integer({ min: 1, max: 4 }), (drawn, downAfterFailures) => {
      const rule = { ...RULE, downAfterFailures };
      let nowMs = 0;
      let state = stepSource(null, result(nowMs, 'up'), rule);
      for (const { waitMs, verdict } of drawn) {
        nowMs += waitMs;
        state = stepSource(state, result(nowMs, verdict), rule);
        const { tripped, decidedBy } = state.failing;
        if (tripped !== true) continue;
        t.true(decidedBy.length === downAfterFailures);
        t.true(
          decidedBy.every(({ atMs }, index) => index === 0 || atMs - (decidedBy[index - 1]?.atMs ?? 0) <= 180_000),
        );
      }
    }),
  );
});

const FIRSTS: readonly { verdicts: Vote[]; gauge: string | null; first: number | null }[] = [
  { verdicts: [], gauge: null, first: null },
  { verdicts: ['up', 'none'], gauge: null, first: null },
  { verdicts: ['up', 'down'], gauge: 'impaired', first: 2 },
  { verdicts: ['up', 'down', 'up'], gauge: null, first: null },
  { verdicts: ['up', 'down', 'none', 'down'], gauge: 'failing', first: 2 },
  { verdicts: ['up', 'down', 'down', 'down'], gauge: 'failing', first: 2 },
  { verdicts: ['up', 'down', 'down', 'up'], gauge: 'failing', first: 2 },
  { verdicts: ['up', 'down', 'up', 'down', 'down'], gauge: 'failing', first: 4 },
  { verdicts: ['up', 'degraded', 'degraded'], gauge: 'impaired', first: 2 },
  { verdicts: ['up', 'degraded', 'degraded', 'down'], gauge: 'impaired', first: 2 },
  { verdicts: ['up', 'degraded', 'degraded', 'down', 'down'], gauge: 'failing', first: 4 },
  { verdicts: ['up', 'degraded', 'down'], gauge: 'impaired', first: 2 },
  { verdicts: ['up', 'down', 'down', 'degraded', 'degraded'], gauge: 'impaired', first: 2 },
  { verdicts: ['up', 'down', 'down', 'up', 'up'], gauge: null, first: null },
];
for (const { verdicts, gauge, first } of FIRSTS) {
  test(
    `the first failure after ${verdicts.join(' ') || 'nothing'} is ` +
      `${first === null ? 'none' : `result ${first} of the ${gauge} gauge`}`,
    (t) => {
      const found = firstFailureOf(after(verdicts));
      t.deepEqual([found?.gauge ?? null, found?.first.atMs ?? null], [gauge, first]);
    },
  );
}
