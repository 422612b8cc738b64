import test from 'ava';
import { blindSpans, lossySpans } from '../../../simulation/chaos/blindness.ts';
import { CHANNELS, ON_CALL } from '../../../simulation/chaos/channels.ts';
import type { Facts } from '../../../simulation/chaos/facts.ts';
import { planFaults, type Fault } from '../../../simulation/chaos/faults.ts';
import { FINDINGS, type Finding } from '../../../simulation/chaos/findings.ts';
import { judgeChannels } from '../../../simulation/chaos/judge-channels.ts';
import { judgeRun } from '../../../simulation/chaos/judge.ts';
import type { Received } from '../../../simulation/chaos/receiver.ts';
import type { Delivery, Transition } from '../../../simulation/chaos/record.ts';
import { conditionAt, writeScript, type MonitorScript } from '../../../simulation/chaos/script.ts';

const BEGAN_MS = 1_795_000_000_000;
const JUDGED_MS = 90_000;

/** A monitor with two locations and an interval of 2 s. Its target is down from 20 s to 40 s, with a blip at 60 s. */
const SCRIPT: MonitorScript = {
  index: 0,
  intervalSeconds: 2,
  downAfterFailures: 2,
  regions: ['hanoi', 'lima'],
  quorum: 2,
  failure: 'status',
  steps: [
    { fromMs: 0, condition: 'up' },
    { fromMs: 20_000, condition: 'down' },
    { fromMs: 40_000, condition: 'up' },
  ],
  blipsMs: [60_000],
  parent: null,
};

const at = (seconds: number): number => BEGAN_MS + seconds * 1000;

/** Returns a transition that both locations voted for, with the last result behind each vote. */
function transition(
  sequence: number,
  [from, to]: readonly [string, string],
  { atS, detectedS, vote = to }: { atS: number; detectedS: number; vote?: string },
): Transition {
  return {
    monitorId: 'mon_0',
    sequence,
    from,
    to,
    atMs: at(atS),
    detectedAtMs: at(detectedS),
    deliveryIds: [`dlv_${sequence}`],
    isNotified: true,
    voters: [
      { vote, decidedByMs: [at(atS - 1), at(atS)] },
      { vote, decidedByMs: [at(atS)] },
    ],
  };
}

/** Returns the message of a change as it arrives at the channel with all events. */
function arrival(sequence: number): Received {
  return {
    atMs: 0,
    channel: ON_CALL,
    deliveryId: `dlv_${sequence}`,
    event: 'monitor',
    monitorId: 'mon_0',
    sequence,
    reminder: 0,
    isAccepted: true,
  };
}

/**
 * Returns the facts of a run without faults: every check ran, every result was stored, every transition was reported.
 */
function cleanRun(): Facts {
  const checks = [1, 2]
    .flatMap((agentNo) =>
      Array.from({ length: JUDGED_MS / 2000 }, (_, tick) => ({
        monitorId: 'mon_0',
        agentNo,
        dueAtMs: at(tick * 2 + agentNo - 1),
      })),
    )
    .toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  return {
    beganAtMs: BEGAN_MS,
    judgedAtMs: BEGAN_MS + JUDGED_MS,
    scripts: [SCRIPT],
    monitorIds: ['mon_0'],
    suffered: [],
    quiet: { fromMs: at(70), toMs: at(80) },
    requests: checks.map(({ dueAtMs }) => ({
      index: 0,
      atMs: dueAtMs + 5,
      met: conditionAt(SCRIPT, dueAtMs - BEGAN_MS),
    })),
    received: [1, 2, 3].map(arrival),
    chats: [],
    channels: [],
    quietUntilMs: BEGAN_MS,
    record: {
      transitions: [
        transition(1, ['pending', 'up'], { atS: -5, detectedS: -4 }),
        transition(2, ['up', 'down'], { atS: 21, detectedS: 23.2 }),
        transition(3, ['down', 'up'], { atS: 41, detectedS: 41.2 }),
      ],
      incidents: [
        { monitorId: 'mon_0', state: 'down', startedAtMs: at(21), resolvedAtMs: at(41), resolution: 'recovered' },
      ],
      sources: [1, 2].map((agentNo) => ({ monitorId: 'mon_0', agentNo })),
      deliveries: [],
      results: checks.map((check) => ({ ...check, verdict: conditionAt(SCRIPT, check.dueAtMs - BEGAN_MS) })),
    },
    pendingDeliveries: 0,
    ended: [],
    faultyAnswers: [],
    lostMonitors: [],
    machineSlowMs: 0,
  };
}

/** Returns the same run with a changed record. */
function withRecord(change: (record: Facts['record']) => Partial<Facts['record']>): Facts {
  const run = cleanRun();
  return { ...run, record: { ...run.record, ...change(run.record) } };
}

