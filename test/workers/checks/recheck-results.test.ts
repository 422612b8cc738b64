import test, { type ExecutionContext } from 'ava';
import { noScheduleChange } from '../../../core/checks/slots.ts';
import { HOUR_MS } from '../../../core/time.ts';
import { claimRechecks } from '../../../models/checks/checks.ts';
import { listOverdueRechecks, requestCheck } from '../../../models/checks/schedule.ts';
import { pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { reconcile } from '../../../workers/system/reconcile.ts';
import { listQueueBackends, type QueueBackend } from '../../helpers/queue-backend.ts';
import { changeMonitor, openTestRuntime } from '../../helpers/runtime.ts';
import { startTarget } from '../../helpers/target.ts';
import { until } from '../../helpers/until.ts';

const SLOT_MS = 15_000;

/**
 * An hour, so that a test waiting for a tick would time out. With a short timeout, a stall of the machine could make a
 * check no vote.
 */
const RARELY = { intervalSeconds: 3600, timeoutMs: 30_000 };

async function openWatched(t: ExecutionContext, backend?: QueueBackend) {
  const runtime = await openTestRuntime(t, backend);
  const agent = await runtime.addAgent('local');
  // Monitors take free slots: these are far away, so that no monitor has a tick during the test.
  await runtime.database.pool.query(
    `INSERT INTO schedule_phases (agent_no, interval_seconds, phase, monitors)
     SELECT $1, 3600, slot, 1 FROM generate_series(0, 239) slot WHERE (slot - $2 + 240) % 240 NOT BETWEEN 60 AND 180`,
    [agent.no, Math.floor((runtime.now() % HOUR_MS) / SLOT_MS)],
  );
  const regions = await runtime.listRegions();
  const taken = (nowMs = runtime.now()) => claimRechecks(runtime.database, { agentNo: agent.no, nowMs, limit: 10 });
  return {
    runtime,
    agent,
    regions,
    taken,
    key: (id: string) => ({ tenantId: runtime.tenantId, id, nowMs: runtime.now() }),
  };
}

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: an hourly monitor is checked as soon as it is created, resumed or given a new target, or a ` +
      'check is requested',
    async (t) => {
      const { runtime, agent, regions, key } = await openWatched(t, backend);
      const target = await startTarget(t);
      const processes = [
        await startEvaluate(runtime),
        await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true }),
      ];
      t.teardown(() => Promise.all(processes.map((process) => process.stop())));
      const { id } = await runtime.addMonitor([agent], {
        ...RARELY,
        target: target.url('/first'),
        downAfterFailures: 1,
      });
      const applyChange = async () =>
        runtime.queues.applyScheduleChange(runtime.scheduleChanges.at(-1) ?? t.fail(), regions);
      const isIn = (state: string) =>
        until(async () => (await findMonitor(runtime.database, key(id)))?.monitor.state === state);

      await applyChange();
      await isIn('up');
      t.is(target.hits('/first'), 1);
      runtime.scheduleChanges.push(
        (await pauseMonitor(runtime.database, { ...key(id), author: null }))!.schedule,
        (await resumeMonitor(runtime.database, { ...key(id), author: null }))!.schedule,
      );
      await applyChange();
      await isIn('up');
      t.is(target.hits('/first'), 2);
      target.health.status = 500;
      const patched = await changeMonitor(runtime.database, key(id), ({ monitor, secrets, agentIds }) => ({
        settings: { ...monitor, target: target.url('/second') },
        secrets,
        agentIds,
      }));
      runtime.scheduleChanges.push(patched!.schedule);
      await applyChange();
      await isIn('down');
      t.deepEqual([target.hits('/first'), target.hits('/second')], [2, 1]);
      target.health.status = 200;
      const requested = await requestCheck(runtime.database, { ...key(id), author: null });
      await runtime.queues.applyScheduleChange(
        { ...noScheduleChange(), rechecks: requested!.sources.map(({ agentNo }) => agentNo) },
        regions,
      );
      await isIn('up');
      t.is(target.hits('/second'), 2);
    },
  );
}

test('of two concurrent claims only one gets a recheck, and none before it is due', async (t) => {
  const { runtime, agent, taken } = await openWatched(t);
  const [one, two] = [await runtime.addMonitor([agent], RARELY), await runtime.addMonitor([agent], RARELY)];
  t.deepEqual(await taken(0), []);
  const both = (await Promise.all([taken(), taken()])).flat();
  t.deepEqual(both.map(({ monitorId }) => monitorId).toSorted(), [one.id, two.id].toSorted());
  t.deepEqual(await taken(), []);
});

test('no recheck is scheduled if the next tick is near or only the name changes', async (t) => {
  const { runtime, agent, taken, key } = await openWatched(t);
  await runtime.addMonitor([agent], { intervalSeconds: 1 });
  t.deepEqual(runtime.scheduleChanges.at(-1)?.rechecks, []);
  const { id } = await runtime.addMonitor([agent], RARELY);
  t.is((await taken()).length, 1);
  const renamed = await changeMonitor(runtime.database, key(id), ({ monitor, secrets, agentIds }) => ({
    settings: { ...monitor, name: 'Renamed' },
    secrets,
    agentIds,
  }));
  t.deepEqual(renamed?.schedule.rechecks, []);
});

test('a paused monitor is not rechecked', async (t) => {
  const { runtime, agent, taken, key } = await openWatched(t);
  const { id } = await runtime.addMonitor([agent], RARELY);
  await pauseMonitor(runtime.database, { ...key(id), author: null });
  t.deepEqual(await taken(), []);
});

test('reconcile enqueues rechecks that were never enqueued', async (t) => {
  const { runtime, agent } = await openWatched(t);
  await runtime.addMonitor([agent], RARELY);
  t.deepEqual(await listOverdueRechecks(runtime.database, runtime.now() - 5000), [agent.no]);
  await reconcile(runtime);
  const jobs = await runtime.queues.checkQueue('local').getJobs(['delayed', 'waiting']);
  t.deepEqual(
    jobs.flatMap(({ data }) => ('looks' in data ? [data] : [])),
    [{ agentNo: agent.no, looks: true }],
  );
});
