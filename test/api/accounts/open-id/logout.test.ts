import anyTest, { type TestFn } from 'ava';
import { generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { findIdentityUser } from '../../../../models/accounts/identities.ts';
import { addSession } from '../../person.ts';
import { addProviderUser, auditOf, Browser, openIdOf, withOpenId, type OpenIdContext } from './open-id-sign-in.ts';

// The key is created first: once this file awaits, ava runs the tests that are registered by then.
const foreign = await generateKeyPair('RS256');
const test = anyTest as TestFn<OpenIdContext>;
const provider = await withOpenId(test);

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} };
let tokens = 0;

function claimsOf(sub: string): JWTPayload {
  const now = Math.floor(Date.now() / 1000);
  tokens += 1;
  return {
    iss: provider.issuer,
    aud: provider.clientId,
    iat: now,
    exp: now + 120,
    jti: `token-${tokens}`,
    events: EVENTS,
    sub,
  };
}

async function post(url: string, token: string): Promise<{ status: number; text: string; cache: string | null }> {
  const body = new URLSearchParams({ logout_token: token });
  const response = await fetch(`${url}/connect/open-id/logout`, { method: 'POST', body });
  return { status: response.status, text: await response.text(), cache: response.headers.get('cache-control') };
}

/** Creates a user who is signed in by the provider. */
async function signedIn(t: Parameters<typeof auditOf>[0]) {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const provisionDomains = [{ domain: 'example.com', tenantId }];
  const url = await api.another({ openId: openIdOf(provider, { provisionDomains }) });
  const sub = addProviderUser(provider);
  const browser = new Browser(url);
  t.is((await browser.signIn(provider, sub)).status, 303);
  return { tenantId, url, sub, browser };
}

test('a back-channel logout with a session id ends only that session, and is recorded', async (t) => {
  const { api } = t.context;
  const { tenantId, url, sub, browser } = await signedIn(t);
  const second = new Browser(url);
  t.is((await second.signIn(provider, sub)).status, 303);
  const user = await findIdentityUser(api.database, { issuer: provider.issuer, subject: sub });
  if (user === null) return t.fail();
  const { headers } = await addSession(api, user.user);
  const byPassword = new Browser(url, new Map([(headers['Cookie'] ?? '').split('=') as [string, string]]));
  const { rows } = await api.database.pool.query<{ sid: string }>(
    'SELECT sid FROM open_id_sessions WHERE identity_id = $1 ORDER BY session_id',
    [user.identityId],
  );
  t.is(rows.length, 2);
  t.not(rows[0]?.sid, rows[1]?.sid);
  await provider.logOut(`${url}/connect/open-id/logout`, sub, rows[0]?.sid ?? '');
  t.is((await browser.session()).status, 401);
  t.is((await second.session()).status, 200);
  t.is((await byPassword.session()).status, 200);
  const [latest] = await auditOf(t, tenantId);
  t.like(latest, {
    action: 'member.signed_out_by_provider',
    actor_kind: 'system',
    object_id: user.user.id,
    changes: { ended_sessions: [null, 1] },
  });
});

test('a logout token with only a subject ends all provider sessions of that user, and works once', async (t) => {
  const { url, sub, browser } = await signedIn(t);
  const second = new Browser(url);
  t.is((await second.signIn(provider, sub)).status, 303);
  const other = await signedIn(t);
  const token = await provider.sign(claimsOf(sub), { typ: 'logout+jwt' });
  const answer = await post(url, token);
  t.deepEqual(answer, { status: 200, text: '', cache: 'no-store' });
  for (const ended of [browser, second]) t.is((await ended.session()).status, 401);
  t.is((await other.browser.session()).status, 200);

  const again = new Browser(url);
  t.is((await again.signIn(provider, sub)).status, 303);
  const replay = await post(url, token);
  t.is(replay.status, 400);
  t.deepEqual(JSON.parse(replay.text), {
    error: 'invalid_request',
    error_description: 'this logout token was used already',
  });
  t.is((await again.session()).status, 200);
});

test('a logout request with too many parameters gets a 413', async (t) => {
  const body = new URLSearchParams(Array.from({ length: 30 }, (_, no) => [`p${no}`, 'x']));
  const { status } = await fetch(`${t.context.api.url}/connect/open-id/logout`, { method: 'POST', body });
  t.is(status, 413);
});

type Forge = (claims: JWTPayload) => Promise<string>;

const without = (name: string): Forge => {
  return ({ [name]: _left, ...claims }) => provider.sign(claims);
};
const FORGERIES: readonly [why: string, forge: Forge][] = [
  [
    'another key',
    (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(foreign.privateKey),
  ],
  [
    'the client’s secret',
    (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(provider.clientSecret)),
  ],
  [
    'no signature',
    async (claims) => `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`,
  ],
  ['another audience', (claims) => provider.sign({ ...claims, aud: 'another' })],
  ['another issuer', (claims) => provider.sign({ ...claims, iss: 'https://evil.example' })],
  ['issued an hour ago', (claims) => provider.sign({ ...claims, iat: Number(claims.iat) - 3600 })],
  ['issued in the future', (claims) => provider.sign({ ...claims, iat: Number(claims.iat) + 3600 })],
  ['expired', (claims) => provider.sign({ ...claims, exp: Number(claims.iat) - 3600 })],
  ['the nonce of an ID token', (claims) => provider.sign({ ...claims, nonce: 'n' })],
  ['no event', without('events')],
  ['another event', (claims) => provider.sign({ ...claims, events: { 'https://example.com/x': {} } })],
  ['a string instead of an event', (claims) => provider.sign({ ...claims, events: Object.keys(EVENTS)[0] })],
  ['no id', without('jti')],
  ['no time', without('iat')],
  ['neither subject nor session', without('sub')],
  ['another type', (claims) => provider.sign(claims, { typ: 'at+jwt' })],
];

test('forged, expired or malformed logout tokens get a 400 and end no session', async (t) => {
  const { url, sub, browser } = await signedIn(t);
  for (const [why, forge] of FORGERIES) {
    const answer = await post(url, await forge(claimsOf(sub)));
    t.is(answer.status, 400, why);
    t.is((JSON.parse(answer.text) as { error: string }).error, 'invalid_request');
  }
  for (const token of ['', 'x', 'a.b.c', 'x'.repeat(10_000)]) t.is((await post(url, token)).status, 400);
  t.is((await post(url, 'x'.repeat(20_000))).status, 413);
  t.is((await browser.session()).status, 200);
  t.is((await post(url, await provider.sign(claimsOf(sub)))).status, 200);
  t.is((await browser.session()).status, 401);
});