/** Returns the run with an additional transition at the end, its message, and the incident that it makes. */
function withTransition(last: Transition): Facts {
  const run = withRecord(({ transitions, incidents }) => ({
    transitions: [...transitions, last],
    incidents:
      last.to === 'down' || last.to === 'degraded'
        ? [
            ...incidents,
            { monitorId: 'mon_0', state: last.to, startedAtMs: last.atMs, resolvedAtMs: null, resolution: null },
          ]
        : incidents,
  }));
  return {
    ...run,
    received: [...run.received, arrival(last.sequence)],
  };
}

/** Returns the delivery of a change to a channel without delays. */
function delivery(sequence: number): Delivery {
  const atMs = cleanRun().record.transitions.find((each) => each.sequence === sequence)?.detectedAtMs ?? 0;
  return {
    id: `dlv_0${sequence}`,
    channel: '',
    monitorId: 'mon_0',
    event: sequence === 2 ? 'monitor.down' : 'monitor.up',
    sequence,
    outcome: 'delivered',
    attempts: 1,
    createdAtMs: atMs,
    finishedAtMs: atMs,
    startedAtMs: atMs,
    held: null,
    joinedId: null,
    groupId: null,
    repeats: null,
    incident: null,
    changes: [],
  };
}

const PARENT_HOLD = {
  reason: 'parent',
  heldBy: 'mon_1',
  summaryId: null,
  unlessAcknowledged: false,
  isReleased: true,
};

/**
 * Returns the clean run with an additional channel and these deliveries; those with the outcome `delivered` have
 * arrived.
 */
function withChannel(name: string, made: readonly Delivery[]): Facts {
  const run = cleanRun();
  const deliveries = made.map((each) => ({ ...each, channel: name }));
  const arrived = deliveries
    .filter(({ outcome }) => outcome === 'delivered')
    .map(({ id, sequence, monitorId, repeats }) => ({
      ...arrival(sequence ?? 0),
      channel: name,
      deliveryId: id,
      monitorId: monitorId ?? '',
      reminder: repeats?.number ?? 0,
    }));
  return {
    ...run,
    channels: CHANNELS.filter((channel) => channel.name === name),
    received: [...run.received, ...arrived],
    record: { ...run.record, deliveries },
  };
}

function findingsOf(run: Facts): Finding[] {
  return [...new Set(judgeRun(run).found.map(({ finding }) => finding))].toSorted();
}

const suffered = (fault: Fault, fromS: number, toS: number) => [{ fault, fromMs: at(fromS), toMs: at(toS) }];

