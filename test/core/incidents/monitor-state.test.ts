import test from 'ava';
import * as fc from 'fast-check';
import type { Vote } from '../../../core/checks/verdict.ts';
import { fitEvidence, sourcesAgainst, type Change, type SourceInDecision } from '../../../core/incidents/change.ts';
import { stepIncident } from '../../../core/incidents/incident.ts';
import { applyResult, reconsider } from '../../../core/incidents/monitor-state.ts';
import type { DecidedMonitor, Source } from '../../../core/incidents/quorum.ts';
import type { VotedResult } from '../../../core/incidents/source-state.ts';
import type { MonitorState } from '../../../core/incidents/state.ts';

const START_MS = 1_700_000_000_000;

type Sent = VotedResult & { agentNo: number };

function monitorOf(sources: number, settings: Partial<DecidedMonitor> = {}): DecidedMonitor {
  return {
    state: 'pending',
    stateSinceMs: START_MS,
    intervalSeconds: 60,
    waitsForPings: false,
    quorum: Math.min(2, sources),
    downAfterFailures: 2,
    upAfterSuccesses: 1,
    sources: Array.from({ length: sources }, (_, index): Source => ({
      agentNo: index + 1,
      name: `source-${index + 1}`,
      online: true,
      newestAtMs: null,
      state: null,
    })),
    ...settings,
  };
}

function sent(agentNo: number, second: number, verdict: Vote): Sent {
  const bad = verdict !== 'up';
  return {
    agentNo,
    dueAtMs: START_MS + second * 1000,
    checksVersion: 1,
    verdict,
    cause: bad ? 'timeout' : null,
    reason: bad ? 'Timed out' : null,
    httpStatus: null,
    latencyMs: 20,
    phases: null,
    answer: null,
  };
}

function play(monitor: DecidedMonitor, results: readonly Sent[]): { monitor: DecidedMonitor; changes: Change[] } {
  const changes: Change[] = [];
  let current = monitor;
  for (const result of results) {
    const applied = applyResult(current, result, result.dueAtMs + 500);
    if (applied.change !== null) changes.push(applied.change);
    current = applied.monitor;
  }
  return { monitor: current, changes };
}

test('a new monitor is up after its first success, and down after two consecutive failures', (t) => {
  const { changes } = play(monitorOf(1), [sent(1, 0, 'up'), sent(1, 60, 'down'), sent(1, 120, 'down')]);
  t.deepEqual(
    changes.map(({ from, to }) => [from, to]),
    [
      ['pending', 'up'],
      ['up', 'down'],
    ],
  );
});

test('a change starts at the first failing result of the deciding streak and is detected at the last', (t) => {
  const { changes } = play(monitorOf(1), [
    sent(1, 0, 'up'),
    sent(1, 60, 'down'),
    sent(1, 120, 'down'),
    sent(1, 180, 'up'),
  ]);
  t.is(changes[1]?.atMs, START_MS + 60_000);
  t.is(changes[1]?.detectedAtMs, START_MS + 120_500);
  t.is(changes[2]?.atMs, START_MS + 180_000);
});

test('with a quorum of two an outage starts when the second source begins to fail', (t) => {
  const { changes } = play(monitorOf(2), [
    sent(1, 0, 'up'),
    sent(2, 1, 'up'),
    sent(1, 60, 'down'),
    sent(1, 120, 'down'),
    sent(2, 121, 'down'),
    sent(1, 180, 'down'),
    sent(2, 181, 'down'),
  ]);
  t.is(changes.at(-1)?.to, 'down');
  t.is(changes.at(-1)?.atMs, START_MS + 121_000);
  t.deepEqual(changes.at(-1) && sourcesAgainst(changes.at(-1)!.evidence), ['source-1', 'source-2']);
  t.is(changes.at(-1)?.reason, 'Timed out (seen from 2 of 2 locations)');
});

