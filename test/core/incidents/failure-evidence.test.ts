import test from 'ava';
import { assert, integer, property } from 'fast-check';
import type { Observation } from '../../../core/checks/observation.ts';
import {
  storesTimings,
  timingsOf,
  readTimings,
  toFailureEvidence,
  roundTimings,
  writeTimings,
} from '../../../core/incidents/failure-evidence.ts';

const NONE = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, downloadMs: null };
const WINDOW_MS = 600_000;

test('timings are whole milliseconds of the steps that happened, and nothing where none did', (t) => {
  t.deepEqual(roundTimings({ dnsMs: 1.4, connectMs: 0.2, tlsMs: null, firstByteMs: 99.5 }), {
    ...NONE,
    dnsMs: 1,
    connectMs: 0,
    firstByteMs: 100,
  });
  t.is(roundTimings(NONE), null);
  t.is(roundTimings({}), null);
});

test('what is no time is left out, and a time beyond any deadline is cut', (t) => {
  t.is(roundTimings({ dnsMs: '5', connectMs: -1, tlsMs: Number.NaN, firstByteMs: {}, other: 4 }), null);
  t.deepEqual(roundTimings({ tlsMs: 9e12 }), { ...NONE, tlsMs: 600_000 });
});

test('timings that are written come back as they were', (t) => {
  for (const timings of [
    { ...NONE, connectMs: 0, firstByteMs: 8 },
    { dnsMs: 4, connectMs: 11, tlsMs: 23, firstByteMs: 22, downloadMs: 2 },
  ])
    t.deepEqual(readTimings(writeTimings(timings)), timings);
  t.is(writeTimings({ ...NONE, dnsMs: 4, downloadMs: 600_000 }), '4 - - - 600000');
});

test('an observation has the timings of its protocol', (t) => {
  t.deepEqual(
    timingsOf({ type: 'udp', startedAt: 0, dnsMs: 2.6, outcome: 'silent', latencyMs: null, isRefused: false }),
    { ...NONE, dnsMs: 3 },
  );
  t.deepEqual(
    timingsOf({
      type: 'tcp',
      startedAt: 0,
      timings: { ...NONE, connectMs: 7.2 },
      outcome: 'connected',
      latencyMs: 7,
      answer: null,
    }),
    { ...NONE, connectMs: 7 },
  );
  t.is(
    timingsOf({
      type: 'icmp',
      outcome: 'unavailable',
      startedAt: 0,
      latencyMs: null,
      reason: 'Not here',
    } satisfies Observation),
    null,
  );
  t.is(timingsOf(null), null);
});

test('a failure that saw nothing has nothing to be kept', (t) => {
  t.is(toFailureEvidence({ phases: null, answer: null }), null);
  t.deepEqual(toFailureEvidence({ phases: { ...NONE, dnsMs: 1 }, answer: null }), {
    phases: { ...NONE, dnsMs: 1 },
    answer: null,
  });
});

test('what is not good keeps its timings always', (t) => {
  for (const verdict of ['down', 'degraded', 'none'] as const) t.true(storesTimings({ verdict, dueAtMs: 599_999 }, 1));
});

test(
  'a source keeps the timings of exactly one success in each ten minutes, whatever its interval and slot, and of ' +
    'all of them from there on',
  (t) => {
    assert(
      property(integer({ min: 1, max: 86_400 }), integer({ min: 0, max: 86_400_000 }), (intervalSeconds, offsetMs) => {
        const everyMs = intervalSeconds * 1000;
        const dues = Array.from(
          { length: Math.ceil((6 * WINDOW_MS) / everyMs) + 2 },
          (_, tick) => 1_800_000_000_000 + (offsetMs % everyMs) + tick * everyMs,
        );
        const stored = dues.filter((dueAtMs) => storesTimings({ verdict: 'up', dueAtMs }, intervalSeconds));
        if (everyMs >= WINDOW_MS) return stored.length === dues.length;
        const byWindow = Map.groupBy(dues, (dueAtMs) => Math.floor(dueAtMs / WINDOW_MS));
        // Of the first slot the beginning may lie before the first due time.
        return [...byWindow]
          .slice(1)
          .every(
            ([slot, inWindow]) =>
              stored.filter((dueAtMs) => Math.floor(dueAtMs / WINDOW_MS) === slot).join() === String(inWindow[0]),
          );
      }),
    );
    t.pass();
  },
);
