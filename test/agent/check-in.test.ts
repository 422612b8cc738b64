import test from 'ava';
import { pino } from 'pino';
import { CheckIn, ConnectionStatus } from '../../agent/check-in.ts';
import type { PullOutcome } from '../../agent/service-client.ts';
import { manualTime } from '../helpers/manual-time.ts';

const WORK: PullOutcome = {
  outcome: 'work',
  etag: '"a"',
  answer: { agentId: 'agt_1', agentKind: 'tenant', capabilities: [], work: [] },
  serverTimeMs: null,
};
const UNCHANGED: PullOutcome = { outcome: 'unchanged', serverTimeMs: null };
const AWAY: PullOutcome = { outcome: 'failed', reason: 'Connection refused', requestedWaitMs: null };

/** Starts an agent's check-ins on a manual clock. They get the answers in order; the last one repeats. */
function startedCheckIn(answers: readonly PullOutcome[], { isTaken = true, etag = null as string | null } = {}) {
  const time = manualTime();
  const startMs = time.now();
  const requests: { atMs: number; etag: string | null }[] = [];
  const dealt: string[] = [];
  const checkIn = new CheckIn({
    ...time,
    request: {},
    pullSeconds: 15,
    etag,
    random: () => 0.5,
    pull(_request, tag) {
      requests.push({ atMs: time.now() - startMs, etag: tag });
      return Promise.resolve(answers[Math.min(requests.length, answers.length) - 1] ?? AWAY);
    },
    onOutcome(outcome) {
      dealt.push(outcome.outcome);
      return Promise.resolve(isTaken);
    },
  });
  checkIn.start();
  return { checkIn, time, requests, dealt, times: () => requests.map(({ atMs }) => atMs) };
}

test('the first check-in runs at once, later ones at the interval with the ETag of the current work', async (t) => {
  const { time, requests } = startedCheckIn([WORK, UNCHANGED]);
  await time.pass(46_000);
  t.deepEqual(requests, [
    { atMs: 0, etag: null },
    { atMs: 15_000, etag: '"a"' },
    { atMs: 30_000, etag: '"a"' },
    { atMs: 45_000, etag: '"a"' },
  ]);
});

test('an agent that starts with saved work sends its ETag in the first check-in', async (t) => {
  const { time, requests } = startedCheckIn([UNCHANGED], { etag: '"old"' });
  await time.pass(1);
  t.deepEqual(requests, [{ atMs: 0, etag: '"old"' }]);
});

test('work that could not be applied is requested again without an ETag', async (t) => {
  const { time, requests } = startedCheckIn([WORK], { isTaken: false });
  await time.pass(16_000);
  t.deepEqual(
    requests.map(({ etag }) => etag),
    [null, null],
  );
});

test('after failures the wait doubles up to a minute, and after a success the interval applies again', async (t) => {
  const { time, times } = startedCheckIn([AWAY, AWAY, AWAY, AWAY, AWAY, AWAY, AWAY, AWAY, UNCHANGED]);
  await time.pass(160_000);
  const waits = times()
    .slice(1)
    .map((atMs, index) => atMs - (times()[index] ?? 0));
  t.deepEqual(waits.slice(0, 8), [1500, 2500, 4500, 8500, 16_500, 30_500, 30_500, 30_500]);
  t.is(waits[8], 15_000);
});

test('a wait requested by the service is respected, even if a retry is triggered', async (t) => {
  const { checkIn, time, times } = startedCheckIn([
    { outcome: 'failed', reason: 'HTTP 503', requestedWaitMs: 45_000 },
    UNCHANGED,
  ]);
  await time.pass(20_000);
  checkIn.retryNow();
  await time.pass(26_000);
  t.deepEqual(times(), [0, 45_000]);
});

test('a failed check-in is retried at once when another request succeeds, a successful one is not', async (t) => {
  const { checkIn, time, times } = startedCheckIn([AWAY, AWAY, AWAY, AWAY, AWAY, UNCHANGED]);
  await time.pass(20_000);
  checkIn.retryNow();
  await time.pass(1);
  t.is(times().at(-1), 20_000);
  checkIn.retryNow();
  await time.pass(14_000);
  t.is(times().at(-1), 20_000);
});

test('a rejected token is retried every minute, without an ETag', async (t) => {
  const { time, requests } = startedCheckIn([WORK, { outcome: 'unauthorized' }, { outcome: 'unauthorized' }, WORK]);
  await time.pass(136_000);
  t.deepEqual(requests, [
    { atMs: 0, etag: null },
    { atMs: 15_000, etag: '"a"' },
    { atMs: 75_000, etag: null },
    { atMs: 135_000, etag: null },
  ]);
});

test('a token rejected by another request triggers a check-in after a second', async (t) => {
  const { checkIn, time, times } = startedCheckIn([WORK, UNCHANGED]);
  await time.pass(5000);
  checkIn.hasten();
  await time.pass(2000);
  t.deepEqual(times(), [0, 6000]);
});

test('no check-in starts while an outcome is handled, and an expedited one follows a second later', async (t) => {
  const time = manualTime();
  const startMs = time.now();
  const pulls: number[] = [];
  const slow: (() => void)[] = [];
  const checkIn = new CheckIn({
    ...time,
    request: {},
    pullSeconds: 15,
    etag: null,
    random: () => 0.5,
    pull() {
      pulls.push(time.now() - startMs);
      return Promise.resolve(UNCHANGED);
    },
    onOutcome: () => new Promise((resolve) => void slow.push(() => resolve(true))),
  });
  checkIn.start();
  await time.pass(1);
  t.is(slow.length, 1);
  checkIn.hasten();
  await time.pass(5000);
  t.deepEqual([pulls, slow.length], [[0], 1], 'the first outcome is still being handled');
  slow.shift()?.();
  await time.pass(0);
  await time.pass(5000);
  t.deepEqual([pulls, slow.length], [[0, 6001], 1]);
  slow.shift()?.();
  await time.pass(0);
  await time.pass(15_000);
  t.is(pulls.length, 3, 'and then at the usual interval');
  t.true(pulls[2]! >= 20_000);
});

test('stopping before the first check-in sends no request', async (t) => {
  const { checkIn, time, times, dealt } = startedCheckIn([WORK]);
  checkIn.stop();
  await time.pass(60_000);
  t.deepEqual(times(), []);
  t.deepEqual(dealt, []);
});

test('a clock set back during a check-in does not delay the next one', async (t) => {
  const time = manualTime();
  const pulls: ((outcome: PullOutcome) => void)[] = [];
  const checkIn = new CheckIn({
    ...time,
    request: {},
    pullSeconds: 15,
    etag: null,
    random: () => 0.5,
    pull: () => new Promise((resolve) => void pulls.push(resolve)),
    onOutcome: () => Promise.resolve(true),
  });
  checkIn.start();
  await time.pass(1);
  time.jump(-7 * 3_600_000);
  pulls[0]?.(UNCHANGED);
  await time.pass(1);
  await time.pass(15_000);
  t.is(pulls.length, 2);
});

test("the clock's lead is that of the last check-in, and none if that has no time of the service", (t) => {
  const connection = new ConnectionStatus(pino({ enabled: false }), () => 100_000);
  const welcome = { agentId: 'agt_1', monitors: 0, capabilities: [] };
  t.is(connection.aheadMs, 0);
  connection.welcomed({ ...welcome, serverTimeMs: 10_000 });
  t.is(connection.aheadMs, 90_000);
  connection.welcomed({ ...welcome, serverTimeMs: null });
  t.is(connection.aheadMs, 0);
});