test('a change from down to degraded is explained by the degraded results of one or several locations', (t) => {
  const slow = (agentNo: number, second: number): Sent => ({
    ...sent(agentNo, second, 'degraded'),
    cause: 'slow',
    reason: 'The response took 412 ms',
    latencyMs: 412,
  });
  const alone = play(monitorOf(1, { upAfterSuccesses: 2 }), [
    ...[0, 60].map((second) => sent(1, second, 'down')),
    slow(1, 120),
    sent(1, 180, 'up'),
  ]).changes;
  const together = play(monitorOf(2, { downAfterFailures: 1 }), [
    sent(1, 0, 'down'),
    sent(2, 1, 'down'),
    slow(2, 61),
    sent(1, 120, 'down'),
  ]).changes;
  for (const [changes, seen] of [
    [alone, ''],
    [together, ' (seen from 2 of 2 locations)'],
  ] as const) {
    const change = changes.at(-1);
    t.like(change, { from: 'down', to: 'degraded', cause: 'slow', reason: `The response took 412 ms${seen}` });
    const [degraded] = change?.evidence.sources.filter(({ vote }) => vote === 'degraded') ?? [];
    t.deepEqual(
      degraded?.decidedBy.map(({ latencyMs, verdict }) => [latencyMs, verdict]),
      [[412, 'degraded']],
    );
  }
});

test('a change from down to degraded starts at the first result that was not down', (t) => {
  const { changes } = play(monitorOf(1, { upAfterSuccesses: 2 }), [
    sent(1, 0, 'up'),
    sent(1, 60, 'down'),
    sent(1, 120, 'down'),
    sent(1, 180, 'degraded'),
    sent(1, 240, 'degraded'),
  ]);
  t.deepEqual(
    changes.map(({ to }) => to),
    ['up', 'down', 'degraded'],
  );
  t.is(changes[2]?.atMs, START_MS + 180_000);
});

test('one wrong source of three does not bring a monitor down', (t) => {
  const results = [0, 60, 120, 180, 240].flatMap((second) => [
    sent(1, second, 'up'),
    sent(2, second + 1, 'up'),
    sent(3, second + 2, 'down'),
  ]);
  const { changes } = play(monitorOf(3), results);
  t.deepEqual(
    changes.map(({ to }) => to),
    ['up'],
  );
});

test('a single result never makes a monitor unknown, even if all other sources are silent', (t) => {
  const { changes } = play(monitorOf(5), [sent(1, 0, 'up'), sent(1, 60, 'up'), sent(1, 600, 'up')]);
  t.deepEqual(changes, []);
});

test('a sweep reports silence once, and only if it has run without interruption', (t) => {
  const { monitor } = play(monitorOf(1), [sent(1, 0, 'up')]);
  const nowMs = START_MS + 181_000;
  t.is(reconsider(monitor, { nowMs, silenceCounts: false }), null);
  t.is(reconsider(monitor, { nowMs: START_MS + 179_000, silenceCounts: true }), null);
  const change = reconsider(monitor, { nowMs, silenceCounts: true });
  t.is(change?.to, 'unknown');
  t.is(reconsider({ ...monitor, state: 'unknown' }, { nowMs: nowMs + 10_000, silenceCounts: true }), null);
});

test('the first result after silence decides immediately, as of its own time', (t) => {
  const { monitor } = play(monitorOf(1), [sent(1, 0, 'up')]);
  const silent = { ...monitor, state: 'unknown' as const, stateSinceMs: START_MS + 200_000 };
  const { change } = applyResult(silent, sent(1, 300, 'up'), START_MS + 300_500);
  t.is(change?.to, 'up');
  t.is(change?.atMs, START_MS + 300_000);
});

test('a monitor that stays undecided for three intervals and a minute is reported unknown', (t) => {
  const monitor = monitorOf(1);
  t.is(reconsider(monitor, { nowMs: START_MS + 239_000, silenceCounts: true }), null);
  t.is(reconsider(monitor, { nowMs: START_MS + 240_000, silenceCounts: true })?.to, 'unknown');
});

