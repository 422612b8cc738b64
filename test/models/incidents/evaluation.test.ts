import test from 'ava';
import { groupBySources, listStaleMonitors } from '../../../models/incidents/evaluation.ts';
import { runOn } from '../../../models/sql.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

test('pages cover all monitors in order, including paused ones and drafts, and return the stale ones', async (t) => {
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

test('monitors are grouped with at most 5,000 sources, or alone if they have more', async (t) => {
  const runtime = await openTestRuntime(t);
  const nos: number[] = [];
  for (let made = 0; made < 4; made += 1) nos.push((await runtime.addMonitor([])).no);
  const [first = 0, second = 0, third = 0, fourth = 0] = nos;
  await runtime.database.pool.query(
    `INSERT INTO agents (id, tenant_id, kind, name, created_at)
     SELECT 'agt_' || n, $1, 'tenant', 'crowd', 0 FROM generate_series(1, 5001) n`,
    [runtime.tenantId],
  );
  const assign = (no: number, sources: number) =>
    runtime.database.pool.query(
      `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds)
       SELECT $1, no, 60 FROM agents WHERE name = 'crowd' ORDER BY no LIMIT $2`,
      [no, sources],
    );
  await assign(first, 2500);
  await assign(second, 2500);
  await assign(third, 1);
  await assign(fourth, 5001);

  t.deepEqual(await groupBySources(runOn(runtime.database.pool), [fourth, third, second, first]), [
    [first, second],
    [third],
    [fourth],
  ]);
});
