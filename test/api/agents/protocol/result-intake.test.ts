import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import {
  createResultBatches,
  createResultIntake,
  type AssignedReport,
} from '../../../../api/agents/protocol/result-intake.ts';
import type { Database } from '../../../../models/database.ts';
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

/** Returns a queue that accepts each batch only once it is released. */
function slowQueue() {
  let batches = 0;
  const goOn: (() => void)[] = [];
  const submit = async () => {
    batches += 1;
    await new Promise<void>((resolve) => goOn.push(resolve));
  };
  return { count: () => batches, submit, letGo: () => goOn.shift()?.() };
}

test('simultaneous results of agents become one job, and those that arrive meanwhile the next one', async (t) => {
  const sizes: number[] = [];
  const gate = Promise.withResolvers<void>();
  const second: Promise<void>[] = [];
  const add = createResultBatches(async (batch) => {
    sizes.push(batch.length);
    if (sizes.length > 1) return;
    second.push(add('ten_c', results(3, 3)), add('ten_d', results(4, 4)));
    gate.resolve();
  });
  await Promise.all([add('ten_a', results(1, 1)), add('ten_b', results(2, 2)), gate.promise]);
  await Promise.all(second);
  t.deepEqual(sizes, [3, 7]);
});

test('a job has at most 1,000 results, and those of one agent are never split', async (t) => {
  const sizes: number[] = [];
  const add = createResultBatches(async (batch) => void sizes.push(batch.length));
  await Promise.all([600, 400, 1, 1000, 5].map((count, index) => add(`ten_${index}`, results(count, index))));
  t.deepEqual(sizes, [1000, 1, 1000, 5]);
});

test('results of a job that the queue rejects fail together, and the next job is still tried', async (t) => {
  let jobs = 0;
  const add = createResultBatches(async () => {
    jobs += 1;
    if (jobs === 1) throw new Error('away');
  });
  const outcomes = await Promise.allSettled([
    add('ten_a', results(700, 1)),
    add('ten_b', results(300, 2)),
    add('ten_c', results(1, 3)),
  ]);
  t.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  );
});

test('results are refused while too many of them wait for the queue', async (t) => {
  const { submit, letGo, count } = slowQueue();
  const add = createResultBatches(submit);
  const taken = Array.from({ length: 20 }, (_, index) => add(`ten_${index % 5}`, results(1000, index)));
  await t.throwsAsync(add('ten_9', results(1, 99)), { message: /too many results are waiting/ });
  const all = Promise.all(taken);
  const pump = setInterval(letGo, 1);
  await all;
  clearInterval(pump);
  t.is(count(), 20);
});

test('an account with too many waiting results is refused before other accounts are', async (t) => {
  const { submit, letGo } = slowQueue();
  const add = createResultBatches(submit);
  const taken = Array.from({ length: 5 }, (_, index) => add('ten_a', results(1000, index)));
  await t.throwsAsync(add('ten_a', results(1, 5)), { message: /too many results are waiting/ });
  taken.push(add('ten_b', results(1, 6)));
  const pump = setInterval(letGo, 1);
  await Promise.all(taken);
  await add('ten_a', results(1, 5));
  clearInterval(pump);
  t.pass();
});

test('results of one account do not wait behind all those of another', async (t) => {
  const order: number[] = [];
  const add = createResultBatches(async (batch) => void order.push(...new Set(batch.map(({ agentNo }) => agentNo))));
  await Promise.all([
    ...[1, 2, 3, 4].map((agentNo) => add('ten_a', results(1000, agentNo))),
    add('ten_b', results(1, 9)),
  ]);
  t.deepEqual(order, [1, 9, 2, 3, 4]);
});

/** Returns a report of a check that started at this time, with only the fields that the intake reads. */
function reportOf(startedAtMs: number): AssignedReport {
  return {
    report: { startedAtMs },
    monitor: { no: 1, intervalSeconds: 60, downAfterFailures: 2 },
  } as AssignedReport;
}

test('a duplicate that waits for the first submission fails with it, and is submitted when sent again', async (t) => {
  const nothingStored = { pool: { query: () => Promise.resolve({ rows: [] }) } } as unknown as Pick<Database, 'pool'>;
  const takeIn = createResultIntake(nothingStored);
  const first = Promise.withResolvers<void>();
  const submitted: number[][] = [];
  const post = (...moments: number[]) =>
    takeIn({ agentNo: 1, nowMs: 90_000 }, moments.map(reportOf), async ({ fresh }) => {
      submitted.push([...fresh].map(({ report }) => report.startedAtMs));
      if (submitted.length === 1) await first.promise;
    });
  const outcomes = Promise.allSettled([post(60_000), post(60_000), post(60_000, 60_001), post(60_001)]);
  await setImmediate();
  t.deepEqual(submitted, [[60_000], [], [60_001], []]);
  first.reject(new Error('away'));
  t.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected', 'fulfilled'],
  );
  t.is(await post(60_000, 60_000, 60_001), 3);
  t.is(await post(60_000), 1);
  t.deepEqual(submitted.slice(4), [[60_000], []]);
});
