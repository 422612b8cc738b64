import test from 'ava';
import * as fc from 'fast-check';
import {
  buildMonitorMessage,
  buildTestMessage,
  completeEnvelope,
  type MonitorEventFacts,
} from '../../../core/alerts/envelope.ts';
import type { Change, DecisionRecord } from '../../../core/incidents/change.ts';
import type { StreakResult } from '../../../core/incidents/source-state.ts';

const AT_MS = 1_700_000_000_900;

const FAILED: StreakResult = {
  atMs: AT_MS,
  verdict: 'down',
  cause: 'status_500',
  reason: 'Answered 500',
  httpStatus: 500,
  latencyMs: 41,
};
const WELL: StreakResult = { atMs: AT_MS, verdict: 'up', cause: null, reason: null, httpStatus: 200, latencyMs: 17 };

test('a down message has every field that D-51 lists', (t) => {
  t.deepEqual(buildMonitorMessage(factsOf({})), {
    version: '1',
    event: 'monitor.down',
    event_at: 1_700_000_000,
    monitor: { id: 'mon_1', name: 'Shop', type: 'http', target: 'https://shop.example/' },
    state: 'down',
    reason: 'Answered 500 (seen from 2 of 3 locations)',
    detail: {
      sources_down: ['frankfurt', 'hanoi'],
      incident_id: 'inc_1',
      cause: 'status_500',
      previous_state: 'up',
      sequence: 7,
      sources_total: 3,
      quorum: 2,
      detected_at: 1_700_000_012,
      latency_ms: 41,
    },
    url: 'https://spotcheck.example/monitors/mon_1',
  });
});

test('a down message lists dependencies that may explain it, and has no list if there are none', (t) => {
  const culprits = [{ id: 'mon_2', name: 'GitHub', state: 'degraded' }] as const;
  t.deepEqual(buildMonitorMessage(factsOf({ culprits })).detail.dependencies, [
    { id: 'mon_2', name: 'GitHub', state: 'degraded' },
  ]);
  t.false('dependencies' in buildMonitorMessage(factsOf({})).detail);
});

test("a recovery message has the incident's duration and the latest latency", (t) => {
  const message = buildMonitorMessage(
    factsOf({
      event: 'monitor.up',
      change: changeOf({
        from: 'down',
        to: 'up',
        cause: null,
        reason: 'Working again',
        evidence: evidenceOf([['frankfurt', 'up', WELL]]),
      }),
      incident: { id: 'inc_1', startedAtMs: AT_MS - 90_000 },
    }),
  );
  t.is(message.state, 'up');
  t.is(message.detail.duration_seconds, 90);
  t.is(message.detail.incident_id, 'inc_1');
  t.is(message.detail.latency_ms, 17);
  t.deepEqual(message.detail.sources_down, []);
});

test('the first up of a monitor belongs to no incident and has no duration', (t) => {
  const change = changeOf({
    from: 'pending',
    to: 'up',
    cause: null,
    reason: 'Working',
    evidence: evidenceOf([['frankfurt', 'up', WELL]]),
  });
  const { detail } = buildMonitorMessage(factsOf({ event: 'monitor.up', change, incident: null }));
  t.is(detail.incident_id, null);
  t.false('duration_seconds' in detail);
});

test('a change from degraded to down within an incident has no duration', (t) => {
  const { detail } = buildMonitorMessage(
    factsOf({ change: changeOf({ from: 'degraded' }), incident: { id: 'inc_1', startedAtMs: AT_MS - 60_000 } }),
  );
  t.is(detail.incident_id, 'inc_1');
  t.false('duration_seconds' in detail);
});

test('an unknown message has no cause and no latency because nothing was measured', (t) => {
  const change = changeOf({
    to: 'unknown',
    cause: null,
    reason: 'No location has reported in time',
    evidence: evidenceOf([['frankfurt', null, null]]),
  });
  const message = buildMonitorMessage(factsOf({ event: 'monitor.unknown', change, incident: null }));
  t.is(message.state, 'unknown');
  t.is(message.detail.cause, null);
  t.false('latency_ms' in message.detail);
  t.is(message.reason, 'No location has reported in time');
});

test('silent and undecided sources are listed by name, and there is no list if all voted', (t) => {
  const evidence = evidenceOf([
    ['oslo', 'up', WELL],
    ['lima', 'down', FAILED],
    ['hanoi', null, null],
  ]);
  const silent = {
    ...evidence,
    sources: evidence.sources.map((source) =>
      source.name === 'oslo' ? { ...source, fresh: false, standing: 'silent' as const } : source,
    ),
  };
  t.deepEqual(buildMonitorMessage(factsOf({ change: changeOf({ evidence: silent }) })).detail.sources_silent, [
    'hanoi',
    'oslo',
  ]);
  t.false('sources_silent' in buildMonitorMessage(factsOf({})).detail);
});