/** Runs with each possible fault, and all other findings that it causes. */
const WRONG: Record<Finding, { run: () => Facts; alsoShows?: Finding[] }> = {
  'outages missed': {
    run: () => ({
      ...withRecord(({ transitions }) => ({ transitions: transitions.slice(0, 1), incidents: [] })),
      received: cleanRun().received.slice(0, 1),
    }),
  },
  'recoveries missed': {
    run: () => ({
      ...withRecord(({ transitions }) => ({
        transitions: [...transitions.slice(0, 2), transition(3, ['down', 'up'], { atS: 41, detectedS: 89 })],
      })),
      suffered: suffered({ kind: 'redis-freeze', forMs: 1 }, 70, 74),
    }),
  },
  'false downs': {
    run: () => withTransition(transition(4, ['up', 'down'], { atS: 60, detectedS: 61 })),
    alsoShows: ['recoveries missed', 'wrong at the end'],
  },
  'false degradations': {
    run: () => withTransition(transition(4, ['up', 'degraded'], { atS: 60, detectedS: 61 })),
    alsoShows: ['recoveries missed', 'wrong at the end'],
  },
  'false recoveries': {
    run: () => {
      const [first, down, up] = cleanRun().record.transitions;
      if (first === undefined || down === undefined || up === undefined)
        throw new Error('the clean run has three transitions');
      const within = [
        transition(3, ['down', 'up'], { atS: 24, detectedS: 24 }),
        transition(4, ['up', 'down'], { atS: 24, detectedS: 25 }),
      ];
      const run = withRecord(({ incidents }) => ({
        transitions: [first, down, ...within, { ...up, sequence: 5, deliveryIds: ['dlv_5'] }],
        incidents: incidents.flatMap((incident) => [
          { ...incident, resolvedAtMs: at(24) },
          { ...incident, startedAtMs: at(24) },
        ]),
      }));
      return {
        ...run,
        received: [1, 2, 3, 4, 5].map(arrival),
      };
    },
  },
  'unknown without blindness': {
    run: () => withTransition(transition(4, ['up', 'unknown'], { atS: 60, detectedS: 61 })),
    alsoShows: ['recoveries missed', 'wrong at the end'],
  },
  'wrong at the end': {
    run: () => ({
      ...withTransition(transition(4, ['up', 'unknown'], { atS: 85, detectedS: 85 })),
      suffered: suffered({ kind: 'postgres-freeze', forMs: 1 }, 84, 89),
    }),
    alsoShows: ['unknown without blindness'],
  },
  'events lost': {
    run: () => ({
      ...cleanRun(),
      received: cleanRun().received.map((message) => ({ ...message, isAccepted: message.sequence !== 2 })),
    }),
  },
  'events invented': {
    run: () => ({
      ...cleanRun(),
      received: [...cleanRun().received, { ...arrival(4), deliveryId: 'dlv_9' }],
    }),
  },
  'events under two ids': {
    run: () =>
      withRecord(({ transitions }) => ({
        transitions: transitions.map((each) =>
          each.sequence === 2 ? { ...each, deliveryIds: ['dlv_2', 'dlv_8'] } : each,
        ),
      })),
  },
  'deliveries unfinished': { run: () => ({ ...cleanRun(), pendingDeliveries: 1 }) },
  'rules broken': {
    run: () =>
      withChannel('Escalation', [
        { ...delivery(2), startedAtMs: at(25), incident: { startedAtMs: at(21), acknowledgedAtMs: null } },
        delivery(3),
      ]),
  },
  'holds broken': {
    run: () =>
      withChannel('Parents', [
        delivery(1),
        { ...delivery(2), startedAtMs: at(70), held: { ...PARENT_HOLD } },
        delivery(3),
      ]),
  },
  'histories broken': {
    run: () =>
      withRecord(({ transitions }) => ({
        transitions: transitions.map((each) => (each.sequence === 3 ? { ...each, from: 'up' } : each)),
      })),
  },
  'incidents inconsistent': {
    run: () =>
      withRecord(({ incidents }) => ({
        incidents: incidents.map((incident) => ({ ...incident, resolvedAtMs: null, resolution: null })),
      })),
  },
  'schedules missing': {
    run: () => {
      const run = withRecord(({ results }) => ({
        results: results.filter(({ agentNo, dueAtMs }) => agentNo === 1 || dueAtMs < at(70) || dueAtMs > at(75)),
      }));
      return {
        ...run,
        requests: run.requests.filter(({ atMs }) => run.record.results.some(({ dueAtMs }) => dueAtMs + 5 === atMs)),
      };
    },
  },
  'results lost': {
    run: () => withRecord(({ results }) => ({ results: results.filter(({ dueAtMs }) => dueAtMs !== at(50)) })),
  },
  'answers faulty': { run: () => ({ ...cleanRun(), faultyAnswers: ['GET /overview: 500'] }) },
  'writes lost': { run: () => ({ ...cleanRun(), lostMonitors: ['Draft 3'] }) },
  'processes ended': { run: () => ({ ...cleanRun(), ended: ['deliver-1 ended with 1'] }) },
};

test('a run without faults has no findings, and its outage counts as observable', (t) => {
  const sheet = judgeRun(cleanRun());
  t.deepEqual(sheet.found, []);
  t.true(sheet.isClean);
  t.like(sheet.figures, { 'outages in sight': 1, 'of them with results that may be lost': 0, transitions: 3 });
});

for (const finding of FINDINGS) {
  test(`the judge finds: ${finding}`, (t) => {
    const { run, alsoShows = [] } = WRONG[finding];
    t.deepEqual(findingsOf(run()), [finding, ...alsoShows].toSorted());
    t.false(judgeRun(run()).isClean);
  });
}

/** Returns the clean run with a grouping chat that received those of these deliveries that were started. */
function withGroupChat(made: readonly Delivery[]): Facts {
  const chats = made.flatMap(({ startedAtMs }) =>
    startedAtMs === null ? [] : [{ atMs: startedAtMs, chatId: '-1007', isAccepted: true, channel: 'Group chat' }],
  );
  return { ...withChannel('Group chat', made), chats };
}

test('the first message of a chat group may be replaced by a later one that arrived', (t) => {
  const group = { groupId: 'dlv_02', finishedAtMs: at(30) };
  const opener = { ...delivery(2), ...group, outcome: 'superseded', changes: [{ monitorId: 'mon_0', sequence: 2 }] };
  const later = { ...delivery(2), ...group, id: 'dlv_later', monitorId: null, event: 'summary', sequence: null };
  t.deepEqual(findingsOf(withGroupChat([opener, later, delivery(3)])), []);
  t.deepEqual(findingsOf(withGroupChat([opener, { ...later, outcome: 'failed' }, delivery(3)])), ['events lost']);
  t.deepEqual(findingsOf(withGroupChat([opener, { ...later, groupId: null }, delivery(3)])), ['events lost']);
  const several = { ...opener, monitorId: null, event: 'summary', sequence: null };
  t.deepEqual(findingsOf(withGroupChat([several, later, delivery(3)])), []);
});

