import test from 'ava';
import { noScheduleChange } from '../../../core/checks/slots.ts';
import { chooseDefaultSources } from '../../../core/monitors/defaults.ts';
import { deleteAgent } from '../../../models/agents/agents.ts';
import { assignMissingSources } from '../../../models/agents/shared-agents.ts';
import { listOccupiedSlots } from '../../../models/checks/schedule.ts';
import { deleteMonitor, pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { inTransaction } from '../../../models/sql.ts';
import { WAITING } from '../../helpers/database.ts';
import { changeMonitor, openTestRuntime, SETTINGS, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

/** Reports whether the stored counts equal a fresh count of the sources. */
async function countsAgree(runtime: TestRuntime): Promise<boolean> {
  const { rows } = await runtime.database.pool.query(`
    SELECT 1 FROM (SELECT agent_no, interval_seconds, phase, monitors FROM schedule_phases WHERE monitors > 0) c
    FULL JOIN (SELECT agent_no, interval_seconds, phase, count(*)::int AS monitors FROM monitor_sources
      WHERE phase IS NOT NULL GROUP BY 1, 2, 3) s
    USING (agent_no, interval_seconds, phase) WHERE c.monitors IS DISTINCT FROM s.monitors`);
  return rows.length === 0;
}

test('the first monitor of a slot occupies it, the last one to leave empties it', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const key = { tenantId: runtime.tenantId, nowMs: Date.now() };
  const monitor = await runtime.addMonitor([agent]);
  t.is(runtime.scheduleChanges[0]?.occupied.length, 1);
  const change = await deleteMonitor(runtime.database, { ...key, id: monitor.id, author: null });
  t.deepEqual(change, { occupied: [], emptied: runtime.scheduleChanges[0]?.occupied, rechecks: [] });
  t.deepEqual(await listOccupiedSlots(runtime.database, [agent.no]), []);
});

test('monitors beyond the number of slots share jobs without changing the queue', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  for (let index = 0; index < 6; index += 1) await runtime.addMonitor([agent], { intervalSeconds: 1, timeoutMs: 500 });
  t.deepEqual(
    runtime.scheduleChanges.map(({ occupied }) => occupied.length),
    [1, 1, 1, 1, 0, 0],
  );
  t.true(await countsAgree(runtime));
});

test('pausing empties slots, resuming occupies them, a new interval moves them, and the counts agree', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents = [await runtime.addAgent('a'), await runtime.addAgent('b')];
  const monitor = await runtime.addMonitor(agents);
  const key = { tenantId: runtime.tenantId, id: monitor.id, nowMs: Date.now() };
  t.is((await pauseMonitor(runtime.database, { ...key, author: null }))?.schedule.emptied.length, 2);
  t.is((await pauseMonitor(runtime.database, { ...key, author: null }))?.schedule.emptied.length, 0);
  t.true(await countsAgree(runtime));
  t.is((await resumeMonitor(runtime.database, { ...key, author: null }))?.schedule.occupied.length, 2);
  const moved = await changeMonitor(runtime.database, key, ({ monitor: current, secrets, agentIds }) => ({
    settings: { ...current, intervalSeconds: 30 },
    secrets,
    agentIds: agentIds.slice(0, 1),
  }));
  t.deepEqual([moved?.schedule.occupied.length, moved?.schedule.emptied.length], [1, 2]);
  t.true(await countsAgree(runtime));
  t.deepEqual((await findMonitor(runtime.database, key))?.agentIds.length, 1);
});

test('a draft is not scheduled until a patch gives it a target', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const draft = await runtime.addMonitor([agent], { target: '' });
  t.deepEqual(runtime.scheduleChanges, [noScheduleChange()]);
  const key = { tenantId: runtime.tenantId, id: draft.id, nowMs: Date.now() };
  const patched = await changeMonitor(runtime.database, key, ({ monitor, secrets, agentIds }) => ({
    settings: { ...monitor, target: SETTINGS.target },
    secrets,
    agentIds,
  }));
  t.is(patched?.schedule.occupied.length, 1);
});

test('creating and deleting many monitors concurrently leaves the counts exact', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents = [await runtime.addAgent('a'), await runtime.addAgent('b')];
  const monitors = await Promise.all(
    Array.from({ length: 30 }, () => runtime.addMonitor(agents, { intervalSeconds: 2, timeoutMs: 500 })),
  );
  t.true(await countsAgree(runtime));
  await Promise.all(
    monitors.slice(0, 20).map((monitor) =>
      deleteMonitor(runtime.database, {
        tenantId: runtime.tenantId,
        id: monitor.id,
        nowMs: Date.now(),
        author: null,
      }),
    ),
  );
  t.true(await countsAgree(runtime));
});

