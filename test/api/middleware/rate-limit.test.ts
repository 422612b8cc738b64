import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { Redis } from 'ioredis';
import { testServers } from '../../helpers/test-servers.ts';
import { isError, send, withApiServer, type Answer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

test('a free-plan token has 60 requests a minute over all processes, then gets a 429 with Retry-After', async (t) => {
  const { api } = t.context;
  const { ownerToken, owner } = await api.account('free');
  const other = await api.another();
  const ask = (base: string): Promise<Answer> =>
    send(`${base}/v1/overview`, { method: 'GET', headers: { Authorization: `Bearer ${ownerToken}` } });
  const answers: Answer[] = [];
  for (let count = 1; count <= 30; count += 1) answers.push(await ask(api.url), await ask(other));
  t.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 60 }, () => 200),
  );
  t.deepEqual(
    answers.map(({ headers }) => headers.get('ratelimit-limit')),
    Array.from({ length: 60 }, () => '60'),
  );
  t.deepEqual(
    answers.map(({ headers }) => Number(headers.get('ratelimit-remaining'))),
    Array.from({ length: 60 }, (_, index) => 59 - index),
  );

  for (const refused of [await ask(api.url), await ask(other), await ask(api.url)]) {
    isError(t, refused, { status: 429, error: 'rate limit exceeded' });
    const retryAfter = Number(refused.headers.get('retry-after'));
    t.true(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60);
    t.is(refused.headers.get('ratelimit-remaining'), '0');
    t.is(refused.headers.get('ratelimit-reset'), String(retryAfter));
  }
  isError(t, await owner('POST', '/v1/monitors', 'not even JSON', { 'Content-Type': 'text/plain' }), {
    status: 429,
    error: 'rate limit exceeded',
  });
});

test('tokens of one account are counted separately, and the pro plan allows 600 requests a minute', async (t) => {
  const { owner, reader } = await t.context.api.account('pro');
  t.is((await owner('GET', '/v1/overview')).headers.get('ratelimit-remaining'), '599');
  t.is((await owner('GET', '/v1/overview')).headers.get('ratelimit-remaining'), '598');
  t.is((await reader('GET', '/v1/overview')).headers.get('ratelimit-remaining'), '599');
});

test('unauthenticated requests are counted by network, an IPv6 /64 as one', async (t) => {
  const { api } = t.context;
  const url = await api.another({
    config: {
      publicUrl: api.url,
      planCountLimits: true,
      telegramBotName: null,
      slackClientId: null,
      trustedProxies: ['loopback'],
    },
  });
  const remaining = async (from: string) =>
    (await send(`${url}/v1/overview`, { method: 'GET', headers: { 'X-Forwarded-For': from } })).headers.get(
      'ratelimit-remaining',
    );
  t.deepEqual(
    [await remaining('2001:db8:0:7::1'), await remaining('2001:db8:0:7:ffff::2'), await remaining('2001:db8:0:8::1')],
    ['599', '598', '599'],
  );
});

// Serial, because it ends the rate limit windows of all tokens.
test.serial('the count restarts once the window has expired', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account('free');
  t.is((await owner('GET', '/v1/overview')).headers.get('ratelimit-remaining'), '59');
  await api.database.pool.query('UPDATE rate_limits SET expire = 0');
  t.is((await owner('GET', '/v1/overview')).headers.get('ratelimit-remaining'), '59');
});

const { redisUrl } = testServers();
if (redisUrl !== null) {
  test('with Redis the processes share one count, and each counts alone while Redis is unavailable', async (t) => {
    const { api } = t.context;
    const { ownerToken } = await api.account('free');
    const keyPrefix = `test-${randomBytes(4).toString('hex')}:`;
    const clients = [new Redis(redisUrl, { keyPrefix }), new Redis(redisUrl, { keyPrefix })];
    const bases = await Promise.all(
      clients.map((client) => api.another({ rateLimitStore: { kind: 'redis', client } })),
    );
    const remaining = async (base: string | undefined) => {
      const { headers, status } = await send(`${base}/v1/overview`, {
        method: 'GET',
        headers: { Authorization: `Bearer ${ownerToken}` },
      });
      t.is(status, 200);
      return headers.get('ratelimit-remaining');
    };
    await Promise.all(clients.map((client) => client.ping()));
    t.deepEqual([await remaining(bases[0]), await remaining(bases[1]), await remaining(bases[0])], ['59', '58', '57']);
    for (const client of clients) client.disconnect();
    t.deepEqual([await remaining(bases[0]), await remaining(bases[1])], ['59', '59']);
  });
}
