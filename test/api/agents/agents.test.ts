import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createAgent } from '../../../models/agents/agents.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

async function ownAgent({ database, makeId }: ApiServer, tenantId: string): Promise<string> {
  const { id } = await createAgent(database, {
    id: makeId('agt'),
    tenantId,
    name: 'home-lab',
    region: 'hanoi',
    tokenFingerprint: randomBytes(32),
    nowMs: Date.now(),
  });
  return id;
}

test("an account sees the shared agents and its own, and no other account's", async (t) => {
  const { api } = t.context;
  const mine = await api.account();
  const stranger = await api.account();
  const id = await ownAgent(api, mine.tenantId);
  const { agents } = (await mine.reader('GET', '/v1/agents')).json;
  t.deepEqual(
    agents.map(({ kind }) => kind),
    ['first_party', 'first_party', 'first_party', 'first_party', 'tenant'],
  );
  t.deepEqual(
    agents.map(({ tenant_id: tenantId }) => tenantId),
    [null, null, null, null, mine.tenantId],
  );
  t.like((await mine.reader('GET', `/v1/agents/${id}`)).json, {
    id,
    kind: 'tenant',
    name: 'home-lab',
    region: 'hanoi',
    version: null,
    arch: null,
    last_seen_at: null,
  });
  isError(t, await stranger.owner('GET', `/v1/agents/${id}`), { status: 404, error: `agent ${id} does not exist` });
  t.is((await stranger.owner('GET', '/v1/agents')).json.agents.length, 4);
  isError(t, await mine.reader('GET', '/v1/agents/agt_service'), {
    status: 404,
    error: 'agent agt_service does not exist',
  });
});

test('deleting a private agent removes it from its monitors and lowers their quorum to match', async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const id = await ownAgent(api, tenantId);
  const shared = (await owner('GET', '/v1/agents')).json.agents[0]?.id ?? '';
  const create = async (body: object) =>
    (await owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example', ...body })).json['id'];
  const both = await create({ agent_sources: [id, shared], down_min_sources: 2 });
  const alone = await create({ agent_sources: [id] });

  await api.database.pool.query('UPDATE monitors SET updated_at = 1 WHERE id = $1', [both]);
  const deleted = await owner('DELETE', `/v1/agents/${id}`);
  t.deepEqual([deleted.status, deleted.text], [204, '']);
  t.like((await owner('GET', `/v1/monitors/${both}`)).json, { agent_sources: [shared], down_min_sources: 1 });
  t.like((await owner('GET', `/v1/monitors/${alone}`)).json, { agent_sources: [], down_min_sources: 1 });
  const { rows } = await api.database.pool.query('SELECT updated_at FROM monitors WHERE id = $1', [both]);
  t.true(rows[0].updated_at > 1, 'the monitor counts as changed');
  isError(t, await owner('DELETE', `/v1/agents/${id}`), { status: 404, error: `agent ${id} does not exist` });
});

test('a shared agent cannot be deleted', async (t) => {
  const { owner } = await t.context.api.account();
  const { agents } = (await owner('GET', '/v1/agents')).json;
  isError(t, await owner('DELETE', `/v1/agents/${agents[0]?.id}`), { status: 403, error: /is shared by all accounts/ });
  t.is((await owner('GET', '/v1/agents')).json.agents.length, 4);
});

test('deleting an agent refuses a read-only token and another account', async (t) => {
  const { api } = t.context;
  const mine = await api.account();
  const stranger = await api.account();
  const id = await ownAgent(api, mine.tenantId);
  isError(t, await mine.reader('DELETE', `/v1/agents/${id}`), {
    status: 403,
    error: 'this token lacks the scope write',
  });
  isError(t, await stranger.owner('DELETE', `/v1/agents/${id}`), { status: 404, error: `agent ${id} does not exist` });
  t.is((await mine.owner('GET', `/v1/agents/${id}`)).status, 200);
});
