import anyTest, { type TestFn } from 'ava';
import { readDescription } from '../../api/description.ts';
import type { TokenScope } from '../../core/accounts/roles.ts';
import { createApiToken, generateToken, revokeApiToken } from '../../models/accounts/api-tokens.ts';
import { endSession, generateSessionSecret } from '../../models/accounts/sessions.ts';
import { revokeAgent } from '../../models/agents/agents.ts';
import { agentCaller } from '../api/agents/agent-caller.ts';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { addPerson } from '../api/person.ts';
import { listOperations, type DescribedOperation, type Document } from '../helpers/described-operations.ts';
import { connectInProcess, type InProcessAnswer, type InProcessRequest } from '../helpers/in-process.ts';
import { furnishAccount, type Kind } from './furnished-account.ts';
import { listRows } from './stored-rows.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const listDescribed = async () => listOperations((await readDescription()) as unknown as Document);

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY'];

type Caller = {
  what: string;
  headers: Record<string, string>;
  token: 'api' | 'agent' | 'session';
  status: 401 | 403;
  writesOnly?: true;
  /** The one operation that admits the caller. */
  except?: string;
};

const bearing = (bearer: string | null): Record<string, string> =>
  bearer === null ? {} : { Authorization: `Bearer ${bearer}` };

/** Returns every kind of caller that is not admitted. */
async function listStrangers(api: ApiServer): Promise<Caller[]> {
  const account = await api.account();
  const [agent, revoked, deleted] = [
    await agentCaller(api, account, 'good'),
    await agentCaller(api, account, 'revoked'),
    await agentCaller(api, account, 'deleted'),
  ];
  await revokeAgent(api.database, { id: revoked.id, nowMs: Date.now(), author: null });
  await account.owner('DELETE', `/v1/agents/${deleted.id}`);
  const issue = async (expiresAt: number | null, scopes: TokenScope[] = ['read', 'write']) => {
    const [id, token] = [api.makeId('tok'), generateToken(scopes.includes('wall') ? 'spw' : 'spk')];
    await createApiToken(
      api.database,
      {
        id,
        tenantId: account.tenantId,
        name: 'x',
        token,
        scopes,
        expiresAt,
        nowMs: Date.now(),
        author: null,
      },
      10,
    );
    return { id, token };
  };
  const [expired, ended] = [await issue(Math.floor(Date.now() / 1000)), await issue(null)];
  const wall = await issue(null, ['wall']);
  await revokeApiToken(api.database, { id: ended.id, nowMs: Date.now(), author: null });
  const anywhere: [string, string | null][] = [
    ['no token', null],
    ['an empty token', ''],
    ['two tokens', `${account.ownerToken} ${account.ownerToken}`],
    ['a guessed token', generateToken('spk')],
    ['a guessed agent token', generateToken('spa')],
    ['a guessed wallboard token', generateToken('spw')],
  ];
  const withTokens: [string, string, Caller['token'], 401 | 403, true?][] = [
    ['an expired token', expired.token, 'api', 401],
    ['a revoked token', ended.token, 'api', 401],
    ["an agent's token", agent.token, 'api', 401],
    ["an agent's token under the other prefix", agent.token.replace('spa_', 'spk_'), 'api', 401],
    ['a read-only token', account.readerToken, 'api', 403, true],
    ['an API token', account.ownerToken, 'agent', 401],
    ['an API token under the other prefix', account.ownerToken.replace('spk_', 'spa_'), 'agent', 401],
    ['the token of a revoked agent', revoked.token, 'agent', 401],
    ['the token of a deleted agent', deleted.token, 'agent', 401],
    ["a wallboard's token under the other prefix", wall.token.replace('spw_', 'spk_'), 'api', 401],
    ["a wallboard's token", wall.token, 'agent', 401],
    ["a wallboard's token", wall.token, 'session', 403],
    ['an API token', account.ownerToken, 'session', 403],
    ["an agent's token", agent.token, 'session', 401],
  ];
  return [
    ...anywhere.flatMap(([what, bearer]) =>
      (['api', 'agent', 'session'] as const).map((token): Caller => ({
        what,
        headers: bearing(bearer),
        token,
        status: 401,
      })),
    ),
    ...withTokens.map(([what, bearer, token, status, writesOnly]): Caller => ({
      what,
      headers: bearing(bearer),
      token,
      status,
      ...(writesOnly && { writesOnly }),
    })),
    { what: "a wallboard's token", headers: bearing(wall.token), token: 'api', status: 403, except: 'getWall' },
    ...(await listPeople(api, account.tenantId)),
  ];
}