test('a dropped summary loses events only if its content was still current', (t) => {
  const alert = { ...notSent(delivery(2), 30), held: { ...DELAYED, summaryId: 'dlv_s' } };
  const droppedAt = (seconds: number) => ({
    ...notSent(delivery(2), seconds),
    id: 'dlv_s',
    monitorId: null,
    event: 'summary',
    sequence: null,
    changes: [{ monitorId: 'mon_0', sequence: 2 }],
  });
  t.deepEqual(findingsOf(withGroupChat([alert, droppedAt(42), delivery(3)])), []);
  t.deepEqual(findingsOf(withGroupChat([alert, droppedAt(31), delivery(3)])), ['events lost']);
});

test('a message created during an outage may report its end, one created later may not', (t) => {
  const message = { ...delivery(3), id: 'dlv_open', monitorId: null, event: 'summary', sequence: null };
  const changes = [{ monitorId: 'mon_0', sequence: 3 }];
  t.deepEqual(findingsOf(withGroupChat([{ ...message, changes, createdAtMs: at(23) }])), []);
  t.deepEqual(findingsOf(withGroupChat([{ ...message, changes, createdAtMs: at(50) }])), ['rules broken']);
  const run = withGroupChat([{ ...message, changes, createdAtMs: at(42) }]);
  const transitions = run.record.transitions.map((each) =>
    each.sequence === 1 ? each : { ...each, detectedAtMs: at(42) },
  );
  t.false(findingsOf({ ...run, record: { ...run.record, transitions } }).includes('rules broken'));
});

/**
 * Returns a run with an alert held for its parent `mon_1`, which depends on `mon_2`, until a second; one of the two
 * failed.
 */
function heldBehind(failed: 'mon_1' | 'mon_2', seconds: number): Facts {
  const alert = { ...delivery(2), startedAtMs: at(seconds), held: PARENT_HOLD };
  const run = withChannel('Parents', [delivery(1), alert, delivery(3)]);
  const ofParent = run.record.transitions.map((each) => ({ ...each, monitorId: failed }));
  return {
    ...run,
    scripts: [
      { ...SCRIPT, parent: 1 },
      { ...SCRIPT, index: 1, parent: 2 },
      { ...SCRIPT, index: 2 },
    ],
    monitorIds: ['mon_0', 'mon_1', 'mon_2'],
    record: { ...run.record, transitions: [...run.record.transitions, ...ofParent] },
  };
}

test("once its parent's recovery is observable, an alert needs a new result", (t) => {
  t.false(findingsOf(heldBehind('mon_1', 43)).includes('holds broken'));
  t.true(findingsOf(heldBehind('mon_1', 46)).includes('holds broken'));
});

test('a grandparent holds no alert once the parent is no longer down', (t) => {
  const run = heldBehind('mon_2', 46);
  const ofParent = run.record.transitions
    .filter(({ monitorId }) => monitorId === 'mon_2')
    .map((each) => ({ ...each, monitorId: 'mon_1' }));
  const with1 = (earlierMs: number): Facts => {
    const moved = ofParent.map((each) =>
      each.from === 'down' ? { ...each, detectedAtMs: each.detectedAtMs - earlierMs } : each,
    );
    return { ...run, record: { ...run.record, transitions: [...run.record.transitions, ...moved] } };
  };
  t.true(findingsOf(with1(0)).includes('holds broken'));
  t.false(findingsOf(with1(10_000)).includes('holds broken'));
});

test('a grandparent holds no alert before the parent is down', (t) => {
  const run = heldBehind('mon_2', 46);
  const failure = run.record.transitions.find(({ monitorId, to }) => monitorId === 'mon_2' && to === 'down');
  const recovery = run.record.transitions.find(({ monitorId, from }) => monitorId === 'mon_2' && from === 'down');
  const withParentDownAt = (detectedAtMs: number): Facts => {
    const ofParent = { ...failure, monitorId: 'mon_1', atMs: detectedAtMs, detectedAtMs } as Transition;
    return { ...run, record: { ...run.record, transitions: [...run.record.transitions, ofParent] } };
  };
  const recoveredAtMs = recovery?.detectedAtMs ?? 0;
  t.true(findingsOf(withParentDownAt(recoveredAtMs - 1000)).includes('holds broken'));
  t.false(findingsOf(withParentDownAt(recoveredAtMs + 200)).includes('holds broken'));
});

test('a parent whose alert was part of a summary or a group holds no alert', (t) => {
  const run = heldBehind('mon_1', 46);
  const ofParent = { ...delivery(2), id: 'dlv_parent', monitorId: 'mon_1', createdAtMs: at(21) };
  const besides = (own: object): Facts => ({
    ...run,
    record: { ...run.record, deliveries: [...run.record.deliveries, { ...ofParent, channel: 'Parents', ...own }] },
  });
  t.true(findingsOf(besides({})).includes('holds broken'));
  for (const own of [{ held: { ...PARENT_HOLD, summaryId: 'dlv_summary' } }, { groupId: 'dlv_first' }])
    t.false(findingsOf(besides(own)).includes('holds broken'));
});

