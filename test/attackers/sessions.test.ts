import { randomBytes } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { readDescription } from '../../api/description.ts';
import { generateSessionSecret } from '../../models/accounts/sessions.ts';
import { verifyPassword } from '../../models/secrets/password.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { isError, send, withApiServer, type Answer, type ApiServer } from '../api/api-server.ts';
import { addPerson, addSession, callWith, cookieOf, PASSWORD, type Person } from '../api/person.ts';
import { listOperations, type Document } from '../helpers/described-operations.ts';
import { connectInProcess } from '../helpers/in-process.ts';
import { testServers } from '../helpers/test-servers.ts';
import { totpCode } from '../helpers/totp.ts';
import { furnishAccount } from './furnished-account.ts';
import { listRows } from './stored-rows.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const logLines: string[] = [];
/** Fixed time: a code must not expire between two requests. */
const NOW_MS = Date.now();
const STEP = Math.floor(NOW_MS / 30_000);
withApiServer(test, {
  now: () => NOW_MS,
  logger: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
});

// All requests come from 127.0.0.1, whose failures would add up.
test.beforeEach(async (t) => {
  await t.context.api.database.pool.query('DELETE FROM rate_limits');
});

async function newPerson(api: ApiServer, options: Parameters<typeof addPerson>[2] = {}): Promise<Person> {
  return await addPerson(api, (await api.account()).tenantId, options);
}

async function signIn(
  { url }: Pick<ApiServer, 'url'>,
  body: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return await send(`${url}/v1/session`, { method: 'POST', body, headers });
}

/** Returns a call with the headers that a page sends after a sign-in. */
function pageOf(api: ApiServer, answer: Answer): ReturnType<typeof callWith> {
  return callWith(api, { Cookie: cookieOf(answer) ?? '', 'X-CSRF-Token': String(answer.json['csrf_token']) });
}

const TOO_MANY = /^too many wrong passwords or codes: wait \d+ minutes?$/;