test('an offline source does not vote', (t) => {
  const { monitor } = play(monitorOf(1), [sent(1, 0, 'up')]);
  const offline = { ...monitor, sources: monitor.sources.map((source) => ({ ...source, online: false })) };
  t.is(reconsider(offline, { nowMs: START_MS + 1000, silenceCounts: true })?.to, 'unknown');
});

test('three consecutive results without a vote make a monitor unknown immediately, with their reason', (t) => {
  const blind = [60, 120, 180].map((second) => ({
    ...sent(1, second, 'none'),
    reason: 'The registry does not answer',
  }));
  const { changes } = play(monitorOf(1), [sent(1, 0, 'up'), ...blind]);
  t.is(changes.length, 2);
  t.like(changes[1], {
    from: 'up',
    to: 'unknown',
    detectedAtMs: START_MS + 180_500,
    reason: 'The registry does not answer',
  });
});

test('an abstaining source does not make a monitor unknown while another source is silent', (t) => {
  const blind = [60, 120, 180].map((second) => sent(1, second, 'none'));
  t.deepEqual(
    play(monitorOf(2), [sent(1, 0, 'up'), sent(2, 0, 'up'), ...blind]).changes.map(({ to }) => to),
    ['up'],
  );
});

test('raising the quorum reverts a down state that too few sources support', (t) => {
  const results = [0, 60, 120].flatMap((second) => [sent(1, second, 'down'), sent(2, second + 1, 'up')]);
  const { monitor } = play(monitorOf(2, { quorum: 1 }), results);
  t.is(monitor.state, 'down');
  const change = reconsider({ ...monitor, quorum: 2 }, { nowMs: START_MS + 130_000, silenceCounts: false });
  t.is(change?.to, 'up');
});

test('a change decided by an edit starts at the edit, one decided by later results at the first of them', (t) => {
  const nowMs = START_MS + 86_400_000;
  const updatedAtMs = nowMs - 5000;
  const fresh = (monitor: DecidedMonitor): DecidedMonitor => ({
    ...monitor,
    updatedAtMs,
    sources: monitor.sources.map((source) => ({ ...source, newestAtMs: nowMs - 1000 })),
  });
  const reconsidered = (monitor: DecidedMonitor) => reconsider(fresh(monitor), { nowMs, silenceCounts: false });
  const split = [0, 60, 120].flatMap((second) => [sent(1, second, 'down'), sent(2, second + 1, 'up')]);
  const up = play(monitorOf(2), split).monitor;
  t.is(up.state, 'up');
  t.like(reconsidered({ ...up, quorum: 1 }), { to: 'down', atMs: updatedAtMs });
  t.like(reconsidered({ ...up, quorum: 1, sources: up.sources.slice(0, 1) }), { to: 'down', atMs: updatedAtMs });
  const down = play(monitorOf(2, { quorum: 1 }), split).monitor;
  t.like(reconsidered({ ...down, quorum: 2 }), { to: 'up', atMs: updatedAtMs });

  const one = play(monitorOf(1), [sent(1, 0, 'up'), sent(1, 60, 'down')]).monitor;
  const edited = { ...one, updatedAtMs: START_MS + 70_000 };
  t.like(play(edited, [sent(1, 120, 'down')]).changes[0], { to: 'down', atMs: START_MS + 60_000 });
  // This result was due before the edit, but is evaluated after it.
  const late = { ...one, updatedAtMs: START_MS + 120_200 };
  t.like(play(late, [sent(1, 120, 'down')]).changes[0], { to: 'down', atMs: START_MS + 60_000 });
});

test('degraded starts when enough sources were impaired, even if one of them has since gone down', (t) => {
  const { changes } = play(monitorOf(2), [
    sent(1, 0, 'up'),
    sent(2, 1, 'up'),
    sent(1, 60, 'degraded'),
    sent(1, 120, 'degraded'),
    sent(2, 150, 'degraded'),
    sent(1, 180, 'down'),
    sent(1, 200, 'down'),
    sent(2, 210, 'degraded'),
  ]);
  t.like(changes.at(-1), { to: 'degraded', atMs: START_MS + 150_000 });
});

