import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { base64url, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import {
  addProviderUser,
  Browser,
  openIdOf,
  withOpenId,
  type OpenIdContext,
  type Page,
} from '../api/accounts/open-id/open-id-sign-in.ts';
import { isError } from '../api/api-server.ts';
import { addPerson, PASSWORD, type Person } from '../api/person.ts';

type Test = ExecutionContext<OpenIdContext>;

// The key is created first: once this file awaits, ava runs the tests that are registered by then.
const foreign = await generateKeyPair('RS256');

// Serial, because changes to the provider's responses affect all tests.
const { serial: test } = anyTest as TestFn<OpenIdContext>;
const provider = await withOpenId(anyTest as TestFn<OpenIdContext>);

/** Creates an account whose domain is provisioned, on a separate process. */
async function provisioned({ context: { api } }: Test, different: Parameters<typeof openIdOf>[1] = {}) {
  const { tenantId } = await api.account();
  const provisionDomains = [{ domain: 'example.com', tenantId }];
  const url = await api.another({ openId: openIdOf(provider, { provisionDomains, ...different }) });
  return { tenantId, url };
}

async function membersOf({ context: { api } }: Test, tenantId: string): Promise<Record<string, unknown>[]> {
  const { rows } = await api.database.pool.query('SELECT email, role FROM users WHERE tenant_id = $1', [tenantId]);
  return rows;
}

/** Asserts that a sign-in ended on an error page with this title, and without a session. */
async function isRefused(t: Test, [browser, page]: readonly [Browser, Page], title: RegExp): Promise<void> {
  t.true(page.status >= 400 && page.status < 600, `${page.status}`);
  t.is(page.location, null);
  t.regex(page.html, title);
  t.is((await browser.session()).status, 401);
}

test('a sign-in callback fails in any other browser, even one that has started its own sign-in', async (t) => {
  const { url, tenantId } = await provisioned(t);
  const [attacker, victim, idle] = [new Browser(url), new Browser(url), new Browser(url)];
  const attackersEnd = await provider.signIn(await attacker.begin(), addProviderUser(provider));
  await victim.begin();
  for (const browser of [victim, idle])
    await isRefused(t, [browser, await browser.open(attackersEnd)], /was not started here/);
  // With the user's own state and the code of another sign-in, the verifier does not match.
  const [own, others] = [
    new URL(await provider.signIn(await victim.begin(), addProviderUser(provider))),
    new URL(attackersEnd),
  ];
  own.searchParams.set('code', others.searchParams.get('code') ?? '');
  await isRefused(t, [victim, await victim.open(own.href)], /was already used/);
  t.deepEqual(await membersOf(t, tenantId), []);
});

test('a callback without its cookie, with two of them or with a forged one is rejected', async (t) => {
  const { url } = await provisioned(t);
  const browser = new Browser(url);
  const end = await provider.signIn(await browser.begin(), addProviderUser(provider));
  const cookie = browser.cookies.get('spotcheck-open-id') ?? '';
  t.regex(cookie, /^v1\./);
  for (const planted of ['', 'x', `${cookie.slice(0, -4)}AAAA`, `${cookie}; spotcheck-open-id=${cookie}`]) {
    const other = new Browser(url, new Map([['spotcheck-open-id', planted]]));
    await isRefused(t, [other, await other.open(end)], /was not started here/);
  }
  t.is((await browser.open(end)).status, 303);
});

test('a callback works at most once, even for concurrent copies of the browser', async (t) => {
  const { url } = await provisioned(t);
  const browser = new Browser(url);
  const sub = addProviderUser(provider);
  const end = await provider.signIn(await browser.begin(), sub);
  const before = new Map(browser.cookies);
  const copies = Array.from({ length: 3 }, () => new Browser(url, browser.cookies));
  const pages = await Promise.all([browser, ...copies].map((one) => one.open(end)));
  // A provider that receives a code twice revokes its tokens, so possibly none of them succeeds.
  t.true(pages.filter(({ status }) => status === 303).length <= 1);
  const late = new Browser(url, before);
  await isRefused(t, [late, await late.open(end)], /was not started here|was already used/);
});

test('a state works once, even with a second code that the provider would accept', async (t) => {
  const { url } = await provisioned(t);
  const browser = new Browser(url);
  const sub = addProviderUser(provider);
  const address = await browser.begin();
  const [first, second] = [await provider.signIn(address, sub), await provider.signIn(address, sub)];
  const copy = new Browser(url, browser.cookies);
  t.is((await browser.open(first)).status, 303);
  await isRefused(t, [copy, await copy.open(second)], /was already used/);
});

test('a sign-in expires after ten minutes', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const openId = openIdOf(provider, { provisionDomains: [{ domain: 'example.com', tenantId }] });
  let lateMs = 0;
  const url = await api.another({ openId, now: () => Date.now() + lateMs });
  const browser = new Browser(url);
  const end = await provider.signIn(await browser.begin(), addProviderUser(provider));
  lateMs = 600_001;
  await isRefused(t, [browser, await browser.open(end)], /took too long/);
});