test.serial(
  'a sign-in sets an HttpOnly SameSite cookie, over https a Secure one with the __Host- prefix',
  async (t) => {
    const { api } = t.context;
    const { email, user } = await newPerson(api);
    const plain = await signIn(api, { email: ` ${email.toUpperCase()} `, password: PASSWORD });
    t.is(plain.status, 201);
    t.is(plain.headers.get('cache-control'), 'no-store', 'the response contains the CSRF token');
    const [session, browser] = plain.headers.getSetCookie();
    t.regex(session ?? '', /^spotcheck=[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/);
    t.regex(browser ?? '', /^spotcheck-browser=[\w-]{43}; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax$/);
    t.like(plain.json, { user: { id: user.id, role: 'owner', totp_enabled: false }, tenant: { id: user.tenantId } });
    t.is((await pageOf(api, plain)('GET', '/v1/monitors')).status, 200);
    t.is(
      (await api.anonymous('GET', '/v1/session', undefined, { Cookie: browser?.split(';')[0] ?? '' })).status,
      401,
      'the browser cookie alone gives no access',
    );

    const url = await api.another({
      config: {
        publicUrl: 'https://status.example',
        planCountLimits: true,
        telegramBotName: null,
        slackClientId: null,
        trustedProxies: [],
      },
    });
    const secure = await signIn({ url }, { email, password: PASSWORD });
    t.regex(
      secure.headers.getSetCookie()[0] ?? '',
      /^__Host-spotcheck=[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const cookie = cookieOf(secure) ?? '';
    t.is((await api.anonymous('GET', '/v1/session', undefined, { Cookie: cookie }, url)).status, 200);
    t.is(
      (await api.anonymous('GET', '/v1/session', undefined, { Cookie: cookie.replace('__Host-', '') }, url)).status,
      401,
      'another host could set a cookie without the prefix',
    );
  },
);

test.serial('a malformed email address is treated as an unknown one', async (t) => {
  const { api } = t.context;
  const { email } = await newPerson(api);
  for (const strange of ['\0', `${email}\0`, `\0${email}`, '\ud800@example.org', '\u2028', `${email}.`]) {
    const answer = await signIn(api, { email: strange, password: PASSWORD });
    t.is(answer.status, 401, JSON.stringify(strange));
    t.is(answer.json['error'], 'incorrect email or password');
  }
});

test.serial('a sign-in creates a new session and ends the one it came with, so none can be planted', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const planted = `spotcheck=${generateSessionSecret()}`;
  const first = await signIn(api, { email: person.email, password: PASSWORD }, { Cookie: planted });
  t.not(cookieOf(first), planted);
  t.is((await api.anonymous('GET', '/v1/session', undefined, { Cookie: planted })).status, 401);
  const second = await signIn(api, { email: person.email, password: PASSWORD }, { Cookie: cookieOf(first) ?? '' });
  t.not(cookieOf(second), cookieOf(first));
  t.not(second.json['csrf_token'], first.json['csrf_token']);
  t.is((await pageOf(api, first)('GET', '/v1/session')).status, 401);
  t.is((await pageOf(api, second)('GET', '/v1/session')).status, 200);
});

test.serial('forms, foreign origins and missing or wrong CSRF tokens are refused and change nothing', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const other = await addSession(api, person.user);
  const cookie = { Cookie: person.headers['Cookie'] ?? '' };
  const before = await listRows(api);
  const forms = ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'];
  for (const type of forms) {
    t.is(
      (await api.anonymous('POST', '/v1/monitors', '{"name":"x"}', { ...cookie, 'Content-Type': type })).status,
      403,
      type,
    );
    t.is((await person.call('POST', '/v1/monitors', '{"name":"x"}', { 'Content-Type': type })).status, 415, type);
    t.is(
      (await signIn(api, { email: person.email, password: PASSWORD }, { 'Content-Type': type })).status,
      415,
      `signing a visitor in to another account by ${type}`,
    );
  }
  const tokens = [
    undefined,
    '',
    'x',
    other.headers['X-CSRF-Token'],
    `${person.headers['X-CSRF-Token']}x`,
    person.headers['X-CSRF-Token']?.toLowerCase(),
  ];
  for (const token of tokens) {
    const headers = { ...cookie, ...(token !== undefined && { 'X-CSRF-Token': token }) };
    for (const [method, path] of [
      ['POST', '/v1/monitors'],
      ['DELETE', '/v1/session'],
      ['PATCH', '/v1/user'],
    ] as const) {
      const answer = await api.anonymous(method, path, method === 'DELETE' ? undefined : { name: 'x' }, headers);
      t.is(answer.status, 403, `${method} ${path} with ${String(token)}`);
      t.regex(answer.text, /X-CSRF-Token/);
    }
  }
  for (const origin of [
    'https://evil.example',
    'null',
    `${api.url}.evil.example`,
    api.url.replace('http:', 'http:x@'),
    'file://',
    `https://evil.example/${api.url}`,
  ]) {
    t.is((await person.call('POST', '/v1/monitors', { name: 'x' }, { Origin: origin })).status, 403, origin);
    t.is((await signIn(api, { email: person.email, password: PASSWORD }, { Origin: origin })).status, 403, origin);
  }
  t.deepEqual((await listRows(api)).toSorted(), before.toSorted());
  t.is((await person.call('POST', '/v1/monitors', { name: 'x' }, { Origin: api.url })).status, 201);
  t.is((await signIn(api, { email: person.email, password: PASSWORD }, { Origin: api.url })).status, 201);
});

test.serial('no GET or HEAD of any operation changes a row', async (t) => {
  const { api } = t.context;
  const { person, ids } = await furnishAccount(api, 'reading');
  // Only operators may read how the installation is doing.
  await api.database.pool.query('UPDATE users SET is_operator = true WHERE id = $1', [person.user.id]);
  const { send: sendInProcess, close } = connectInProcess(api.server);
  t.teardown(close);
  const operations = listOperations((await readDescription()) as unknown as Document).filter(
    ({ method, token }) => method === 'GET' && (token === 'api' || token === 'session'),
  );
  t.true(operations.length > 15);
  const before = await listRows(api);
  for (const { id, path, parameters } of operations) {
    const filled = parameters.reduce(
      (whole, { name, schema }) => whole.replace(`{${name}}`, ids[schema['x-id'] as keyof typeof ids]?.[0] ?? 'x.y'),
      path,
    );
    for (const method of ['GET', 'HEAD']) {
      const { status } = await sendInProcess({
        method,
        path: filled,
        headers: { Cookie: person.headers['Cookie'] ?? '' },
      });
      // Operations with a required parameter respond with 400.
      t.true(
        status === 200 || (status === 400 && parameters.some(({ required }) => required)),
        `${method} ${id}: ${status}`,
      );
    }
  }
  t.deepEqual((await listRows(api)).toSorted(), before.toSorted());
});

const { redisUrl } = testServers();
for (const backend of redisUrl === null ? ['postgres'] : ['postgres', 'redis']) {
  test.serial(
    `${backend}: after ten failures an account is locked in every process, others are not, ` +
      'and a success resets the count',
    async (t) => {
      const { api } = t.context;
      const keyPrefix = `test-${randomBytes(4).toString('hex')}:`;
      const clients =
        backend === 'redis' ? [new Redis(redisUrl ?? '', { keyPrefix }), new Redis(redisUrl ?? '', { keyPrefix })] : [];
      t.teardown(() => clients.forEach((client) => client.disconnect()));
      await Promise.all(clients.map((client) => client.ping()));
      const urls =
        backend === 'redis'
          ? await Promise.all(clients.map((client) => api.another({ rateLimitStore: { kind: 'redis', client } })))
          : [api.url, await api.another()];
      const [one, two] = await Promise.all([newPerson(api), newPerson(api)]);
      const attempt = async ({ email }: Person, password: string, process: number) =>
        await signIn({ url: urls[process % urls.length] ?? '' }, { email, password });

      for (let count = 0; count < 9; count += 1) t.is((await attempt(one, 'wrong', count)).status, 401);
      t.is((await attempt(one, PASSWORD, 0)).status, 201);
      for (let count = 0; count < 10; count += 1)
        t.is((await attempt({ ...one, email: one.email.toUpperCase() }, 'wrong', count)).status, 401);
      for (const process of [0, 1]) {
        const refused = await attempt(one, PASSWORD, process);
        t.is(refused.status, 429, 'even the correct password, so that a guesser learns nothing');
        t.regex(String(refused.json['error']), TOO_MANY);
        const retryAfter = Number(refused.headers.get('retry-after'));
        t.true(Number.isInteger(retryAfter) && retryAfter > 800 && retryAfter <= 900);
      }
      t.is((await attempt(two, PASSWORD, 0)).status, 201);
    },
  );
}

test.serial('of a hundred concurrent guesses only ten are checked', async (t) => {
  const { api } = t.context;
  const { email } = await newPerson(api);
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => (await signIn(api, { email, password: `guess ${index}` })).status),
  );
  t.is(answers.filter((status) => status === 401).length, 10);
  t.is(answers.filter((status) => status === 429).length, 90);
});

