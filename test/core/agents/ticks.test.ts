import test from 'ava';
import * as fc from 'fast-check';
import { agentOffsetMs, nextTickMs } from '../../../core/agents/ticks.ts';

const names = fc.record({
  sourceKey: fc.string(),
  monitorId: fc.string(),
  intervalSeconds: fc.integer({ min: 1, max: 86_400 }),
});

test('an offset is deterministic, within the interval and a multiple of 10 ms', (t) => {
  fc.assert(
    fc.property(names, (monitor) => {
      const offsetMs = agentOffsetMs(monitor);
      return (
        offsetMs >= 0 &&
        offsetMs < monitor.intervalSeconds * 1000 &&
        offsetMs % 10 === 0 &&
        offsetMs === agentOffsetMs({ ...monitor })
      );
    }),
  );
  t.pass();
});

test('offsets are the same as in earlier versions, so upgrading an agent moves no check', (t) => {
  t.is(agentOffsetMs({ sourceKey: 'agt_01', monitorId: 'mon_01', intervalSeconds: 60 }), 19510);
  t.is(agentOffsetMs({ sourceKey: 'agt_01', monitorId: 'mon_02', intervalSeconds: 3600 }), 1513620);
});

test('monitors whose ids differ only in their last characters are spread evenly over the interval', (t) => {
  const perSecond = Array.from({ length: 60 }, () => 0);
  for (let index = 0; index < 6000; index += 1) {
    const second = Math.floor(
      agentOffsetMs({ sourceKey: 'agt_1', monitorId: `mon_${index}`, intervalSeconds: 60 }) / 1000,
    );
    perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  t.true(Math.min(...perSecond) > 60 && Math.max(...perSecond) < 140, perSecond.join(' '));
});

test('agents of one monitor check it at different times', (t) => {
  const offsets = ['agt_1', 'agt_2', 'agt_3'].map((sourceKey) =>
    agentOffsetMs({ sourceKey, monitorId: 'mon_1', intervalSeconds: 60 }),
  );
  t.is(new Set(offsets).size, 3);
});

test('the next tick is at most one interval away, always at the same offset in the interval', (t) => {
  fc.assert(
    fc.property(names, fc.integer({ min: 0, max: 4_000_000_000_000 }), (monitor, afterMs) => {
      const { intervalSeconds } = monitor;
      const offsetMs = agentOffsetMs(monitor);
      const tickMs = nextTickMs({ offsetMs, intervalSeconds }, afterMs);
      return (
        tickMs > afterMs &&
        tickMs <= afterMs + intervalSeconds * 1000 &&
        (tickMs - offsetMs) % (intervalSeconds * 1000) === 0
      );
    }),
  );
  t.is(nextTickMs({ offsetMs: 250, intervalSeconds: 1 }, 1250), 2250);
});