type Forgery = [why: string, forge: (claims: JWTPayload) => Promise<string>];
const unsigned = (claims: JWTPayload): string =>
  `${base64url.encode(JSON.stringify({ alg: 'none' }))}.${base64url.encode(JSON.stringify(claims))}.`;
const byForeignKey = (claims: JWTPayload, kid = 'k1') =>
  new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(foreign.privateKey);
const bySecret = (claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(provider.clientSecret));

const FORGERIES: readonly Forgery[] = [
  ['no nonce', ({ nonce: _nonce, ...claims }) => provider.sign(claims)],
  ['a nonce of another sign-in', (claims) => provider.sign({ ...claims, nonce: 'another' })],
  ['another issuer', (claims) => provider.sign({ ...claims, iss: 'https://evil.example' })],
  ['another audience', (claims) => provider.sign({ ...claims, aud: 'another-client' })],
  [
    'several audiences and another authorized party',
    (claims) => provider.sign({ ...claims, aud: ['spotcheck', 'x'], azp: 'x' }),
  ],
  ['a past expiry time', (claims) => provider.sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 3600 })],
  ['no subject', ({ sub: _sub, ...claims }) => provider.sign(claims)],
  ['a subject of 256 characters', (claims) => provider.sign({ ...claims, sub: 'x'.repeat(256) })],
  ['no signature', async (claims) => unsigned(claims)],
  ['a signature from another key', (claims) => byForeignKey(claims)],
  ['a signature from an unknown key', (claims) => byForeignKey(claims, 'k2')],
  ['a signature from the client’s secret', (claims) => bySecret(claims)],
];

for (const [why, forge] of FORGERIES) {
  test(`an ID token with ${why} is rejected`, async (t) => {
    const { url, tenantId } = await provisioned(t);
    provider.tamper = forge;
    t.teardown(() => (provider.tamper = null));
    const browser = new Browser(url);
    await isRefused(t, [browser, await browser.signIn(provider, addProviderUser(provider))], /cannot be trusted/);
    t.deepEqual(await membersOf(t, tenantId), []);
  });
}

test('a callback with a wrong or missing issuer, no code or a repeated parameter is not exchanged', async (t) => {
  const { url } = await provisioned(t);
  const browser = new Browser(url);
  for (const change of [
    (end: URL) => end.searchParams.set('iss', 'https://evil.example'),
    (end: URL) => end.searchParams.delete('iss'),
    (end: URL) => end.searchParams.append('iss', 'https://evil.example'),
    (end: URL) => end.searchParams.append('code', 'another'),
    (end: URL) => end.searchParams.append('state', 'another'),
    (end: URL) => end.searchParams.delete('code'),
  ]) {
    const end = new URL(await provider.signIn(await browser.begin(), addProviderUser(provider)));
    change(end);
    const before = provider.requests.filter((path) => path === '/token').length;
    await isRefused(t, [browser, await browser.open(end.href)], /cannot be trusted|was not started here/);
    t.is(provider.requests.filter((path) => path === '/token').length, before, end.search);
  }
});

test('a provider whose configuration names another issuer is not used', async (t) => {
  const { api } = t.context;
  const issuer = provider.issuer.replace('127.0.0.1', 'localhost');
  const url = await api.another({ openId: openIdOf(provider, { issuer }) });
  const answer = await new Browser(url).call('POST', '/session/open-id', {});
  t.is(answer.status, 503);
  t.is(answer.json['error'], 'Keycloak is not set up correctly: ask your operator to look at the log');
});

