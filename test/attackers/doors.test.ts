import anyTest, { type TestFn } from 'ava';
import { readDescription } from '../../api/description.ts';
import { revokeAgent } from '../../models/agents.ts';
import { createApiToken, generateToken, revokeApiToken } from '../../models/api-tokens.ts';
import { agentCaller } from '../api/agent-caller.ts';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { listOperations, type DescribedOperation, type Document } from '../helpers/described-operations.ts';
import { connectInProcess, type InProcessAnswer, type InProcessRequest } from '../helpers/in-process.ts';
import { furnishAccount, type Kind } from './furnished-account.ts';
import { listRows } from './stored-rows.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const listDescribed = async () => listOperations((await readDescription()) as unknown as Document);

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY'];

type Caller = { what: string; bearer: string | null; token: 'api' | 'agent'; status: 401 | 403; writesOnly?: true };

/** Everybody who is not let in. */
async function listStrangers(api: ApiServer): Promise<Caller[]> {
  const account = await api.account();
  const [agent, revoked, deleted] = [await agentCaller(api, account, 'good'), await agentCaller(api, account, 'revoked'), await agentCaller(api, account, 'deleted')];
  await revokeAgent(api.database, revoked.id, Date.now());
  await account.owner('DELETE', `/v1/agents/${deleted.id}`);
  const issue = async (expiresAt: number | null) => {
    const [id, token] = [api.makeId('tok'), generateToken('spk')];
    await createApiToken(api.database, { id, tenantId: account.tenantId, name: 'x', token, scopes: ['read', 'write'], expiresAt, nowMs: Date.now() }, 10);
    return { id, token };
  };
  const [expired, ended] = [await issue(Math.floor(Date.now() / 1000)), await issue(null)];
  await revokeApiToken(api.database, ended.id, Date.now());
  const anywhere: [string, string | null][] = [['no token', null], ['an empty one', ''], ['two', `${account.ownerToken} ${account.ownerToken}`], ['a guess', generateToken('spk')], ['a guess at an agent\'s', generateToken('spa')]];
  return [
    ...anywhere.flatMap(([what, bearer]) => (['api', 'agent'] as const).map((token): Caller => ({ what, bearer, token, status: 401 }))),
    { what: 'an expired token', bearer: expired.token, token: 'api', status: 401 },
    { what: 'a revoked token', bearer: ended.token, token: 'api', status: 401 },
    { what: 'an agent\'s token', bearer: agent.token, token: 'api', status: 401 },
    { what: 'an agent\'s token under the other prefix', bearer: agent.token.replace('spa_', 'spk_'), token: 'api', status: 401 },
    { what: 'a read-only token', bearer: account.readerToken, token: 'api', status: 403, writesOnly: true },
    { what: 'an API token', bearer: account.ownerToken, token: 'agent', status: 401 },
    { what: 'an API token under the other prefix', bearer: account.ownerToken.replace('spk_', 'spa_'), token: 'agent', status: 401 },
    { what: 'the token of a revoked agent', bearer: revoked.token, token: 'agent', status: 401 },
    { what: 'the token of a deleted agent', bearer: deleted.token, token: 'agent', status: 401 },
  ];
}

/** The example of an operation, asked for things that are there. */
function exampleOf({ method, path, parameters, body }: DescribedOperation, ids: Partial<Record<string, string[]>>): InProcessRequest {
  const filled = parameters.reduce((whole, { name, schema }) => whole.replace(`{${name}}`, ids[schema['x-id'] as Kind]?.[0] ?? 'x.y'), path);
  return { method, path: filled, ...(body !== null && { body: JSON.stringify(body.example), headers: { 'Content-Type': 'application/json' } }) };
}

function withBearer(request: InProcessRequest, bearer: string | null): InProcessRequest {
  return { ...request, headers: { ...request.headers, ...(bearer !== null && { Authorization: `Bearer ${bearer}` }) } };
}

