import test from 'ava';
import { discountStall } from '../../core/own-stall.ts';
import type { Judgement } from '../../core/verdict.ts';

const TIMED_OUT: Judgement = { verdict: 'down', cause: 'timeout', reason: 'Timed out while waiting for the answer' };

const CASES: readonly [name: string, judgement: Judgement, stalledMs: number, verdict: Judgement['verdict']][] = [
  ['a timeout while we stood still for a quarter of the time is no vote', TIMED_OUT, 250, 'none'],
  ['a timeout while we were hardly held up is the target\'s', TIMED_OUT, 249, 'down'],
  ['a slow answer while we stood still is no vote', { verdict: 'degraded', cause: 'slow', reason: 'Slow' }, 900, 'none'],
  ['a wrong status is wrong however late we read it', { verdict: 'down', cause: 'status_503', reason: 'HTTP 503' }, 5000, 'down'],
  ['a good answer is good however late we read it', { verdict: 'up', cause: null, reason: null }, 5000, 'up'],
];

for (const [name, judgement, stalledMs, verdict] of CASES) {
  test(name, (t) => {
    t.is(discountStall(judgement, { stalledMs, timeoutMs: 1000 }).verdict, verdict);
  });
}
