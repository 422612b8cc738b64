import test from 'ava';
import { replayRules, type PastChange, type ReplayedAlert } from '../../../core/alerts/replay.ts';
import type { ChannelRule } from '../../../core/alerts/rules.ts';

const MINUTE = 60_000;
const START_MS = Date.parse('2026-03-10T12:00:00Z');
const NOW_MS = START_MS + 600 * MINUTE;

/** Returns one monitor's changes by minute; trouble belongs to an incident that began with the first of it. */
function history(
  changes: readonly (readonly [minute: number, event: PastChange['event']])[],
  { monitorId = 'mon_1', acknowledgedAt = null as number | null } = {},
): PastChange[] {
  let startedAtMs: number | null = null;
  return changes.map(([minute, event]) => {
    const atMs = START_MS + minute * MINUTE;
    startedAtMs = event === 'monitor.up' || event === null ? null : (startedAtMs ?? atMs);
    return {
      monitorId,
      monitorName: 'Shop',
      tags: ['shop'],
      event,
      atMs,
      incidentStartedAtMs: startedAtMs,
      acknowledgedAtMs: acknowledgedAt === null ? null : START_MS + acknowledgedAt * MINUTE,
    };
  });
}

const inOrder = (alerts: Iterable<ReplayedAlert[]>): ReplayedAlert[] =>
  [...alerts].flat().toSorted((a, b) => a.atMs - b.atMs);

const replay = (rules: ChannelRule[], changes: PastChange[]): string[] =>
  inOrder(replayRules(rules, changes, NOW_MS)).map(({ atMs, event, outcome, heldBy, reminder }) => {
    const reason = heldBy === null ? '' : ` ${heldBy}`;
    return `${(atMs - START_MS) / MINUTE} ${event.slice(8)} ${outcome}${reason}${reminder ?? ''}`;
  });

const OUTAGE = history([
  [0, 'monitor.up'],
  [10, 'monitor.degraded'],
  [20, 'monitor.down'],
  [60, 'monitor.up'],
]);

test('without rules problems and recoveries are sent immediately, but not the first up', (t) => {
  t.deepEqual(replay([], OUTAGE), ['10 degraded sent', '20 down sent', '60 up sent']);
});

test("a delay counts from the incident's start, and an earlier recovery or acknowledgement cancels the alert", (t) => {
  const rules: ChannelRule[] = [{ after_seconds: 900, unless_acknowledged: true }];
  t.deepEqual(replay(rules, OUTAGE), ['20 degraded not_sent delay', '25 down sent delay', '60 up sent']);
  t.deepEqual(
    replay(
      rules,
      history([
        [0, 'monitor.down'],
        [14, 'monitor.up'],
      ]),
    ),
    ['14 down not_sent delay'],
  );
  t.deepEqual(
    replay(
      rules,
      history(
        [
          [0, 'monitor.down'],
          [30, 'monitor.up'],
        ],
        { acknowledgedAt: 5 },
      ),
    ),
    ['15 down not_sent delay'],
  );
});

test('reminders repeat until the recovery or their maximum', (t) => {
  const changes = history([
    [0, 'monitor.down'],
    [35, 'monitor.up'],
    [100, 'monitor.down'],
  ]);
  t.deepEqual(replay([{ repeat_seconds: 600, repeat_max: 4 }], changes), [
    '0 down sent',
    '10 down sent reminder1',
    '20 down sent reminder2',
    '30 down sent reminder3',
    '35 up sent',
    '100 down sent',
    '110 down sent reminder1',
    '120 down sent reminder2',
    '130 down sent reminder3',
    '140 down sent reminder4',
  ]);
});

test('quiet hours defer or drop alerts, and pausing the monitor cancels deferred ones', (t) => {
  const hours = 'Mo-Su 12:00-13:00';
  const changes = history([
    [10, 'monitor.down'],
    [20, 'monitor.up'],
    [30, 'monitor.down'],
  ]);
  t.deepEqual(replay([{ quiet: { timezone: 'UTC', hours, mode: 'defer' } }], changes), [
    '20 down not_sent quiet_hours',
    '60 down sent quiet_hours',
  ]);
  t.deepEqual(replay([{ quiet: { timezone: 'UTC', hours, mode: 'drop' } }], changes), [
    '10 down not_sent quiet_hours',
    '30 down not_sent quiet_hours',
  ]);
  t.deepEqual(replay([{ quiet: { timezone: 'UTC', hours, mode: 'defer' } }], [...changes, ...history([[40, null]])]), [
    '20 down not_sent quiet_hours',
    '40 down not_sent quiet_hours',
  ]);
});

test('monitors are replayed independently of each other', (t) => {
  const other = history([[15, 'monitor.down']], { monitorId: 'mon_2' });
  t.deepEqual(replay([{ events: ['monitor.down'] }], [...OUTAGE, ...other]), ['15 down sent', '20 down sent']);
});

test('a monitor with many changes is replayed in parts of at most 50 alerts, and none is lost', (t) => {
  const changes = history(
    Array.from({ length: 500 }, (_, index) => [index, index % 2 === 0 ? 'monitor.down' : 'monitor.up'] as const),
  );
  const parts = [...replayRules([], changes, NOW_MS)];
  t.true(parts.length >= 10);
  t.true(parts.every(({ length }) => length <= 50));
  t.is(parts.flat().length, 500);
});
