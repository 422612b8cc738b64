import test from 'ava';
import * as fc from 'fast-check';
import { agentOffsetMs, nextTickMs } from '../../../core/agents/ticks.ts';

const names = fc.record({
  sourceKey: fc.string(),
  monitorId: fc.string(),
  intervalSeconds: fc.integer({ min: 1, max: 86_400 }),
});

test('an offset lies within the interval, on the grid, and is the same each time', (t) => {
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

test('offsets are what they were in earlier versions: an update of the agent moves no check', (t) => {
  t.is(agentOffsetMs({ sourceKey: 'agt_01', monitorId: 'mon_01', intervalSeconds: 60 }), 19510);
  t.is(agentOffsetMs({ sourceKey: 'agt_01', monitorId: 'mon_02', intervalSeconds: 3600 }), 1513620);
});

test('monitors whose ids differ in the last letters only are spread evenly over the interval', (t) => {
  const perSecond = Array.from({ length: 60 }, () => 0);
  for (let index = 0; index < 6000; index += 1) {
    const second = Math.floor(
      agentOffsetMs({ sourceKey: 'agt_1', monitorId: `mon_${index}`, intervalSeconds: 60 }) / 1000,
    );
    perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  t.true(Math.min(...perSecond) > 60 && Math.max(...perSecond) < 140, perSecond.join(' '));
});

test('two agents of one monitor check at different moments', (t) => {
  const offsets = ['agt_1', 'agt_2', 'agt_3'].map((sourceKey) =>
    agentOffsetMs({ sourceKey, monitorId: 'mon_1', intervalSeconds: 60 }),
  );
  t.is(new Set(offsets).size, 3);
});

test('the next tick comes at most an interval after the moment, and always at the same offset in the interval', (t) => {
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
