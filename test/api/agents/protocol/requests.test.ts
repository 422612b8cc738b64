import anyTest, { type TestFn } from 'ava';
import { generateToken } from '../../../../models/accounts/api-tokens.ts';
import { revokeAgent, rotateAgentToken } from '../../../../models/agents/agents.ts';
import {
  checkInAgent,
  findTokenAgent,
  listMeasuredSettings,
  listReportedMonitors,
} from '../../../../models/agents/protocol.ts';
import { fingerprintOf } from '../../../../models/secrets/secret-box.ts';
import { isError, send, withApiServer, type ApiServer } from '../../api-server.ts';
import { holdRequest } from '../../held-request.ts';
import { agentCaller } from '../agent-caller.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const UNKNOWN =
  'the token in the Authorization header is not a valid agent token: it is unknown or revoked, or its agent was ' +
  'deleted';

for (const path of ['pull', 'ingest'] as const) {
  test(`${path} without a valid agent token gets a 401 that says what is wrong`, async (t) => {
    const { api } = t.context;
    const { ownerToken } = await api.account();
    const post = (authorization?: string) =>
      send(`${api.url}/agent/v1/${path}`, {
        method: 'POST',
        body: {},
        headers: authorization === undefined ? {} : { Authorization: authorization },
      });
    const missing = await post();
    isError(t, missing, { status: 401, error: 'the Authorization header must be "Bearer spa_...", got none' });
    t.is(missing.headers.get('www-authenticate'), 'Bearer realm="spotcheck agents"');
    t.is(missing.headers.get('ratelimit-limit'), '600', 'unauthenticated requests count toward their address');
    const ofApi = await post(`Bearer ${ownerToken}`);
    isError(t, ofApi, { status: 401, error: /is an API token \(spk_\.\.\.\): use the agent token \(spa_/ });
    t.is(ofApi.headers.get('www-authenticate'), 'Bearer realm="spotcheck agents", error="invalid_token"');
    for (const wrong of [`Bearer ${generateToken('spa')}`, 'Bearer spa_', 'Basic spa_x', 'Bearer spa_\u00e9', ''])
      isError(t, await post(wrong), { status: 401, error: UNKNOWN });
  });
}

test('discoveries of third-party agents are accepted in any form and dropped', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  for (const path of ['discoveries', 'discovery'] as const) {
    for (const body of [{ discoveries: [{ target: 'nas.lan:22' }] }, {}, []]) {
      const answer = await agent.post(path, body);
      t.deepEqual([answer.status, answer.text], [204, '']);
    }
    isError(t, await agent.post(path, `"${'x'.repeat(1_100_000)}"`), { status: 413, error: /at most 1048576 bytes/ });
    isError(
      t,
      await send(`${api.url}/agent/v1/${path}`, {
        method: 'POST',
        body: {},
        headers: { Authorization: `Bearer ${account.ownerToken}` },
      }),
      { status: 401, error: /is an API token/ },
    );
    isError(
      t,
      await send(`${api.url}/agent/v1/${path}`, { method: 'GET', headers: { Authorization: `Bearer ${agent.token}` } }),
      { status: 405, error: /only POST/ },
    );
  }
  t.deepEqual((await account.owner('GET', '/v1/monitors')).json, { monitors: [] });
});

test('an agent token is not valid for the API', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const answer = await send(`${api.url}/v1/monitors`, {
    method: 'GET',
    headers: { Authorization: `Bearer ${agent.token}` },
  });
  isError(t, answer, {
    status: 401,
    error: 'the token in the Authorization header is not valid: it is unknown, expired or revoked',
  });
});

test('a deleted or revoked agent, or one with a rotated token, gets a 401 at its next request', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [deleted, revoked, renewed] = await Promise.all(
    ['deleted', 'revoked', 'renewed'].map((name) => agentCaller(api, account, name)),
  );
  for (const agent of [deleted, revoked, renewed]) t.is((await agent!.post('pull', {})).status, 200);
  await account.owner('DELETE', `/v1/agents/${deleted!.id}`);
  t.true(await revokeAgent(api.database, { id: revoked!.id, nowMs: Date.now(), author: null }));
  t.true(
    await rotateAgentToken(api.database, {
      id: renewed!.id,
      tokenFingerprint: fingerprintOf(generateToken('spa')),
      author: null,
    }),
  );
  for (const agent of [deleted, revoked, renewed]) {
    isError(t, await agent!.post('pull', {}), { status: 401, error: UNKNOWN });
    isError(t, await agent!.post('ingest', { results: [] }), { status: 401, error: UNKNOWN });
  }
});