test("a provider account with a user's email address is not that user", async (t) => {
  const { api } = t.context;
  const { url, tenantId } = await provisioned(t);
  const victim = await addPerson(api, tenantId, { isOperator: true });
  await api.database.pool.query('UPDATE users SET email = $2 WHERE id = $1', [victim.user.id, 'boss@example.com']);
  for (const email of ['boss@example.com', ' BOSS@Example.com ']) {
    const sub = addProviderUser(provider, { email, email_verified: true });
    const browser = new Browser(url);
    await isRefused(t, [browser, await browser.signIn(provider, sub)], /There is no user for you here/);
  }
  t.is((await membersOf(t, tenantId)).length, 1);
  const { rows } = await api.database.pool.query('SELECT 1 FROM open_id_identities WHERE user_id = $1', [
    victim.user.id,
  ]);
  t.is(rows.length, 0);
});

test('an email address that belongs to a user of another account gives no access to that account', async (t) => {
  const { api } = t.context;
  const [{ tenantId: ours }, { tenantId: theirs }] = [await api.account(), await api.account()];
  const { user } = await addPerson(api, theirs);
  for (const provisionDomains of [[], [{ domain: 'example.org', tenantId: ours }]]) {
    const url = await api.another({ openId: openIdOf(provider, { linksByEmail: true, provisionDomains }) });
    const browser = new Browser(url);
    const sub = addProviderUser(provider, { email: user.email, email_verified: true });
    await isRefused(t, [browser, await browser.signIn(provider, sub)], /There is no user for you here/);
  }
});

test('an account cannot invite addresses of a domain that is provisioned for another account', async (t) => {
  const { api } = t.context;
  const [{ tenantId: ours }, { tenantId: theirs }] = [await api.account(), await api.account()];
  const provisionDomains = [{ domain: 'corp.example', tenantId: ours }];
  const url = await api.another({ openId: openIdOf(provider, { provisionDomains }) });
  const invite = async (tenantId: string, email: string) =>
    (await addPerson(api, tenantId)).call('POST', '/v1/invitations', { email, role: 'owner' }, {}, url);
  const refused = await invite(theirs, 'Bob@Corp.example');
  isError(t, refused, { status: 409, error: /people at corp\.example belong to another account here/ });
  t.is((await invite(ours, 'bob@corp.example')).status, 201);
  t.is((await invite(theirs, 'bob@other.example')).status, 201);
});

test('when linking by email is enabled, only verified addresses count, and a user is linked only once', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const { user } = await addPerson(api, tenantId);
  const provisionDomains = [{ domain: 'example.org', tenantId }];
  const url = await api.another({ openId: openIdOf(provider, { linksByEmail: true, provisionDomains }) });
  for (const email_verified of [false, undefined, 'true', 1]) {
    const sub = addProviderUser(provider, { email: user.email, email_verified });
    const browser = new Browser(url);
    await isRefused(t, [browser, await browser.signIn(provider, sub)], /is not verified/);
  }
  const browser = new Browser(url);
  const sub = addProviderUser(provider, { email: user.email.toUpperCase(), email_verified: true });
  t.is((await browser.signIn(provider, sub)).status, 303);
  t.is(((await browser.session()).json['user'] as { id: string }).id, user.id);
  const second = new Browser(url);
  const other = addProviderUser(provider, { email: user.email, email_verified: true });
  await isRefused(t, [second, await second.signIn(provider, other)], /There is no user for you here/);
});

test('an address that is unverified or only resembles the domain creates no user', async (t) => {
  const { url, tenantId } = await provisioned(t);
  for (const [claims, title] of [
    [{ email: 'a@example.com', email_verified: false }, /not verified/],
    [{ email: 'a@example.com', email_verified: 'true' }, /not verified/],
    [{ email: 'a@example.com', email_verified: undefined }, /not verified/],
    [{ email: 'a@example.com.evil.example', email_verified: true }, /There is no user/],
    [{ email: 'a@sub.example.com', email_verified: true }, /There is no user/],
    [{ email: 'a@evilexample.com', email_verified: true }, /There is no user/],
    [{ email: 'a@evil.example@example.com', email_verified: true }, /There is no user/],
    [{ email: '"a@evil.example"@example.com', email_verified: true }, /There is no user/],
    [{ email: 'a@example.com\u0000', email_verified: true }, /There is no user/],
    [{ email: ['a@example.com'], email_verified: true }, /There is no user/],
    [{ email: '', email_verified: true }, /There is no user/],
  ] as const) {
    const browser = new Browser(url);
    const sub = addProviderUser(provider);
    provider.users.set(sub, { ...claims } as Record<string, unknown>);
    await isRefused(t, [browser, await browser.signIn(provider, sub)], title);
  }
  t.deepEqual(await membersOf(t, tenantId), []);
});

