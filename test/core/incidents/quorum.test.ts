import test from 'ava';
import { reconsider } from '../../../core/incidents/monitor-state.ts';
import {
  decide,
  describeQuorum,
  freshnessMs,
  undecidedMs,
  type DecidedMonitor,
  type Decision,
  type Source,
  type SourceVote,
} from '../../../core/incidents/quorum.ts';
import type { SourceState } from '../../../core/incidents/source-state.ts';
import type { MonitorState } from '../../../core/incidents/state.ts';

function votes(counts: {
  up?: number;
  degraded?: number;
  down?: number;
  silent?: number;
  mute?: number;
}): SourceVote[] {
  const { up = 0, degraded = 0, down = 0, silent = 0, mute = 0 } = counts;
  return [
    ...times(up, { vote: 'up', fresh: true }),
    ...times(degraded, { vote: 'degraded', fresh: true }),
    ...times(down, { vote: 'down', fresh: true }),
    // The last vote of a silent source must not matter, so it is the worst one.
    ...times(silent, { vote: 'down', fresh: false }),
    ...times(mute, { vote: null, fresh: true }),
  ];
}

function times(count: number, vote: SourceVote): SourceVote[] {
  return Array.from({ length: count }, () => vote);
}

/** Implements D-41 from its text, not from the code: n assigned, f with a fresh vote, c = `down_min_sources`. */
function expected({
  n,
  f,
  c,
  down,
  degraded,
}: {
  n: number;
  f: number;
  c: number;
  down: number;
  degraded: number;
}): Decision {
  const halfOfThem = [0, 1, 1, 2, 2, 3][n] ?? Number.NaN;
  const fewest = c < halfOfThem ? c : halfOfThem;
  const mustAgree = c < f ? c : f;
  if (f < fewest || f === 0) return 'unknown';
  if (down >= mustAgree) return 'down';
  if (down + degraded >= mustAgree) return 'degraded';
  return 'up';
}

for (let n = 1; n <= 5; n += 1) {
  test(`${n} ${n === 1 ? 'source' : 'sources'}: decisions match D-41 for any votes, silence and quorum`, (t) => {
    for (let c = 1; c <= n; c += 1) {
      for (let silent = 0; silent <= n; silent += 1) {
        const f = n - silent;
        for (let down = 0; down <= f; down += 1) {
          for (let degraded = 0; degraded <= f - down; degraded += 1) {
            const row = { n, f, c, down, degraded };
            // A source that reports no vote counts as silent, just like one that reports nothing.
            for (let mute = 0; mute <= silent; mute += 1) {
              const { decision, tally } = decide(
                votes({ up: f - down - degraded, degraded, down, silent: silent - mute, mute }),
                c,
              );
              t.is(decision, expected(row), JSON.stringify(row));
              t.deepEqual(tally, { sources: n, votes: f, needed: Math.min(c, f), down, impaired: down + degraded });
            }
          }
        }
      }
    }
  });
}

const CASES: readonly { name: string; given: Parameters<typeof votes>[0]; quorum: number; decision: Decision }[] = [
  {
    name: 'one remaining source out of five does not decide alone, even if it votes down',
    given: { down: 1, silent: 4 },
    quorum: 2,
    decision: 'unknown',
  },
  {
    name: 'one remaining source out of five does not decide alone, even if it votes up',
    given: { up: 1, silent: 4 },
    quorum: 2,
    decision: 'unknown',
  },
  {
    name: 'two remaining sources out of five decide with a quorum of two',
    given: { down: 2, silent: 3 },
    quorum: 2,
    decision: 'down',
  },
  {
    name: 'two remaining sources out of five are too few for a quorum of five',
    given: { down: 2, silent: 3 },
    quorum: 5,
    decision: 'unknown',
  },
  {
    name: 'three remaining sources out of five decide with a quorum of five if they agree',
    given: { down: 3, silent: 2 },
    quorum: 5,
    decision: 'down',
  },
  {
    name: 'three remaining sources out of five that disagree cause no outage',
    given: { down: 2, up: 1, silent: 2 },
    quorum: 5,
    decision: 'up',
  },
  {
    name: 'one remaining source out of five decides alone with a quorum of one',
    given: { down: 1, silent: 4 },
    quorum: 1,
    decision: 'down',
  },
  {
    name: 'the remaining one of two sources alone decides down',
    given: { down: 1, silent: 1 },
    quorum: 2,
    decision: 'down',
  },
  {
    name: 'the remaining one of two sources alone decides up',
    given: { up: 1, silent: 1 },
    quorum: 2,
    decision: 'up',
  },
  {
    name: 'one remaining source out of three does not decide',
    given: { down: 1, silent: 2 },
    quorum: 2,
    decision: 'unknown',
  },
  { name: 'two remaining sources out of four decide', given: { down: 2, silent: 2 }, quorum: 4, decision: 'down' },
  {
    name: 'two silent sources do not count as agreeing with one that is down',
    given: { down: 1, up: 1, silent: 2 },
    quorum: 2,
    decision: 'up',
  },
  { name: 'a source without a vote counts as silent', given: { down: 1, mute: 4 }, quorum: 2, decision: 'unknown' },
  {
    name: 'one wrong source out of three cannot cause an outage',
    given: { up: 2, down: 1 },
    quorum: 2,
    decision: 'up',
  },
  {
    name: 'one wrong source out of three cannot hide an outage',
    given: { up: 1, down: 2 },
    quorum: 2,
    decision: 'down',
  },
  {
    name: 'one wrong and one silent source out of three cannot cause an outage',
    given: { up: 1, down: 1, silent: 1 },
    quorum: 2,
    decision: 'up',
  },
  {
    name: 'a down and a degraded vote together decide degraded',
    given: { up: 1, degraded: 1, down: 1 },
    quorum: 2,
    decision: 'degraded',
  },
  { name: 'one degraded source out of three is no quorum', given: { up: 2, degraded: 1 }, quorum: 2, decision: 'up' },
  { name: 'a monitor with only silent sources is unknown', given: { silent: 3 }, quorum: 1, decision: 'unknown' },
  { name: 'a monitor without sources is unknown', given: {}, quorum: 1, decision: 'unknown' },
];