test.serial('frequent sign-ins with the correct password are limited, so that others can still sign in', async (t) => {
  const { api } = t.context;
  const [busy, other] = await Promise.all([newPerson(api), newPerson(api)]);
  let signedIn = 0;
  let refused: Answer | undefined;
  // Few at once, because sign-ins count as failures until verified.
  while (refused === undefined && signedIn < 400) {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => signIn(api, { email: busy.email, password: PASSWORD })),
    );
    signedIn += answers.filter(({ status }) => status === 201).length;
    refused = answers.find(({ status }) => status !== 201);
  }
  // The first four may count as those of an unknown client.
  t.true(signedIn >= 30, String(signedIn));
  t.is(refused?.status, 429);
  t.regex(String(refused?.json['error']), /^too many sign-ins: wait 1 minute$/);
  t.is((await signIn(api, { email: other.email, password: PASSWORD })).status, 201);
});

test.serial('the members of one account together cannot occupy the hashing of passwords', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const [first, second, newcomer] = [
    await addPerson(api, tenantId),
    await addPerson(api, tenantId),
    await addPerson(api, tenantId),
  ];
  const other = await newPerson(api);
  const statusOf = async ({ email }: Person) => (await signIn(api, { email, password: PASSWORD })).status;
  for (const person of [first, second, other, first]) t.is(await statusOf(person), 201);
  // An hour more, so that the minute does not end before the last request.
  const { rowCount } = await api.database.pool.query(
    `UPDATE rate_limits SET points = points + 119, expire = expire + 3600000
     WHERE key = 'spotcheck-sign-in-tenant:' || $1`,
    [tenantId],
  );
  t.is(rowCount, 1);
  const refused = await signIn(api, { email: second.email, password: PASSWORD });
  t.is(refused.status, 429);
  t.regex(String(refused.json['error']), /^too many sign-ins in this account: wait \d+ minutes$/);
  t.is(await statusOf(other), 201);
  t.is(await statusOf(newcomer), 201, 'a network that a person has not signed in from');
  t.is((await second.call('GET', '/v1/session')).status, 200, 'existing sessions keep working');
});

test.serial(
  'an IP address is limited after thirty failures on many accounts; its successful sign-ins do not count',
  async (t) => {
    const { api } = t.context;
    const person = await newPerson(api);
    for (let count = 0; count < 5; count += 1)
      t.is((await signIn(api, { email: person.email, password: PASSWORD })).status, 201);
    const tried = await Promise.all(
      Array.from(
        { length: 31 },
        async (_, index) =>
          (await signIn(api, { email: `nobody${index}@example.org`, password: 'Summer2026!' })).status,
      ),
    );
    t.is(tried.filter((status) => status === 401).length, 30);
    t.is((await signIn(api, { email: person.email, password: PASSWORD })).status, 429);
    t.is((await person.call('GET', '/v1/session')).status, 200, 'existing sessions keep working');
  },
);

