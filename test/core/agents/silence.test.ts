import test from 'ava';
import * as fc from 'fast-check';
import {
  decideSilence,
  HOLD_MS,
  OFFLINE_AFTER_MS,
  type CheckInAvailability,
  type WatchedAgent,
} from '../../../core/agents/silence.ts';

const NOW_MS = 1_700_000_000_000;
const SECOND = 1000;

/** The API has been available since long before the agents in these cases were created. */
const AVAILABLE: CheckInAvailability = { atMs: NOW_MS, availableSinceMs: 0 };

type Silence = { offline: number[]; held: number[]; online: number[] };

/** Returns agents numbered from 1, last seen the given seconds ago. */
function agentsLastSeen(...secondsAgo: number[]): WatchedAgent[] {
  return secondsAgo.map((seconds, index) => ({
    no: index + 1,
    tenantId: null,
    lastSeenAtMs: NOW_MS - seconds * SECOND,
    offlineAtMs: null,
    heldUntilMs: null,
  }));
}

/** Returns the same agents after they were reported offline when due. */
function notified(agents: readonly WatchedAgent[]): WatchedAgent[] {
  return agents.map((agent) => ({ ...agent, offlineAtMs: agent.lastSeenAtMs + OFFLINE_AFTER_MS }));
}

function numbered(agents: readonly WatchedAgent[]): WatchedAgent[] {
  return agents.map((agent, index) => ({ ...agent, no: index + 1 }));
}

function ofAccount(tenantId: string, agents: readonly WatchedAgent[]): WatchedAgent[] {
  return agents.map((agent) => ({ ...agent, tenantId }));
}

function decide(agents: readonly WatchedAgent[], availability: CheckInAvailability = AVAILABLE): Silence {
  const { offline, held, online } = decideSilence(agents, availability);
  return { offline: offline.map(({ no }) => no), held: held.map(({ no }) => no), online };
}

const NO_CHANGE: Silence = { offline: [], held: [], online: [] };