test('the recovery of a grandparent holds no alert if the parent was not down', (t) => {
  t.false(findingsOf(heldBehind('mon_2', 46)).includes('holds broken'));
});

test('on a slow machine only findings that slowness cannot cause are conclusive', (t) => {
  for (const finding of FINDINGS) {
    const run = { ...WRONG[finding].run(), machineSlowMs: 2000 };
    t.false(judgeRun(run).isClean);
    t.is(
      judgeRun(run).isConclusive,
      findingsOf(run).some((found) =>
        [
          'events lost',
          'events invented',
          'events under two ids',
          'rules broken',
          'holds broken',
          'histories broken',
          'incidents inconsistent',
          'processes ended',
          'answers faulty',
          'writes lost',
        ].includes(found),
      ),
      finding,
    );
  }
});

test('results of a hanging target are in flight an interval longer, and may be lost with a flushed Redis', (t) => {
  const ofHanging = (atS: number): Facts => {
    const run = withRecord(({ results }) => ({ results: results.filter(({ dueAtMs }) => dueAtMs !== at(atS)) }));
    return {
      ...run,
      scripts: [{ ...SCRIPT, failure: 'hang' }],
      suffered: suffered({ kind: 'redis-flush', forMs: 0 }, 37, 37),
    };
  };
  t.deepEqual(findingsOf(ofHanging(30)), []);
  t.deepEqual(findingsOf(ofHanging(27)), ['results lost']);
  t.deepEqual(findingsOf({ ...ofHanging(30), scripts: [SCRIPT] }), ['results lost']);
});

test('a single bad response completes a streak only after blindness that followed a bad result', (t) => {
  const degradedBy = (secondsOfStreak: readonly number[], faults: ReturnType<typeof suffered>): Finding[] => {
    const voters = [{ vote: 'down', decidedByMs: secondsOfStreak.map(at) }];
    const run = withTransition({ ...transition(4, ['up', 'down'], { atS: 60, detectedS: 62 }), voters });
    return findingsOf({
      ...run,
      suffered: faults,
      requests: run.requests.map((requests) =>
        requests.atMs === at(60) + 5 ? { ...requests, met: 'down' } : requests,
      ),
    });
  };
  const blind = suffered({ kind: 'redis-flush', forMs: 0 }, 45, 45);
  t.false(degradedBy([38, 60], blind).includes('false downs'));
  t.true(degradedBy([38, 60], []).includes('false downs'));
  t.true(degradedBy([55, 60], blind).includes('false downs'), 'the result before was good');
  t.true(degradedBy([60], blind).includes('false downs'), 'one alone is no streak');
});

test('a missed outage is excused if it ended during blindness, but not if it lasted longer', (t) => {
  const missed = WRONG['outages missed'].run();
  for (const kind of ['postgres-freeze', 'disk'] as const)
    t.deepEqual(findingsOf({ ...missed, suffered: suffered({ kind, forMs: 20_000 }, 18, 38) }), []);
  t.deepEqual(
    findingsOf({ ...missed, suffered: suffered({ kind: 'kill', process: 'deliver-1', forMs: 20_000 }, 18, 38) }),
    ['outages missed'],
  );
  t.deepEqual(findingsOf({ ...missed, suffered: suffered({ kind: 'postgres-freeze', forMs: 1000 }, 5, 6) }), [
    'outages missed',
  ]);
});

test('a clock step, no matter whose, excuses no missed outage', (t) => {
  const missed = WRONG['outages missed'].run();
  for (const whose of ['all', 'postgres', 'check-hanoi', 'evaluate-1']) {
    t.deepEqual(
      findingsOf({
        ...missed,
        suffered: suffered({ kind: 'clock', whose, aheadSeconds: -300, forMs: 20_000 }, 18, 38),
      }),
      ['outages missed'],
      whose,
    );
  }
});

test('only the absence of a process that checks the monitor excuses a missed outage', (t) => {
  const missed = WRONG['outages missed'].run();
  const awayFrom = (regions: readonly string[], fault: Fault) =>
    findingsOf({ ...missed, scripts: [{ ...SCRIPT, regions, quorum: 1 }], suffered: suffered(fault, 18, 38) });
  for (const fault of [
    { kind: 'kill', process: 'check-hanoi', forMs: 20_000 },
    { kind: 'lossy-link', link: 'check-hanoi>redis', forMs: 20_000 },
  ] as const) {
    t.deepEqual(awayFrom(['lima'], fault), ['outages missed']);
    t.deepEqual(awayFrom(['hanoi'], fault), []);
    t.deepEqual(awayFrom(['hanoi', 'lima'], fault), []);
  }
});

