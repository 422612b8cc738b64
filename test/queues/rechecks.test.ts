import test from 'ava';
import { RECHECK_EARLY_MS } from '../../queues/schedules.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { openTestRuntime } from '../helpers/runtime.ts';

const HANOI = 7;
const LIMA = 8;
const REGIONS = new Map([
  [HANOI, 'hanoi'],
  [LIMA, 'lima'],
]);

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: rechecks of one agent that are due together share one job, however often requested, ` +
      'which fires after the last',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const jobs = async (region: string) => await runtime.queues.checkQueue(region).getJobs(['delayed', 'waiting']);
      // Slots begin at whole seconds.
      const windowMs = Math.ceil(Date.now() / 1000) * 1000 + 60_000;
      const due = [0, 50, 199].map((ms) => ({ agentNo: HANOI, atMs: windowMs + ms }));

      await runtime.queues.enqueueRechecks(due, REGIONS);
      await runtime.queues.enqueueRechecks(due, REGIONS);
      await runtime.open().queues.enqueueRechecks([{ agentNo: HANOI, atMs: windowMs + 10 }], REGIONS);
      const [job, ...others] = await jobs('hanoi');
      t.deepEqual(others, []);
      t.deepEqual(job?.data, { agentNo: HANOI, looks: true });
      const firesAtMs = (job?.timestamp ?? 0) + (job?.delay ?? 0);
      t.true(
        firesAtMs >= windowMs + 200 && firesAtMs < windowMs + 700,
        `${firesAtMs - windowMs} ms after the slot's beginning`,
      );

      await runtime.queues.enqueueRechecks(
        [
          { agentNo: HANOI, atMs: windowMs + 200 },
          { agentNo: LIMA, atMs: windowMs },
          { agentNo: 99, atMs: windowMs },
        ],
        REGIONS,
      );
      t.is((await jobs('hanoi')).length, 2);
      t.is((await jobs('lima')).length, 1);
    },
  );

  test(`${backend.name}: an overdue recheck runs at once`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const beforeMs = Date.now();
    await runtime.queues.enqueueRechecks([{ agentNo: HANOI, atMs: beforeMs - 60_000 }], REGIONS);
    const [job] = await runtime.queues.checkQueue('hanoi').getJobs(['delayed', 'waiting', 'prioritized']);
    t.true((job?.delay ?? 0) <= RECHECK_EARLY_MS);
  });
}
