import test from 'ava';
import { createEndpointLimiter, type Admission, type EndpointLimiter } from '../../../workers/deliver/endpoint-limiter.ts';

test('four deliveries to one endpoint are in flight, the fifth is sent away', (t) => {
  const { limiter } = clocked();
  const admissions = enter(limiter, 5);
  t.deepEqual(admissions.map(isAdmitted), [true, true, true, true, false]);
});

test('a place that was left is free again', (t) => {
  const { limiter } = clocked();
  const [first] = enter(limiter, 4);
  leave(first);
  t.deepEqual(enter(limiter, 2).map(isAdmitted), [true, false]);
});

test('a full endpoint is in no other\'s way', (t) => {
  const { limiter } = clocked();
  enter(limiter, 10, 'slow');
  t.true(enter(limiter, 4, 'quick').every(isAdmitted));
});

test('the more are waiting, the longer one is sent away, at most half a minute', (t) => {
  const { limiter, clock } = clocked();
  // The receiver has taken 8 s for its last answer.
  const [slow] = enter(limiter, 2);
  clock.ms += 8000;
  leave(slow);
  enter(limiter, 3);
  const waits = enter(limiter, 40).map(postponement);
  t.deepEqual(waits, waits.toSorted((a, b) => a - b));
  t.deepEqual(waits.slice(0, 3), [2000, 4000, 6000]);
  t.is(waits.at(-1), 30_000);
});

test('nobody is sent away for less than a tenth of a second', (t) => {
  const { limiter } = clocked();
  t.is(postponement(enter(limiter, 5).at(-1)), 100);
});

test('a burst to a receiver that hangs does not spin while it waits', (t) => {
  const { limiter, clock } = clocked();
  enter(limiter, 4);
  const returnsAt = Array.from({ length: 50 }, () => 0);
  let asked = 0;
  for (; clock.ms < 8000; clock.ms += 10) {
    for (const [index, atMs] of returnsAt.entries()) {
      if (atMs > clock.ms) continue;
      asked += 1;
      returnsAt[index] = clock.ms + postponement(enter(limiter, 1)[0]);
    }
  }
  // Fifty that came back every 100 ms would ask 4,000 times.
  t.true(asked >= 50 && asked < 250, `asked ${asked} times`);
});

test('all of a burst get through, four at a time, and soon after the receiver could have taken them', (t) => {
  const { limiter, clock } = clocked();
  const answerMs = 200;
  let waiting = Array.from({ length: 100 }, () => 0);
  let inFlight: { admission: Admission; endsAt: number }[] = [];
  let most = 0;
  for (; waiting.length > 0 && clock.ms < 60_000; clock.ms += 1) {
    for (const { admission } of inFlight.filter(({ endsAt }) => endsAt <= clock.ms)) leave(admission);
    inFlight = inFlight.filter(({ endsAt }) => endsAt > clock.ms);
    waiting = waiting.flatMap((atMs) => {
      if (atMs > clock.ms) return [atMs];
      const [admission = { postponeMs: 0 }] = enter(limiter, 1);
      if (!isAdmitted(admission)) return [clock.ms + postponement(admission)];
      inFlight.push({ admission, endsAt: clock.ms + answerMs });
      most = Math.max(most, inFlight.length);
      return [];
    });
  }
  t.is(most, 4);
  // 100 deliveries of 200 ms, four at a time, take 5 s at best.
  t.true(clock.ms < 10_000, `${clock.ms} ms`);
});

function clocked(): { limiter: EndpointLimiter; clock: { ms: number } } {
  const clock = { ms: 0 };
  return { limiter: createEndpointLimiter(() => clock.ms), clock };
}

function enter(limiter: EndpointLimiter, times: number, endpoint = 'nch_1'): Admission[] {
  return Array.from({ length: times }, () => limiter.enter(endpoint));
}

function isAdmitted(admission: Admission): boolean {
  return 'leave' in admission;
}

function leave(admission: Admission | undefined): void {
  if (admission === undefined || !('leave' in admission)) throw new Error('was not admitted');
  admission.leave();
}

function postponement(admission: Admission | undefined): number {
  if (admission === undefined || !('postponeMs' in admission)) throw new Error('was admitted');
  return admission.postponeMs;
}
