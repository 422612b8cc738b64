import test from 'ava';
import { listAuditLog } from '../../../models/accounts/audit-log.ts';
import { listAgents, type Agent } from '../../../models/agents/agents.ts';
import { planRetirement, restoreRegion, retireRegion } from '../../../models/agents/retired-regions.ts';
import { assignMissingSources, registerSharedAgent } from '../../../models/agents/shared-agents.ts';
import { listOccupiedSlots } from '../../../models/checks/schedule.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { reconcile } from '../../../workers/system/reconcile.ts';
import { WAITING } from '../../helpers/database.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const LIMIT = Number.POSITIVE_INFINITY;

/** Sets up three regions, and monitors of each kind that retiring `tokyo` treats differently. */
async function stage(runtime: TestRuntime) {
  const [tokyo, paris, oslo] = [
    await runtime.addAgent('tokyo'),
    await runtime.addAgent('paris'),
    await runtime.addAgent('oslo'),
  ];
  const monitors = {
    alone: await runtime.addMonitor([tokyo], { name: 'alone' }),
    pair: await runtime.addMonitor([tokyo, paris], { name: 'pair', downMinSources: 2 }),
    three: await runtime.addMonitor([tokyo, paris, oslo], { name: 'three', downMinSources: 2 }),
    draft: await runtime.addMonitor([tokyo], { name: 'draft', target: '' }),
    elsewhere: await runtime.addMonitor([paris], { name: 'elsewhere' }),
  };
  const regionsOf = async (): Promise<Record<string, unknown>> => {
    const { rows } = await runtime.database.pool.query<{ name: string; sources: string }>(
      `SELECT m.name, m.down_min_sources || ' of ' || string_agg(a.region, ' ' ORDER BY a.region) AS sources
       FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no JOIN agents a ON a.no = s.agent_no
         GROUP BY m.no, m.name, m.down_min_sources ORDER BY m.no`,
    );
    return Object.fromEntries(rows.map(({ name, sources }) => [name, sources]));
  };
  const audit = async () =>
    (await listAuditLog(runtime.database, { tenantId: runtime.tenantId, filter: {}, limit: 50 })).map(
      ({ actor, action, object, changes }) => ({ by: actor.kind, action, name: object.name, changes }),
    );
  return {
    agents: { tokyo, paris, oslo },
    monitors,
    regionsOf,
    audit,
    now: { nowMs: runtime.now(), newId: runtime.newId, limit: LIMIT },
  };
}

const BEFORE = {
  alone: '1 of tokyo',
  pair: '2 of paris tokyo',
  three: '2 of oslo paris tokyo',
  draft: '1 of tokyo',
  elsewhere: '1 of paris',
};

test('a retirement plan reports its effects and changes nothing', async (t) => {
  const runtime = await openTestRuntime(t);
  const { regionsOf, now } = await stage(runtime);
  t.deepEqual(await planRetirement(runtime.database, { region: 'tokyo', moveTo: null, ...now }), {
    region: 'tokyo',
    moveTo: null,
    isGivenUp: false,
    monitors: 4,
    onlySource: 2,
    moved: 2,
    quorumLowered: 1,
  });
  t.deepEqual(await planRetirement(runtime.database, { region: 'tokyo', moveTo: 'oslo', ...now }), {
    region: 'tokyo',
    moveTo: 'oslo',
    isGivenUp: false,
    monitors: 4,
    onlySource: 2,
    moved: 3,
    quorumLowered: 0,
  });
  t.deepEqual(await regionsOf(), BEFORE);
  t.deepEqual((await listAgents(runtime.database, { tenantId: runtime.tenantId })).length, 3);
});

