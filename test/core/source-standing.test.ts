import test from 'ava';
import { standingOf, describeNotCounted, type SourceStanding } from '../../core/source-standing.ts';
import { stepSource, type SourceState } from '../../core/source-state.ts';
import type { Vote } from '../../core/verdict.ts';

/** A source after these results, which is down after two bad ones. */
function after(...verdicts: Vote[]): SourceState | null {
  return verdicts.reduce<SourceState | null>(
    (state, verdict, index) =>
      stepSource(
        state,
        {
          dueAtMs: index + 1,
          checksVersion: 1,
          verdict,
          cause: null,
          reason: null,
          httpStatus: null,
          latencyMs: null,
          phases: null,
          answer: null,
        },
        { downAfterFailures: 2, upAfterSuccesses: 1, intervalSeconds: 60 },
      ),
    null,
  );
}

const CASES: readonly {
  name: string;
  online: boolean;
  isRecent: boolean;
  state: SourceState | null;
  standing: SourceStanding;
}[] = [
  {
    name: 'a source with a vote and a recent result votes',
    online: true,
    isRecent: true,
    state: after('up'),
    standing: 'votes',
  },
  {
    name: 'a source that says down votes as well',
    online: true,
    isRecent: true,
    state: after('down', 'down'),
    standing: 'votes',
  },
  {
    name: 'one whose agent is offline is offline, however recent its result',
    online: false,
    isRecent: true,
    state: after('up'),
    standing: 'offline',
  },
  {
    name: 'one that has said nothing lately is silent, whatever it said last',
    online: true,
    isRecent: false,
    state: after('down', 'down'),
    standing: 'silent',
  },
  { name: 'one that never said anything is silent', online: true, isRecent: false, state: null, standing: 'silent' },
  {
    name: 'one bad result of two that it takes is undecided',
    online: true,
    isRecent: true,
    state: after('down'),
    standing: 'undecided',
  },
  {
    name: 'two no votes in a row leave the vote',
    online: true,
    isRecent: true,
    state: after('up', 'none', 'none'),
    standing: 'votes',
  },
  {
    name: 'three no votes in a row are unable',
    online: true,
    isRecent: true,
    state: after('up', 'none', 'none', 'none'),
    standing: 'unable',
  },
];

for (const { name, online, isRecent, state, standing } of CASES) {
  test(name, (t) => {
    t.is(standingOf({ online, state }, isRecent), standing);
  });
}

test('who does not vote is reported by what keeps it from voting, in order', (t) => {
  const sources = [
    { name: 'oslo', standing: 'silent' },
    { name: 'lima', standing: 'silent' },
    { name: 'hanoi', standing: 'offline' },
    { name: 'tokyo', standing: 'votes' },
    { name: 'paris', standing: 'unable' },
    { name: 'quito', standing: 'undecided' },
  ] as const;
  t.is(
    describeNotCounted(sources),
    'hanoi is offline, lima and oslo are silent, quito has not decided yet, paris cannot tell',
  );
  t.is(describeNotCounted([{ name: 'tokyo', standing: 'votes' }]), '');
});

test('of many sources five are named and the rest counted, and long names are cut', (t) => {
  const sources = Array.from({ length: 8 }, (_, index) => ({ name: `source-${index}`, standing: 'silent' as const }));
  t.is(describeNotCounted(sources), 'source-0, source-1, source-2, source-3, source-4 and 3 more are silent');
  t.is(describeNotCounted([{ name: 'x'.repeat(255), standing: 'offline' }]), `${'x'.repeat(60)} is offline`);
});