test.serial('case and whitespace variants of an email address share the limit of ten guesses', async (t) => {
  const { api } = t.context;
  const [person, second] = [await newPerson(api), await newPerson(api)];
  await turnOn(t, second);
  const written = (email: string, index: number) =>
    `${' '.repeat(index)}${index % 2 === 0 ? email : email.toUpperCase()}${'\t'.repeat(index % 5)}\u00A0`;
  const count = async (email: string, more: object) => {
    await api.database.pool.query('DELETE FROM rate_limits');
    const statuses: number[] = [];
    for (let index = 0; index < 14; index += 1)
      statuses.push((await signIn(api, { email: written(email, index), ...more })).status);
    return statuses.filter((status) => status === 401).length;
  };
  t.is(await count(person.email, { password: 'wrong' }), 10);
  t.is(
    await count('nobody@example.org', { password: 'wrong' }),
    10,
    'an unknown address has the same limit, which would reveal it otherwise',
  );
  t.is(await count(second.email, { password: PASSWORD, code: '000000' }), 10);
});

const PROXIED = { planCountLimits: true, telegramBotName: null, slackClientId: null, trustedProxies: ['loopback'] };

/** Signs in through a proxy from any address; returns the cookies that browsers would keep. */
async function openProxied(t: ExecutionContext<{ api: ApiServer }>) {
  const { api } = t.context;
  const url = await api.another({ config: { publicUrl: api.url, ...PROXIED } });
  return async (from: string, person: Person, { password = PASSWORD, cookie = '' } = {}) => {
    const answer = await signIn(
      { url },
      { email: person.email, password },
      { 'X-Forwarded-For': from, ...(cookie !== '' && { Cookie: cookie }) },
    );
    const kept =
      answer.headers
        .getSetCookie()
        .find((one) => one.startsWith('spotcheck-browser='))
        ?.split(';')[0] ?? '';
    return { status: answer.status, cookie: kept };
  };
}

test.serial("guessing strangers do not lock out a user's known browsers and networks", async (t) => {
  const { api } = t.context;
  const [person, other] = [await newPerson(api), await newPerson(api)];
  const attempt = await openProxied(t);
  const home = '2001:db8:1:2::1';
  const { cookie, status } = await attempt(home, person);
  t.is(status, 201);
  const { cookie: othersCookie } = await attempt('198.51.100.200', other);
  for (let network = 0; network < 10; network += 1)
    t.is((await attempt(`203.0.113.${network}`, person, { password: 'wrong' })).status, 401);
  t.is((await attempt('203.0.113.77', person)).status, 429);

  t.is((await attempt('203.0.113.78', person, { cookie })).status, 201, 'the known browser on another network');
  t.is((await attempt('2001:db8:1:2:ffff::9', person)).status, 201, 'another browser on the known network');
  for (const forged of [othersCookie, `spotcheck-browser=${'A'.repeat(43)}`, `${cookie}x`, 'spotcheck-browser='])
    t.is((await attempt('203.0.113.79', person, { cookie: forged })).status, 429, forged);
  t.is((await attempt('2001:db8:1:3::1', person)).status, 429, 'a neighbouring network');
});

test.serial(
  "known browsers and networks have separate limits of ten failures; others' failures lock no browser",
  async (t) => {
    const { api } = t.context;
    const person = await newPerson(api);
    const attempt = await openProxied(t);
    const { cookie } = await attempt('192.0.2.1', person);
    const fail = async (options: { cookie?: string }) =>
      (await attempt('192.0.2.1', person, { password: 'wrong', ...options })).status;
    for (let count = 0; count < 10; count += 1) t.is(await fail({}), 401);
    t.is(await fail({}), 429);
    for (let count = 0; count < 10; count += 1) t.is(await fail({ cookie }), 401);
    t.is(await fail({ cookie }), 429);
    t.is((await attempt('192.0.2.2', person)).status, 201);

    await api.database.pool.query('DELETE FROM rate_limits');
    const others = await Promise.all(Array.from({ length: 30 }, () => newPerson(api)));
    for (const one of others) t.is((await attempt('192.0.2.1', one, { password: 'wrong' })).status, 401);
    t.is((await attempt('192.0.2.1', person)).status, 429);
    t.is((await attempt('192.0.2.1', person, { cookie })).status, 201);
  },
);

