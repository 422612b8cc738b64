import test from 'ava';
import { createResultBatches } from '../../../../api/agents/protocol/result-intake.ts';
import type { ResultPayload } from '../../../../queues/payloads.ts';

function results(count: number, agentNo: number): ResultPayload[] {
  return Array.from({ length: count }, (_, index) => ({
    monitorNo: index,
    agentNo,
    checksVersion: 1,
    dueAtMs: 1,
    finishedAtMs: 2,
    verdict: 'up',
    cause: null,
    reason: null,
    latencyMs: 1,
    httpStatus: 200,
    phases: null,
    answer: null,
  }));
}

/** A queue that takes a batch when it is let go on. */
function slowQueue() {
  let batches = 0;
  const goOn: (() => void)[] = [];
  const submit = async () => {
    batches += 1;
    await new Promise<void>((resolve) => goOn.push(resolve));
  };
  return { count: () => batches, submit, letGo: () => goOn.shift()?.() };
}

test('results of agents that come together are one job, and those that come while it is added the next', async (t) => {
  const sizes: number[] = [];
  const gate = Promise.withResolvers<void>();
  const second: Promise<void>[] = [];
  const add = createResultBatches(async (batch) => {
    sizes.push(batch.length);
    if (sizes.length > 1) return;
    second.push(add(results(3, 3)), add(results(4, 4)));
    gate.resolve();
  });
  await Promise.all([add(results(1, 1)), add(results(2, 2)), gate.promise]);
  await Promise.all(second);
  t.deepEqual(sizes, [3, 7]);
});

test('a job has no more than 1000 results, and those of one agent are never parted', async (t) => {
  const sizes: number[] = [];
  const add = createResultBatches(async (batch) => void sizes.push(batch.length));
  await Promise.all([600, 400, 1, 1000, 5].map((count, index) => add(results(count, index))));
  t.deepEqual(sizes, [1000, 1, 1000, 5]);
});

test('agents of a job that the queue refuses get a 503, and the next job is tried all the same', async (t) => {
  let jobs = 0;
  const add = createResultBatches(async () => {
    jobs += 1;
    if (jobs === 1) throw new Error('away');
  });
  const outcomes = await Promise.allSettled([add(results(700, 1)), add(results(300, 2)), add(results(1, 3))]);
  t.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  );
});

test('agents are asked to come back where the queue cannot keep up', async (t) => {
  const { submit, letGo, count } = slowQueue();
  const add = createResultBatches(submit);
  const taken = Array.from({ length: 20 }, (_, index) => add(results(1000, index)));
  await t.throwsAsync(add(results(1, 99)), { message: /too many results are waiting/ });
  const all = Promise.all(taken);
  const pump = setInterval(letGo, 1);
  await all;
  clearInterval(pump);
  t.is(count(), 20);
});
