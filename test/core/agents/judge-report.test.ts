import test from 'ava';
import { describeCause, judgeReport } from '../../../core/agents/judge-report.ts';
import type { Report } from '../../../core/agents/requests.ts';
import { CAUSES } from '../../../core/checks/verdict.ts';

const REPORT: Report = {
  monitorId: 'mon_1',
  ok: false,
  degraded: false,
  cause: null,
  reason: null,
  latencyMs: null,
  httpStatus: null,
  startedAtMs: 1,
  expiresAt: null,
  timing: null,
  answer: null,
};
const ABLE = { name: 'lab', inability: null };

const JUDGED: readonly (readonly [string, Partial<Report>, object])[] = [
  ['success', { ok: true }, { verdict: 'up', cause: null, reason: null }],
  [
    'success with a cause and a reason',
    { ok: true, cause: 'x', reason: 'y' },
    { verdict: 'up', cause: null, reason: null },
  ],
  [
    'degraded with a cause',
    { ok: true, degraded: true, cause: 'slow' },
    { verdict: 'degraded', cause: 'slow', reason: 'The response was too slow' },
  ],
  [
    'degraded without a cause',
    { ok: true, degraded: true },
    { verdict: 'degraded', cause: null, reason: 'The agent lab reported it as degraded' },
  ],
  ['a failure without a cause', {}, { verdict: 'down', cause: null, reason: 'The agent lab reported a failure' }],
  [
    'a failure with an empty cause',
    { cause: ' \n' },
    { verdict: 'down', cause: null, reason: 'The agent lab reported a failure' },
  ],
  [
    'a known cause',
    { cause: 'timeout' },
    { verdict: 'down', cause: 'timeout', reason: 'There was no response in time' },
  ],
  [
    'an unexpected status',
    { cause: 'status_418' },
    { verdict: 'down', cause: 'status_418', reason: 'HTTP 418 instead of the expected status' },
  ],
  [
    'a failed assertion',
    { cause: 'assert_header_equals' },
    { verdict: 'down', cause: 'assert_header_equals', reason: 'A header is not as expected' },
  ],
  [
    'an unknown cause',
    { cause: 'ECONNRESET' },
    { verdict: 'down', cause: 'ECONNRESET', reason: 'The agent lab reported: ECONNRESET' },
  ],
  [
    'a refused connection by its name in other agents',
    { cause: 'tcp_refused' },
    { verdict: 'down', cause: 'tcp_refused', reason: 'The connection was refused' },
  ],
  [
    'a connection timeout by its name in other agents',
    { cause: 'tcp_timeout' },
    { verdict: 'down', cause: 'tcp_timeout', reason: 'The connection timed out' },
  ],
  [
    'a failed connection by its name in other agents',
    { cause: 'tcp_error' },
    { verdict: 'down', cause: 'tcp_error', reason: 'The connection failed' },
  ],
  [
    'a failed datagram by its name in other agents',
    { cause: 'udp_error' },
    { verdict: 'down', cause: 'udp_error', reason: 'The datagram could not be sent, or no reply received' },
  ],
  [
    'that it cannot open an ICMP socket',
    { cause: 'icmp_socket' },
    { verdict: 'none', cause: 'icmp_socket', reason: 'The agent could not open a socket for echo requests' },
  ],
  [
    'a request that could not be built',
    { cause: 'bad_request' },
    {
      verdict: 'none',
      cause: 'bad_request',
      reason: "The agent could not build a request from the monitor's settings",
    },
  ],
  [
    'its own reason',
    { cause: 'timeout', reason: 'No answer within 5000 ms' },
    { verdict: 'down', cause: 'timeout', reason: 'No answer within 5000 ms' },
  ],
  [
    'text with control characters',
    { cause: 'a\u0000b', reason: 'x\u001b[31my' },
    { verdict: 'down', cause: 'a b', reason: 'x [31my' },
  ],
  [
    'long text',
    { cause: 'c'.repeat(100), reason: 'r'.repeat(1000) },
    { verdict: 'down', cause: 'c'.repeat(64), reason: 'r'.repeat(500) },
  ],
  [
    'that it cannot run the check',
    { cause: 'unsupported_by_agent' },
    { verdict: 'none', cause: 'unsupported_by_agent', reason: 'The agent lab cannot run this check' },
  ],
  [
    'that it cannot run the check, with a reason',
    { cause: 'unsupported_by_agent', reason: 'No IPv6 here' },
    { verdict: 'none', cause: 'unsupported_by_agent', reason: 'No IPv6 here' },
  ],
  [
    'that it cannot send ICMP echo requests',
    { cause: 'icmp_unavailable' },
    { verdict: 'none', cause: 'icmp_unavailable', reason: 'The agent cannot send echo requests' },
  ],
  [
    'an unsupported check',
    { cause: 'unsupported' },
    { verdict: 'none', cause: 'unsupported', reason: 'The agent cannot run this check' },
  ],
  [
    'a target blocked by its guard',
    { cause: 'blocked_target' },
    { verdict: 'none', cause: 'blocked_target', reason: 'The agent may not contact this target' },
  ],
];
for (const [what, report, expected] of JUDGED) {
  test(`an agent reports ${what}`, (t) => {
    t.deepEqual(judgeReport({ ...REPORT, ...report }, ABLE), expected as ReturnType<typeof judgeReport>);
  });
}

test('a report from an agent that cannot run the check is no vote, whether good or bad', (t) => {
  for (const inability of ['capability', 'no_key', 'other_key'] as const) {
    for (const ok of [true, false]) {
      const { verdict, cause, reason } = judgeReport({ ...REPORT, ok, cause: 'timeout' }, { name: 'lab', inability });
      t.deepEqual([verdict, cause], ['none', 'unsupported_by_agent']);
      t.regex(String(reason), /^The agent lab /);
    }
  }
});

test('every known cause has a sentence, and an unknown one is quoted', (t) => {
  for (const cause of CAUSES) t.regex(describeCause(cause, 'lab'), /^[A-Z].*[a-z]$/);
  t.is(describeCause('assert_teeth_equals', 'lab'), 'The agent lab reported: assert_teeth_equals');
});