test.serial(
  'a planted browser cookie is replaced at sign-in, and a user has at most 25 browsers and networks',
  async (t) => {
    const { api } = t.context;
    const person = await newPerson(api);
    const attempt = await openProxied(t);
    const planted = `spotcheck-browser=${generateSessionSecret()}`;
    const own = await attempt('192.0.2.1', person, { cookie: planted });
    t.is(own.status, 201);
    t.not(own.cookie, planted);
    t.is((await attempt('192.0.2.1', person, { cookie: own.cookie })).cookie, own.cookie);
    for (let count = 0; count < 27; count += 1) t.is((await attempt(`192.0.2.${count}`, person)).status, 201);
    const { rows } = await api.database.pool.query<{ kind: string; count: number }>(
      `SELECT split_part(place, ':', 1) AS kind, count(*) FROM sign_in_places WHERE account = $1 GROUP BY 1 ORDER BY 1`,
      [person.user.id],
    );
    t.deepEqual(rows, [
      { kind: 'browser', count: 25 },
      { kind: 'network', count: 25 },
    ]);
  },
);

test.serial('neither the response nor the work of a sign-in reveals whether an address has an account', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const addresses = [person.email, 'unknown@example.org'];
  const answers = async () =>
    await Promise.all(
      addresses.map(async (email) => {
        const { status, json } = await signIn(api, { email, password: 'a-wrong-password' });
        return `${status} ${String(json['error'])}`;
      }),
    );
  t.deepEqual(new Set(await answers()), new Set(['401 incorrect email or password']));
  // While the queue of passwords is full, only requests that would hash one are refused, even for addresses without an
  // account.
  const over = new AbortController();
  const guess = async () => {
    while (!over.signal.aborted) await verifyPassword('wrong', null);
  };
  const guesses = Array.from({ length: 65 }, guess);
  const busy = await answers();
  over.abort();
  await Promise.all(guesses);
  t.is(new Set(busy).size, 1);
  t.regex(busy[0] ?? '', /^503 /);
});

test.serial(
  'a password change ends all other sessions in every process and invalidates the old password',
  async (t) => {
    const { api } = t.context;
    const other = await api.another();
    const person = await newPerson(api);
    const [elsewhere, there] = [
      callWith(api, (await addSession(api, person.user)).headers),
      callWith(api, (await addSession(api, person.user)).headers),
    ];
    const ask = async () =>
      [
        await person.call('GET', '/v1/session'),
        await elsewhere('GET', '/v1/session'),
        await there('GET', '/v1/session', undefined, {}, other),
      ].map(({ status }) => status);
    t.deepEqual(await ask(), [200, 200, 200]);
    const wrong = await person.call('POST', '/v1/user/password', { current: 'not it', new: 'another-good-password' });
    t.is(wrong.status, 400);
    t.is(wrong.json['error'], 'current is not your password');
    for (const bad of ['short', PASSWORD, person.email.toUpperCase()])
      t.is((await person.call('POST', '/v1/user/password', { current: PASSWORD, new: bad })).status, 400, bad);
    t.deepEqual(await ask(), [200, 200, 200]);
    const changed = await person.call('POST', '/v1/user/password', { current: PASSWORD, new: 'another-good-password' });
    t.deepEqual(changed.json, { ended_sessions: 2 });
    t.deepEqual(await ask(), [200, 401, 401]);
    t.is((await signIn(api, { email: person.email, password: PASSWORD })).status, 401);
    t.is((await signIn(api, { email: person.email, password: 'another-good-password' })).status, 201);
  },
);

test.serial('password guesses from an open session are limited to ten', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const guesses = await Promise.all(
    Array.from(
      { length: 12 },
      async (_, index) =>
        (await person.call('POST', '/v1/user/password', { current: `guess ${index}`, new: 'another-good-password' }))
          .status,
    ),
  );
  t.is(guesses.filter((status) => status === 400).length, 10);
  t.is((await person.call('POST', '/v1/user/totp', { password: PASSWORD })).status, 429);
  t.is((await signIn(api, { email: person.email, password: PASSWORD })).status, 429);
});

test.serial('a correct password without a code does not reset the limit on code guesses', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  await turnOn(t, person);
  const statuses: number[] = [];
  for (let guess = 0; guess < 14; guess += 1) {
    const { status } = await person.call('DELETE', '/v1/user/totp', { password: PASSWORD, code: '000000' });
    statuses.push(status);
    if (guess === 6) t.is((await person.call('POST', '/v1/user/totp', { password: PASSWORD })).status, 409);
  }
  t.is(statuses.filter((status) => status === 400).length, 10);
  t.deepEqual(new Set(statuses.slice(10)), new Set([429]));
});

