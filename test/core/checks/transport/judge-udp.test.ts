import test from 'ava';
import { judgeUdp, type UdpObservation } from '../../../../core/checks/transport/observation.ts';
import type { FixedCause, Judgement } from '../../../../core/checks/verdict.ts';
import type { TransportSpec } from '../../../../core/monitors/monitor.ts';

const MEASURED = { type: 'udp', startedAt: 0, dnsMs: null } as const;
const UP: Judgement = { verdict: 'up', cause: null, reason: null };

function judge(observation: UdpObservation, transport?: TransportSpec): Judgement {
  const search = (pattern: string, text: string) => new RegExp(pattern).test(text);
  return judgeUdp({ target: { checkSpec: transport === undefined ? {} : { transport } }, observation, search });
}

function replied(reply: string): UdpObservation {
  return { ...MEASURED, outcome: 'replied', latencyMs: 1, reply, replyBytes: Buffer.from(reply).toString('latin1') };
}

test('without an expected reply any reply is up, even an empty one', (t) => {
  t.deepEqual(judge(replied('')), UP);
  t.deepEqual(judge(replied('x'), { payload: 'ping' }), UP);
});

test('a reply is compared with the expected text or pattern', (t) => {
  t.deepEqual(judge(replied('pong 1'), { expect: 'pong' }), UP);
  t.deepEqual(judge(replied('pong 1'), { expect: 'pong \\d', expectMode: 'regex' }), UP);
  t.deepEqual(judge(replied('pong 1'), { expect: 'PONG' }), {
    verdict: 'down',
    cause: 'udp_mismatch',
    reason: 'The reply does not contain "PONG"',
  });
  t.deepEqual(judge(replied('pong'), { expect: 'pong \\d', expectMode: 'regex' }), {
    verdict: 'down',
    cause: 'udp_mismatch',
    reason: 'The reply does not match "pong \\d"',
  });
});

test('an empty reply is a mismatch, not a missing reply', (t) => {
  t.like(judge(replied(''), { expect: 'x' }), { cause: 'udp_mismatch' });
});

test('a missing reply is down whether or not one is expected, and a closed port is reported as such', (t) => {
  const silent = (isRefused: boolean): UdpObservation => ({
    ...MEASURED,
    outcome: 'silent',
    latencyMs: null,
    isRefused,
  });
  t.deepEqual(judge(silent(false)), { verdict: 'down', cause: 'udp_no_reply', reason: 'No reply came in time' });
  t.deepEqual(judge(silent(true), { expect: 'x' }), {
    verdict: 'down',
    cause: 'udp_no_reply',
    reason: 'Port unreachable: no service listens there',
  });
});

const FAILURES: [FixedCause, Judgement['verdict']][] = [
  ['conn_error', 'down'],
  ['timeout', 'down'],
  ['dns_nxdomain', 'down'],
  ['dns_error', 'down'],
  ['blocked_target', 'none'],
  ['unsupported', 'none'],
];
for (const [cause, verdict] of FAILURES) {
  test(`${cause} is ${verdict === 'none' ? 'no vote' : verdict}`, (t) => {
    t.deepEqual(judge({ ...MEASURED, outcome: 'failed', latencyMs: null, cause, reason: 'why' }), {
      verdict,
      cause,
      reason: 'why',
    });
  });
}
