import test from 'ava';
import { setTimeout as delay } from 'node:timers/promises';
import { createStallWatch } from '../../probes/stall-watch.ts';

/** Keeps the event loop from turning, as a process does that gets no processor. */
function standStill(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test.serial('what was lost is known in the very turn in which the process moves again, and to those only who were under way then', async (t) => {
  const watch = createStallWatch();
  const woken = Promise.withResolvers<void>();
  const during = watch(() => woken.promise);
  await delay(120);
  standStill(400);
  woken.resolve();
  const { stalledMs } = await during;
  t.true(stalledMs >= 300, String(stalledMs));
  const after = await watch(() => delay(60));
  t.true(after.stalledMs < 200, String(after.stalledMs));
});

test.serial('of two stand-stills one after the other both count, and the result is the work\'s', async (t) => {
  const { result, stalledMs } = await createStallWatch()(async () => {
    standStill(300);
    await delay(10);
    standStill(300);
    await delay(1);
    return 'done';
  });
  t.is(result, 'done');
  t.true(stalledMs >= 480, String(stalledMs));
});

test.serial('work that fails leaves nothing behind', async (t) => {
  const watch = createStallWatch();
  await t.throwsAsync(watch(() => Promise.reject(new Error('No'))), { message: 'No' });
  t.is((await watch(() => Promise.resolve(1))).result, 1);
});