/** Returns users who are signed out, lack the permission, or whose request may come from another site. */
async function listPeople(api: ApiServer, tenantId: string): Promise<Caller[]> {
  const [owner, viewer, gone, idle, old] = [
    await addPerson(api, tenantId),
    await addPerson(api, tenantId, { role: 'viewer' }),
    await addPerson(api, tenantId),
    await addPerson(api, tenantId),
    await addPerson(api, tenantId),
  ];
  await endSession(api.database, { userId: gone.user.id, id: gone.sessionId, author: null });
  await api.database.pool.query('UPDATE sessions SET last_seen_at = last_seen_at - 14 * 86400 WHERE id = $1', [
    idle.sessionId,
  ]);
  await api.database.pool.query('UPDATE sessions SET created_at = created_at - 90 * 86400 WHERE id = $1', [
    old.sessionId,
  ]);
  const cookie = { Cookie: owner.headers['Cookie'] ?? '' };
  const csrf = { 'X-CSRF-Token': owner.headers['X-CSRF-Token'] ?? '' };
  const anywhere: [string, Record<string, string>, 401 | 403, true?][] = [
    ['an ended session', gone.headers, 401],
    ['a session unused for a fortnight', idle.headers, 401],
    ['a session that is 90 days old', old.headers, 401],
    ['a guessed session', { Cookie: `spotcheck=${generateSessionSecret()}`, ...csrf }, 401],
    ['two sessions', { ...owner.headers, Cookie: `${cookie.Cookie}; ${viewer.headers['Cookie']}` }, 401],
    ['an invalid token next to a session', { ...owner.headers, ...bearing(generateToken('spk')) }, 401],
    ['a session without its CSRF token', cookie, 403, true],
    [
      'a session with the CSRF token of another one',
      { ...cookie, 'X-CSRF-Token': viewer.headers['X-CSRF-Token'] ?? '' },
      403,
      true,
    ],
    ['a session from another site', { ...owner.headers, Origin: 'https://evil.example' }, 403, true],
    ['a session from a null origin', { ...owner.headers, Origin: 'null' }, 403, true],
  ];
  return [
    ...anywhere.flatMap(([what, headers, status, writesOnly]) =>
      (['api', 'session'] as const).map((token): Caller => ({
        what,
        headers,
        token,
        status,
        ...(writesOnly && { writesOnly }),
      })),
    ),
    { what: 'the session of a viewer', headers: viewer.headers, token: 'api', status: 403, writesOnly: true },
  ];
}

/** Returns the example of an operation with ids of existing resources. */
function exampleOf(
  { method, path, parameters, body }: DescribedOperation,
  ids: Partial<Record<string, string[]>>,
): InProcessRequest {
  const filled = parameters.reduce(
    (whole, { name, schema }) => whole.replace(`{${name}}`, ids[schema['x-id'] as Kind]?.[0] ?? 'x.y'),
    path,
  );
  return {
    method,
    path: filled,
    ...(body !== null && { body: JSON.stringify(body.example), headers: { 'Content-Type': 'application/json' } }),
  };
}

function as(request: InProcessRequest, headers: Record<string, string>): InProcessRequest {
  return { ...request, headers: { ...request.headers, ...headers } };
}