test('a retired region leaves its monitors, is replaced where it was the only one, and stays retired', async (t) => {
  const runtime = await openTestRuntime(t);
  const {
    agents: { tokyo },
    monitors,
    regionsOf,
    audit,
    now,
  } = await stage(runtime);
  // Monitors move only to regions with a live agent.
  await runtime.database.pool.query(`UPDATE agents SET last_seen_at = last_seen_at - 3600 WHERE region = 'oslo'`);
  t.like(await retireRegion(runtime.database, { region: 'tokyo', moveTo: null, ...now }), { left: 0 });
  t.deepEqual(await regionsOf(), {
    alone: '1 of paris',
    pair: '1 of paris',
    three: '2 of oslo paris',
    draft: '1 of paris',
    elsewhere: '1 of paris',
  });
  t.deepEqual(await listOccupiedSlots(runtime.database, [tokyo.no]), []);
  t.deepEqual(
    (await listAgents(runtime.database, { tenantId: runtime.tenantId })).map(({ region }) => region),
    ['paris', 'oslo'],
  );
  const entries = await audit();
  t.deepEqual(
    entries.map(({ by, action, name }) => `${by} ${action} ${name}`).toSorted(),
    ['alone', 'draft', 'pair', 'three'].map((name) => `operator monitor.changed ${name}`),
  );
  t.deepEqual(entries.find(({ name }) => name === 'pair')?.changes['down_min_sources'], [2, 1]);

  const late = await registerSharedAgent(runtime.database, {
    newId: runtime.newId('agt'),
    region: 'tokyo',
    version: '0.1.0',
    arch: 'x64',
    nowMs: runtime.now(),
  });
  t.is(late.id, tokyo.id);
  t.is(typeof late.retiredAt, 'number', 'a starting process does not undo the retirement');
  t.is((await listAgents(runtime.database, { tenantId: runtime.tenantId })).length, 2);
  t.true(await restoreRegion(runtime.database, 'tokyo'));
  t.false(await restoreRegion(runtime.database, 'tokyo'));
  t.is((await listAgents(runtime.database, { tenantId: runtime.tenantId })).length, 3);
  t.is(monitors.alone.downMinSources, 1);
});

test('moved monitors keep their quorum, and an interrupted retirement continues when repeated', async (t) => {
  const runtime = await openTestRuntime(t);
  const {
    regionsOf,
    now,
    agents: { tokyo },
  } = await stage(runtime);
  for (let number = 0; number < 120; number += 1) await runtime.addMonitor([tokyo], { name: `many ${number}` });
  t.like(await retireRegion(runtime.database, { region: 'tokyo', moveTo: 'oslo', ...now, limit: 1 }), { left: 24 });
  t.like(await planRetirement(runtime.database, { region: 'tokyo', moveTo: 'oslo', ...now }), { monitors: 24 });
  t.like(await retireRegion(runtime.database, { region: 'tokyo', moveTo: 'oslo', ...now }), { left: 0 });
  const { many: _many, ...sources } = Object.fromEntries(
    Object.entries(await regionsOf()).map(([name, value]) => [name.startsWith('many') ? 'many' : name, value]),
  );
  t.deepEqual(sources, {
    alone: '1 of oslo',
    pair: '2 of oslo paris',
    three: '2 of oslo paris',
    draft: '1 of oslo',
    elsewhere: '1 of paris',
  });
});

test('an impossible retirement returns the reason and changes nothing', async (t) => {
  const runtime = await openTestRuntime(t);
  const { regionsOf, now } = await stage(runtime);
  for (const act of [planRetirement, retireRegion]) {
    t.is(await act(runtime.database, { region: 'rome', moveTo: null, ...now }), 'no such region');
    for (const moveTo of ['tokyo', 'rome'])
      t.is(await act(runtime.database, { region: 'tokyo', moveTo, ...now }), 'no such target');
  }
  t.deepEqual(await regionsOf(), BEFORE);
  for (const region of ['paris', 'oslo'])
    t.like(await retireRegion(runtime.database, { region, moveTo: 'tokyo', ...now }), { left: 0 });
  t.is(await retireRegion(runtime.database, { region: 'tokyo', moveTo: null, ...now }), 'nowhere to go');
  t.is(await retireRegion(runtime.database, { region: 'tokyo', moveTo: 'paris', ...now }), 'no such target');
  t.deepEqual(
    (await listAgents(runtime.database, { tenantId: runtime.tenantId })).map(({ region }) => region),
    ['tokyo'],
  );
});