for (const { name, given, quorum, decision } of CASES) {
  test(name, (t) => {
    t.is(decide(votes(given), quorum).decision, decision);
  });
}

test('a vote counts for three intervals, and for at least one interval plus a minute', (t) => {
  t.deepEqual([1, 29, 30, 31, 60, 3600].map(freshnessMs), [61_000, 89_000, 90_000, 93_000, 180_000, 10_800_000]);
  t.is(undecidedMs(60), 240_000);
});

const NOW_MS = 1_700_000_000_000;

/** Returns a source that decided long ago, and has repeated that vote since. */
function sourceSaying(vote: 'up' | 'down', ageMs: number, online = true): Source {
  const gauge = { tripped: vote === 'down', streak: [], decidedBy: [] };
  const state: SourceState = {
    checksVersion: 1,
    newestAtMs: NOW_MS - 86_400_000,
    abstention: null,
    failing: gauge,
    impaired: gauge,
  };
  return { agentNo: 1, name: 'hanoi', online, newestAtMs: NOW_MS - ageMs, state };
}

function stateAfter(
  sources: readonly Source[],
  { intervalSeconds = 60, quorum = 1, state = 'up' as MonitorState } = {},
): MonitorState {
  const monitor: DecidedMonitor = {
    state,
    stateSinceMs: NOW_MS - 86_400_000,
    intervalSeconds,
    waitsForPings: false,
    quorum,
    downAfterFailures: 2,
    upAfterSuccesses: 1,
    sources: sources.map((source, index) => ({ ...source, agentNo: index + 1 })),
  };
  return reconsider(monitor, { nowMs: NOW_MS, silenceCounts: true })?.to ?? state;
}

for (const [intervalSeconds, freshMs] of [
  [1, 61_000],
  [30, 90_000],
  [60, 180_000],
  [300, 900_000],
] as const) {
  test(
    `at an interval of ${intervalSeconds} s a result of exactly ${freshMs / 1000} s ago is fresh, and one a ` +
      'millisecond older is not',
    (t) => {
      t.is(stateAfter([sourceSaying('up', freshMs)], { intervalSeconds }), 'up');
      t.is(stateAfter([sourceSaying('up', freshMs + 1)], { intervalSeconds }), 'unknown');
    },
  );
}

test('a source loses its vote the millisecond it goes stale, leaving two of three to decide', (t) => {
  const sources = [sourceSaying('down', 1000), sourceSaying('up', 1000), sourceSaying('down', 180_000)];
  t.is(stateAfter(sources, { quorum: 2 }), 'down');
  t.is(stateAfter(sources.with(2, sourceSaying('down', 180_001)), { quorum: 2 }), 'up');
});

test('a source whose agent is offline does not vote, even with a fresh result', (t) => {
  const offline = (vote: 'up' | 'down') => sourceSaying(vote, 1000, false);
  const online = (vote: 'up' | 'down') => sourceSaying(vote, 1000);
  t.is(stateAfter([offline('up')]), 'unknown');
  t.is(stateAfter([offline('down'), online('up')], { quorum: 1 }), 'up');
  t.is(stateAfter([offline('down'), offline('down'), online('up')], { quorum: 2 }), 'unknown');
  t.is(stateAfter([offline('up'), online('down'), online('down')], { quorum: 2 }), 'down');
});

const SENTENCES: readonly [counted: number, of: number, quorum: number, sentence: string][] = [
  [0, 0, 1, 'No location checks this monitor'],
  [0, 2, 2, 'No location is reporting'],
  [1, 1, 1, 'Down when this location fails'],
  [2, 2, 2, 'Down when both locations fail'],
  [2, 2, 1, 'Down when 1 of 2 locations fails'],
  [3, 3, 3, 'Down when all 3 locations fail'],
  [3, 3, 2, 'Down when 2 of 3 locations fail'],
  [1, 2, 2, 'Down when the 1 remaining location fails'],
  [2, 3, 2, 'Down when both remaining locations fail'],
  [3, 4, 3, 'Down when all 3 remaining locations fail'],
  [3, 4, 2, 'Down when 2 of the 3 remaining locations fail'],
  [1, 5, 3, 'Status unknown: only 1 of 5 locations are reporting'],
];
for (const [counted, of, quorum, sentence] of SENTENCES) {
  test(`${counted} of ${of} locations counted, quorum ${quorum}: ${sentence}`, (t) => {
    t.is(describeQuorum({ votes: counted, sources: of }, quorum), sentence);
    // The sentence matches the decision: the number of failing locations that it names is the minimum.
    const failing = (down: number) =>
      decide(votes({ down, up: counted - down, silent: of - counted }), quorum).decision;
    const needed = Math.min(quorum, counted);
    t.is(failing(needed), sentence.startsWith('Down') ? 'down' : 'unknown');
    if (needed > 0) t.not(failing(needed - 1), 'down');
  });
}