test.serial('sessions are listed, and end at once: one by one, all others together, or by signing out', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const stranger = await newPerson(api);
  const [a, b, c] = [
    await addSession(api, person.user, 'Firefox'),
    await addSession(api, person.user, 'Safari'),
    await addSession(api, person.user, 'curl'),
  ];
  const list = async () => (await person.call('GET', '/v1/sessions')).json['sessions'];
  const listed = await list();
  t.deepEqual(
    listed.map(({ id, user_agent: agent, is_current: isCurrent }) => [id, agent, isCurrent]),
    [
      [c.sessionId, 'curl', false],
      [b.sessionId, 'Safari', false],
      [a.sessionId, 'Firefox', false],
      [person.sessionId, 'person', true],
    ],
  );
  t.true(listed.every(({ expires_at: expires, last_seen_at: lastSeen }) => expires - lastSeen === 14 * 86_400));
  t.is((await stranger.call('DELETE', `/v1/sessions/${a.sessionId}`)).status, 404);
  t.is((await person.call('DELETE', `/v1/sessions/${a.sessionId}`)).status, 204);
  t.is((await callWith(api, a.headers)('GET', '/v1/session')).status, 401);
  t.is((await person.call('DELETE', `/v1/sessions/${a.sessionId}`)).status, 404);
  t.deepEqual((await person.call('POST', '/v1/sessions/end-others')).json, { ended_sessions: 2 });
  t.is((await callWith(api, b.headers)('GET', '/v1/session')).status, 401);
  const out = await person.call('DELETE', '/v1/session');
  t.regex(out.headers.get('set-cookie') ?? '', /^spotcheck=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/);
  t.is((await person.call('GET', '/v1/session')).status, 401);
  t.is((await stranger.call('GET', '/v1/session')).status, 200);
});

test.serial('a confirmed second factor is required, its codes work once, and disabling it needs a code', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const elsewhere = callWith(api, (await addSession(api, person.user)).headers);
  const { secret, recovery } = await turnOn(t, person);
  t.is((await elsewhere('GET', '/v1/session')).status, 401);
  t.like((await person.call('GET', '/v1/session')).json, { user: { totp_enabled: true, recovery_codes_left: 10 } });
  t.is((await person.call('POST', '/v1/user/totp', { password: PASSWORD })).status, 409);

  const [email, password] = [person.email, PASSWORD];
  const challenged = await signIn(api, { email, password });
  t.deepEqual([challenged.status, challenged.json['code_required']], [401, true]);
  t.is(cookieOf(challenged), null);
  t.is(
    (await signIn(api, { email, password: 'wrong' })).json['code_required'],
    undefined,
    'a wrong password does not reveal the second factor',
  );
  // The first of these codes enabled the second factor.
  for (const code of [totpCode(secret, STEP - 1), totpCode(secret, STEP + 40), '000000', 'no code at all'])
    t.is((await signIn(api, { email, password, code })).status, 401, code);
  // A clock that is one step ahead cannot use the code of the current step afterwards.
  const next = totpCode(secret, STEP + 1);
  const both = await Promise.all([
    signIn(api, { email, password, code: `${next.slice(0, 3)} ${next.slice(3)}` }),
    signIn(api, { email, password, code: next }),
  ]);
  t.deepEqual(both.map(({ status }) => status).toSorted(), [201, 401]);
  t.is((await signIn(api, { email, password, code: totpCode(secret, STEP) })).status, 401);

  const [first = '', second = '', third = '', fourth = ''] = recovery;
  const used = await Promise.all(
    [first, first, first.toUpperCase()].map((code) => signIn(api, { email, password, code })),
  );
  t.deepEqual(used.map(({ status }) => status).toSorted(), [201, 401, 401]);
  t.is((await person.call('DELETE', '/v1/user/totp', { password: 'wrong', code: second })).status, 400);
  t.is((await person.call('DELETE', '/v1/user/totp', { password, code: first })).status, 400);
  t.like(
    (await person.call('GET', '/v1/session')).json,
    { user: { totp_enabled: true, recovery_codes_left: 9 } },
    'a code sent with a wrong password is not used up',
  );

  const renewed = (await person.call('POST', '/v1/user/recovery-codes', { password, code: second })).json[
    'recovery_codes'
  ];
  t.is(new Set([...renewed, ...recovery]).size, 20);
  t.is((await signIn(api, { email, password, code: third })).status, 401);
  t.is((await person.call('DELETE', '/v1/user/totp', { password, code: fourth })).status, 400);
  t.is((await person.call('DELETE', '/v1/user/totp', { password, code: renewed[0] })).status, 200);
  t.is((await signIn(api, { email, password })).status, 201);
  t.is(
    (await signIn(api, { email, password, code: renewed[1] })).status,
    201,
    'without a second factor no code is required',
  );
});

