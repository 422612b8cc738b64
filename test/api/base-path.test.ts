import anyTest, { type TestFn } from 'ava';
import { isError, send, withApiServer, type ApiServer } from './api-server.ts';
import { addPerson, PASSWORD } from './person.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, {
  config: {
    publicUrl: 'https://ops.example/a/b',
    planCountLimits: true,
    telegramBotName: null,
    slackClientId: null,
    trustedProxies: [],
  },
});

const get = (url: string, headers: Record<string, string> = {}) => send(url, { method: 'GET', headers });

test('a proxy may strip or pass on the base path, and links include it either way', async (t) => {
  const { api } = t.context;
  const { owner, ownerToken } = await api.account();
  for (const name of ['Shop', 'Router'])
    t.is((await owner('POST', '/v1/monitors', { name, type: 'http', target: 'https://shop.example' })).status, 201);
  for (const base of [api.url, `${api.url}/a/b`]) {
    const list = await get(`${base}/v1/monitors?limit=1`, { Authorization: `Bearer ${ownerToken}` });
    t.is(list.status, 200, list.text);
    t.regex(list.headers.get('link') ?? '', /^<https:\/\/ops\.example\/a\/b\/v1\/monitors\?limit=1&cursor=\w+>/);
    t.is((await get(`${base}/healthz`)).status, 200);
    const { json } = await get(`${base}/openapi.json`);
    t.like(json['servers'], [{ url: 'https://ops.example/a/b/v1' }]);
  }
});

test('the bare base path redirects to the one with a slash, and similar or doubled paths are a 404', async (t) => {
  const { url } = t.context.api;
  const bare = await fetch(`${url}/a/b?from=mail`, { redirect: 'manual' });
  t.deepEqual([bare.status, bare.headers.get('location')], [308, '/a/b/?from=mail']);
  for (const path of ['/a/bc/healthz', '/a/b/a/b/healthz', '/A/B/healthz', '/a/healthz'])
    t.is((await get(url + path)).status, 404, path);
});

test('the cookies of two installations on one host have different names', async (t) => {
  const { api } = t.context;
  const { email } = await addPerson(api, (await api.account()).tenantId);
  const answer = await send(`${api.url}/a/b/v1/session`, {
    method: 'POST',
    headers: {},
    body: { email, password: PASSWORD },
  });
  t.is(answer.status, 201, answer.text);
  t.deepEqual(
    answer.headers.getSetCookie().map((cookie) => cookie.split('=', 1)[0]),
    ['__Host-spotcheck-a-b', '__Host-spotcheck-browser-a-b'],
  );
});

test('a 401 recognizes an ended session by the cookie with the base path', async (t) => {
  const { api } = t.context;
  const headers = { Cookie: `__Host-spotcheck-a-b=${'x'.repeat(43)}` };
  isError(t, await send(`${api.url}/a/b/v1/monitors`, { method: 'GET', headers }), { status: 401, error: /sign in$/ });
});
