import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { addPerson, PASSWORD, type Person } from '../api/person.ts';
import { connectInProcess } from '../helpers/in-process.ts';

const PUBLIC_URL = 'https://status.example';
/** A load balancer in front of the service, and a proxy on the same machine. */
const [BALANCER, LOCAL] = ['10.0.3.7', '127.0.0.1'];
const [STRANGER, COLLEAGUE] = ['203.0.113.9', '198.51.100.7'];

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, {
  config: {
    publicUrl: PUBLIC_URL,
    planCountLimits: true,
    telegramBotName: null,
    slackClientId: null,
    trustedProxies: ['loopback', '10.0.3.0/24'],
  },
});

test.beforeEach(async (t) => {
  await t.context.api.database.pool.query('DELETE FROM rate_limits');
});

type Sent = {
  status: number;
  json: Record<string, unknown>;
  headers: Record<string, string | string[] | undefined>;
  cookie: string;
};
// oxlint-disable-next-line max-params -- a call reads like the request that it sends
type Send = (method: string, path: string, headers: Record<string, string>, body?: object) => Promise<Sent>;

/** Returns a function that sends requests over a connection from this address. */
function callerAt(t: ExecutionContext<{ api: ApiServer }>, address: string): Send {
  const { send, close } = connectInProcess(t.context.api.server, address);
  t.teardown(close);
  // oxlint-disable-next-line max-params -- a call reads like the request that it sends
  return async (method, path, headers, body) => {
    const answer = await send({
      method,
      path,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    return {
      status: answer.status,
      headers: answer.headers,
      json: answer.text === '' ? {} : JSON.parse(answer.text),
      cookie,
    };
  };
}

async function newPerson(api: ApiServer): Promise<Person> {
  return await addPerson(api, (await api.account()).tenantId);
}

/** Returns the number of counted wrong passwords by address. */
async function countedFor({ database }: ApiServer): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ key: string; points: number }>(
    `SELECT key, points FROM rate_limits WHERE key LIKE 'spotcheck-sign-in-address:%' AND points > 0`,
  );
  return Object.fromEntries(rows.map(({ key, points }) => [key.replace('spotcheck-sign-in-address:', ''), points]));
}

test.serial('a guesser behind the same proxy locks out no other user, even with forged addresses', async (t) => {
  const { api } = t.context;
  const { email } = await newPerson(api);
  const proxy = callerAt(t, BALANCER);
  const signIn = async (from: string, password: string, as = email) =>
    await proxy('POST', '/v1/session', { 'X-Forwarded-For': from }, { email: as, password });
  const guesses = await Promise.all(
    Array.from(
      { length: 31 },
      async (_, index) => (await signIn(`192.0.2.${index}, ${STRANGER}`, 'wrong', `nobody${index}@example.org`)).status,
    ),
  );
  t.is(guesses.filter((status) => status === 401).length, 30);
  t.is(guesses.filter((status) => status === 429).length, 1);
  t.is((await signIn(`${COLLEAGUE}, ${STRANGER}`, PASSWORD)).status, 429);
  t.is((await signIn(`${LOCAL}, ${STRANGER}, ${LOCAL}`, PASSWORD)).status, 429);
  t.is((await signIn(COLLEAGUE, PASSWORD)).status, 201);
  t.is(
    (await proxy('POST', '/v1/session', {}, { email, password: PASSWORD })).status,
    201,
    'the proxy itself is not counted',
  );
});

test.serial('forwarding headers from an untrusted address are ignored', async (t) => {
  const { api } = t.context;
  const direct = callerAt(t, STRANGER);
  for (const header of [COLLEAGUE, LOCAL, `${COLLEAGUE}, ${LOCAL}`, `${COLLEAGUE}, ${BALANCER}`, 'unknown', '']) {
    const headers = { 'X-Forwarded-For': header, Forwarded: `for=${COLLEAGUE}`, 'X-Real-IP': COLLEAGUE };
    t.is(
      (await direct('POST', '/v1/session', headers, { email: `nobody-${header}@example.org`, password: 'wrong' }))
        .status,
      401,
      header,
    );
  }
  t.deepEqual(await countedFor(api), { [STRANGER]: 6 });
});

