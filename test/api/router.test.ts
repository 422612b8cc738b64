import { once } from 'node:events';
import { get } from 'node:http';
import anyTest, { type TestFn } from 'ava';
import { connectInProcess } from '../helpers/in-process.ts';
import { withApiServer, type ApiServer } from './api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const NOWHERE = 'there is no endpoint at this path';
const UNDECODABLE = 'the path must be percent-encoded UTF-8';

/** Requests paths unchanged, including those that no URL-parsing client would send. */
function asker({ server }: ApiServer, token: string | null) {
  const { send, close } = connectInProcess(server);
  const ask = async (method: string, path: string) => {
    const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
    const { status, headers: answered, text } = await send({ method, path, headers });
    return [status, status < 400 ? null : (JSON.parse(text) as { error: string }).error, answered.allow ?? null];
  };
  return { ask, close };
}

test('a literal path segment takes precedence over an id in the same position', async (t) => {
  const { owner } = await t.context.api.account();
  const answer = await owner('DELETE', '/v1/sessions/end-others');
  t.is(answer.status, 405);
  t.is(answer.headers.get('allow'), 'POST');
});

test('an unknown method is a 405 with Allow, after the same checks as a known one', async (t) => {
  const { owner, reader } = await t.context.api.account();
  const { anonymous } = t.context.api;
  for (const [path, allow] of [
    ['/v1/session', 'GET, POST, DELETE'],
    ['/v1/monitors/x', 'GET, PATCH, DELETE'],
  ] as const) {
    const answer = await owner('PUT', path);
    t.is(answer.status, 405);
    t.is(answer.headers.get('allow'), allow);
    t.is((await anonymous('PUT', path)).status, 401);
    t.is((await reader('PUT', path)).status, 403);
    t.is((await owner('PUT', path, 'x', { 'Content-Type': 'text/plain' })).status, 415);
  }
});

test('authorization is checked before the path is decoded, and that before the method', async (t) => {
  const { api } = t.context;
  const { ownerToken, readerToken } = await api.account();
  const [anyone, reader, owner] = [asker(api, null), asker(api, readerToken), asker(api, ownerToken)];
  t.teardown(() => [anyone, reader, owner].forEach(({ close }) => close()));
  t.is((await anyone.ask('GET', '/v1/monitors/%ff'))[0], 401);
  t.is((await reader.ask('PATCH', '/v1/monitors/%ff'))[0], 403);
  t.deepEqual(await reader.ask('GET', '/v1/monitors/%ff'), [400, UNDECODABLE, null]);
  t.deepEqual(await owner.ask('PUT', '/v1/monitors/%ff'), [400, UNDECODABLE, null]);
  t.deepEqual(await owner.ask('GET', '/v1/nothing/%ff'), [404, NOWHERE, null]);
  // One path is open to everybody, the other to users only.
  t.deepEqual(await anyone.ask('GET', '/v1/invitations/%ff'), [400, UNDECODABLE, null]);
  t.is((await owner.ask('DELETE', '/v1/tokens/%ff'))[0], 403);
});

test('a path matches an operation only exactly as written', async (t) => {
  const { api } = t.context;
  const { ask, close } = asker(api, (await api.account()).ownerToken);
  t.teardown(close);
  for (const path of ['http://localhost/v1/monitors', '/v1/monitors#a', '/v1/Monitors', '/v1//monitors'])
    t.deepEqual(await ask('GET', path), [404, NOWHERE, null], path);
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/v1/openapi.json', '/v1/monitors', '/v1/x'])
    t.deepEqual(await ask('GET', `${path}/`), [404, `${NOWHERE}: paths have no slash at their end`, null], path);
  t.is((await ask('POST', '/v1/monitors//'))[0], 404);
  t.deepEqual(await ask('GET', '/v1/monitors/a%2Fb'), [404, 'monitor - does not exist', null]);
});

test('responses to a caller are private to caches, and a 304 if unchanged', async (t) => {
  const { api } = t.context;
  const { owner, ownerToken } = await api.account();
  const cacheOf = ({ headers }: { headers: Headers }) => headers.get('cache-control');
  const usage = await owner('GET', '/v1/usage');
  const others = [
    await owner('GET', '/v1/nothing'),
    await owner('POST', '/v1/monitors', {}),
    await api.anonymous('GET', '/v1/usage'),
  ];
  t.deepEqual(new Set([usage, ...others].map(cacheOf)), new Set(['private, no-cache']));
  t.is(cacheOf(await api.anonymous('GET', '/v1/openapi.json')), null);
  const headers = { Authorization: `Bearer ${ownerToken}`, 'If-None-Match': String(usage.headers.get('etag')) };
  // `fetch` adds `Cache-Control: no-cache` here, and so gets the whole response.
  const [unchanged] = await once(get(`${api.url}/v1/usage`, { headers }), 'response');
  t.is(unchanged.resume().statusCode, 304);
});