const CASES: readonly {
  name: string;
  agents: WatchedAgent[];
  availability?: CheckInAvailability;
  expected: Partial<Silence>;
}[] = [
  { name: 'an agent is not offline just before 90 s of silence', agents: agentsLastSeen(89.999), expected: {} },
  { name: 'an agent goes offline after 90 s of silence', agents: agentsLastSeen(90), expected: { offline: [1] } },
  {
    name: 'an agent that is already offline is not reported again',
    agents: notified(agentsLastSeen(600)),
    expected: {},
  },
  {
    name: 'an offline agent that checks in is back online',
    agents: [{ ...notified(agentsLastSeen(600))[0]!, lastSeenAtMs: NOW_MS }],
    expected: { online: [1] },
  },
  {
    name: 'an agent is back online even if the clock of its web process is some seconds behind',
    agents: [{ ...agentsLastSeen(85)[0]!, offlineAtMs: NOW_MS - SECOND }],
    expected: { online: [1] },
  },
  {
    name: 'an agent that was back briefly between two polls is reported online and offline again',
    agents: [{ ...agentsLastSeen(100)[0]!, offlineAtMs: NOW_MS - 600 * SECOND }],
    expected: { online: [1], offline: [1] },
  },
  {
    name: 'silence before the API became available does not count',
    agents: agentsLastSeen(3600),
    availability: { atMs: NOW_MS, availableSinceMs: NOW_MS - 89_999 },
    expected: {},
  },
  {
    name: 'an agent goes offline after 90 s of silence while the API is available',
    agents: agentsLastSeen(3600),
    availability: { atMs: NOW_MS, availableSinceMs: NOW_MS - 90_000 },
    expected: { offline: [1] },
  },
  {
    name: 'restored availability brings no agent back online without a check-in',
    agents: notified(agentsLastSeen(600)),
    availability: { atMs: NOW_MS, availableSinceMs: NOW_MS - SECOND },
    expected: {},
  },
  {
    name: 'two agents out of two are reported immediately, as only three or more are held',
    agents: agentsLastSeen(95, 92),
    expected: { offline: [1, 2] },
  },
  {
    name: 'three agents out of three that fall silent together are held',
    agents: agentsLastSeen(95, 92, 90),
    expected: { held: [1, 2, 3] },
  },
  {
    name: 'the first of several silent agents is held although the rest are not due yet',
    agents: agentsLastSeen(90, 75, 61),
    expected: { held: [1] },
  },
  {
    name: 'agents that checked in less than 45 s ago do not count as silent',
    agents: agentsLastSeen(90, 44.999, 44.999),
    expected: { offline: [1] },
  },
  {
    name: 'three agents out of six are not more than half and are reported',
    agents: agentsLastSeen(95, 92, 90, 5, 5, 5),
    expected: { offline: [1, 2, 3] },
  },
  {
    name: 'three agents out of five are more than half and are held',
    agents: agentsLastSeen(95, 92, 90, 5, 5),
    expected: { held: [1, 2, 3] },
  },
  {
    name: 'agents that fall silent within two minutes of each other count as together',
    agents: agentsLastSeen(149, 89, 29 + 20, 5),
    expected: { held: [1] },
  },
  {
    name: 'agents that have long been offline count neither as silent nor as online',
    agents: numbered([...agentsLastSeen(95, 92, 90), ...notified(agentsLastSeen(600, 600, 600, 600))]),
    expected: { held: [1, 2, 3] },
  },
  {
    name: 'agents are held if they fell silent within two minutes of one already reported',
    agents: numbered([...notified(agentsLastSeen(120)), ...agentsLastSeen(95, 92)]),
    expected: { held: [2, 3] },
  },
  {
    name: 'agents are reported if they fell silent more than two minutes after one already reported',
    agents: numbered([...notified(agentsLastSeen(230)), ...agentsLastSeen(95, 92)]),
    expected: { offline: [2, 3] },
  },
  {
    name: 'no agent is held longer than 60 s',
    agents: agentsLastSeen(150, 149.999, 90),
    expected: { offline: [1], held: [2, 3] },
  },
  {
    name: 'a hold continues even if the other agents are back',
    agents: [{ ...agentsLastSeen(100)[0]!, heldUntilMs: NOW_MS + 50 * SECOND }, ...agentsLastSeen(0, 5, 5).slice(1)],
    expected: {},
  },
  {
    name: 'a hold ends after 60 s',
    agents: [{ ...agentsLastSeen(150)[0]!, heldUntilMs: NOW_MS }],
    expected: { offline: [1] },
  },
  {
    name: 'a hold from an earlier silence has no effect',
    agents: [{ ...agentsLastSeen(95)[0]!, heldUntilMs: NOW_MS + 20 * SECOND }],
    expected: { offline: [1] },
  },
  {
    name: 'fifty silent agents of one account count as one agent for another account',
    agents: numbered([
      ...ofAccount('ten_a', agentsLastSeen(...Array.from({ length: 50 }, () => 95))),
      ...ofAccount('ten_b', agentsLastSeen(95)),
      ...agentsLastSeen(5),
    ]),
    expected: { held: Array.from({ length: 50 }, (_, index) => index + 1), offline: [51] },
  },
  {
    name: 'an account with some silent agents counts as that fraction of an agent for other accounts',
    agents: numbered([
      ...ofAccount('ten_a', agentsLastSeen(95, 95, 5, 5)),
      ...['ten_b', 'ten_c', 'ten_d'].flatMap((tenantId) => ofAccount(tenantId, agentsLastSeen(95))),
      ...ofAccount('ten_e', agentsLastSeen(5, 5, 5)),
      ...agentsLastSeen(5, 5),
    ]),
    expected: { offline: [1, 2, 5, 6, 7] },
  },
  {
    name: 'three accounts out of four with all agents silent are more than half',
    agents: numbered([
      ...['ten_a', 'ten_b', 'ten_c'].flatMap((tenantId) => ofAccount(tenantId, agentsLastSeen(95, 95, 95))),
      ...ofAccount('ten_d', agentsLastSeen(5, 5, 5, 5, 5, 5, 5, 5, 5)),
    ]),
    expected: { held: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
  },
  {
    name: 'for its own account each agent counts as one, like a shared agent',
    agents: numbered([...ofAccount('ten_a', agentsLastSeen(95, 95, 95)), ...agentsLastSeen(0)]),
    expected: { held: [1, 2, 3] },
  },
  {
    name: 'agents that are already offline do not count for another account',
    agents: numbered([
      ...ofAccount('ten_a', notified(agentsLastSeen(600, 600, 600))),
      ...['ten_b', 'ten_c', 'ten_d'].flatMap((tenantId) => ofAccount(tenantId, agentsLastSeen(95, 95))),
      ...agentsLastSeen(5, 5),
    ]),
    expected: { held: [4, 5, 6, 7, 8, 9] },
  },
  { name: 'no agents, no change', agents: [], expected: {} },
];

for (const { name, agents, availability, expected } of CASES) {
  test(name, (t) => {
    t.deepEqual(decide(agents, availability), { ...NO_CHANGE, ...expected });
  });
}

test('an agent counts as offline from 90 s of silence on, even if decided late, and holds end 60 s after that', (t) => {
  t.deepEqual(decideSilence(agentsLastSeen(1000), AVAILABLE).offline, [{ no: 1, offlineAtMs: NOW_MS - 910 * SECOND }]);
  t.deepEqual(decideSilence(agentsLastSeen(100, 95, 91), AVAILABLE).held[0], {
    no: 1,
    heldUntilMs: NOW_MS + 50 * SECOND,
  });
  t.deepEqual(decideSilence(agentsLastSeen(3600), { atMs: NOW_MS, availableSinceMs: NOW_MS - 100 * SECOND }).offline, [
    { no: 1, offlineAtMs: NOW_MS - 10 * SECOND },
  ]);
});

for (const [whose, tenantOf] of [
  ['shared', () => null],
  ['of one account', () => 'ten_1'],
  ['of two thousand accounts', (no) => `ten_${no % 2000}`],
] as const satisfies [string, (no: number) => string | null][])
  test(`the silence of 10,000 agents is decided in under 0.5 s of CPU time: ${whose}`, (t) => {
    const agents = Array.from({ length: 10_000 }, (_, no): WatchedAgent => ({
      no,
      tenantId: tenantOf(no),
      lastSeenAtMs: NOW_MS - 120_000 + no,
      offlineAtMs: null,
      heldUntilMs: null,
    }));
    const before = process.threadCpuUsage();
    t.is(decideSilence(agents, AVAILABLE).held.length, 10_000);
    const { user, system } = process.threadCpuUsage(before);
    t.true(user + system < 500_000, `${user + system} us of CPU`);
  });

const histories = fc.record({
  /** Check-in times of each agent, in seconds from the start. */
  checkIns: fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 25 }), {
    minLength: 1,
    maxLength: 7,
  }),
  /** Periods in which no agent can check in. */
  closed: fc.array(fc.record({ from: fc.integer({ min: 0, max: 900 }), seconds: fc.integer({ min: 4, max: 120 }) }), {
    maxLength: 2,
  }),
  roundEvery: fc.integer({ min: 1, max: 5 }),
});

