import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { StallWatch } from '../../probes/stall-watch.ts';
import { until } from '../helpers/until.ts';

/** Blocks the event loop, like a process that gets no CPU. */
function standStill(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test.serial('a stall is counted as soon as the process resumes, and only for work that was running', async (t) => {
  const standStillBefore = async () => {
    const stallWatch = new StallWatch();
    const woken = Promise.withResolvers<void>();
    const during = stallWatch.watch(() => woken.promise);
    await delay(120);
    standStill(400);
    woken.resolve();
    const { stalledMs, longestStallMs } = (await during).ownTime;
    t.true(stalledMs >= 300, String(stalledMs));
    t.true(longestStallMs >= 300, String(longestStallMs));
    return (await stallWatch.watch(() => delay(60))).ownTime.stalledMs;
  };
  // A busy machine stalls now and then, but not every time.
  t.true(await until(async () => (await standStillBefore()) < 200));
});

test.serial('two consecutive stalls both count, and the result of the work is returned', async (t) => {
  const { result, ownTime } = await new StallWatch().watch(async () => {
    standStill(300);
    await delay(10);
    standStill(300);
    await delay(1);
    return 'done';
  });
  t.is(result, 'done');
  t.true(ownTime.stalledMs >= 480, String(ownTime.stalledMs));
  t.true(ownTime.longestStallMs < ownTime.stalledMs, 'each stall is measured separately');
  t.true(ownTime.tookMs >= 600, String(ownTime.tookMs));
});

test.serial('work that fails does not affect later work', async (t) => {
  const stallWatch = new StallWatch();
  await t.throwsAsync(
    stallWatch.watch(() => Promise.reject(new Error('No'))),
    { message: 'No' },
  );
  t.is((await stallWatch.watch(() => Promise.resolve(1))).result, 1);
});
