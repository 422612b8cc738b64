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
    'a timeout in a process that stalled for a quarter of the time is no vote',
    TIMED_OUT,
    { tookMs: 1000, stalledMs: 250, longestStallMs: 250 },
    'none',
  ],
  [
    'a timeout in a process that stalled for less than a quarter of the time counts',
    TIMED_OUT,
    { tookMs: 1000, stalledMs: 249, longestStallMs: 249 },
    'down',
  ],
  [
    'a timeout in a process that is always slightly late counts',
    TIMED_OUT,
    { tookMs: 5000, stalledMs: 1500, longestStallMs: 20 },
    'down',
  ],
  [
    'a timeout in a process with repeated long stalls is no vote',
    TIMED_OUT,
    { tookMs: 5000, stalledMs: 4000, longestStallMs: 250 },
    'none',
  ],
  ['a slow response during a stall is no vote', SLOW, { tookMs: 1000, stalledMs: 900, longestStallMs: 900 }, 'none'],
  [
    'for a slow response the share of stalls is that of its duration, not of the timeout',
    SLOW,
    { tookMs: 600, stalledMs: 150, longestStallMs: 150 },
    'none',
  ],
  [
    'a wrong status is down even if it is read late',
    { verdict: 'down', cause: 'status_503', reason: 'HTTP 503' },
    { tookMs: 5000, stalledMs: 5000, longestStallMs: 5000 },
    'down',
  ],
  [
    'a good response is up even if it is read late',
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
  ['a check that never connected has one wait', reached({}), 1],
  ['a check that connected without a response has two waits', reached({ connectMs: 1 }), 2],
  ['a check with a lookup, a connection and TLS has four waits', reached({ dnsMs: 1, connectMs: 1, tlsMs: 1 }), 4],
  ['a check with a response may have five waits', reached({ connectMs: 1, firstByteMs: 1 }), 5],
  ['a datagram to an address has one wait', UDP, 1],
  ['a datagram to a name has two waits', { ...UDP, dnsMs: 3 }, 2],
  ['a check of any other type may have five waits', { type: 'unsupported', monitorType: 'vendor', latencyMs: null }, 5],
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
      .map(([monitor, verdict, second], index) =>
        results.add({ monitor: String(monitor), verdict }, NOW_MS + (second ?? index) * 1000),
      )
      .at(-1) ?? false
  );
}

const CASES: readonly { name: string; given: [number, Vote, number?][]; suspect: boolean }[] = [
  {
    name: 'the only monitor of an agent goes down',
    given: [
      [1, 'up'],
      [1, 'down'],
    ],
    suspect: true,
  },
  { name: 'the only monitor of an agent is down from the start', given: [[1, 'down']], suspect: true },
  {
    name: 'one of two monitors goes down',
    given: [
      [1, 'up'],
      [2, 'up'],
      [1, 'down'],
    ],
    suspect: true,
  },
  {
    name: 'one of three monitors goes down',
    given: [
      [1, 'up'],
      [2, 'up'],
      [3, 'up'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'two of three monitors go down',
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
    name: 'a third of many monitors goes down in a row',
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
    name: 'a second of many monitors goes down in a row',
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
    name: 'one monitor is always down while others are up',
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
    name: 'a monitor goes down when other results are more than 10 s old',
    given: [
      [2, 'up', 0],
      [3, 'up', 1],
      [4, 'up', 2],
      [1, 'down', 13],
    ],
    suspect: true,
  },
  {
    name: 'a monitor goes down while others are degraded',
    given: [
      [1, 'up'],
      [2, 'degraded'],
      [3, 'degraded'],
      [1, 'down'],
    ],
    suspect: false,
  },
  {
    name: 'one of two monitors goes down besides several without a vote',
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
    name: 'a monitor is up after others went down',
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

test('after five confirmed failures a monitor is not suspect and makes no others suspect until it is up', (t) => {
  const results = new RecentResults();
  const add = (monitor: number, verdict: Vote, second: number) =>
    results.add({ monitor: String(monitor), verdict }, NOW_MS + second * 1000);
  for (let confirmed = 0; confirmed < 5; confirmed += 1) {
    t.true(add(1, 'down', confirmed));
    results.confirm('1');
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
    t.true(results.add({ monitor: String(minute % 7), verdict: 'down' }, NOW_MS + minute * 60_000));
  }
});
