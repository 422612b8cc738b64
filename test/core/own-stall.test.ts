import test from 'ava';
import { discountStall } from '../../core/own-stall.ts';
import type { Judgement } from '../../core/verdict.ts';

const TIMED_OUT: Judgement = { verdict: 'down', cause: 'timeout', reason: 'Timed out while waiting for the answer' };
const SLOW: Judgement = { verdict: 'degraded', cause: 'slow', reason: 'Slow' };

type OwnTime = Parameters<typeof discountStall>[1];

const CASES: readonly [name: string, judgement: Judgement, ownTime: OwnTime, verdict: Judgement['verdict']][] = [
  ['a timeout while we stood still for a quarter of the time is no vote', TIMED_OUT, { tookMs: 1000, stalledMs: 250, longestStallMs: 250 }, 'none'],
  ['a timeout while we were hardly held up is the target\'s', TIMED_OUT, { tookMs: 1000, stalledMs: 249, longestStallMs: 249 }, 'down'],
  ['a timeout in a process that is always a little late is the target\'s', TIMED_OUT, { tookMs: 5000, stalledMs: 1500, longestStallMs: 20 }, 'down'],
  ['a timeout in a process that is late for long each time is no vote', TIMED_OUT, { tookMs: 5000, stalledMs: 4000, longestStallMs: 250 }, 'none'],
  ['a slow answer while we stood still is no vote', SLOW, { tookMs: 1000, stalledMs: 900, longestStallMs: 900 }, 'none'],
  ['a slow answer counts by the time that it took, not by what it might have taken', SLOW, { tookMs: 600, stalledMs: 150, longestStallMs: 150 }, 'none'],
  ['a wrong status is wrong however late we read it', { verdict: 'down', cause: 'status_503', reason: 'HTTP 503' }, { tookMs: 5000, stalledMs: 5000, longestStallMs: 5000 }, 'down'],
  ['a good answer is good however late we read it', { verdict: 'up', cause: null, reason: null }, { tookMs: 5000, stalledMs: 5000, longestStallMs: 5000 }, 'up'],
];

for (const [name, judgement, ownTime, verdict] of CASES) {
  test(name, (t) => {
    t.is(discountStall(judgement, ownTime).verdict, verdict);
  });
}