/** Plays two sources with a quorum of one: the first is down from second 60 on, the second stays up. */
function playOneOfTwoDown() {
  return play(monitorOf(2, { quorum: 1 }), [
    sent(1, 0, 'up'),
    sent(2, 1, 'up'),
    sent(1, 60, 'down'),
    sent(2, 61, 'up'),
    sent(1, 120, 'down'),
    sent(2, 121, 'up'),
  ]);
}

const blindSince = (second: number) => [0, 60, 120].map((later) => sent(1, second + later, 'none'));

test('a source that starts to fail does not confirm a recovery if the down source is silent', (t) => {
  const { monitor, changes } = play(playOneOfTwoDown().monitor, [
    sent(2, 125, 'down'),
    ...blindSince(180),
    sent(2, 301, 'none'),
  ]);
  t.deepEqual(changes, []);
  t.is(reconsider(monitor, { nowMs: START_MS + 302_000, silenceCounts: true }), null);
  t.like(play(monitor, [sent(2, 303, 'up')]).changes[0], { from: 'down', to: 'up', atMs: START_MS + 303_500 });
  t.deepEqual(
    play(monitor, [sent(2, 303, 'down'), sent(2, 320, 'up')]).changes.map(({ from, to, atMs }) => [from, to, atMs]),
    [['down', 'up', START_MS + 320_000]],
  );
});

test('a source whose newest result is no vote does not confirm a recovery if the down source is silent', (t) => {
  const { monitor, changes } = play(playOneOfTwoDown().monitor, [sent(2, 181, 'none'), ...blindSince(182)]);
  t.deepEqual(changes, []);
  t.is(reconsider(monitor, { nowMs: START_MS + 303_000, silenceCounts: true }), null);
  t.like(play(monitor, [sent(2, 304, 'up')]).changes[0], { from: 'down', to: 'up', atMs: START_MS + 304_500 });
});

test('a source does not confirm a recovery until it has reported since the outage began', (t) => {
  const settings = { quorum: 1, intervalSeconds: 300 };
  const { monitor, changes } = play(monitorOf(2, settings), [
    sent(1, 0, 'up'),
    sent(2, 1, 'up'),
    sent(1, 2, 'down'),
    sent(1, 22, 'down'),
    ...blindSince(42),
  ]);
  t.deepEqual(
    changes.map(({ to }) => to),
    ['up', 'down'],
  );
  t.is(reconsider(monitor, { nowMs: START_MS + 200_000, silenceCounts: true }), null);
  t.like(play(monitor, [sent(2, 301, 'up')]).changes, [{ from: 'down', to: 'up', atMs: START_MS + 301_500 }]);
  t.is(play(monitor, [sent(2, 301, 'down'), sent(2, 321, 'down')]).monitor.state, 'down');
});

test('a late good result from before the outage does not end it, and the next one decides', (t) => {
  const { monitor, changes } = play(monitorOf(2, { intervalSeconds: 5, downAfterFailures: 1 }), [
    sent(1, 0, 'up'),
    sent(2, 1, 'up'),
    sent(1, 25, 'down'),
    sent(2, 26, 'down'),
    sent(1, 80, 'up'),
    // The newest result of the second location is still the one of second 26: the later ones are late.
    sent(1, 85, 'down'),
  ]);
  t.deepEqual(
    changes.map(({ to }) => to),
    ['up', 'down', 'up', 'down'],
  );
  const late = applyResult(monitor, sent(2, 81, 'up'), START_MS + 86_000);
  t.is(late.change, null);
  t.deepEqual(play(late.monitor, [sent(2, 86, 'down')]).changes, []);
  t.like(play(late.monitor, [sent(2, 86, 'up')]).changes, [{ from: 'down', to: 'up' }]);
});

test('when the source that reports down goes offline the monitor is up from that moment and says why', (t) => {
  const { monitor } = playOneOfTwoDown();
  t.is(monitor.state, 'down');
  const offline = {
    ...monitor,
    sources: monitor.sources.map((source) => ({ ...source, online: source.agentNo === 2 })),
  };
  t.like(reconsider(offline, { nowMs: START_MS + 130_000, silenceCounts: false }), {
    from: 'down',
    to: 'up',
    atMs: START_MS + 130_000,
    reason: 'Working as far as we know: source-1 is offline',
  });
});