test('a request that started with a rotated token gets no work and pins no key', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const monitorId = await agent.watch({});
  const caller = await findTokenAgent(api.database, agent.token);
  if (caller === null) throw new Error('no agent');
  const nowMs = Date.now();
  const checkIn = { capabilities: ['http' as const], version: null, arch: null, publicKey: 'dGhpZWY' };
  t.is((await listReportedMonitors(api.database, caller, [monitorId]))?.size, 1);
  const next = generateToken('spa');
  await rotateAgentToken(api.database, { id: agent.id, tokenFingerprint: fingerprintOf(next), author: null });
  t.is(await checkInAgent(api.database, { agent: caller, checkIn, nowMs }), null);
  t.is((await listMeasuredSettings(api.database, caller, [1, 2, 3])).size, 0);
  t.is(await listReportedMonitors(api.database, caller, [monitorId]), null);
  const renewed = await findTokenAgent(api.database, next);
  t.is(renewed?.publicKey, null);
  t.deepEqual(await listReportedMonitors(api.database, renewed!, []), new Map());
});

test('a pull whose body arrives after the token was rotated gets a 401', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const headers = { Authorization: `Bearer ${agent.token}` };
  const finish = await holdRequest(api, agent.id, { method: 'POST', path: '/agent/v1/pull', body: {}, headers });
  const tokenFingerprint = fingerprintOf(generateToken('spa'));
  await rotateAgentToken(api.database, { id: agent.id, tokenFingerprint, author: null });
  t.is((await finish()).status, 401);
});

test('an agent deleted during a pull gets a 200 or a 401, and only a 401 from then on', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  for (let round = 0; round < 4; round += 1) {
    const agent = await agentCaller(api, account, `leaving-${round}`);
    await agent.watch({});
    const pull = async () => (await agent.post('pull', { capabilities: ['http'] })).status;
    const pulling = Promise.all([pull(), pull(), pull()]);
    t.is((await account.owner('DELETE', `/v1/agents/${agent.id}`)).status, 204);
    t.true((await pulling).every((status) => status === 200 || status === 401));
    t.is(await pull(), 401);
  }
});

test('bodies must be JSON of at most 1 MiB and 75,000 values', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  isError(t, await agent.post('pull', '{', {}), { status: 400, error: /the body must be valid JSON/ });
  isError(t, await agent.post('pull', 'x', { 'Content-Type': 'text/plain' }), {
    status: 415,
    error: 'Content-Type must be application/json, got text/plain',
  });
  isError(t, await agent.post('pull', undefined), { status: 400, error: 'the body is required: send a JSON object' });
  isError(t, await agent.post('pull', 'null'), { status: 400, error: 'the body must be an object, got null' });
  isError(t, await agent.post('ingest', `{"x":"${'a'.repeat(1_048_576)}"}`), {
    status: 413,
    error: 'the body must be at most 1048576 bytes',
  });
  isError(t, await agent.post('ingest', `{"results":[${Array(80_000).fill('{}').join(',')}]}`), {
    status: 400,
    error: 'the body must have at most 75000 values',
  });
  const filled = `{"results":[],"x":"${'a'.repeat(1_048_576 - 22)}"}`;
  t.is((await agent.post('ingest', filled)).status, 200, 'exactly the limit');
  isError(t, await agent.post('ingest', `{"results":${'['.repeat(70_000)}${']'.repeat(70_000)}}`), {
    status: 400,
    error: /^results\[0\] must be an object, got a list$/,
  });
});

test('other methods get a 405 and unknown paths a 404, as in the API', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const call = (method: string, path: string) =>
    send(`${api.url}/agent/v1${path}`, { method, headers: { Authorization: `Bearer ${agent.token}` } });
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const answer = await call(method, '/pull');
    isError(t, answer, { status: 405, error: `${method} is not allowed here, only POST` });
    t.is(answer.headers.get('allow'), 'POST');
  }
  for (const path of ['', '/Pull', '/push'])
    isError(t, await call('POST', path), { status: 404, error: 'there is no endpoint at this path' });
  for (const path of ['', '/pull'])
    isError(t, await call('POST', `${path}/`), {
      status: 404,
      error: 'there is no endpoint at this path: paths have no slash at their end',
    });
});

test('an agent is limited to 300 requests a minute over all processes, independently of other agents', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const other = await agentCaller(api, account, 'other');
  const process = await api.another();
  const first = await agent.post('ingest', { results: [] });
  t.deepEqual(
    ['limit', 'remaining'].map((name) => first.headers.get(`ratelimit-${name}`)),
    ['300', '299'],
  );
  await api.database.pool.query(`UPDATE rate_limits SET points = 299 WHERE key = $1`, [
    `spotcheck-rate:agent:${agent.id}`,
  ]);
  t.is((await agent.post('pull', {}, {}, process)).headers.get('ratelimit-remaining'), '0');
  for (const base of [api.url, process]) {
    const refused = await agent.post('pull', 'not JSON', {}, base);
    isError(t, refused, { status: 429, error: 'rate limit exceeded' });
    t.true(Number(refused.headers.get('retry-after')) >= 1);
  }
  t.is((await other.post('pull', {})).headers.get('ratelimit-remaining'), '299');
});

test('the log names the agent and the route, and never the token', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  await agent.post('pull', {});
  const line = api.logLines.find((each) => each['agent_id'] === agent.id);
  t.like(line, { msg: 'request.completed', route: '/agent/v1/pull', status: 200, tenant_id: account.tenantId });
  t.false(JSON.stringify(api.logLines).includes(agent.token));
});