test.serial("sessions, the log, wrong passwords and the anonymous rate limit use the client's address", async (t) => {
  const { api } = t.context;
  const { email } = await newPerson(api);
  const proxy = callerAt(t, LOCAL);
  const from = (client: string) => ({ 'X-Forwarded-For': `192.0.2.66, ${client}, ${BALANCER}` });
  const addresses: string[] = [];
  for (const client of [COLLEAGUE, '2001:db8::7', `::ffff:${STRANGER}`]) {
    const signedIn = await proxy('POST', '/v1/session', from(client), { email, password: PASSWORD });
    t.is(signedIn.status, 201);
    const cookie = signedIn.cookie.split(';')[0] ?? '';
    const { sessions } = (await proxy('GET', '/v1/sessions', { ...from('192.0.2.99'), Cookie: cookie })).json as {
      sessions: { address: string; is_current: boolean }[];
    };
    addresses.push(sessions.find((session) => session.is_current)?.address ?? 'none');
    const wrong = await proxy(
      'POST',
      '/v1/user/password',
      { ...from(client), Cookie: cookie, 'X-CSRF-Token': String(signedIn.json['csrf_token']) },
      { current: 'wrong', new: 'another-good-password' },
    );
    t.is(wrong.status, 400);
  }
  t.deepEqual(addresses, [COLLEAGUE, '2001:db8::7', STRANGER]);
  t.deepEqual(await countedFor(api), { [COLLEAGUE]: 1, '2001:db8:0:0': 1, [STRANGER]: 1 });
  const logged = api.logLines
    .filter(({ msg, route }) => msg === 'request.completed' && String(route).endsWith('/user/password'))
    .map(({ address }) => address);
  t.deepEqual(logged, [COLLEAGUE, '2001:db8::7', STRANGER]);

  const remaining = async (client: string) =>
    Number((await proxy('GET', '/v1/monitors', from(client))).headers['ratelimit-remaining']);
  t.deepEqual(
    [await remaining('192.0.2.4'), await remaining('192.0.2.4'), await remaining('192.0.2.5')],
    [599, 598, 599],
  );
});

test.serial(
  'behind TLS the cookie is Secure and the origin that of PUBLIC_URL, regardless of proxy headers',
  async (t) => {
    const { api } = t.context;
    const { email } = await newPerson(api);
    const proxy = callerAt(t, LOCAL);
    const signIn = async (headers: Record<string, string>) =>
      await proxy('POST', '/v1/session', { 'X-Forwarded-For': COLLEAGUE, ...headers }, { email, password: PASSWORD });
    const upstream = { Host: 'spotcheck-web:3000' };
    const kept = { Host: 'status.example' };
    for (const host of [
      upstream,
      kept,
      { ...kept, 'X-Forwarded-Proto': 'https' },
      { ...upstream, 'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': 'status.example' },
    ]) {
      const signedIn = await signIn({ ...host, Origin: PUBLIC_URL });
      t.is(signedIn.status, 201, JSON.stringify(host));
      t.regex(
        signedIn.cookie,
        /^__Host-spotcheck=[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      );
      const session = {
        ...host,
        Cookie: signedIn.cookie.split(';')[0] ?? '',
        'X-CSRF-Token': String(signedIn.json['csrf_token']),
      };
      t.is((await proxy('PATCH', '/v1/user', { ...session, Origin: PUBLIC_URL }, { theme: 'dark' })).status, 200);
      for (const Origin of [
        'http://status.example',
        'http://status.example:8080',
        'https://evil.example',
        'https://status.example.evil.example',
        'https://status.example:8443',
        'null',
      ]) {
        t.is(
          (await proxy('PATCH', '/v1/user', { ...session, Origin }, { theme: 'light' })).status,
          403,
          `${Origin} to ${host.Host}`,
        );
      }
    }
    const forged = { Origin: 'https://evil.example', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' };
    for (const host of [upstream, kept]) t.is((await signIn({ ...host, ...forged })).status, 403);
    t.is(
      (await signIn({ Host: 'localhost:3000', Origin: 'http://localhost:3000' })).status,
      201,
      'on the machine itself, bypassing the proxy',
    );
  },
);
