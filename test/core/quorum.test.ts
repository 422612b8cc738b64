import test from 'ava';
import { decide, freshnessMs, undecidedMs, type Decision, type SourceVote } from '../../core/quorum.ts';

function votes(counts: { up?: number; degraded?: number; down?: number; silent?: number }): SourceVote[] {
  const { up = 0, degraded = 0, down = 0, silent = 0 } = counts;
  return [
    ...times(up, { vote: 'up', fresh: true }),
    ...times(degraded, { vote: 'degraded', fresh: true }),
    ...times(down, { vote: 'down', fresh: true }),
    ...times(silent, { vote: 'down', fresh: false }),
  ];
}

function times(count: number, vote: SourceVote): SourceVote[] {
  return Array.from({ length: count }, () => vote);
}

/** D-41 read from the text, not from the code: what n sources of which some are silent and some down decide. */
function expected({ sources, silent, down, quorum }: { sources: number; silent: number; down: number; quorum: number }): Decision {
  const fresh = sources - silent;
  if (fresh === 0) return 'unknown';
  if (fresh < quorum && fresh < sources / 2) return 'unknown';
  const needed = fresh < quorum ? fresh : quorum;
  return down >= needed ? 'down' : 'up';
}

for (let sources = 1; sources <= 5; sources += 1) {
  test(`${sources} sources decide as D-41 says, whatever the quorum, the number silent and the number down`, (t) => {
    for (let quorum = 1; quorum <= sources; quorum += 1) {
      for (let silent = 0; silent <= sources; silent += 1) {
        for (let down = 0; down <= sources - silent; down += 1) {
          const { decision } = decide(votes({ silent, down, up: sources - silent - down }), quorum);
          t.is(decision, expected({ sources, silent, down, quorum }), `${JSON.stringify({ quorum, silent, down })}`);
        }
      }
    }
  });
}

const CASES = [
  { name: 'one surviving place out of five never decides alone', sources: votes({ down: 1, silent: 4 }), quorum: 2, decision: 'unknown' },
  { name: 'of two places one may fail', sources: votes({ down: 1, silent: 1 }), quorum: 2, decision: 'down' },
  { name: 'silence is no agreement', sources: votes({ up: 2, silent: 1 }), quorum: 2, decision: 'up' },
  { name: 'one lying place of three brings nothing down', sources: votes({ up: 2, down: 1 }), quorum: 2, decision: 'up' },
  { name: 'down and degraded together are degraded', sources: votes({ up: 1, degraded: 1, down: 1 }), quorum: 2, decision: 'degraded' },
  { name: 'no source at all is unknown', sources: [], quorum: 1, decision: 'unknown' },
] as const;

for (const { name, sources, quorum, decision } of CASES) {
  test(name, (t) => {
    t.is(decide(sources, quorum).decision, decision);
  });
}

test('a vote counts for three intervals, at least for the interval and a minute', (t) => {
  t.is(freshnessMs(1), 61_000);
  t.is(freshnessMs(30), 90_000);
  t.is(freshnessMs(60), 180_000);
  t.is(undecidedMs(60), 240_000);
});