test.serial(
  'all operations reject missing, expired or wrong tokens, writes also read-only ones; no row changes',
  async (t) => {
    const { api } = t.context;
    const { ids } = await furnishAccount(api, 'house');
    const strangers = await listStrangers(api);
    const { send, close } = connectInProcess(api.server);
    t.teardown(close);
    const before = await listRows(api);
    let refused = 0;
    for (const operation of (await listDescribed()).filter(({ token }) => token !== null)) {
      // All requests come from one address, whose requests per minute are limited.
      await api.database.pool.query('DELETE FROM rate_limits');
      const refusedHere = strangers.filter(({ token, except }) => token === operation.token && except !== operation.id);
      for (const { what, headers, status, writesOnly } of refusedHere) {
        if (writesOnly && operation.method === 'GET') continue;
        const answer = await send(as(exampleOf(operation, ids), headers));
        t.is(answer.status, status, `${operation.id} with ${what}: ${answer.text}`);
        t.regex(
          answer.text,
          /^\{"error":"[^"]*(?:[Tt]oken|Authorization|signed in|role|Origin)[\s\S]*","request_id":"req_\w+"\}$/,
          operation.id,
        );
        refused += 1;
      }
    }
    t.true(refused > 700);
    t.deepEqual((await listRows(api)).toSorted(), before.toSorted());
  },
);

test.serial('an undescribed method gets a 405 with an Allow header or a 404, and changes no row', async (t) => {
  const { api } = t.context;
  const { ids, account, agent, person } = await furnishAccount(api, 'methods');
  const { send, close } = connectInProcess(api.server);
  t.teardown(close);
  const before = await listRows(api);
  for (const [path, operations] of Map.groupBy(await listDescribed(), (operation) => operation.path)) {
    const [first] = operations;
    // Ping paths match each other's patterns: an exit status also fits the name of a signal.
    const described = new Set(operations.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
    if (first === undefined || path.startsWith('/ping/')) continue;
    // There are more requests than an account may send in a minute.
    await api.database.pool.query('DELETE FROM rate_limits');
    for (const method of METHODS.filter((candidate) => !described.has(candidate))) {
      const answer = await send(
        as(
          { ...exampleOf(first, ids), method },
          first.token === 'session'
            ? person.headers
            : bearing(first.token === 'agent' ? agent.token : account.ownerToken),
        ),
      );
      t.true(isRefusal(answer, described), `${method} ${path}: ${answer.status} ${answer.text}`);
    }
  }
  t.deepEqual((await listRows(api)).toSorted(), before.toSorted());
});

function isRefusal({ status, headers }: InProcessAnswer, described: ReadonlySet<string>): boolean {
  return status === 404 || (status === 405 && [...described].some((method) => headers.allow?.includes(method)));
}

/** Spellings of a path that might bypass the route guard. */
const DETOURS = [
  '//v1/monitors',
  '/v1//monitors',
  '/v1/./monitors',
  '/v1/../v1/monitors',
  '/V1/monitors',
  '/v1/Monitors',
  '/v1/monitors/',
  '/v1/monitors;x=1',
  '/v1/monitors%2f',
  '/%76%31/monitors',
  '/v1%2fmonitors',
  '/v1/monitors%00',
  '/openapi.json/../v1/monitors',
  '/ping/../v1/monitors',
  '/agent/v1/../../v1/monitors',
  '/v1/openapi.json/../monitors',
  '/v1/monitors?token=x',
  '/healthz/..%2fv1/monitors',
  'http://localhost/v1/monitors',
  '*',
];

test.serial('no alternative spelling of a path bypasses the route guard', async (t) => {
  const { api } = t.context;
  await furnishAccount(api, 'behind-the-guard');
  const { send, close } = connectInProcess(api.server);
  t.teardown(close);
  for (const path of DETOURS) {
    for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS']) {
      const { status, text } = await send({
        method,
        path,
        headers: { 'X-HTTP-Method-Override': 'GET', 'X-Original-URL': '/v1/monitors', 'X-Forwarded-For': '127.0.0.1' },
      });
      t.true(status >= 400 && status < 500, `${method} ${path}: ${status} ${text}`);
      t.false(text.includes('behind-the-guard'));
    }
  }
});
