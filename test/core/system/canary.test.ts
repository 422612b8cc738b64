import test from 'ava';
import type { MonitorState } from '../../../core/incidents/state.ts';
import {
  answerCanary,
  canarySettings,
  describeAnswer,
  isCanaryTurn,
  peerHeartbeatTimes,
  readPeerRequest,
  type CanaryAnswer,
} from '../../../core/system/canary.ts';
import { judgeHttp } from '../../helpers/judge.ts';

const TURNS: readonly [state: MonitorState, markedAtMs: number | null, answer: CanaryAnswer][] = [
  ['up', 1001, 'down'],
  ['down', 1001, 'up'],
  ['pending', 1001, 'up'],
  ['unknown', 1001, 'up'],
  // Marked before the last change, or never: the canary keeps its state.
  ['up', 1000, 'up'],
  ['down', 999, 'down'],
  ['up', null, 'up'],
  // In these states either answer would be a turn.
  ['pending', null, null],
  ['unknown', 1000, null],
  ['degraded', 1000, null],
  ['paused', 1001, null],
];

for (const [state, markedAtMs, answer] of TURNS)
  test(`a canary that is ${state} since 1000 and was marked at ${markedAtMs} responds ${answer}`, (t) => {
    t.is(answerCanary({ state, stateSinceMs: 1000, markedAtMs }), answer);
  });

test('only the response "down" counts as a canary going down, other failures do not', (t) => {
  const settings = canarySettings({ target: 'http://localhost:3000/canary', intervalSeconds: 30, sources: 2 });
  t.like(settings, { downMinSources: 2, timeoutMs: 10_000, downAfterFailures: 1, upAfterSuccesses: 1 });
  const judge = (status: number, body: string) => {
    const { verdict, cause } = judgeHttp({
      target: settings,
      observation: {
        type: 'http',
        outcome: 'answered',
        startedAt: 0,
        latencyMs: 5,
        timings: { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: 1, downloadMs: 1 },
        certificate: null,
        status,
        headers: {},
        body,
        bodyTruncated: false,
        bodyStart: null,
        hadSecrets: false,
      },
      search: (pattern, text) => text.includes(pattern),
    });
    return { verdict, isTurn: verdict !== 'none' && isCanaryTurn({ to: verdict, cause }) };
  };
  const [up, down, off] = [describeAnswer('up'), describeAnswer('down'), describeAnswer(null)];
  t.deepEqual(judge(up.status, up.body), { verdict: 'up', isTurn: true });
  t.deepEqual(judge(down.status, down.body), { verdict: 'down', isTurn: true });
  t.deepEqual(judge(off.status, off.body), { verdict: 'down', isTurn: false });
  t.deepEqual(judge(502, 'canary: down'), { verdict: 'down', isTurn: false });
  t.deepEqual(judge(200, 'Please sign in to this hotel'), { verdict: 'down', isTurn: false });
});

test('a change to down, unknown or degraded for another reason is not the canary going down', (t) => {
  t.false(isCanaryTurn({ to: 'down', cause: 'conn_refused' }));
  t.false(isCanaryTurn({ to: 'unknown', cause: null }));
  t.false(isCanaryTurn({ to: 'degraded', cause: 'slow' }));
});

test("a peer's heartbeat goes down after two missed pings, within two minutes of the last one", (t) => {
  t.deepEqual(peerHeartbeatTimes(30), { interval_seconds: 60, grace_seconds: 20 });
  t.deepEqual(peerHeartbeatTimes(5), { interval_seconds: 10, grace_seconds: 5 });
});

const GOOD = {
  peer_url: 'https://a.example/ops',
  ping_url: 'https://a.example/ops/ping/mon_1.x',
  every_seconds: 30,
};

test('a peer request is parsed, and each invalid field is refused by name', (t) => {
  t.deepEqual(readPeerRequest(GOOD), { peerUrl: GOOD.peer_url, pingUrl: GOOD.ping_url, everySeconds: 30 });
  const BAD: [object | null, RegExp][] = [
    [null, /^peer_url/],
    [{ ...GOOD, peer_url: 'ftp://a.example' }, /^peer_url/],
    [{ ...GOOD, peer_url: 'https://user:pw@a.example' }, /^peer_url/],
    [{ ...GOOD, peer_url: 'https://a.example/?q' }, /^peer_url/],
    [{ ...GOOD, peer_url: `https://a.example/${'a'.repeat(2048)}` }, /^peer_url/],
    // Only the peer's own ping URL is valid: an invitation must not make this service call other hosts.
    [{ ...GOOD, ping_url: 'http://10.0.0.1/ping/x' }, /^ping_url/],
    [{ ...GOOD, ping_url: 'https://a.example/ops/other/x' }, /^ping_url/],
    [{ ...GOOD, every_seconds: 4 }, /^every_seconds/],
    [{ ...GOOD, every_seconds: 301 }, /^every_seconds/],
    [{ ...GOOD, every_seconds: '30' }, /^every_seconds/],
  ];
  for (const [body, problem] of BAD) t.regex(String(readPeerRequest(body)), problem, JSON.stringify(body));
});
