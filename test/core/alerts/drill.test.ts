import test from 'ava';
import { buildAlert } from '../../../core/alerts/chat/alert.ts';
import { buildDrillMessage, decideDrill, nextMonthMs, type DrillAnswer } from '../../../core/alerts/drill.ts';

const START_MS = 1_795_259_001_000;

const MONITOR = {
  no: 1,
  id: 'mon_1',
  name: 'Shop',
  type: 'http' as const,
  target: 'https://shop.example/',
  quorum: 2,
  sources: [
    { agentNo: 1, name: 'frankfurt' },
    { agentNo: 2, name: 'hanoi' },
    { agentNo: 3, name: 'lima' },
  ],
};

function decide(said: readonly [agentNo: number, verdict: DrillAnswer['verdict']][], sameMoment = false) {
  const answers = said.map(([agentNo, verdict], index) => ({
    agentNo,
    verdict,
    atMs: START_MS + (sameMoment ? 0 : 10 * (index + 1)),
  }));
  return decideDrill(MONITOR, { startedAtMs: START_MS, answers, nowMs: START_MS + 1000 });
}

test("a quorum of locations starts and ends a drill's outage, with one vote per location", (t) => {
  for (const [said, state] of [
    [[], 'up'],
    [[[1, 'down']], 'up'],
    [
      [
        [1, 'down'],
        [2, 'down'],
      ],
      'down',
    ],
    [
      [
        [3, 'down'],
        [1, 'down'],
        [2, 'down'],
      ],
      'down',
    ],
    [
      [
        [1, 'down'],
        [2, 'down'],
        [1, 'up'],
      ],
      'up',
    ],
    [
      [
        [1, 'down'],
        [2, 'down'],
        [3, 'down'],
        [1, 'up'],
      ],
      'down',
    ],
    [
      [
        [1, 'down'],
        [2, 'down'],
        [3, 'down'],
        [1, 'up'],
        [2, 'up'],
      ],
      'up',
    ],
    [
      [
        [4, 'down'],
        [5, 'down'],
      ],
      'up',
    ],
  ] as const) {
    t.is(decide(said.map(([agentNo, verdict]) => [agentNo, verdict])).state, state, JSON.stringify(said));
    t.is(
      decide(
        said.map(([agentNo, verdict]) => [agentNo, verdict]),
        true,
      ).state,
      state,
      JSON.stringify(said),
    );
  }
});

test('a drill stays up if fewer locations answer than its quorum needs', (t) => {
  const answers = MONITOR.sources.map(({ agentNo }) => ({ agentNo, verdict: 'down' as const, atMs: START_MS + 1 }));
  t.is(decideDrill({ ...MONITOR, quorum: 3 }, { startedAtMs: START_MS, answers, nowMs: START_MS + 9 }).state, 'down');
  t.is(
    decideDrill({ ...MONITOR, quorum: 3 }, { startedAtMs: START_MS, answers: answers.slice(1), nowMs: START_MS + 9 })
      .state,
    'up',
  );
});

test('every drill message is marked as a drill, in envelopes and chats, and has sequence 0', (t) => {
  const drill = { id: 'drl_1', incidentId: 'inc_1', startedAtMs: START_MS, endsAtMs: START_MS + 30_000 };
  const facts = { drill, monitor: MONITOR, publicUrl: 'https://spotcheck.example' };
  const { change: begun } = decide([
    [1, 'down'],
    [2, 'down'],
  ]);
  const { change: ended } = decide([
    [1, 'down'],
    [2, 'down'],
    [1, 'up'],
  ]);
  if (begun === null || ended === null) throw new Error('Nothing changed');
  const alert = buildDrillMessage({ ...facts, change: begun, monitorState: 'up' });
  t.is(alert.event, 'monitor.down');
  t.is(alert.state, 'down');
  t.deepEqual(alert.drill, { id: 'drl_1', ends_at: START_MS / 1000 + 30 });
  t.regex(alert.reason, /^This is a drill\. The monitor has not failed/);
  t.is(alert.detail.sequence, 0);
  t.is(alert.detail.incident_id, 'inc_1');
  t.is(alert.detail.cause, 'drill');
  t.deepEqual(alert.detail.sources_down, ['frankfurt', 'hanoi']);
  t.deepEqual(buildAlert(alert, START_MS), {
    tone: 'neutral',
    title: 'Drill: Down: Shop',
    text: alert.reason,
    facts: [
      { label: 'Answers from', value: 'frankfurt, hanoi (2 of 3)' },
      { label: 'Ends at', value: '2026-11-21 11:03:51 UTC' },
    ],
    link: { label: 'View monitor', url: 'https://spotcheck.example/monitors/mon_1' },
  });
  const end = buildDrillMessage({ ...facts, change: ended, monitorState: 'up' });
  t.is(end.event, 'monitor.up');
  t.is(end.reason, 'The drill has ended. It was a drill, and nothing had failed');
  t.is(end.detail.sequence, 0);
  t.is(buildAlert(end, START_MS).title, 'Drill: Ended: Shop');
  t.regex(
    buildDrillMessage({ ...facts, change: ended, monitorState: 'down' }).reason,
    /The monitor itself is down now$/,
  );
  t.regex(
    buildDrillMessage({ ...facts, change: ended, monitorState: null }).reason,
    /The monitor was deleted meanwhile$/,
  );
});

test('a monthly drill recurs at its original day and time, or on the last day of shorter months', (t) => {
  for (const [from, now, next] of [
    ['2026-01-15T10:20:30.400Z', '2026-01-15T10:20:30.400Z', '2026-02-15T10:20:30.400Z'],
    ['2026-01-31T10:00:00Z', '2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z'],
    ['2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z', '2026-03-31T10:00:00Z'],
    ['2026-01-31T10:00:00Z', '2026-02-28T09:59:59Z', '2026-02-28T10:00:00Z'],
    ['2027-12-31T23:59:59Z', '2028-01-31T23:59:59Z', '2028-02-29T23:59:59Z'],
    ['2026-01-31T10:00:00Z', '2027-05-01T00:00:00Z', '2027-05-31T10:00:00Z'],
    ['2026-05-05T10:00:00Z', '2026-01-01T00:00:00Z', '2026-06-05T10:00:00Z'],
  ] as const)
    t.is(new Date(nextMonthMs(Date.parse(from), Date.parse(now))).getTime(), Date.parse(next), `${from} ${now}`);
});
