import test from 'ava';
import { listStaleMonitors } from '../../../models/incidents/evaluation.ts';
import { runOn } from '../../../models/sql.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

test('pages go through all monitors in order, paused ones and drafts too, and name those in doubt', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const nos: number[] = [];
  for (let made = 0; made < 7; made += 1)
    nos.push((await runtime.addMonitor([agent], made === 3 ? { target: '' } : {})).no);
  const nowMs = runtime.now();
  await runtime.database.pool.query(`UPDATE monitors SET state = 'up', enabled = no <> $1, updated_at = 0`, [nos[1]]);
  await runtime.database.pool.query('DELETE FROM monitors WHERE no = $1', [nos[4]]);
  await runtime.database.pool.query(
    'INSERT INTO check_results (due_at, monitor_no, agent_no, verdict) VALUES ($1, $2, $3, 1)',
    [nowMs - 170_000, nos[5], agent.no],
  );
  const list = async (afterNo: number, limit: number) =>
    listStaleMonitors(runOn(runtime.database.pool), { nowMs, editedSinceSeconds: 1, afterNo, limit });
  const [first, , third, , , middle, last] = nos;

  t.deepEqual(await list(0, 100), { stale: [first, third, last], lastNo: null });
  t.deepEqual(await list(0, 3), { stale: [first, third], lastNo: third });
  t.deepEqual(await list(third ?? 0, 2), { stale: [], lastNo: middle });
  t.deepEqual(await list(middle ?? 0, 1), { stale: [last], lastNo: last });
  t.deepEqual(await list(last ?? 0, 1), { stale: [], lastNo: null });
});
