import test from 'ava';
import type { Job } from 'bullmq';
import { EARLY_MS } from '../../../core/checks/slots.ts';
import { HOUR_MS } from '../../../core/time.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { startTarget } from '../../helpers/target.ts';
import { until } from '../../helpers/until.ts';

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: an agent that skips a check for lack of time is recorded as behind, and one that is ` +
      'in time is not',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const target = await startTarget(t);
      const [late, punctual] = [await runtime.addAgent('late'), await runtime.addAgent('punctual')];
      await runtime.addMonitor([late, punctual], { target: target.url('/') });
      const startedAtMs = runtime.now();
      const jobs: Job[] = [];
      for (const { agent, lateMs } of [
        { agent: late, lateMs: 50_000 },
        { agent: punctual, lateMs: 0 },
      ]) {
        const data = { agentNo: agent.no, intervalSeconds: 60, phase: 0 };
        jobs.push(
          await runtime.queues
            .checkQueue(agent.region ?? '')
            .add('tick', data, { jobId: `repeat:tick:${startedAtMs - lateMs - EARLY_MS}` }),
        );
        const process = await startCheck(runtime, {
          region: agent.region ?? '',
          version: '0.1.0',
          allowPrivateNetwork: true,
        });
        t.teardown(process.stop);
      }
      await until(async () => (await Promise.all(jobs.map((job) => job.isCompleted()))).every(Boolean));

      const { rows } = await runtime.database.pool.query<{ region: string; behind_at: number | null }>(
        `SELECT region, behind_at FROM agents WHERE kind = 'first_party' ORDER BY region`,
      );
      t.deepEqual(
        rows.map(({ region, behind_at }) => [region, behind_at !== null && behind_at >= startedAtMs]),
        [
          ['late', true],
          ['punctual', false],
        ],
      );
      t.deepEqual(
        runtime.logLines.filter(({ msg }) => msg === 'checks.behind').map(({ region }) => region),
        ['late'],
      );
      t.is(target.hits('/'), 1);
    },
  );
}

for (const backend of listQueueBackends()) {
  test(`${backend.name}: stopping requeues a tick with waiting checks, and the next process runs it`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const target = await startTarget(t);
    const agent = await runtime.addAgent('local');
    await runtime.addMonitor([agent], { target: target.url('/'), intervalSeconds: 60 });
    const options = { region: 'local', version: '0.1.0', allowPrivateNetwork: true };
    // By the clock of the first process the checks are due in an hour, after its stop.
    const process = await startCheck({ ...runtime, now: () => runtime.now() - HOUR_MS }, options);
    const data = { agentNo: agent.no, intervalSeconds: 60, phase: 0 };
    const queue = runtime.queues.checkQueue('local');
    const job = await queue.add('tick', data, { jobId: `repeat:tick:${runtime.now() - EARLY_MS}` });
    await until(() => job.isActive());
    await process.stop();
    t.is(target.hits('/'), 0);
    t.is(await job.getState(), 'waiting');
    const next = await startCheck(runtime, options);
    t.teardown(next.stop);
    await until(() => target.hits('/') === 1);
  });
}