test('no fault excuses a false down, but a real one may be reported late', (t) => {
  const blind = suffered({ kind: 'redis-freeze', forMs: 30_000 }, 55, 89);
  t.true(findingsOf({ ...WRONG['false downs'].run(), suffered: blind }).includes('false downs'));
  const late = withRecord(({ transitions }) => ({
    transitions: [
      transitions[0] ?? [],
      transition(2, ['up', 'down'], { atS: 21, detectedS: 52 }),
      transition(3, ['down', 'up'], { atS: 52, detectedS: 52.1 }),
    ].flat(),
    incidents: [
      { monitorId: 'mon_0', state: 'down', startedAtMs: at(21), resolvedAtMs: at(52), resolution: 'recovered' },
    ],
  }));
  t.deepEqual(findingsOf({ ...late, suffered: suffered({ kind: 'postgres-freeze', forMs: 30_000 }, 19, 49) }), []);
});

test('unknown is allowed after a minute without results', (t) => {
  const unknown = withTransition(transition(4, ['up', 'unknown'], { atS: 85, detectedS: 85 }));
  const silent = {
    ...unknown,
    record: {
      ...unknown.record,
      results: unknown.record.results.filter(({ agentNo, dueAtMs }) => agentNo === 2 || dueAtMs < at(20)),
    },
  };
  t.false(findingsOf(silent).includes('unknown without blindness'));
});

test('a killed check process may lose results in flight, but no older ones', (t) => {
  const run = WRONG['results lost'].run();
  const killed = (second: number) => ({
    ...run,
    suffered: suffered({ kind: 'kill', process: 'check-lima', forMs: 1000 }, second, second + 2),
  });
  t.deepEqual(findingsOf(killed(52)), []);
  t.deepEqual(findingsOf(killed(62)), ['results lost']);
  t.deepEqual(
    findingsOf({ ...run, suffered: suffered({ kind: 'kill', process: 'evaluate-1', forMs: 1000 }, 52, 54) }),
    ['results lost'],
  );
});

test('a tick that is measured twice has one result, and one without any is lost', (t) => {
  const run = cleanRun();
  const repeated = (atMs: number) => [...run.requests, { ...run.requests[0], index: 0, met: 'up' as const, atMs }];
  t.deepEqual(findingsOf({ ...run, requests: repeated(at(50) + 300) }), []);
  const results = run.record.results.filter(({ dueAtMs }) => dueAtMs !== at(50));
  t.deepEqual(findingsOf({ ...run, requests: repeated(at(50) + 300), record: { ...run.record, results } }), [
    'results lost',
  ]);
});

test('the losses of a flushed Redis reach back to the start of a PostgreSQL freeze', (t) => {
  const faults = [
    ...suffered({ kind: 'postgres-freeze', forMs: 20_000 }, 20, 40),
    ...suffered({ kind: 'redis-flush', forMs: 0 }, 45, 45),
  ];
  t.deepEqual(lossySpans(faults), [{ fromMs: at(14), toMs: at(48) }]);
  t.true((blindSpans(faults)[0]?.toMs ?? 0) >= at(70));
});

test('results of a killed evaluator may be lost if Redis restarts before its locks expire', (t) => {
  const killed = (second: number) => suffered({ kind: 'kill', process: 'evaluate-1', forMs: 2000 }, second, second + 2);
  const emptied = suffered({ kind: 'redis-restart', forMs: 4000 }, 60, 64);
  const last = { fromMs: at(54), toMs: at(63) };
  t.deepEqual(lossySpans([...killed(39), ...emptied]), [{ fromMs: at(33), toMs: at(39) }, last]);
  t.deepEqual(lossySpans([...killed(36), ...emptied]), [last]);
  t.deepEqual(lossySpans(killed(39)), []);
});

test('the same seed gives the same script and faults, another seed different ones', (t) => {
  const plan = (seed: number) =>
    planFaults(seed, { seconds: 90, processes: ['web-1', 'check-lima'], longestMs: 30_000, apartMs: [2000, 11_000] });
  t.deepEqual(writeScript(7, { monitors: 20, seconds: 90 }), writeScript(7, { monitors: 20, seconds: 90 }));
  t.deepEqual(plan(7), plan(7));
  t.notDeepEqual(writeScript(7, { monitors: 20, seconds: 90 }), writeScript(8, { monitors: 20, seconds: 90 }));
  t.notDeepEqual(plan(7), plan(8));
});

test('every planned fault ends within the script, and PostgreSQL faults never overlap', (t) => {
  for (let seed = 0; seed < 200; seed += 1) {
    const planned = planFaults(seed, {
      seconds: 90,
      processes: ['web-1', 'check-lima', 'evaluate-1'],
      longestMs: 30_000,
      apartMs: [2000, 11_000],
    });
    t.true(planned.every(({ atMs, fault }) => atMs + fault.forMs <= 90_000));
    const postgres = planned.filter(({ fault }) => fault.kind.startsWith('postgres'));
    t.true(
      postgres.every(
        ({ atMs }, index) => atMs >= (postgres[index - 1]?.atMs ?? 0) + (postgres[index - 1]?.fault.forMs ?? 0),
      ),
    );
  }
});