test('no monitor moves to a region without a live agent while the retired one has one', async (t) => {
  const runtime = await openTestRuntime(t);
  const { regionsOf, now } = await stage(runtime);
  await runtime.database.pool.query(`UPDATE agents SET last_seen_at = last_seen_at - 3600 WHERE region <> 'tokyo'`);
  for (const act of [planRetirement, retireRegion]) {
    t.is(await act(runtime.database, { region: 'tokyo', moveTo: 'paris', ...now }), 'target is away');
    t.is(await act(runtime.database, { region: 'tokyo', moveTo: null, ...now }), 'nowhere to go');
  }
  t.deepEqual(await regionsOf(), BEFORE);
  // No region has a live agent, so the most recently seen one is chosen.
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at - 3600');
  await runtime.database.pool.query(
    `UPDATE agents SET last_seen_at = (SELECT max(last_seen_at) FROM agents) WHERE region = 'paris'`,
  );
  t.like(await retireRegion(runtime.database, { region: 'tokyo', moveTo: 'paris', ...now }), { left: 0 });
  t.like(await planRetirement(runtime.database, { region: 'tokyo', moveTo: null, ...now }), {
    isGivenUp: true,
    monitors: 0,
  });
});

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: the queue forgets a retired region, and monitors waiting for sources get only the ` +
      'remaining regions',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const orphan = await runtime.addMonitor([], { name: 'orphan' });
      const { now } = await stage(runtime);
      await runtime.database.pool.query('UPDATE monitors SET awaits_sources = true WHERE no = $1', [orphan.no]);
      const regions = await runtime.listRegions();
      await runtime.queues.applyScheduleChange(
        { occupied: await listOccupiedSlots(runtime.database, [...regions.keys()]), emptied: [], rechecks: [] },
        regions,
      );
      const schedulers = async () => (await runtime.queues.checkQueue('tokyo').getJobSchedulers()).length;
      t.true((await schedulers()) > 0);
      await retireRegion(runtime.database, { region: 'tokyo', moveTo: null, ...now });
      await reconcile(runtime);
      t.is(await schedulers(), 0);
      const { rows } = await runtime.database.pool.query<{ region: string }>(
        'SELECT a.region FROM monitor_sources s JOIN agents a ON a.no = s.agent_no WHERE s.monitor_no = $1 ORDER ' +
          'BY a.region',
        [orphan.no],
      );
      t.deepEqual(
        rows.map(({ region }) => region),
        ['oslo', 'paris'],
      );
    },
  );
}

test('monitors waiting for sources get those with a live agent', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents: Agent[] = [await runtime.addAgent('tokyo'), await runtime.addAgent('paris')];
  await runtime.database.pool.query(`UPDATE agents SET last_seen_at = last_seen_at - 3600 WHERE region = 'tokyo'`);
  const orphan = await runtime.addMonitor([], { name: 'orphan' });
  await runtime.database.pool.query('UPDATE monitors SET awaits_sources = true WHERE no = $1', [orphan.no]);
  await reconcile(runtime);
  const { rows } = await runtime.database.pool.query('SELECT agent_no FROM monitor_sources WHERE monitor_no = $1', [
    orphan.no,
  ]);
  t.deepEqual(rows, [{ agent_no: agents[1]?.no }]);
});

test('monitors waiting for sources do not keep a region that is retired meanwhile', async (t) => {
  const { database, addAgent, addMonitor, now, newId } = await openTestRuntime(t);
  const [tokyo, paris] = [await addAgent('tokyo'), await addAgent('paris')];
  const run = runOn(database.pool);
  const addOrphan = async () => {
    const { no } = await addMonitor([]);
    await run('UPDATE monitors SET awaits_sources = true WHERE no = $1', [no]);
    return no;
  };
  const assign = async (...chosen: Agent[]) =>
    await assignMissingSources(database, { choose: () => [chosen.shift()?.id ?? ''], nowMs: now() });
  const retire = async () =>
    await retireRegion(database, { region: 'tokyo', moveTo: null, nowMs: now(), newId, limit: LIMIT });
  const untilWaiting = async (count: number) => await until(async () => (await run(WAITING)).length === count);
  const assigned = async () =>
    (await run<{ no: number }>('SELECT agent_no AS no FROM monitor_sources')).map(({ no }) => no);

  const one = await addOrphan();
  const [assigning, retiring] = await inTransaction(database, async (holding) => {
    await holding('SELECT 1 FROM monitors WHERE no = $1 FOR UPDATE', [one]);
    const begun = assign(tokyo);
    await untilWaiting(1);
    const retired = retire();
    await untilWaiting(2);
    return [begun, retired] as const;
  });
  await assigning;
  t.like(await retiring, { left: 0 });
  t.deepEqual(await assigned(), [paris.no], 'the retirement moves a monitor that is about to get the region');

  await restoreRegion(database, 'tokyo');
  const others = [await addOrphan(), await addOrphan()];
  const [assigningOthers] = await inTransaction(database, async (holding) => {
    await holding('SELECT 1 FROM monitors WHERE no = ANY($1::int[]) FOR UPDATE', [others]);
    const begun = assign(paris, tokyo);
    await untilWaiting(1);
    t.like(await retire(), { left: 0 });
    return [begun] as const;
  });
  await assigningOthers;
  t.deepEqual(await assigned(), [paris.no, paris.no], 'a region retired after it was chosen is not assigned');
  await assign(paris);
  t.deepEqual(await assigned(), [paris.no, paris.no, paris.no]);
});

test('a retirement gives no monitor a region that is retired meanwhile', async (t) => {
  const { database, addAgent, addMonitor, now, newId } = await openTestRuntime(t);
  const [tokyo, , oslo] = [await addAgent('tokyo'), await addAgent('paris'), await addAgent('oslo')];
  const { no } = await addMonitor([tokyo]);
  const run = runOn(database.pool);
  const retire = async (region: string, moveTo: string | null) =>
    await retireRegion(database, { region, moveTo, nowMs: now(), newId, limit: LIMIT });
  /** Retires `tokyo` while the monitor is locked, and does `meanwhile` before that batch goes on. */
  const retireTokyo = async (moveTo: string | null, meanwhile: () => Promise<void>) => {
    const [retiring] = await inTransaction(database, async (holding) => {
      await holding('SELECT 1 FROM monitor_sources WHERE monitor_no = $1 FOR UPDATE', [no]);
      const begun = retire('tokyo', moveTo);
      await until(async () => (await run(WAITING)).length === 1);
      await meanwhile();
      return [begun] as const;
    });
    return await retiring;
  };
  const retireParis = async () => t.like(await retire('paris', 'oslo'), { left: 0 });
  const regions = async () =>
    (await run<{ no: number }>('SELECT agent_no AS no FROM monitor_sources')).map(({ no: agentNo }) => agentNo);

  t.like(await retireTokyo('paris', async () => void (await retireParis())), { left: 1 });
  t.deepEqual(await regions(), [tokyo.no], 'the target was retired');
  t.is(await retire('tokyo', 'paris'), 'no such target');

  await restoreRegion(database, 'paris');
  const retireBoth = async () => {
    await retireParis();
    t.like(await retire('oslo', null), { left: 0 });
  };
  t.like(await retireTokyo(null, retireBoth), { left: 1 });
  t.deepEqual(await regions(), [tokyo.no], 'all other regions were retired');
  t.is(await retire('tokyo', null), 'nowhere to go');

  await restoreRegion(database, 'paris');
  await restoreRegion(database, 'oslo');
  t.like(await retireTokyo(null, async () => void (await retireParis())), { left: 0 });
  t.deepEqual(await regions(), [oslo.no]);
});

test('a retirement waits for one that is about to give its region', async (t) => {
  const { database, tenantId, addAgent, addMonitor, now, newId } = await openTestRuntime(t);
  const [tokyo, , oslo] = [await addAgent('tokyo'), await addAgent('paris'), await addAgent('oslo')];
  // Its audit entry waits before `paris` is given to the other monitor.
  await addMonitor([tokyo, oslo]);
  await addMonitor([tokyo]);
  const run = runOn(database.pool);
  await run(`UPDATE agents SET last_seen_at = last_seen_at - 3600 WHERE region = 'oslo'`);
  const retire = async (region: string, moveTo: string | null) =>
    await retireRegion(database, { region, moveTo, nowMs: now(), newId, limit: LIMIT });
  const untilWaiting = async (count: number) => await until(async () => (await run(WAITING)).length === count);
  const [first, second] = await inTransaction(database, async (holding) => {
    await holding('SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [tenantId]);
    const begun = retire('tokyo', null);
    await untilWaiting(1);
    await addAgent('rome');
    const next = retire('paris', 'rome');
    await untilWaiting(2);
    return [begun, next] as const;
  });
  t.like(await first, { left: 0 });
  t.like(await second, { left: 0 });
  const regions = await run(
    'SELECT a.region FROM monitor_sources s JOIN agents a ON a.no = s.agent_no ORDER BY region',
  );
  t.deepEqual(regions, [{ region: 'oslo' }, { region: 'rome' }]);
});
