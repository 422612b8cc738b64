import test from 'ava';
import type { Vote } from '../../../core/checks/verdict.ts';
import { stepSource, type SourceState } from '../../../core/incidents/source-state.ts';
import { findSourceStatus, describeNotCounted, type SourceStatus } from '../../../core/monitors/source-status.ts';

/** Returns a source after these results; two bad ones make it down. */
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
  status: SourceStatus;
}[] = [
  {
    name: 'a source with a vote and a recent result votes',
    online: true,
    isRecent: true,
    state: after('up'),
    status: 'votes',
  },
  {
    name: 'a source that is down votes too',
    online: true,
    isRecent: true,
    state: after('down', 'down'),
    status: 'votes',
  },
  {
    name: 'a source with an offline agent is offline, even with a recent result',
    online: false,
    isRecent: true,
    state: after('up'),
    status: 'offline',
  },
  {
    name: 'a source without a recent result is silent, regardless of its last vote',
    online: true,
    isRecent: false,
    state: after('down', 'down'),
    status: 'silent',
  },
  { name: 'a source without any result is silent', online: true, isRecent: false, state: null, status: 'silent' },
  {
    name: 'a new source with one of two required failures is undecided',
    online: true,
    isRecent: true,
    state: after('down'),
    status: 'undecided',
  },
  {
    name: 'a source still votes after two no votes in a row',
    online: true,
    isRecent: true,
    state: after('up', 'none', 'none'),
    status: 'votes',
  },
  {
    name: 'a source is unable after three no votes in a row',
    online: true,
    isRecent: true,
    state: after('up', 'none', 'none', 'none'),
    status: 'unable',
  },
];

for (const { name, online, isRecent, state, status } of CASES) {
  test(name, (t) => {
    t.is(findSourceStatus({ online, state }, isRecent), status);
  });
}

test('sources that do not vote are listed by reason, in order', (t) => {
  const sources = [
    { name: 'oslo', status: 'silent' },
    { name: 'lima', status: 'silent' },
    { name: 'hanoi', status: 'offline' },
    { name: 'tokyo', status: 'votes' },
    { name: 'paris', status: 'unable' },
    { name: 'quito', status: 'undecided' },
  ] as const;
  t.is(
    describeNotCounted(sources),
    'hanoi is offline, lima and oslo are not reporting, quito has no verdict yet, paris cannot run the check',
  );
  t.is(describeNotCounted([{ name: 'tokyo', status: 'votes' }]), '');
});

test('up to five sources are named and the rest counted, and long names are truncated', (t) => {
  const sources = Array.from({ length: 8 }, (_, index) => ({ name: `source-${index}`, status: 'silent' as const }));
  t.is(describeNotCounted(sources), 'source-0, source-1, source-2, source-3, source-4 and 3 more are not reporting');
  t.is(describeNotCounted([{ name: 'x'.repeat(255), status: 'offline' }]), `${'x'.repeat(60)} is offline`);
});
