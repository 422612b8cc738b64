import test from 'ava';
import { chooseDefaultSources, listAliveAgents } from '../../../core/monitors/defaults.ts';

const NOW_S = 1_800_000_000;
const agentLastSeen = (id: string, secondsAgo: number | null) => ({
  id,
  lastSeenAt: secondsAgo === null ? null : NOW_S - secondsAgo,
});

test('a shared agent counts as alive for five minutes after its last check-in', (t) => {
  t.deepEqual(
    listAliveAgents(
      [
        agentLastSeen('now', 0),
        agentLastSeen('deploying', 299),
        agentLastSeen('gone', 301),
        agentLastSeen('never', null),
      ],
      NOW_S * 1000,
    ),
    ['now', 'deploying'],
  );
});

test('if no agent is alive, those of the last check-ins are used, so that no monitor lacks sources', (t) => {
  t.deepEqual(
    listAliveAgents(
      [agentLastSeen('a', 7200), agentLastSeen('b', 7100), agentLastSeen('long gone', 90_000)],
      NOW_S * 1000,
    ),
    ['a', 'b'],
  );
  t.deepEqual(listAliveAgents([agentLastSeen('a', null), agentLastSeen('b', null)], NOW_S * 1000), ['a', 'b']);
  t.deepEqual(listAliveAgents([], NOW_S * 1000), []);
});

test('a last check-in in the future does not hide other agents', (t) => {
  t.deepEqual(listAliveAgents([agentLastSeen('ahead', -3600), agentLastSeen('now', 10)], NOW_S * 1000), [
    'ahead',
    'now',
  ]);
});

test('default sources are chosen by monitor id, spread evenly, and stay the same if more are requested', (t) => {
  const agents = ['a', 'b', 'c', 'd'];
  const counts = new Map<string, number>();
  for (let monitor = 0; monitor < 4000; monitor += 1) {
    const [only = '', ...more] = chooseDefaultSources(`mon_${monitor}`, agents, 1);
    t.deepEqual(more, []);
    t.true(chooseDefaultSources(`mon_${monitor}`, agents).includes(only));
    counts.set(only, (counts.get(only) ?? 0) + 1);
  }
  for (const agent of agents) t.true(Math.abs((counts.get(agent) ?? 0) - 1000) < 150, JSON.stringify([...counts]));
});