test.serial('recovery codes work while no key of the ring opens the secret of the second factor', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const { recovery } = await turnOn(t, person);
  const [first, second] = recovery;
  const { email, password, headers } = person;
  const secrets = createSecretBox([{ id: 'other', key: randomBytes(32) }]);
  const url = await api.another({ database: { ...api.database, secrets } });
  const unverified = { status: 503, error: /use a recovery code/ };
  isError(t, await signIn({ url }, { email, password, code: '123456' }), unverified);
  t.is((await signIn({ url }, { email, password, code: first })).status, 201);
  t.is((await signIn({ url }, { email, password, code: first })).status, 401);
  const body = { password, code: second };
  t.is((await send(`${url}/v1/user/totp`, { method: 'DELETE', body, headers })).status, 200);
  t.is((await signIn({ url }, { email, password })).status, 201);
  // Until the first code there are no recovery codes.
  t.is((await person.call('POST', '/v1/user/totp', { password })).status, 200);
  const confirming = { method: 'POST', body: { code: '123456' }, headers };
  const unconfirmed = { status: 503, error: /start again with POST \/v1\/user\/totp/ };
  isError(t, await send(`${url}/v1/user/totp/confirm`, confirming), unconfirmed);
});

test.serial(
  'ten wrong codes lock sign-ins with the correct password, even with codeless sign-ins in between',
  async (t) => {
    const { api } = t.context;
    const person = await newPerson(api);
    await turnOn(t, person);
    await api.database.pool.query('DELETE FROM rate_limits');
    const [email, password] = [person.email, PASSWORD];
    for (let count = 0; count < 10; count += 1) {
      t.is((await signIn(api, { email, password })).json['code_required'], true);
      t.is((await signIn(api, { email, password, code: '000000' })).status, 401);
    }
    t.is((await signIn(api, { email, password })).status, 429);
  },
);

test.serial('an unconfirmed second factor requires no code, and a code of a replaced secret is rejected', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const begin = async () => (await person.call('POST', '/v1/user/totp', { password: PASSWORD })).json['secret'];
  const [replaced, secret] = [await begin(), await begin()];
  t.not(replaced, secret);
  t.is((await signIn(api, { email: person.email, password: PASSWORD })).status, 201);
  t.is((await person.call('POST', '/v1/user/totp/confirm', { code: totpCode(replaced, STEP) })).status, 400);
  t.is((await person.call('POST', '/v1/user/totp/confirm', { code: totpCode(secret, STEP) })).status, 200);
  t.is((await person.call('POST', '/v1/user/totp/confirm', { code: totpCode(secret, STEP) })).status, 409);
});

test.serial('a viewer can read and edit their own user, and change nothing else', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [viewer, editor] = [
    await addPerson(api, account.tenantId, { role: 'viewer' }),
    await addPerson(api, account.tenantId, { role: 'editor' }),
  ];
  t.is((await viewer.call('GET', '/v1/monitors')).status, 200);
  const refused = await viewer.call('POST', '/v1/monitors', { name: 'x' });
  t.is(refused.status, 403);
  t.is(refused.json['error'], 'your role viewer does not allow changes: ask an owner of the account');
  t.is((await editor.call('POST', '/v1/monitors', { name: 'x' })).status, 201);
  t.is((await viewer.call('PATCH', '/v1/user', { name: 'Vera', theme: 'dark' })).status, 200);
  for (const [written, zone] of [
    ['europe/berlin', 'Europe/Berlin'],
    ['utc', 'UTC'],
    ['AMERICA/ARGENTINA/BUENOS_AIRES', 'America/Argentina/Buenos_Aires'],
  ]) {
    t.is((await viewer.call('PATCH', '/v1/user', { time_zone: written })).status, 200, written);
    t.like((await viewer.call('GET', '/v1/session')).json, { user: { time_zone: zone } }, 'in its canonical spelling');
  }
  t.is((await viewer.call('PATCH', '/v1/user', { time_zone: 'Asia/Kolkata', clock: '12h' })).status, 200);
  t.like((await viewer.call('GET', '/v1/session')).json, {
    user: { name: 'Vera', theme: 'dark', role: 'viewer', time_zone: 'Asia/Kolkata', clock: '12h' },
  });
  for (const [body, problem] of [
    [{}, /^the body must have at least one of name, theme, time_zone, clock/],
    [{ name: 5 }, /name/],
    [{ theme: 'pink' }, /theme/],
    [{ time_zone: 'Mars/Base' }, /^time_zone must be browser, UTC or an IANA time zone .*, got "Mars\/Base"$/],
    [{ time_zone: '+05:00' }, /^time_zone must be/],
    [{ time_zone: 'x'.repeat(65) }, /time_zone/],
    [{ clock: '13h' }, /clock/],
    [{ role: 'owner' }, /role is not a known field/],
    [{ name: 'x'.repeat(256) }, /name/],
  ] as const) {
    const answer = await viewer.call('PATCH', '/v1/user', body);
    t.is(answer.status, 400, answer.text);
    t.regex(String(answer.json['error']), problem);
  }
  // The current role counts, not the one at sign-in.
  await api.database.pool.query(`UPDATE users SET role = 'viewer' WHERE id = $1`, [editor.user.id]);
  t.is((await editor.call('POST', '/v1/monitors', { name: 'x' })).status, 403);
});