test('a blip is too far from every step to cause two bad results in a row', (t) => {
  const scripts = writeScript(3, { monitors: 200, seconds: 90 });
  t.true(scripts.some(({ blipsMs }) => blipsMs.length > 0));
  for (const { blipsMs, steps, intervalSeconds, downAfterFailures } of scripts) {
    t.true(blipsMs.length === 0 || downAfterFailures > 1);
    for (const blipMs of blipsMs)
      t.true(
        steps.every(
          ({ fromMs, condition }) => condition === 'up' || Math.abs(fromMs - blipMs) > intervalSeconds * 1000,
        ),
      );
  }
});

const DELAYED = { reason: 'delay', heldBy: null, summaryId: null, unlessAcknowledged: true, isReleased: false };
const RELEASED = { ...DELAYED, isReleased: true };
const ACKNOWLEDGED = { startedAtMs: at(21), acknowledgedAtMs: at(22) };
const OPEN = { startedAtMs: at(21), acknowledgedAtMs: null };

/** Behavior of a channel in the clean run's outage, and the judge's findings. */
const AT_CHANNELS: [string, string, () => Delivery[], Finding[]][] = [
  [
    'Escalation',
    'an alert is sent after its delay',
    () => [{ ...delivery(2), startedAtMs: at(33.1), held: RELEASED, incident: OPEN }, delivery(3)],
    [],
  ],
  [
    'Escalation',
    'an acknowledged alert is not sent',
    () => [{ ...notSent(delivery(2), 33.1), held: DELAYED, incident: ACKNOWLEDGED }],
    [],
  ],
  [
    'Escalation',
    'an unacknowledged alert is not sent',
    () => [{ ...notSent(delivery(2), 33.1), held: DELAYED, incident: OPEN }],
    ['events lost'],
  ],
  [
    'Escalation',
    'only the recovery is sent',
    () => [{ ...notSent(delivery(2), 33.1), held: DELAYED, incident: ACKNOWLEDGED }, delivery(3)],
    ['rules broken'],
  ],
  [
    'Escalation',
    'an alert acknowledged after its claim is dropped but the recovery is sent',
    () => [{ ...notSent(delivery(2), 43), held: DELAYED, incident: ACKNOWLEDGED }, delivery(3)],
    ['rules broken'],
  ],
  [
    'Escalation',
    'an alert is dropped with its recovery after its worker was killed',
    () => [
      { ...notSent(delivery(2), 50), startedAtMs: at(40.9), held: DELAYED, incident: OPEN },
      notSent(delivery(3), 50),
    ],
    [],
  ],
  [
    'Escalation',
    'an alert acknowledged after its claim is dropped with its recovery',
    () => [{ ...notSent(delivery(2), 43), held: DELAYED, incident: ACKNOWLEDGED }, notSent(delivery(3), 43)],
    [],
  ],
  [
    'Escalation',
    'the outage ends before the alert is due',
    () => [{ ...notSent(delivery(2), 41.2), held: DELAYED, incident: OPEN }],
    [],
  ],
  [
    'Reminders',
    'the reminders arrive on time',
    () => [delivery(2), reminder(1, 31.2), reminder(2, 39.2), delivery(3)],
    [],
  ],
  ['Reminders', 'a reminder arrives too soon', () => [delivery(2), reminder(1, 25), delivery(3)], ['rules broken']],
  [
    'Reminders',
    'there is one reminder too many',
    () => [delivery(2), reminder(1, 31.2), reminder(2, 39.2), reminder(3, 47.2), delivery(3)],
    ['rules broken'],
  ],
  [
    'Chat',
    'an alert is dropped after its claim and the recovery is in a summary',
    () => [{ ...notSent(delivery(2), 42.5), held: DELAYED, incident: ACKNOWLEDGED }, summary([3])],
    [],
  ],
  [
    'Chat',
    'an alert is dropped before the recovery, which is in a summary',
    () => [{ ...notSent(delivery(2), 33.1), held: DELAYED, incident: ACKNOWLEDGED }, summary([3])],
    ['rules broken'],
  ],
  ['Groups', 'the recovery is in a summary', () => [delivery(2), summary([3])], []],
  [
    'Groups',
    'the recovery is sent alone and in a summary',
    () => [delivery(2), delivery(3), summary([3])],
    ['events under two ids'],
  ],
  ['Groups', 'the recovery is missing', () => [delivery(1), delivery(2)], ['events lost']],
  ['Tagged', 'an alert is sent for a monitor without its tag', () => [delivery(2)], ['rules broken']],
  ['Chat', 'a retry is dropped after a newer delivery', () => [notSent(delivery(2), 41.3), delivery(3)], []],
  ['Chat', 'an alert is dropped before a newer delivery', () => [notSent(delivery(2), 30)], ['events lost']],
  [
    'Calm chat',
    'the recovery is part of a flapping message',
    () => [
      delivery(2),
      { ...delivery(3), id: 'dlv_f', outcome: 'pending', startedAtMs: null, held: { ...DELAYED, reason: 'flapping' } },
    ],
    [],
  ],
  [
    'Calm chat',
    'the outage and the recovery are part of one flapping message',
    () => [
      { ...delivery(3), id: 'dlv_f', outcome: 'pending', startedAtMs: null, held: { ...DELAYED, reason: 'flapping' } },
    ],
    [],
  ],
  ['Calm chat', 'the recovery is sent without its alert', () => [delivery(3)], ['events lost', 'rules broken']],
];

