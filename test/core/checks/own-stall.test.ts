import test from 'ava';
import type { HttpFailed } from '../../../core/checks/http/observation.ts';
import type { Observation } from '../../../core/checks/observation.ts';
import { discountClock, discountStall } from '../../../core/checks/own-stall.ts';
import type { Judgement } from '../../../core/checks/verdict.ts';
import { failureOf } from '../../../net/failure.ts';

const TIMED_OUT: Judgement = { verdict: 'down', cause: 'timeout', reason: 'Timed out while waiting for the response' };
const SLOW: Judgement = { verdict: 'degraded', cause: 'slow', reason: 'Slow' };

type OwnTime = Parameters<typeof discountStall>[2];

/** An exchange that came as far as these timings. */
function reached(timings: Partial<HttpFailed['timings']>): HttpFailed {
  const none = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, downloadMs: null };
  return {
    type: 'http',
    startedAt: 0,
    latencyMs: 1000,
    timings: { ...none, ...timings },
    certificate: null,
    outcome: 'failed',
    cause: 'timeout',
    reason: '',
  };
}

const ANSWERING = reached({ dnsMs: 1, connectMs: 1, tlsMs: 1, firstByteMs: 1 });

const CASES: readonly [name: string, judgement: Judgement, ownTime: OwnTime, verdict: Judgement['verdict']][] = [
  [
    'a timeout while we stood still for a quarter of the time is no vote',
    TIMED_OUT,
    { tookMs: 1000, stalledMs: 250, longestStallMs: 250 },
    'none',
  ],
  [
    "a timeout while we were hardly held up is the target's",
    TIMED_OUT,
    { tookMs: 1000, stalledMs: 249, longestStallMs: 249 },
    'down',
  ],
  [
    "a timeout in a process that is always a little late is the target's",
    TIMED_OUT,
    { tookMs: 5000, stalledMs: 1500, longestStallMs: 20 },
    'down',
  ],
  [
    'a timeout in a process that is late for long each time is no vote',
    TIMED_OUT,
    { tookMs: 5000, stalledMs: 4000, longestStallMs: 250 },
    'none',
  ],
  [
    'a slow answer while we stood still is no vote',
    SLOW,
    { tookMs: 1000, stalledMs: 900, longestStallMs: 900 },
    'none',
  ],
  [
    'a slow answer counts by the time that it took, not by what it might have taken',
    SLOW,
    { tookMs: 600, stalledMs: 150, longestStallMs: 150 },
    'none',
  ],
  [
    'a wrong status is wrong however late we read it',
    { verdict: 'down', cause: 'status_503', reason: 'HTTP 503' },
    { tookMs: 5000, stalledMs: 5000, longestStallMs: 5000 },
    'down',
  ],
  [
    'a good answer is good however late we read it',
    { verdict: 'up', cause: null, reason: null },
    { tookMs: 5000, stalledMs: 5000, longestStallMs: 5000 },
    'up',
  ],
];

for (const [name, judgement, ownTime, verdict] of CASES) {
  test(name, (t) => {
    t.is(discountStall(judgement, ANSWERING, ownTime).verdict, verdict);
  });
}

const UDP: Observation = {
  type: 'udp',
  startedAt: 0,
  dnsMs: null,
  outcome: 'silent',
  latencyMs: null,
  isRefused: false,
};

const WAITS: readonly [name: string, observation: Observation, waits: number][] = [
  ['who never connected was waited for once', reached({}), 1],
  ['who connected and said nothing was waited for twice', reached({ connectMs: 1 }), 2],
  [
    'who was looked up, connected and spoke TLS was waited for four times',
    reached({ dnsMs: 1, connectMs: 1, tlsMs: 1 }),
    4,
  ],
  ['who answered may have been waited for more often', reached({ connectMs: 1, firstByteMs: 1 }), 5],
  ['a datagram is waited for once', UDP, 1],
  ['a datagram to a name is waited for twice', { ...UDP, dnsMs: 3 }, 2],
  ['of others it is not known', { type: 'unsupported', monitorType: 'vendor', latencyMs: null }, 5],
];

for (const [name, observation, waits] of WAITS) {
  test(name, (t) => {
    const verdictAt = (longestStallMs: number) =>
      discountStall(TIMED_OUT, observation, { tookMs: 1000, stalledMs: 900, longestStallMs }).verdict;
    t.is(verdictAt(250 / waits), 'none');
    t.is(verdictAt(250 / waits - 1), 'down');
  });
}

for (const code of ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']) {
  test(`${code} by a machine's wrong clock is no vote, and by a good one what it is`, (t) => {
    const failure = failureOf(Object.assign(new Error('certificate'), { code }), 'tls');
    const judgement: Judgement = { verdict: 'down', cause: failure?.cause ?? null, reason: failure?.reason ?? null };
    for (const aheadMs of [-31_536_000_000, -60_001, 60_001, 31_536_000_000])
      t.is(discountClock(judgement, aheadMs).verdict, 'none');
    for (const aheadMs of [-60_000, 0, 999]) t.is(discountClock(judgement, aheadMs), judgement);
    t.is(discountClock(TIMED_OUT, 31_536_000_000), TIMED_OUT);
  });
}