test.serial('no operation lets in who has no token, one that has ended, one of the other kind, or, to write, one that only reads; nothing is changed', async (t) => {
  const { api } = t.context;
  const { ids } = await furnishAccount(api, 'house');
  const strangers = await listStrangers(api);
  const { send, close } = connectInProcess(api.server);
  t.teardown(close);
  const before = await listRows(api);
  let refused = 0;
  for (const operation of (await listDescribed()).filter(({ token }) => token !== null)) {
    for (const { what, bearer, status, writesOnly } of strangers.filter(({ token }) => token === operation.token)) {
      if (writesOnly && operation.method === 'GET') continue;
      const answer = await send(withBearer(exampleOf(operation, ids), bearer));
      t.is(answer.status, status, `${operation.id} with ${what}: ${answer.text}`);
      t.regex(answer.text, /^\{"error":"[^"]*(?:token|Authorization)[\s\S]*","request_id":"req_\w+"\}$/, operation.id);
      refused += 1;
    }
  }
  t.true(refused > 300);
  t.deepEqual((await listRows(api)).filter((row) => !row.startsWith('api_tokens ')).toSorted(), before.filter((row) => !row.startsWith('api_tokens ')).toSorted());
});

test.serial('a method that is not described for a path does nothing: 405 that names the others, or 404', async (t) => {
  const { api } = t.context;
  const { ids, account, agent } = await furnishAccount(api, 'methods');
  const { send, close } = connectInProcess(api.server);
  t.teardown(close);
  const before = await listRows(api);
  for (const [path, operations] of Map.groupBy(await listDescribed(), (operation) => operation.path)) {
    const [first] = operations;
    // A path of another one's form, such as an exit status of the name of a signal, is that one's.
    const described = new Set(operations.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
    if (first === undefined || path.startsWith('/ping/')) continue;
    for (const method of METHODS.filter((candidate) => !described.has(candidate))) {
      const answer = await send(withBearer({ ...exampleOf(first, ids), method }, first.token === 'agent' ? agent.token : account.ownerToken));
      t.true(isRefusal(answer, described), `${method} ${path}: ${answer.status} ${answer.text}`);
    }
  }
  t.deepEqual((await listRows(api)).filter((row) => !row.startsWith('api_tokens ')).toSorted(), before.filter((row) => !row.startsWith('api_tokens ')).toSorted());
});

function isRefusal({ status, headers }: InProcessAnswer, described: ReadonlySet<string>): boolean {
  return status === 404 || (status === 405 && [...described].some((method) => headers.allow?.includes(method)));
}

/** Ways to write a path that might lead past the door to what is behind it. */
const DETOURS = ['//v1/monitors', '/v1//monitors', '/v1/./monitors', '/v1/../v1/monitors', '/V1/monitors', '/v1/Monitors', '/v1/monitors/', '/v1/monitors;x=1', '/v1/monitors%2f', '/%76%31/monitors', '/v1%2fmonitors', '/v1/monitors%00', '/openapi.json/../v1/monitors', '/ping/../v1/monitors', '/agent/v1/../../v1/monitors', '/v1/openapi.json/../monitors', '/v1/monitors?token=x', '/healthz/..%2fv1/monitors', 'http://localhost/v1/monitors', '*'];

test.serial('no other way of writing a path leads past the door', async (t) => {
  const { api } = t.context;
  await furnishAccount(api, 'behind-the-door');
  const { send, close } = connectInProcess(api.server);
  t.teardown(close);
  for (const path of DETOURS) {
    for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS']) {
      const { status, text } = await send({ method, path, headers: { 'X-HTTP-Method-Override': 'GET', 'X-Original-URL': '/v1/monitors', 'X-Forwarded-For': '127.0.0.1' } });
      t.true(status >= 400 && status < 500, `${method} ${path}: ${status} ${text}`);
      t.false(text.includes('behind-the-door'));
    }
  }
});