test('the role claim grants roles only by its rules; a value named like a role grants none', async (t) => {
  const roles = [
    { role: 'owner', value: 'spotcheck-admins' },
    { role: 'editor', value: 'developers' },
  ] as const;
  const { url, tenantId } = await provisioned(t, { roleClaim: 'groups', roles });
  for (const groups of [
    undefined,
    [],
    'owner',
    ['owner', 'editor', '*', 'admins'],
    { owner: true },
    [['developers']],
    7,
  ]) {
    const browser = new Browser(url);
    await isRefused(t, [browser, await browser.signIn(provider, addProviderUser(provider, { groups }))], /no access/);
  }
  t.deepEqual(await membersOf(t, tenantId), []);
  const sub = addProviderUser(provider, { groups: ['x', 'developers', 'spotcheck-admins'] });
  const roleAfter = async (claims: Record<string, unknown>) => {
    provider.users.set(sub, { ...provider.users.get(sub), ...claims });
    const browser = new Browser(url);
    t.is((await browser.signIn(provider, sub)).status, 303);
    return ((await browser.session()).json['user'] as { role: string }).role;
  };
  t.is(await roleAfter({}), 'owner');
  // The last owner keeps the role.
  t.is(await roleAfter({ groups: 'developers' }), 'owner');
  await addPerson(t.context.api, tenantId, { role: 'owner' });
  t.is(await roleAfter({ groups: 'developers' }), 'editor');
  t.is(await roleAfter({ groups: ['spotcheck-admins'] }), 'owner');
});

test('a removed user loses the session and, without provisioning, cannot sign in again', async (t) => {
  const { api } = t.context;
  const { url, tenantId } = await provisioned(t);
  const boss = await addPerson(api, tenantId);
  const sub = addProviderUser(provider);
  const browser = new Browser(url);
  t.is((await browser.signIn(provider, sub)).status, 303);
  const { id } = (await browser.session()).json['user'] as { id: string };
  t.is((await boss.call('DELETE', `/v1/members/${id}`)).status, 204);
  t.is((await browser.session()).status, 401);
  const without = await api.another({ openId: openIdOf(provider) });
  const late = new Browser(without);
  await isRefused(t, [late, await late.signIn(provider, sub)], /There is no user for you here/);
});

test('a long name from a provider is truncated and cleaned, and huge claims are refused', async (t) => {
  const { url, tenantId } = await provisioned(t);
  const browser = new Browser(url);
  const name = `<script>alert(1)</script>\u2028${'x'.repeat(50_000)}`;
  const sub = addProviderUser(provider, { name, groups: Array.from({ length: 5000 }, (_, index) => `group ${index}`) });
  t.is((await browser.signIn(provider, sub)).status, 303);
  const { name: stored } = (await browser.session()).json['user'] as { name: string };
  t.true(stored.length <= 255);
  t.false(stored.includes('\u2028'));
  const huge = addProviderUser(provider, { name: 'x'.repeat(300_000) });
  const other = new Browser(url);
  await isRefused(t, [other, await other.signIn(provider, huge)], /cannot be reached/);
  t.is((await membersOf(t, tenantId)).length, 1);
});

test('a sign-in redirects only to our own pages', async (t) => {
  const { url } = await provisioned(t);
  const browser = new Browser(url);
  for (const returnTo of [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '\\\\evil.example',
    'javascript:alert(1)',
    '/\t/evil.example',
    '/ /evil.example',
    '/a\r\nLocation: https://evil.example',
    '@evil.example',
    '.evil.example',
    '/ä',
    `/${'a'.repeat(500)}`,
  ]) {
    const answer = await browser.call('POST', '/session/open-id', { return_to: returnTo });
    t.is(answer.status, 400, returnTo);
    t.regex(String(answer.json['error']), /^return_to must be a (?:path of the console|string of 1 to 500 characters)/);
  }
  t.is(
    (await browser.signIn(provider, addProviderUser(provider), { return_to: '/a/..//evil.example' })).location,
    `${url}/a/..//evil.example`,
  );
});

