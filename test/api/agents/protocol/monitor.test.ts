import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createAgent } from '../../../../models/agents/agents.ts';
import { closeDatabase } from '../../../../models/database.ts';
import { createScheduleNotifier } from '../../../../queues/enqueue-committed.ts';
import { reconcile } from '../../../../workers/system/reconcile.ts';
import { listOf } from '../../../helpers/api-client.ts';
import { createTestDatabase, openTestDatabase } from '../../../helpers/database.ts';
import { createOwnAgent } from '../../../helpers/own-agent.ts';
import { startService } from '../../../helpers/running-service.ts';
import { openTestRuntime } from '../../../helpers/runtime.ts';
import { until } from '../../../helpers/until.ts';
import { send } from '../../api-server.ts';

test('a monitor of a private agent goes down and recovers by its results, each counted once', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
  };
  const { url, call } = await startService(t, env, token);
  const agent = await createOwnAgent(databaseUrl, 'home-lab');
  const post = (path: string, body: object) =>
    send(`${url}/agent/v1/${path}`, {
      method: 'POST',
      body,
      headers: { Authorization: `Bearer ${agent.agentToken}` },
    });
  const { json: created } = await call('POST', '/monitors', {
    name: 'NAS',
    target: 'http://nas.lan/',
    agent_sources: [agent.id],
  });
  const read = async () => (await call('GET', `/monitors/${created['id']}`)).json;
  t.like(await read(), { status: 'pending', agent_sources: [agent.id], down_min_sources: 1 });

  const pulled = await post('pull', { capabilities: ['http'] });
  t.like(pulled.json, { agentId: agent.id, work: [{ monitorId: created['id'], sourceKey: agent.id }] });
  const now = () => Date.now() / 1000;
  const good = { monitorId: created['id'], ok: true, cause: null, latencyMs: 3, httpStatus: 200 };
  const bad = { monitorId: created['id'], ok: false, cause: 'conn_refused', latencyMs: null, httpStatus: null };
  const ingest = async (...results: object[]) => (await post('ingest', { results })).json;

  t.like(await ingest({ ...good, ts: now() }), { accepted: 1, recheck: [] });
  await until(async () => (await read())['status'] === 'up');
  const since = now();
  t.like(await ingest({ ...bad, ts: since }), {
    accepted: 1,
    recheck: [{ monitorId: created['id'], afterMs: 20_000 }],
  });
  t.like(await ingest({ ...bad, ts: since }), { accepted: 1 }, 'the same one again');
  const database = openTestDatabase(databaseUrl);
  t.teardown(() => closeDatabase(database));
  const countResults = async () =>
    (await database.pool.query<{ results: number }>('SELECT count(*)::int AS results FROM single_results')).rows[0]
      ?.results;
  await until(async () => (await countResults()) === 2);
  t.like(await ingest({ ...bad, ts: now() }), { accepted: 1, recheck: [] });
  await until(async () => (await read())['status'] === 'down');
  const [incident] = listOf(await call('GET', '/incidents'));
  t.like(incident, {
    monitor_id: created['id'],
    status: 'open',
    state: 'down',
    reason: 'The connection was refused',
    sources_down: ['home-lab'],
    started_at: Math.floor(since),
  });
  await ingest({ ...good, ts: now() });
  await until(async () => (await read())['status'] === 'up');
  t.like(listOf(await call('GET', '/incidents'))[0], { status: 'resolved', resolution: 'recovered' });

  t.is(await countResults(), 4);
});

test('a private agent gets no job in the service queues, neither by schedule changes nor by a reconcile', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, queues, newId, tenantId } = runtime;
  const shared = await runtime.addAgent('local');
  const own = await createAgent(database, {
    id: newId('agt'),
    tenantId,
    name: 'own',
    region: 'local',
    tokenFingerprint: randomBytes(32),
    nowMs: Date.now(),
  });
  const notify = createScheduleNotifier(queues, runtime.listRegions);
  for (const sources of [[own], [own, shared], [own]]) await runtime.addMonitor(sources);
  for (const change of runtime.scheduleChanges) await notify(change);
  await reconcile(runtime);
  const schedulers = await Promise.all(
    queues.all().map(async (queue) => [queue.name, await queue.getJobSchedulersCount()]),
  );
  t.deepEqual(
    schedulers.filter(([, count]) => count !== 0),
    [['check-local', 1]],
  );
  const waiting = await queues.checkQueue('local').getJobs(['delayed', 'waiting']);
  t.true(waiting.length > 0 && waiting.every(({ data }) => 'agentNo' in data && data.agentNo === shared.no));
});