test('after the service itself has stalled, a source without recent results still counts', (t) => {
  const { monitor } = playOneOfTwoDown();
  const { monitor: later, changes } = play(monitor, [sent(2, 600, 'up')]);
  t.deepEqual(changes, []);
  const nowMs = START_MS + 601_000;
  t.is(reconsider(later, { nowMs, silenceCounts: false }), null);
  t.like(reconsider(later, { nowMs, silenceCounts: true }), {
    from: 'down',
    to: 'up',
    atMs: nowMs,
    reason: 'Working as far as we know: source-1 is not reporting',
  });
});

test('when the sources that report up go offline the monitor is down from that moment', (t) => {
  const good = [4, 122].flatMap((second) => [4, 5].map((agentNo) => sent(agentNo, second + agentNo, 'up')));
  const bad = [60, 120].flatMap((second) => [1, 2, 3].map((agentNo) => sent(agentNo, second + agentNo, 'down')));
  const { monitor } = play(
    monitorOf(5, { quorum: 4 }),
    [...[1, 2, 3].map((agentNo) => sent(agentNo, agentNo, 'up')), ...good, ...bad].toSorted(
      (a, b) => a.dueAtMs - b.dueAtMs,
    ),
  );
  t.is(monitor.state, 'up');
  const offline = { ...monitor, sources: monitor.sources.map((source) => ({ ...source, online: source.agentNo < 4 })) };
  t.like(reconsider(offline, { nowMs: START_MS + 130_000, silenceCounts: false }), {
    to: 'down',
    atMs: START_MS + 130_000,
  });
});

const arrivals = fc.record({
  sources: fc.integer({ min: 1, max: 4 }),
  downAfterFailures: fc.integer({ min: 1, max: 3 }),
  upAfterSuccesses: fc.integer({ min: 1, max: 3 }),
  results: fc.array(
    fc.record({
      agentNo: fc.integer({ min: 1, max: 4 }),
      second: fc.integer({ min: 0, max: 600 }),
      verdict: fc.constantFrom<Vote>('up', 'up', 'degraded', 'down', 'down', 'none'),
      delaySeconds: fc.integer({ min: 0, max: 120 }),
      repeats: fc.integer({ min: 1, max: 3 }),
    }),
    { maxLength: 80 },
  ),
});

/** Plays results in any order of arrival, with repeats and delays, and a sweep after each. */
function playArrivals({ sources, results, ...thresholds }: typeof arrivals extends fc.Arbitrary<infer T> ? T : never) {
  const deliveries = results
    .flatMap(({ repeats, delaySeconds, ...result }) =>
      Array.from({ length: repeats }, (_, index) => ({
        ...result,
        atSecond: result.second + delaySeconds * (index + 1),
      })),
    )
    .toSorted((a, b) => a.atSecond - b.atSecond);
  const changes: Change[] = [];
  let monitor = monitorOf(sources, thresholds);
  for (const { agentNo, second, verdict, atSecond } of deliveries) {
    const nowMs = START_MS + atSecond * 1000;
    const applied = applyResult(monitor, sent(agentNo, second, verdict), nowMs);
    const swept = reconsider(applied.monitor, { nowMs, silenceCounts: true });
    changes.push(...[applied.change, swept].filter((change) => change !== null));
    monitor = swept === null ? applied.monitor : { ...applied.monitor, state: swept.to, stateSinceMs: swept.atMs };
  }
  return { monitor, changes };
}

test('for a monitor that waits for pings the newest result counts at any age, even if it arrives late', (t) => {
  const waiting = monitorOf(1, { waitsForPings: true, intervalSeconds: 1 });
  const late = applyResult(waiting, sent(1, 0, 'up'), START_MS + 3_600_000);
  t.is(late.change?.to, 'up');
  t.is(reconsider(late.monitor, { nowMs: START_MS + 7_200_000, silenceCounts: true }), null);
  t.is(applyResult(monitorOf(1, { intervalSeconds: 1 }), sent(1, 0, 'up'), START_MS + 3_600_000).change, null);
});

