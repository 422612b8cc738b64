import test from 'ava';
import { startCheck } from '../../../workers/processes/check.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { startListener } from '../../helpers/listener.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

test('a target that fails along with our own network is unknown, never down; failing alone it is down', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const [target, reference] = [await startListener(t), await startListener(t)];
  const { id } = await runtime.addMonitor([agent], {
    type: 'tcp',
    target: `${target.host}:${target.port}`,
    method: null,
    expectedStatus: null,
    intervalSeconds: 1,
    // With a short timeout, a stall of the machine could make a check no vote. A refusal does not wait for it.
    timeoutMs: 30_000,
    downAfterFailures: 1,
  });
  const processes = [
    await startEvaluate(runtime),
    await startCheck(runtime, {
      region: 'local',
      version: '0.1.0',
      allowPrivateNetwork: true,
      selfCheckHosts: [reference],
    }),
  ];
  t.teardown(() => Promise.all(processes.map((process) => process.stop())));
  for (const change of runtime.scheduleChanges)
    await runtime.queues.applyScheduleChange(change, await runtime.listRegions());
  const changes = async () =>
    (
      await runtime.database.pool.query<{ to_state: string; reason: string }>(
        'SELECT to_state, reason FROM transitions WHERE monitor_id = $1 ORDER BY sequence',
        [id],
      )
    ).rows;
  const hasGone = (...states: string[]) =>
    until(async () => (await changes()).map((change) => change.to_state).join() === states.join());
  const countLogged = (message: string) => runtime.logLines.filter((line) => line['msg'] === message).length;
  await hasGone('up');

  await reference.close();
  await target.close();
  await hasGone('up', 'unknown');
  t.regex((await changes()).at(-1)?.reason ?? '', /none of its own reference hosts/);
  t.is(countLogged('self_check.failed'), 1);

  // In the other order a check that the target still refuses could find the reference open, and be down.
  await target.open();
  await hasGone('up', 'unknown', 'up');
  await reference.open();
  await until(() => countLogged('self_check.passed') === 1);

  await target.close();
  await hasGone('up', 'unknown', 'up', 'down');
  t.is(countLogged('self_check.failed'), 1);
  t.true((await runtime.database.pool.query('SELECT 1 FROM check_results WHERE verdict = 0')).rows.length >= 3);
});