test('another site can neither start a sign-in nor link an identity to a user', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const [attacker, victim] = [await addPerson(api, tenantId), await addPerson(api, tenantId)];
  const foreignPage = { Origin: 'https://evil.example' };
  t.is((await new Browser(api.url).call('POST', '/session/open-id', {}, foreignPage)).status, 403);

  const browserOf = (person: Person) => new Browser(api.url, new Map([pairOf(person.headers['Cookie'] ?? '')]));
  const csrf = { 'X-CSRF-Token': attacker.headers['X-CSRF-Token'] ?? '' };
  const [own, theirs] = [browserOf(attacker), browserOf(victim)];
  t.is((await own.call('POST', '/user/identities', { password: PASSWORD })).status, 403);
  const begun = await own.call('POST', '/user/identities', { password: PASSWORD }, csrf);
  const end = await provider.signIn(String(begun.json['url']), addProviderUser(provider));
  t.regex((await theirs.open(end)).html, /was not started here/);
  // The attacker's sign-in cookie, planted beside the victim's session.
  theirs.cookies.set('spotcheck-open-id', own.cookies.get('spotcheck-open-id') ?? '');
  t.regex((await theirs.open(end)).html, /Nothing was linked/);
  const { rows } = await api.database.pool.query('SELECT 1 FROM open_id_identities WHERE user_id IN ($1, $2)', [
    attacker.user.id,
    victim.user.id,
  ]);
  t.is(rows.length, 0);
});

test('a network gets at most 120 provider sign-ins per minute', async (t) => {
  const { url } = await provisioned(t);
  const config = { publicUrl: url, planCountLimits: true, telegramBotName: null, slackClientId: null };
  const openId = openIdOf(provider);
  const proxied = await t.context.api.another({ openId, config: { ...config, trustedProxies: ['loopback'] } });
  const from = { 'X-Forwarded-For': '192.0.2.77' };
  const begun = await fetch(`${proxied}/v1/session/open-id`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...from },
    body: '{}',
  });
  const state = new URL(String(((await begun.json()) as { url: string }).url)).searchParams.get('state') ?? '';
  const headers = { Cookie: begun.headers.getSetCookie()[0]?.split(';')[0] ?? '', ...from };
  const visit = async () => {
    const query = new URLSearchParams({ state, code: 'guessed', iss: provider.issuer });
    const page = await fetch(`${proxied}/connect/open-id?${query}`, { headers, redirect: 'manual' });
    return { status: page.status, wait: page.headers.get('retry-after') ?? '', html: await page.text() };
  };
  const pages = await Promise.all(Array.from({ length: 130 }, visit));
  t.true(pages.filter(({ status }) => status === 429).length >= 10);
  t.true(pages.filter(({ status }) => status === 400).length >= 1);
  const refused = pages.find(({ status }) => status === 429);
  t.regex(refused?.wait ?? '', /^\d+$/);
  t.regex(refused?.html ?? '', /There are at most 120 sign-ins by a provider from this network per minute/);
});

test('no client secret, code, verifier or token is logged or stored', async (t) => {
  const { api } = t.context;
  const { url } = await provisioned(t);
  const tokens: string[] = [];
  provider.tamper = async (claims) => {
    const token = await provider.sign(claims);
    tokens.push(token);
    return token;
  };
  t.teardown(() => (provider.tamper = null));
  const browser = new Browser(url);
  const end = await provider.signIn(await browser.begin(), addProviderUser(provider));
  const cookie = browser.cookies.get('spotcheck-open-id') ?? '';
  t.is((await browser.open(end)).status, 303);
  t.is((await new Browser(url, new Map([['spotcheck-open-id', cookie]])).open(end)).status, 400);
  const { searchParams } = new URL(end);
  const secrets = [
    provider.clientSecret,
    cookie,
    ...tokens,
    searchParams.get('code') ?? '',
    searchParams.get('state') ?? '',
  ];
  const { rows } = await api.database.pool.query<{ row: string }>(
    `SELECT row_to_json(t)::text AS row FROM (SELECT * FROM open_id_identities) t
     UNION ALL SELECT row_to_json(t)::text FROM (SELECT * FROM open_id_sessions) t
     UNION ALL SELECT row_to_json(t)::text FROM (SELECT * FROM open_id_used) t
     UNION ALL SELECT row_to_json(t)::text FROM (SELECT * FROM audit_log) t`,
  );
  const written = [JSON.stringify(api.logLines), ...rows.map(({ row }) => row)].join('\n');
  for (const secret of secrets) {
    t.true(secret.length > 10);
    t.false(written.includes(secret), secret);
    t.false(written.includes(encodeURIComponent(secret)), secret);
  }
});

function pairOf(cookie: string): [string, string] {
  const [name = '', value = ''] = cookie.split('=');
  return [name, value];
}