test('a timeout has no latency even if a disagreeing source measured one', (t) => {
  const timedOut = { ...FAILED, cause: 'timeout', latencyMs: null };
  const evidence = evidenceOf([
    ['frankfurt', 'down', timedOut],
    ['hanoi', 'up', WELL],
  ]);
  t.false('latency_ms' in buildMonitorMessage(factsOf({ change: changeOf({ evidence }) })).detail);
});

test('the latency is that of the newest deciding result', (t) => {
  const evidence = evidenceOf([
    ['frankfurt', 'down', { ...FAILED, atMs: AT_MS + 5, latencyMs: 99 }],
    ['hanoi', 'down', FAILED],
  ]);
  t.is(buildMonitorMessage(factsOf({ change: changeOf({ evidence }) })).detail.latency_ms, 99);
});

test('a test message is a monitor.up marked as a test, with sequence 0 and all fields of an alert', (t) => {
  const message = buildTestMessage({ nowMs: AT_MS, publicUrl: 'https://spotcheck.example' });
  t.true(message.test);
  t.is(message.event, 'monitor.up');
  t.is(message.state, 'up');
  t.is(message.event_at, 1_700_000_000);
  t.is(message.detail.sequence, 0);
  t.deepEqual(
    Object.keys(buildMonitorMessage(factsOf({})).detail).filter((key) => key !== 'latency_ms'),
    Object.keys(message.detail),
  );
});

test('an envelope adds the delivery id and the sending time, in a fixed field order', (t) => {
  const message = buildMonitorMessage(factsOf({}));
  const shuffled = Object.fromEntries(Object.entries(message).toReversed()) as typeof message;
  const envelope = completeEnvelope(shuffled, { deliveryId: 'dlv_1', sentAtMs: AT_MS + 20_000 });
  t.deepEqual(envelope, { ...message, delivery_id: 'dlv_1', sent_at: 1_700_000_020 });
  t.deepEqual(Object.keys(envelope).slice(0, 5), ['version', 'event', 'delivery_id', 'event_at', 'sent_at']);
});

test('attempts differ only in their sending time', (t) => {
  const message = buildMonitorMessage(factsOf({}));
  fc.assert(
    fc.property(fc.nat({ max: 4_000_000 }), (laterMs) => {
      const first = completeEnvelope(message, { deliveryId: 'dlv_1', sentAtMs: AT_MS });
      const later = completeEnvelope(message, { deliveryId: 'dlv_1', sentAtMs: AT_MS + laterMs });
      t.deepEqual({ ...later, sent_at: first.sent_at }, first);
      return later.sent_at >= first.sent_at && Number.isInteger(later.sent_at);
    }),
  );
});

function factsOf(overrides: Partial<MonitorEventFacts>): MonitorEventFacts {
  return {
    event: 'monitor.down',
    monitor: { id: 'mon_1', name: 'Shop', type: 'http', target: 'https://shop.example/' },
    change: changeOf({}),
    sequence: 7,
    incident: { id: 'inc_1', startedAtMs: AT_MS },
    culprits: [],
    publicUrl: 'https://spotcheck.example',
    ...overrides,
  };
}

function changeOf(overrides: Partial<Change>): Change {
  return {
    from: 'up',
    to: 'down',
    atMs: AT_MS,
    detectedAtMs: AT_MS + 11_200,
    cause: 'status_500',
    reason: 'Answered 500 (seen from 2 of 3 locations)',
    evidence: evidenceOf([
      ['hanoi', 'down', FAILED],
      ['frankfurt', 'down', FAILED],
      ['oregon', 'up', WELL],
    ]),
    failures: [],
    ...overrides,
  };
}

function evidenceOf(
  votes: [name: string, vote: 'up' | 'down' | null, decidedBy: StreakResult | null][],
): DecisionRecord {
  const down = votes.filter(([, vote]) => vote === 'down').length;
  return {
    tally: { sources: votes.length, votes: votes.length, needed: 2, down, impaired: down },
    quorum: 2,
    sources: votes.map(([name, vote, decidedBy], index) => ({
      agentNo: index + 1,
      name,
      standing: vote === null ? ('undecided' as const) : ('votes' as const),
      vote,
      fresh: true,
      newestAtMs: AT_MS,
      decidedBy: decidedBy === null ? [] : [decidedBy],
      streak: [],
    })),
  };
}