test('two agents of a monitor that are deleted concurrently each lower its quorum', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId } = runtime;
  const shared = await runtime.addAgent('local');
  const { rows: own } = await database.pool.query<{ no: number; id: string }>(
    `INSERT INTO agents (id, tenant_id, kind, name, created_at) VALUES ('agt_a', $1, 'tenant', 'a', 0),
       ('agt_b', $1, 'tenant', 'b', 0) RETURNING no, id`,
    [tenantId],
  );
  const monitor = await runtime.addMonitor([shared, ...own.map((row) => ({ ...shared, ...row }))], {
    downMinSources: 3,
  });
  const isHeldUp = 'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = $1';
  const deletions = await inTransaction(database, async (run) => {
    await run('SELECT 1 FROM monitors WHERE id = $1 FOR NO KEY UPDATE', [monitor.id]);
    const begun = own.map(({ id }) => deleteAgent(database, { tenantId, id, nowMs: Date.now(), author: null }));
    await until(async () => (await database.pool.query(isHeldUp, ['Lock'])).rowCount === 2);
    return begun;
  });
  await Promise.all(deletions);
  t.like(await findMonitor(database, { tenantId, id: monitor.id }), {
    agentIds: [shared.id],
    monitor: { downMinSources: 1 },
  });
});

test("deleting a customer's agent removes it from monitors and lowers their quorum, to at least 1", async (t) => {
  const runtime = await openTestRuntime(t);
  const shared = await runtime.addAgent('local');
  const { rows } = await runtime.database.pool.query<{ no: number; id: string }>(
    `INSERT INTO agents (id, tenant_id, kind, name, created_at) VALUES ('agt_own', $1, 'tenant', 'own', 0)
     RETURNING no, id`,
    [runtime.tenantId],
  );
  const [row] = rows;
  const own = { ...shared, ...row };
  const both = await runtime.addMonitor([shared, own], { downMinSources: 2 });
  const alone = await runtime.addMonitor([own], { downMinSources: 1 });

  const deletion = { tenantId: runtime.tenantId, id: 'agt_own', nowMs: runtime.now(), author: null };
  const { pool } = runtime.database;
  const isHeldUp = 'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = $1';
  const deletions = await inTransaction(runtime.database, async (run) => {
    await run('SELECT 1 FROM monitor_sources WHERE agent_no = $1 FOR UPDATE', [own.no]);
    const begun = [deleteAgent(runtime.database, deletion), deleteAgent(runtime.database, deletion)];
    await until(async () => (await pool.query(isHeldUp, ['Lock'])).rowCount === 2);
    return begun;
  });
  const [change, ...others] = (await Promise.all(deletions)).filter((done) => done !== null);
  t.deepEqual(others, [], 'of two concurrent deletions only one finds it');

  t.is(change?.emptied.length, 2);
  const read = async (id: string) => await findMonitor(runtime.database, { tenantId: runtime.tenantId, id });
  t.like(await read(both.id), { agentIds: [shared.id], monitor: { downMinSources: 1 } });
  t.like(await read(alone.id), { agentIds: [], monitor: { downMinSources: 1 } });
  t.deepEqual(
    await assignMissingSources(runtime.database, { choose: chooseDefaultSources, nowMs: runtime.now() }),
    noScheduleChange(),
    'no other agent may check it',
  );
  t.true(await countsAgree(runtime));
});

test('an agent is deleted after the watch has marked it, and after a monitor has got it', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId } = runtime;
  const shared = await runtime.addAgent('local');
  const { rows } = await database.pool.query<{ no: number; id: string }>(
    `INSERT INTO agents (id, tenant_id, kind, name, created_at) VALUES ('agt_own', $1, 'tenant', 'own', 0)
     RETURNING no, id`,
    [tenantId],
  );
  const own = { ...shared, ...rows[0] };
  await runtime.addMonitor([own], { downMinSources: 1 });
  const other = await runtime.addMonitor([shared], { downMinSources: 1 });
  const { deleting } = await inTransaction(database, async (run) => {
    await run('SELECT FROM monitor_sources WHERE agent_no = $1 FOR NO KEY UPDATE', [own.no]);
    const begun = deleteAgent(database, { tenantId, id: own.id, nowMs: Date.now(), author: null });
    await until(async () => (await database.pool.query(WAITING)).rowCount === 1);
    // The watch locks sources, then agents. If the deletion held the agent, the two would deadlock.
    await run('SELECT FROM agents WHERE no = $1 FOR NO KEY UPDATE NOWAIT', [own.no]);
    await run('INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds) VALUES ($1, $2, 60)', [
      other.no,
      own.no,
    ]);
    await run('UPDATE monitors SET down_min_sources = 2 WHERE no = $1', [other.no]);
    return { deleting: begun };
  });
  t.not(await deleting, null);
  t.like(await findMonitor(database, { tenantId, id: other.id }), {
    agentIds: [shared.id],
    monitor: { downMinSources: 1 },
  });
});

test('monitors created before the first shared agent get their sources once it registers', async (t) => {
  const runtime = await openTestRuntime(t);
  const monitor = await runtime.addMonitor([]);
  await runtime.addMonitor([], { type: 'dns', target: 'example.com' });
  t.deepEqual(
    await assignMissingSources(runtime.database, { choose: chooseDefaultSources, nowMs: runtime.now() }),
    noScheduleChange(),
  );
  const agents = [await runtime.addAgent('a'), await runtime.addAgent('b')];
  const change = await assignMissingSources(runtime.database, { choose: chooseDefaultSources, nowMs: runtime.now() });
  t.is(change.occupied.length, 2);
  t.like(await findMonitor(runtime.database, { tenantId: runtime.tenantId, id: monitor.id }), {
    agentIds: agents.map(({ id }) => id).toSorted(),
    monitor: { downMinSources: 2 },
  });
});