test('a recovery may be dated 10 ms before that of the target, but not 100 ms', (t) => {
  const recoveredAt = (seconds: number) =>
    withRecord(({ transitions }) => ({
      transitions: transitions.map((each) => (each.sequence === 3 ? { ...each, detectedAtMs: at(seconds) } : each)),
    }));
  t.deepEqual(
    findingsOf(recoveredAt(39.99)).filter((finding) => finding === 'false recoveries' || finding === 'outages missed'),
    [],
  );
  t.true(findingsOf(recoveredAt(39.9)).includes('false recoveries'));
});

test('the end of an unsent alert may be sent if the previous recovery did not arrive', (t) => {
  const unsent = { ...notSent(delivery(2), 33.1), held: DELAYED, incident: ACKNOWLEDGED };
  for (const [outcome, finds] of [
    ['superseded', []],
    ['delivered', ['rules broken']],
  ] as const) {
    const run = withChannel('Escalation', [{ ...delivery(1), outcome }, unsent, delivery(3)]);
    const transitions = run.record.transitions.map((each) =>
      each.sequence === 1 ? { ...each, detectedAtMs: run.beganAtMs } : each,
    );
    t.deepEqual(findingsOf({ ...run, record: { ...run.record, transitions } }), finds);
  }
});

test('the last message of a monitor that is up is not a down, even if its last outage was not sent', (t) => {
  const untold = { ...delivery(3), outcome: 'superseded' };
  const outage = (sequence: number) => ({ ...notSent(delivery(2), 65), id: 'dlv_04', sequence, held: DELAYED });
  const run = withChannel('Escalation', [{ ...delivery(2), held: RELEASED }, untold, outage(4)]);
  const [, down, up] = run.record.transitions;
  if (down === undefined || up === undefined) throw new Error('The clean run has an outage');
  const again = [
    { ...down, sequence: 4, detectedAtMs: at(64) },
    { ...up, sequence: 5, detectedAtMs: at(65) },
  ];
  const lost = (facts: Facts) => judgeChannels(facts).found.filter(({ text }) => text.includes(' after '));
  const record = { ...run.record, transitions: [...run.record.transitions, ...again] };
  t.deepEqual(lost({ ...run, record }), [
    { finding: 'events lost', text: 'Escalation: up of mon_0 (sequence 5) after down (sequence 2)' },
  ]);
  const told = { ...delivery(3), id: 'dlv_05', sequence: 5, channel: 'Escalation', outcome: 'pending' };
  t.deepEqual(lost({ ...run, record: { ...record, deliveries: [...record.deliveries, told] } }), []);
  // The first message of a group is dropped if a later one with the whole content arrived first.
  const ofGroup = { ...summary([3]), channel: 'Escalation', groupId: 'dlv_s' };
  const group = [
    { ...ofGroup, outcome: 'superseded', finishedAtMs: at(50) },
    { ...ofGroup, id: 'dlv_t', outcome: 'delivered', startedAtMs: at(49), finishedAtMs: at(50), changes: [] },
  ];
  t.deepEqual(lost({ ...run, record: { ...record, deliveries: [...record.deliveries, ...group] } }), []);
});

function notSent(made: Delivery, atS: number): Delivery {
  return { ...made, outcome: 'superseded', startedAtMs: null, attempts: 0, finishedAtMs: at(atS) };
}

function reminder(number: number, atS: number): Delivery {
  return { ...delivery(2), id: `dlv_r${number}`, startedAtMs: at(atS), repeats: { id: 'dlv_02', number } };
}

function summary(sequences: readonly number[]): Delivery {
  const changes = sequences.map((sequence) => ({ monitorId: 'mon_0', sequence }));
  return { ...delivery(3), id: 'dlv_s', monitorId: null, event: 'summary', sequence: null, changes };
}

for (const [name, what, made, finds] of AT_CHANNELS)
  test(`at the channel ${name}, ${what}: ${finds.length === 0 ? 'nothing is wrong' : finds.join(', ')}`, (t) => {
    const run = withChannel(name, made());
    const arrived = run.record.deliveries.filter(({ outcome }) => outcome === 'delivered');
    const chats = arrived.map(() => ({ atMs: 0, chatId: '-1', channel: name, isAccepted: true }));
    t.deepEqual(findingsOf({ ...run, chats }), finds);
  });