type Event = { no: number; to: 'offline' | 'online'; second: number; silentFor: number };

/**
 * Plays a history round by round, as the watch does with rows. Returns each event, and for how long the agent had been
 * silent while check-ins were possible.
 */
function play({ checkIns, closed, roundEvery }: typeof histories extends fc.Arbitrary<infer T> ? T : never): Event[] {
  const isClosed = (second: number) => closed.some(({ from, seconds }) => second >= from && second < from + seconds);
  const rows = new Map<number, WatchedAgent>();
  const events: Event[] = [];
  let openSince = 0;
  for (let second = 0; second <= 1200; second += 1) {
    if (isClosed(second)) {
      openSince = second + 1;
      continue;
    }
    for (const [index, seconds] of checkIns.entries()) {
      if (seconds.includes(second))
        rows.set(index, {
          ...(rows.get(index) ?? { no: index, tenantId: null, offlineAtMs: null, heldUntilMs: null }),
          lastSeenAtMs: second * SECOND,
        });
    }
    if (second % roundEvery !== 0) continue;
    const decision = decideSilence([...rows.values()], { atMs: second * SECOND, availableSinceMs: openSince * SECOND });
    const change = (no: number, to: Partial<WatchedAgent>) => rows.set(no, { ...rows.get(no)!, ...to });
    const silentFor = (no: number) => second - Math.max(openSince, rows.get(no)!.lastSeenAtMs / SECOND);
    for (const no of decision.online) {
      events.push({ no, to: 'online', second, silentFor: silentFor(no) });
      change(no, { offlineAtMs: null });
    }
    for (const { no, offlineAtMs } of decision.offline) {
      events.push({ no, to: 'offline', second, silentFor: silentFor(no) });
      change(no, { offlineAtMs });
    }
    for (const { no, heldUntilMs } of decision.held) change(no, { heldUntilMs });
  }
  return events;
}

test('in any history offline and online alternate, and offline follows 90 to 150 s of silence plus a round', (t) => {
  fc.assert(
    fc.property(histories, (history) => {
      const events = play(history);
      for (const no of history.checkIns.keys()) {
        const own = events.filter((event) => event.no === no);
        if (own.some(({ to }, index) => to !== (index % 2 === 0 ? 'offline' : 'online'))) return false;
        // By the end every agent is permanently silent.
        const hasCheckedIn = history.checkIns[no]!.some(
          (second) => !history.closed.some(({ from, seconds }) => second >= from && second < from + seconds),
        );
        if (hasCheckedIn && own.at(-1)?.to !== 'offline') return false;
      }
      const latest = (OFFLINE_AFTER_MS + HOLD_MS) / SECOND + history.roundEvery;
      return events.every(({ to, silentFor }) => to === 'online' || (silentFor >= 90 && silentFor <= latest));
    }),
    { numRuns: 1000 },
  );
  t.pass();
});

test('with at most two agents no offline decision is held', (t) => {
  const few = histories.filter(({ checkIns }) => checkIns.length <= 2);
  fc.assert(
    fc.property(few, (history) =>
      play(history).every(({ to, silentFor }) => to === 'online' || silentFor <= 90 + history.roundEvery),
    ),
  );
  t.pass();
});
