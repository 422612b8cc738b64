import anyTest, { type TestFn } from 'ava';
import { recordProcess } from '../../../models/system/processes.ts';
import { until } from '../../helpers/until.ts';
import { isError, REGIONS, withApiServer, type ApiServer } from '../api-server.ts';
import { addPerson } from '../person.ts';
import { agentCaller } from './agent-caller.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test.serial(
  'operators see process figures, shared agents with monitor counts, and queues, but nothing of any account',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const operator = await addPerson(api, (await api.account()).tenantId, { isOperator: true });
    const agent = await agentCaller(api, account, 'secret-lab');
    await agent.post('pull', { capabilities: ['http'] });
    await account.owner('POST', '/v1/monitors', { name: 'secret-shop', target: 'https://secret.example/' });
    const onFailure = (error: unknown) => t.fail(String(error));
    const figures = { lateness: { count: 20, p50: 0.0025, p99: 0.01 }, evaluationLag: null };
    const [check, web] = [
      recordProcess(api.database, {
        kind: 'check hanoi',
        version: '0.1.0',
        readFigures: async () => figures,
        onFailure,
      }),
      recordProcess(api.database, { kind: 'web', version: '0.1.0', readFigures: null, onFailure }),
    ];
    const readFleet = async () => (await operator.call('GET', '/v1/fleet')).json;
    const fleet = await until(async () => {
      const answer = await readFleet();
      return answer.processes.length === 2 && answer;
    });
    t.like(fleet.processes[0], {
      kind: 'check hanoi',
      version: '0.1.0',
      pid: process.pid,
      lateness: { count: 20, p50_ms: 2.5, p99_ms: 10 },
      evaluation_lag: null,
    });
    t.like(fleet.processes[1], { kind: 'web', lateness: null });
    t.deepEqual(
      fleet.agents.map(({ region }) => region),
      REGIONS.toSorted(),
    );
    t.is(
      fleet.agents.reduce((sum, { monitors }) => sum + Number(monitors), 0),
      3,
    );
    t.like(fleet, {
      customers_agents: { total: 1, offline: 0 },
      queues: [{ name: 'evaluate', waiting: 2 }],
    });
    const nowMs = Date.now();
    const stopped = await api.another({
      now: () => nowMs,
      readQueues: async () => ({ depths: [], oldestResultsAtMs: nowMs - 3000 }),
    });
    t.is((await operator.call('GET', '/v1/fleet', undefined, {}, stopped)).json.oldest_results_seconds, 3);
    t.notRegex(JSON.stringify(fleet), /secret|ten_/);
    await check.stop();
    t.deepEqual(
      (await readFleet()).processes.map(({ kind }) => kind),
      ['web'],
    );
    // The process may renew its record just before the read.
    await until(async () => {
      await api.database.pool.query('UPDATE processes SET seen_at = $1', [Math.floor(Date.now() / 1000) - 60]);
      return (await readFleet()).processes.length === 0;
    });
    await web.stop();
  },
);

test('owners who are not operators, and tokens, cannot see the fleet', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  isError(t, await (await addPerson(api, tenantId)).call('GET', '/v1/fleet'), {
    status: 403,
    error: /operators of this installation/,
  });
  isError(t, await owner('GET', '/v1/fleet'), { status: 403, error: /^API tokens cannot do this/ });
  isError(t, await api.anonymous('GET', '/v1/fleet'), { status: 401, error: /signed in/ });
});

test.serial('new monitors get regions with a live agent; other regions can still be named', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const { rows } = await api.database.pool.query<{ id: string }>(
    `UPDATE agents SET last_seen_at = last_seen_at - 600 WHERE region = 'virginia' RETURNING id`,
  );
  const [gone = ''] = rows.map(({ id }) => id);
  const sourcesOf = async (body: object) => {
    const { json } = await owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example/', ...body });
    return (await owner('GET', `/v1/monitors/${json['id']}`)).json['agent_sources'];
  };
  for (let made = 0; made < 20; made += 1) {
    const sources = await sourcesOf({});
    t.is(sources.length, 3);
    t.false(sources.includes(gone));
  }
  t.deepEqual(await sourcesOf({ agent_sources: [gone] }), [gone]);
  await api.database.pool.query(`UPDATE agents SET last_seen_at = last_seen_at + 600 WHERE id = $1`, [gone]);
});

test.serial(
  'retiring a region is previewed before it is confirmed, and accounts see that an operator did it',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const [operator, owner] = [
      await addPerson(api, (await api.account()).tenantId, { isOperator: true, mark: 'staff' }),
      await addPerson(api, account.tenantId),
    ];
    const agents = (await account.owner('GET', '/v1/agents')).json['agents'];
    const idOf = (region: string) => agents.find((agent) => agent.region === region)?.id;
    const {
      json: { id },
    } = await account.owner('POST', '/v1/monitors', {
      name: 'Shop',
      target: 'https://shop.example/',
      agent_sources: [idOf('hanoi')],
    });
    const ask = (body: object) => operator.call('POST', '/v1/fleet/retirements', { region: 'hanoi', ...body });
    const plan = (await ask({ move_to: 'singapore' })).json;
    t.like(plan, { region: 'hanoi', move_to: 'singapore', retired: false });
    t.true(Number(plan['moved']) >= 1);
    t.deepEqual((await account.owner('GET', `/v1/monitors/${String(id)}`)).json['agent_sources'], [idOf('hanoi')]);

    isError(t, await ask({ region: 'rome' }), {
      status: 400,
      error: 'region must be the region of a shared agent, got "rome"',
    });
    isError(t, await ask({ move_to: 'hanoi' }), {
      status: 400,
      error: 'move_to must be another region that has a shared agent and is not retired, got "hanoi"',
    });
    isError(t, await owner.call('POST', '/v1/fleet/retirements', { region: 'hanoi', confirmed: true }), {
      status: 403,
      error: /operators of this installation/,
    });
    isError(t, await account.owner('POST', '/v1/fleet/retirements', { region: 'hanoi', confirmed: true }), {
      status: 403,
      error: /^API tokens cannot do this/,
    });

    t.like((await ask({ move_to: 'singapore', confirmed: true })).json, { retired: true, left: 0 });
    t.deepEqual((await account.owner('GET', `/v1/monitors/${String(id)}`)).json['agent_sources'], [idOf('singapore')]);
    t.is((await account.owner('GET', `/v1/agents/${idOf('hanoi')}`)).status, 404);
    t.true(api.scheduleChanges.some(({ emptied }) => emptied.length > 0));
    const { entries } = (await owner.call('GET', '/v1/audit-log')).json;
    t.like(entries[0], { actor: { kind: 'operator', name: 'Operator' }, action: 'monitor.changed', object: { id } });
    t.notRegex(JSON.stringify(entries), /staff/);
    const fleet = (await operator.call('GET', '/v1/fleet')).json;
    t.deepEqual(
      fleet.agents.filter(({ retired_at: at }) => at !== null).map(({ region, monitors }) => [region, monitors]),
      [['hanoi', 0]],
    );
  },
);
