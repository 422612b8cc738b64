import anyTest, { type TestFn } from 'ava';
import { keepProcessNoted } from '../../models/processes.ts';
import { until } from '../helpers/until.ts';
import { agentCaller } from './agent-caller.ts';
import { isError, REGIONS, withApiServer, type ApiServer } from './api-server.ts';
import { addPerson } from './person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test('operators see processes with their figures, shared agents with what they watch, and queues; nothing of any account', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const operator = await addPerson(api, (await api.account()).tenantId, { isOperator: true });
  const agent = await agentCaller(api, account, 'secret-lab');
  await agent.post('pull', { capabilities: ['http'] });
  await account.owner('POST', '/v1/monitors', { name: 'secret-shop', target: 'https://secret.example/' });
  const onFailure = (error: unknown) => t.fail(String(error));
  const figures = { lateness: { count: 20, p50: 0.0025, p99: 0.01 }, evaluationLag: null };
  const [check, web] = [
    keepProcessNoted(api.database, { kind: 'check hanoi', version: '0.1.0', readFigures: async () => figures, onFailure }),
    keepProcessNoted(api.database, { kind: 'web', version: '0.1.0', readFigures: null, onFailure }),
  ];
  const look = async () => (await operator.call('GET', '/v1/fleet')).json as { processes: Record<string, unknown>[]; agents: Record<string, unknown>[] };
  const fleet = await until(async () => {
    const seen = await look();
    return seen.processes.length === 2 && seen;
  });
  t.like(fleet.processes[0], { kind: 'check hanoi', version: '0.1.0', pid: process.pid, lateness: { count: 20, p50_ms: 2.5, p99_ms: 10 }, evaluation_lag: null });
  t.like(fleet.processes[1], { kind: 'web', lateness: null });
  t.deepEqual(fleet.agents.map(({ region }) => region), REGIONS.toSorted());
  t.is(fleet.agents.reduce((sum, { monitors }) => sum + Number(monitors), 0), 3);
  t.like(fleet, { customers_agents: { total: 1, offline: 0 }, queues: [{ name: 'evaluate', waiting: 2 }], oldest_results_seconds: 3 });
  t.notRegex(JSON.stringify(fleet), /secret|ten_/);
  await check.stop();
  t.deepEqual((await look()).processes.map(({ kind }) => kind), ['web']);
  await api.database.pool.query('UPDATE processes SET seen_at = seen_at - 60');
  t.deepEqual((await look()).processes, []);
  await web.stop();
});

test('an owner who is no operator sees no fleet, nor does a token', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  isError(t, await (await addPerson(api, tenantId)).call('GET', '/v1/fleet'), { status: 403, error: /operators of the installation/ });
  isError(t, await owner('GET', '/v1/fleet'), { status: 403, error: /no API token/ });
  isError(t, await api.anonymous('GET', '/v1/fleet'), { status: 401, error: /signed in/ });
});
