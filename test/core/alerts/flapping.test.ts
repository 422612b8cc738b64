import test from 'ava';
import { describeFlapping, planFlapping, type FlappingMessages } from '../../../core/alerts/flapping.ts';
import { MINUTE_MS } from '../../../core/time.ts';
import { seeded } from '../../helpers/seeded.ts';

const START_MS = 1_700_000_000_000;
const QUARTER_MS = 15 * MINUTE_MS;

type State = 'up' | 'down' | 'degraded' | 'unknown';
type Change = { atMs: number; state: State };
type Sent = { atMs: number; state: State; kind: 'change' | 'unstable' | 'stable'; lastChangeMs: number };

/** Returns the messages that a chat receives for these changes of a monitor. */
function sentOf(changes: readonly Change[]): Sent[] {
  const sent: Sent[] = [];
  let messages: FlappingMessages = { usedUpMs: null, isUnstable: false, unstableDueMs: null, stableDueMs: null };
  let newest: Change = { atMs: START_MS, state: 'up' };
  let endsThen = false;
  const sendDue = (untilMs: number) => {
    const { unstableDueMs, stableDueMs } = messages;
    const common = { state: newest.state, lastChangeMs: newest.atMs };
    if (unstableDueMs !== null && unstableDueMs <= untilMs) {
      sent.push({ ...common, atMs: unstableDueMs, kind: endsThen ? 'stable' : 'unstable' });
      messages = { ...messages, unstableDueMs: null, isUnstable: !endsThen };
    }
    if (stableDueMs !== null && stableDueMs <= untilMs) {
      sent.push({ ...common, atMs: stableDueMs, kind: 'stable' });
      messages = { ...messages, stableDueMs: null, isUnstable: false };
    }
  };
  for (const change of changes) {
    sendDue(change.atMs);
    newest = change;
    const plan = planFlapping(messages, { state: change.state, nowMs: change.atMs });
    ({ endsThen } = plan);
    messages = { ...messages, ...plan };
    if (plan.isSent) sent.push({ atMs: change.atMs, state: change.state, kind: 'change', lastChangeMs: change.atMs });
  }
  sendDue(Number.POSITIVE_INFINITY);
  return sent;
}

const every = (minutes: number, count: number): Change[] =>
  Array.from({ length: count }, (_, index) => ({
    atMs: START_MS + index * minutes * MINUTE_MS,
    state: index % 2 === 0 ? 'down' : 'up',
  }));

const minutesOf = (sent: readonly Sent[]) => sent.map(({ atMs, kind }) => [(atMs - START_MS) / MINUTE_MS, kind]);

test('flapping sends two changes immediately, then one "unstable" and one "stable" message', (t) => {
  t.deepEqual(minutesOf(sentOf(every(1, 2))), [
    [0, 'change'],
    [1, 'change'],
  ]);
  // The 40th change is an up, in minute 39; the monitor is stable 15 minutes later.
  t.deepEqual(minutesOf(sentOf(every(1, 40))), [
    [0, 'change'],
    [1, 'change'],
    [15, 'unstable'],
    [54, 'stable'],
  ]);
});

test('five minutes down count as stable, and flapping that ends before "unstable" is due sends only "stable"', (t) => {
  t.deepEqual(minutesOf(sentOf([...every(2, 14), { atMs: START_MS + 28 * MINUTE_MS, state: 'down' }])), [
    [0, 'change'],
    [2, 'change'],
    [15, 'unstable'],
    [33, 'stable'],
  ]);
  t.deepEqual(minutesOf(sentOf(every(1, 3))), [
    [0, 'change'],
    [1, 'change'],
    [15, 'stable'],
  ]);
});

test('changes 16 minutes apart are all sent', (t) => {
  t.deepEqual(
    sentOf(every(16, 20)).map(({ kind }) => kind),
    Array.from({ length: 20 }, () => 'change'),
  );
});

test('in 1,000 random histories a chat gets at most 2 + duration / 15 min messages, and the final state', (t) => {
  const random = seeded(7);
  let fewer = 0;
  for (let history = 0; history < 1000; history += 1) {
    const pace = [10_000, MINUTE_MS, 4 * MINUTE_MS, 12 * MINUTE_MS][history % 4] ?? MINUTE_MS;
    const changes: Change[] = [];
    let atMs = START_MS;
    let state: State = 'up';
    for (let count = 1 + Math.floor(random() * 60); count > 0; count -= 1) {
      const others = (['up', 'down', 'degraded', 'unknown'] as const).filter((one) => one !== state);
      state =
        state === 'up' ? (others[Math.floor(random() * others.length)] ?? 'down') : random() < 0.8 ? 'up' : 'down';
      changes.push({ atMs, state });
      atMs += Math.round(-Math.log(1 - random()) * pace * (random() < 0.05 ? 20 : 1));
    }
    const sent = sentOf(changes);
    for (const [index, { atMs: sentAtMs }] of sent.entries())
      t.true(index + 1 <= 2 + (sentAtMs - START_MS) / QUARTER_MS, `history ${history}, message ${index + 1}`);
    t.is(sent.at(-1)?.state, changes.at(-1)?.state, `history ${history}`);
    for (const { kind, state: said, lastChangeMs, atMs: sentAtMs } of sent)
      if (kind === 'stable')
        t.true(sentAtMs - lastChangeMs >= (said === 'up' ? 15 : 5) * MINUTE_MS, `history ${history}`);
    if (sent.length < changes.length) fewer += 1;
  }
  t.true(fewer > 500);
});

test('a flapping message covers the changes that followed one another within 15 minutes', (t) => {
  const at = (minutes: number, state: State) => ({ atMs: START_MS + minutes * MINUTE_MS, state });
  const changes = [at(-60, 'down'), at(-50, 'up'), at(0, 'down'), at(1, 'up'), at(10, 'degraded'), at(13, 'up')];
  t.deepEqual(describeFlapping(changes, { nowMs: START_MS + 14 * MINUTE_MS, isStable: false }), {
    since: START_MS / 1000,
    changes: 4,
    longest_seconds: 180,
    is_stable: false,
  });
  t.is(
    describeFlapping([...changes, at(14, 'down')], { nowMs: START_MS + 24 * MINUTE_MS, isStable: true })
      .longest_seconds,
    600,
  );
});