test.serial('a session is updated once a minute and expires after 14 idle days or after 90 days', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const { pool } = api.database;
  const lastSeen = async () =>
    (await pool.query<{ last_seen_at: number }>('SELECT last_seen_at FROM sessions WHERE id = $1', [person.sessionId]))
      .rows[0]?.last_seen_at ?? 0;
  const age = async (column: string, seconds: number) =>
    void (await pool.query(`UPDATE sessions SET ${column} = $2 WHERE id = $1`, [
      person.sessionId,
      Math.floor(NOW_MS / 1000) - seconds,
    ]));
  await age('last_seen_at', 50);
  const before = await lastSeen();
  await person.call('GET', '/v1/session');
  t.is(await lastSeen(), before);
  await age('last_seen_at', 14 * 86_400 - 60);
  t.is((await person.call('GET', '/v1/session')).status, 200);
  t.true((await lastSeen()) > before, 'the request updates last_seen_at');
  await age('last_seen_at', 14 * 86_400);
  t.is((await person.call('GET', '/v1/session')).status, 401);
  await age('last_seen_at', 0);
  await age('created_at', 90 * 86_400);
  t.is((await person.call('GET', '/v1/session')).status, 401);
});

test.serial('no cookie, password, code or TOTP secret is stored in plain text or logged', async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const { secret, recovery } = await turnOn(t, person);
  const signedIn = await signIn(api, { email: person.email, password: PASSWORD, code: recovery[0] });
  const cookie = (cookieOf(signedIn) ?? '').replace('spotcheck=', '');
  const browser = /^spotcheck-browser=([\w-]+)/.exec(signedIn.headers.getSetCookie()[1] ?? '')?.[1] ?? 'none';
  t.not(browser, 'none');
  await signIn(api, { email: person.email, password: 'a-mistyped-password', code: recovery[1] });
  await signIn(api, { email: PASSWORD, password: PASSWORD });
  await api.anonymous('POST', '/v1/session', `{"email":"x","password":"${PASSWORD}`, {
    Cookie: `spotcheck=${cookie}`,
  });
  await pageOf(api, signedIn)('POST', '/v1/user/password', { current: PASSWORD, new: PASSWORD });
  const secrets = [
    PASSWORD,
    'a-mistyped-password',
    secret,
    cookie,
    browser,
    String(signedIn.json['csrf_token']),
    ...recovery,
    ...recovery.map((code) => code.replaceAll('-', '')),
  ];
  const rows = await listRows(api);
  t.true(rows.some((row) => row.startsWith('recovery_codes ')) && rows.some((row) => row.startsWith('sessions ')));
  t.deepEqual(
    secrets.filter((one) => rows.some((row) => row.includes(one))),
    [],
  );
  t.true(logLines.length > 100);
  t.deepEqual(
    secrets.filter((one) => logLines.some((line) => line.includes(one))),
    [],
  );
});

/** Enables a user's second factor with the code of the previous step. */
async function turnOn(
  t: ExecutionContext<{ api: ApiServer }>,
  { call, password, email }: Person,
): Promise<{ secret: string; recovery: string[] }> {
  const begun = await call('POST', '/v1/user/totp', { password });
  const { secret, otpauth_url: url, qr_svg: picture } = begun.json;
  t.is(new URL(url).searchParams.get('secret'), secret);
  t.true(decodeURIComponent(url).includes(email));
  t.regex(picture, /^<svg [\s\S]*<\/svg>$/);
  t.is(begun.headers.get('cache-control'), 'no-store');
  const confirmed = await call('POST', '/v1/user/totp/confirm', { code: totpCode(secret, STEP - 1) });
  t.is(confirmed.status, 200, confirmed.text);
  return { secret, recovery: confirmed.json['recovery_codes'] };
}

test.serial("fast guesses from a user's own network do not lock out the user's known browser", async (t) => {
  const { api } = t.context;
  const person = await newPerson(api);
  const from = await openProxied(t);
  const { cookie } = await from('192.0.2.9', person);
  const guesses = await Promise.all(Array.from({ length: 40 }, () => from('192.0.2.9', person, { password: 'wrong' })));
  t.is(guesses.filter(({ status }) => status === 401).length, 10);
  t.is((await from('192.0.2.9', person, { cookie })).status, 201);
  t.is((await from('198.51.100.9', person, { cookie })).status, 201);
});
