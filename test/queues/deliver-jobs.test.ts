import test from 'ava';
import { QUEUES } from '../../queues/payloads.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { openTestRuntime, type TestRuntime } from '../helpers/runtime.ts';

const attemptOf = (number: number, channelId: string, dueAtMs = Date.now() - 1) => ({
  deliveryId: `dlv_${number}`,
  channelId,
  attempt: 1,
  dueAtMs,
});

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: attempts of one commit become a single job with their channels and the ids of the first ` +
      '20 deliveries',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const dueAtMs = Date.now() - 1000;
      const attempts = Array.from({ length: 30 }, (_, index) => attemptOf(index, `nch_${index % 3}`, dueAtMs - index));
      await runtime.queues.enqueueAttempts(attempts);
      await runtime.queues.enqueueAttempts(attempts);
      const [job, ...others] = await deliverJobs(runtime);
      t.deepEqual(others, []);
      t.true(job?.id?.startsWith(`dlv_0-1-${dueAtMs}-`));
      t.deepEqual(job?.data.channelIds, ['nch_0', 'nch_1', 'nch_2']);
      t.is(job?.data.dueAtMs, dueAtMs);
      t.is(job?.data.deliveryIds.length, 20);
    },
  );

  test(`${backend.name}: an event for very many channels becomes a few jobs, none of them empty`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    await runtime.queues.enqueueAttempts([]);
    t.deepEqual(await deliverJobs(runtime), []);
    await runtime.queues.enqueueAttempts(Array.from({ length: 45 }, (_, index) => attemptOf(index, `nch_${index}`)));
    const jobs = await deliverJobs(runtime);
    t.deepEqual(jobs.map(({ data }) => data.channelIds.length).toSorted(), [20, 20, 5]);
    t.is(new Set(jobs.flatMap(({ data }) => data.channelIds)).size, 45);
  });

  test(`${backend.name}: the job of a retry waits until it is due`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const dueAtMs = Date.now() + 60_000;
    await runtime.queues.enqueueAttempts([{ ...attemptOf(1, 'nch_1', dueAtMs), attempt: 2 }]);
    const [job] = await deliverJobs(runtime);
    t.is(job?.id, `dlv_1-2-${dueAtMs}`);
    t.is(await job?.getState(), 'delayed');
    t.true(Math.abs((job?.timestamp ?? 0) + (job?.delay ?? 0) - dueAtMs) < 30_000);
  });

  test(`${backend.name}: a waiting job does not keep another channel's attempts from being enqueued`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const dueAtMs = Date.now() - 1000;
    const [first, second] = [attemptOf(1, 'nch_1', dueAtMs), attemptOf(2, 'nch_2', dueAtMs)];
    await runtime.queues.enqueueAttempts([first]);
    await runtime.queues.enqueueAttempts([first, second]);
    const channels = (await deliverJobs(runtime)).map(({ data }) => data.channelIds);
    t.deepEqual(channels.toSorted(), [['nch_1'], ['nch_1', 'nch_2']]);
  });

  test(`${backend.name}: an alert moved to an earlier time gets a job for that time`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    await runtime.queues.enqueueAttempts([attemptOf(1, 'nch_1', Date.now() + 3_600_000)]);
    await runtime.queues.enqueueAttempts([attemptOf(1, 'nch_1')]);
    t.is(await (await deliverJobs(runtime)).find(({ opts }) => opts.delay === 0)?.getState(), 'waiting');
  });
}

async function deliverJobs({ queues }: TestRuntime) {
  const queue = queues.all().find(({ name }) => name === QUEUES.deliver);
  return (await queue?.getJobs(['waiting', 'delayed'])) ?? [];
}
