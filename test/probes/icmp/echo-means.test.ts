import test from 'ava';
import * as fc from 'fast-check';
import { gapMs } from '../../../probes/icmp/echo-packet.ts';

test('the gap is 200 ms where there is time', (t) => {
  t.is(gapMs({ count: 4, deadlineMs: 5000 }), 200);
  t.is(gapMs({ count: 10, deadlineMs: 1000 }), 50);
});

test('the last request always has half the deadline left for its reply', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 10_000 }), (count, deadlineMs) => {
      const lastAtMs = (count - 1) * gapMs({ count, deadlineMs });
      return lastAtMs <= deadlineMs / 2;
    }),
  );
  t.pass();
});
