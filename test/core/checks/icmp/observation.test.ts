import test from 'ava';
import * as fc from 'fast-check';
import { judgeIcmp, type IcmpMeasured } from '../../../../core/checks/icmp/observation.ts';
import type { Judgement } from '../../../../core/checks/verdict.ts';
import type { CheckSpec } from '../../../../core/monitors/monitor.ts';

const STARTED = { type: 'icmp', startedAt: 1_800_000_000_000 } as const;
const UP: Judgement = { verdict: 'up', cause: null, reason: null };

function judge(measured: Pick<IcmpMeasured, 'sent' | 'received' | 'latencyMs'>, ping?: CheckSpec['ping']): Judgement {
  return judgeIcmp({
    target: { timeoutMs: 1000, checkSpec: ping === undefined ? {} : { ping } },
    observation: { ...STARTED, outcome: 'measured', ...measured },
  });
}

test('without thresholds one reply is enough to be up, however slow', (t) => {
  t.deepEqual(judge({ sent: 4, received: 1, latencyMs: 9999 }), UP);
  t.deepEqual(judge({ sent: 10, received: 1, latencyMs: 9999 }, { count: 10 }), UP);
});

test('no reply is down regardless of thresholds', (t) => {
  const down: Judgement = {
    verdict: 'down',
    cause: 'icmp_timeout',
    reason: 'No reply to 4 echo requests within 1000 ms',
  };
  t.deepEqual(judge({ sent: 4, received: 0, latencyMs: null }), down);
  t.deepEqual(judge({ sent: 4, received: 0, latencyMs: null }, { lossDegradedPct: 100, rttDegradedMs: 10_000 }), down);
  t.is(judge({ sent: 1, received: 0, latencyMs: null }).reason, 'No reply to 1 echo request within 1000 ms');
});

test('loss degrades only above its threshold', (t) => {
  t.deepEqual(judge({ sent: 4, received: 3, latencyMs: 1 }, { lossDegradedPct: 25 }), UP);
  t.deepEqual(judge({ sent: 3, received: 2, latencyMs: 1 }, { lossDegradedPct: 33 }), {
    verdict: 'degraded',
    cause: 'icmp_timeout',
    reason: '1 of 3 echo requests got no reply: 33.333% lost, more than 33%',
  });
  t.like(judge({ sent: 10, received: 9, latencyMs: 1 }, { lossDegradedPct: 0 }), { verdict: 'degraded' });
  t.deepEqual(judge({ sent: 10, received: 10, latencyMs: 1 }, { lossDegradedPct: 0 }), UP);
});

test('the mean round trip degrades only above its threshold', (t) => {
  t.deepEqual(judge({ sent: 4, received: 4, latencyMs: 100 }, { rttDegradedMs: 100 }), UP);
  t.deepEqual(judge({ sent: 4, received: 4, latencyMs: 100.001 }, { rttDegradedMs: 100 }), {
    verdict: 'degraded',
    cause: 'slow',
    reason: 'The mean round trip took 100.001 ms, more than 100 ms',
  });
});

test('if both apply, loss is reported rather than slowness', (t) => {
  t.like(judge({ sent: 4, received: 1, latencyMs: 500 }, { lossDegradedPct: 50, rttDegradedMs: 100 }), {
    verdict: 'degraded',
    cause: 'icmp_timeout',
  });
});

test('a target that could not be contacted is down, or no vote if the guard blocked it', (t) => {
  const target = { timeoutMs: 1000, checkSpec: {} };
  const failed = { ...STARTED, outcome: 'failed', latencyMs: null, reason: 'why' } as const;
  t.deepEqual(judgeIcmp({ target, observation: { ...failed, cause: 'dns_nxdomain' } }), {
    verdict: 'down',
    cause: 'dns_nxdomain',
    reason: 'why',
  });
  t.like(judgeIcmp({ target, observation: { ...failed, cause: 'blocked_target' } }), {
    verdict: 'none',
    cause: 'blocked_target',
  });
});

test('a machine that cannot send echo requests has no vote', (t) => {
  const observation = { ...STARTED, outcome: 'unavailable', latencyMs: null, reason: 'why' } as const;
  t.deepEqual(judgeIcmp({ target: { timeoutMs: 1000, checkSpec: {} }, observation }), {
    verdict: 'none',
    cause: 'icmp_unavailable',
    reason: 'why',
  });
});

test('a higher threshold never worsens a verdict, and a target that replies is never down', (t) => {
  const RANK = { up: 0, degraded: 1, down: 2, none: 3 };
  const measured = fc.integer({ min: 1, max: 10 }).chain((sent) =>
    fc.record({
      sent: fc.constant(sent),
      received: fc.integer({ min: 1, max: sent }),
      latencyMs: fc.double({ min: 0, max: 10_000, noNaN: true }),
    }),
  );
  const threshold = fc.integer({ min: 1, max: 100 });
  fc.assert(
    fc.property(measured, threshold, threshold, (facts, one, other) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)].map((limit) =>
        judge(facts, { lossDegradedPct: limit, rttDegradedMs: limit }),
      );
      return (
        low !== undefined && high !== undefined && RANK[high.verdict] <= RANK[low.verdict] && low.verdict !== 'down'
      );
    }),
  );
  t.pass();
});