test('results in any order, repeated or late, give a valid history whose replay yields the state', (t) => {
  fc.assert(
    fc.property(arrivals, (history) => {
      const { monitor, changes } = playArrivals(history);
      const replayed = changes.reduce<MonitorState>((state, change) => {
        if (change.from !== state || change.to === state)
          throw new Error(`${change.from} to ${change.to} does not follow ${state}`);
        return change.to;
      }, 'pending');
      const inOrder = changes.every(
        (change, index) => change.atMs >= (changes[index - 1]?.atMs ?? START_MS) && change.atMs <= change.detectedAtMs,
      );
      return replayed === monitor.state && inOrder && !changes.some(({ to }) => to === 'pending' || to === 'paused');
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

test('at most one incident is open, exactly while the last known state is bad', (t) => {
  fc.assert(
    fc.property(arrivals, (history) => {
      let open: 'down' | 'degraded' | null = null;
      for (const { to } of playArrivals(history).changes) {
        const step = stepIncident(open, to);
        if (step.step === 'open') open = step.state;
        if (step.step === 'worsen') open = 'down';
        if (step.step === 'resolve') open = null;
        if (to === 'up' && open !== null) return false;
        if ((to === 'down' || to === 'degraded') && open === null) return false;
      }
      return true;
    }),
  );
  t.pass();
});

test('a monitor is never down without a quorum of fresh votes that each had enough consecutive failures', (t) => {
  fc.assert(
    fc.property(arrivals, (history) =>
      playArrivals(history).changes.every(({ to, evidence }) => {
        const agreeing = evidence.sources.filter((source) => source.fresh && source.vote === 'down');
        return (
          to !== 'down' ||
          (agreeing.length >= evidence.tally.needed &&
            agreeing.every((source) => source.decidedBy.length >= history.downAfterFailures))
        );
      }),
    ),
  );
  t.pass();
});

test('a recovery from down needs a fresh source that votes better and is not failing again', (t) => {
  fc.assert(
    fc.property(arrivals, (history) =>
      playArrivals(history).changes.every(({ from, to, evidence }) => {
        if (from !== 'down' || (to !== 'up' && to !== 'degraded')) return true;
        return evidence.sources.some(
          ({ fresh, vote, streak }) => fresh && vote !== null && vote !== 'down' && streak.length === 0,
        );
      }),
    ),
    { numRuns: 1000 },
  );
  t.pass();
});

test('an unknown monitor gives the reason of its abstaining sources, or names those not reporting', (t) => {
  const reason = 'The target has no public address that may be contacted';
  const blocked = (second: number): Sent => ({ ...sent(1, second, 'none'), cause: 'blocked_target', reason });
  const { monitor } = play(monitorOf(1), [0, 60, 120, 180, 240].map(blocked));
  t.like(reconsider(monitor, { nowMs: START_MS + 241_000, silenceCounts: true }), {
    to: 'unknown',
    cause: 'blocked_target',
    reason,
  });
  const silent = reconsider(monitor, { nowMs: START_MS + 3_600_000, silenceCounts: true });
  t.like(silent, { to: 'unknown', cause: null, reason: 'No location has reported in time: source-1 is not reporting' });
});

/** Plays five sources that reported up at the beginning; only the first keeps reporting. */
function playFiveOfWhichOneIsLeft() {
  const first = [1, 2, 3, 4, 5].map((agentNo) => sent(agentNo, agentNo, 'up'));
  const rest = [60, 120, 180, 240].map((second) => sent(1, second, 'up'));
  return play(monitorOf(5), [...first, ...rest]);
}

test('too few fresh votes make a monitor unknown once, and later sweeps and results do not repeat it', (t) => {
  const { monitor, changes } = playFiveOfWhichOneIsLeft();
  t.deepEqual(
    changes.map(({ to }) => to),
    ['up'],
  );
  const change = reconsider(monitor, { nowMs: START_MS + 241_000, silenceCounts: true });
  t.like(change, {
    from: 'up',
    to: 'unknown',
    atMs: START_MS + 241_000,
    cause: null,
    reason: 'Only 1 of 5 locations have reported in time: source-2, source-3, source-4 and source-5 are not reporting',
  });
  const unknown = { ...monitor, state: 'unknown' as const, stateSinceMs: START_MS + 241_000 };
  t.is(reconsider(unknown, { nowMs: START_MS + 251_000, silenceCounts: true }), null);
  const later = play(
    unknown,
    [300, 360, 420, 480].map((second) => sent(1, second, 'down')),
  );
  t.deepEqual(later.changes, []);
  t.is(reconsider(later.monitor, { nowMs: START_MS + 490_000, silenceCounts: true }), null);
});

test('a monitor leaves unknown as soon as enough sources report again, with their current votes', (t) => {
  const unknown = {
    ...playFiveOfWhichOneIsLeft().monitor,
    state: 'unknown' as const,
    stateSinceMs: START_MS + 241_000,
  };
  const back = play(unknown, [sent(1, 300, 'up'), sent(2, 302, 'up')]);
  t.deepEqual(
    back.changes.map(({ from, to, atMs }) => [from, to, atMs]),
    [['unknown', 'up', START_MS + 302_000]],
  );
  const broken = play(unknown, [
    sent(1, 300, 'down'),
    sent(1, 320, 'down'),
    sent(2, 322, 'down'),
    sent(2, 342, 'down'),
  ]);
  // The second source reports again before its vote can change: its last vote still holds, and the two disagree.
  t.deepEqual(
    broken.changes.map(({ to }) => to),
    ['up', 'down'],
  );
});

test('the evidence of a change names every source with its vote, its streak and whether it counted', (t) => {
  const results = [
    ...[1, 2, 3, 4].map((agentNo) => sent(agentNo, agentNo, 'up')),
    ...[200, 220].map((second) => sent(1, second, 'down')),
    sent(3, 225, 'down'),
    ...[201, 221].map((second) => sent(2, second, 'down')),
  ];
  const { changes } = play(
    monitorOf(5),
    results.toSorted((a, b) => a.dueAtMs - b.dueAtMs),
  );
  const down = changes.at(-1);
  t.is(down?.to, 'down');
  t.deepEqual(down?.evidence.tally, { sources: 5, votes: 2, needed: 2, down: 2, impaired: 2 });
  const sourceEvidence = down?.evidence.sources.map(
    ({ name, standing, vote, fresh, newestAtMs, decidedBy, streak }) => ({
      name,
      standing,
      vote,
      fresh,
      newest: newestAtMs === null ? null : (newestAtMs - START_MS) / 1000,
      decidedBy: decidedBy.map(({ atMs, verdict }) => [(atMs - START_MS) / 1000, verdict]),
      streak: streak.map(({ atMs }) => (atMs - START_MS) / 1000),
    }),
  );
  t.deepEqual(sourceEvidence, [
    {
      name: 'source-1',
      standing: 'votes',
      vote: 'down',
      fresh: true,
      newest: 220,
      decidedBy: [
        [200, 'down'],
        [220, 'down'],
      ],
      streak: [],
    },
    {
      name: 'source-2',
      standing: 'votes',
      vote: 'down',
      fresh: true,
      newest: 221,
      decidedBy: [
        [201, 'down'],
        [221, 'down'],
      ],
      streak: [],
    },
    { name: 'source-3', standing: 'silent', vote: 'up', fresh: false, newest: 3, decidedBy: [[3, 'up']], streak: [] },
    { name: 'source-4', standing: 'silent', vote: 'up', fresh: false, newest: 4, decidedBy: [[4, 'up']], streak: [] },
    { name: 'source-5', standing: 'silent', vote: null, fresh: false, newest: null, decidedBy: [], streak: [] },
  ]);
});

test('the evidence of a change shows the unfinished streak of a source that did not decide it', (t) => {
  const results = [
    sent(1, 0, 'up'),
    sent(2, 1, 'up'),
    sent(3, 2, 'up'),
    sent(3, 58, 'down'),
    ...[60, 80].map((second) => sent(1, second, 'down')),
    ...[61, 81].map((second) => sent(2, second, 'down')),
  ];
  const change = play(
    monitorOf(3),
    results.toSorted((a, b) => a.dueAtMs - b.dueAtMs),
  ).changes.at(-1);
  t.is(change?.to, 'down');
  t.like(change?.evidence.sources[2], { vote: 'up', fresh: true });
  t.deepEqual(
    change?.evidence.sources[2]?.streak.map(({ atMs, verdict }) => [atMs - START_MS, verdict]),
    [[58_000, 'down']],
  );
});

test('an offline source is reported as such in the evidence and in the reason', (t) => {
  const { monitor } = play(monitorOf(2), [sent(1, 0, 'up'), sent(2, 1, 'up')]);
  const offline = { ...monitor, sources: monitor.sources.map((source) => ({ ...source, online: false })) };
  const change = reconsider(offline, { nowMs: START_MS + 2000, silenceCounts: true });
  t.like(change, { to: 'unknown', reason: 'No location has reported in time: source-1 and source-2 are offline' });
  t.deepEqual(
    change?.evidence.sources.map(({ standing, vote, fresh }) => [standing, vote, fresh]),
    [
      ['offline', 'up', false],
      ['offline', 'up', false],
    ],
  );
});

const LONG = 'x'.repeat(500);

/** Returns a source with nine results of long reasons: five that decided its vote, and four against it. */
function wordySource(agentNo: number, fresh: boolean): SourceInDecision {
  const results = (from: number, most: number) =>
    Array.from({ length: most }, (_, index) => ({
      atMs: START_MS + from + index,
      verdict: 'down' as const,
      cause: 'timeout',
      reason: LONG,
      httpStatus: null,
      latencyMs: 20,
    }));
  return {
    agentNo,
    name: `source-${agentNo}`,
    standing: fresh ? 'votes' : 'silent',
    vote: 'down',
    fresh,
    newestAtMs: START_MS,
    decidedBy: results(0, 5),
    streak: results(5, 4),
  };
}

function evidenceOf(sources: readonly SourceInDecision[]) {
  const count = sources.length;
  return { tally: { sources: count, votes: 1, needed: 1, down: 1, impaired: 1 }, quorum: 1, sources: [...sources] };
}

test('evidence of two verbose sources is stored in full', (t) => {
  const evidence = evidenceOf([wordySource(1, true), wordySource(2, false)]);
  t.is(fitEvidence(evidence), evidence);
});

test('evidence of three verbose sources keeps two results per vote, a truncated reason and no streaks', (t) => {
  const { sources } = fitEvidence(evidenceOf([1, 2, 3].map((agentNo) => wordySource(agentNo, agentNo === 3))));
  for (const { decidedBy, streak } of sources) {
    t.deepEqual(
      decidedBy.map(({ atMs, cause, reason }) => [atMs - START_MS, cause, reason]),
      [
        [0, 'timeout', null],
        [4, 'timeout', LONG.slice(0, 100)],
      ],
    );
    t.deepEqual(streak, []);
  }
});

test('evidence of 60 verbose sources keeps all votes and prefers the results of fresh sources', (t) => {
  const evidence = evidenceOf(Array.from({ length: 60 }, (_, index) => wordySource(index, index >= 50)));
  const fitted = fitEvidence(evidence);
  const statements = ({ sources }: typeof evidence) =>
    sources.map(({ name, vote, fresh, standing, newestAtMs }) => [name, vote, fresh, standing, newestAtMs]);
  t.deepEqual(statements(fitted), statements(evidence));
  t.true(fitted.sources.slice(50).every(({ decidedBy }) => decidedBy.length === 2));
  const kept = fitted.sources.flatMap(({ decidedBy }) => decidedBy);
  t.true(kept.length > 20 && kept.length < 120);
  t.true(JSON.stringify(kept).length < 16_384);
});
