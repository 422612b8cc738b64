import test from 'ava';
import type { HttpFailed } from '../../../core/checks/http/observation.ts';
import type { Observation } from '../../../core/checks/observation.ts';
import { RecentResults, discountClock, discountStall } from '../../../core/checks/own-faults.ts';
import type { Judgement, Vote } from '../../../core/checks/verdict.ts';
import { explainVerification } from '../../../net/certificate.ts';
import { failureOf } from '../../../net/failure.ts';

const TIMED_OUT: Judgement = { verdict: 'down', cause: 'timeout', reason: 'Timed out while waiting for the response' };
const SLOW: Judgement = { verdict: 'degraded', cause: 'slow', reason: 'Slow' };

type OwnTime = Parameters<typeof discountStall>[2];

/** Returns an exchange that failed after reaching these timings. */
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

const STALLS: readonly [name: string, judgement: Judgement, ownTime: OwnTime, verdict: Judgement['verdict']][] = [
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

for (const [name, judgement, ownTime, verdict] of STALLS) {
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
  test(`${code} is no vote if the clock is wrong, and counts if it is right`, (t) => {
    const failure = failureOf(Object.assign(new Error('certificate'), { code }), 'tls');
    const judgement: Judgement = { verdict: 'down', cause: failure?.cause ?? null, reason: failure?.reason ?? null };
    for (const aheadMs of [-31_536_000_000, -60_001, 60_001, 31_536_000_000])
      t.is(discountClock(judgement, aheadMs).verdict, 'none');
    for (const aheadMs of [-60_000, 0, 999]) t.is(discountClock(judgement, aheadMs), judgement);
    t.is(discountClock(TIMED_OUT, 31_536_000_000), TIMED_OUT);
  });
}

test('a certificate expired only by a wrong clock is no vote, a truly expired one is down', (t) => {
  const failure = failureOf(Object.assign(new Error('certificate'), { code: 'CERT_HAS_EXPIRED' }), 'tls');
  if (failure === null) return t.fail('not a failure of the target');
  const nowSeconds = Math.floor(Date.now() / 1000);
  const judge = (validTo: number): Judgement => {
    const certificate = { subject: 'shop.example', issuer: 'CA', validFrom: 0, validTo };
    return { verdict: 'down', ...explainVerification(failure, certificate) };
  };
  t.is(discountClock(judge(nowSeconds + 86_400), 30 * 86_400_000).verdict, 'none');
  t.is(discountClock(judge(nowSeconds - 86_400), 30 * 86_400_000).verdict, 'down');
});

const NOW_MS = 1_700_000_000_000;

/** Adds results of monitors, a second apart unless a time is given; reports whether the last one is suspect. */
function findSuspects(given: readonly [monitor: number, verdict: Vote, second?: number][]): boolean {
  const results = new RecentResults();
  return (
    given
      .map(([monitor, verdict, second], index) => results.add({ monitor, verdict }, NOW_MS + (second ?? index) * 1000))
      .at(-1) ?? false
  );
}

const CASES: readonly { name: string; given: [number, Vote, number?][]; suspect: boolean }[] = [
  {
    name: 'the only monitor of an agent turns bad',
    given: [
      [1, 'up'],
      [1, 'down'],
    ],
    suspect: true,
  },
  { name: 'it is bad from the start', given: [[1, 'down']], suspect: true },
  {
    name: 'one of two turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [1, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'one of three turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'two of three turn bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [1, 'down'],
      [2, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'of many the third in a row turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [4, 'up'],
      [5, 'up'],
      [6, 'down'],
      [7, 'down'],
      [8, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'of many the second in a row turns bad',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [4, 'up'],
      [5, 'up'],
      [6, 'down'],
      [7, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'one that fails all the time among others that work',
    given: [
      [1, 'down'],
      [2, 'up'],
      [3, 'up'],
      [4, 'up'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'what the others said is long ago',
    given: [
      [2, 'up', 0],
      [3, 'up', 1],
      [4, 'up', 2],
      [1, 'down', 13],
    ],
    suspect: true,
  },
  {
    name: 'slow answers are answers',
    given: [
      [1, 'up'],
      [2, 'degraded'],
      [3, 'degraded'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'a result that is none says nothing',
    given: [
      [1, 'none'],
      [2, 'none'],
      [3, 'none'],
      [4, 'up'],
      [5, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'a good one is never suspect',
    given: [
      [1, 'down'],
      [2, 'down'],
      [3, 'up'],
    ],
    suspect: false,
  },
];

for (const { name, given, suspect } of CASES) {
  test(`${name}: ${suspect ? 'suspect' : 'not suspect'}`, (t) => {
    t.is(findSuspects(given), suspect);
  });
}

test('five confirmed failures end suspicion of a monitor, and of others because of it, until it is up', (t) => {
  const results = new RecentResults();
  const add = (monitor: number, verdict: Vote, second: number) =>
    results.add({ monitor, verdict }, NOW_MS + second * 1000);
  for (let confirmed = 0; confirmed < 5; confirmed += 1) {
    t.true(add(1, 'down', confirmed));
    results.confirm(1);
  }
  t.false(add(1, 'down', 60));
  t.false(add(2, 'up', 61));
  t.false(add(3, 'up', 62));
  t.false(add(1, 'down', 63));
  t.false(add(2, 'up', 64));
  t.false(add(1, 'up', 80));
  t.true(add(1, 'down', 140));
});

test('suspicion lasts for the whole outage, however long', (t) => {
  const results = new RecentResults();
  for (let minute = 0; minute < 600; minute += 1) {
    t.true(results.add({ monitor: minute % 7, verdict: 'down' }, NOW_MS + minute * 60_000));
  }
});
