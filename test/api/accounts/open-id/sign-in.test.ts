import anyTest, { type TestFn } from 'ava';
import { totpCode } from '../../../helpers/totp.ts';
import { addPerson, PASSWORD } from '../../person.ts';
import { addProviderUser, auditOf, Browser, openIdOf, withOpenId, type OpenIdContext } from './open-id-sign-in.ts';

const test = anyTest as TestFn<OpenIdContext>;
const provider = await withOpenId(test);

test('the first sign-in from a provisioned domain creates a user, and later ones find it by subject', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const url = await api.another({
    openId: openIdOf(provider, { provisionDomains: [{ domain: 'example.com', tenantId }] }),
  });
  const sub = addProviderUser(provider, { name: 'Grace\u0000 Hopper' });
  const browser = new Browser(url);
  const page = await browser.signIn(provider, sub, { return_to: '/monitors?tag=a' });
  t.is(page.status, 303, page.html);
  t.is(page.location, `${url}/monitors?tag=a`);
  const first = await browser.session();
  t.is(first.status, 200, first.text);
  t.like(first.json['user'], {
    email: `${sub}@example.com`,
    name: 'Grace  Hopper',
    role: 'viewer',
    is_operator: false,
    has_password: false,
  });
  t.is((first.json['tenant'] as { id: string }).id, tenantId);

  const again = new Browser(url);
  // The email address may change: `sub` identifies the user.
  provider.users.set(sub, { email: 'somewhere@else.example', email_verified: true });
  t.is((await again.signIn(provider, sub)).location, `${url}/`);
  t.is(((await again.session()).json['user'] as { id: string }).id, (first.json['user'] as { id: string }).id);
  const { rows } = await api.database.pool.query('SELECT * FROM users WHERE tenant_id = $1', [tenantId]);
  t.is(rows.length, 1);
  t.deepEqual(
    (await auditOf(t, tenantId)).map(({ action, actor_kind: kind, address }) => ({ action, kind, address })),
    [
      { action: 'member.signed_in', kind: 'user', address: '127.0.0.1' },
      { action: 'member.signed_in', kind: 'user', address: '127.0.0.1' },
      { action: 'member.provisioned', kind: 'user', address: '127.0.0.1' },
    ],
  );
});

test('a client secret that the provider rejects is logged with the error code of the provider', async (t) => {
  const { api } = t.context;
  const url = await api.another({ openId: openIdOf(provider, { clientSecret: 'not the secret' }) });
  const page = await new Browser(url).signIn(provider, addProviderUser(provider, { name: 'Ada' }));
  t.regex(page.html, /cannot be trusted/);
  const refused = api.logLines.filter(({ msg }) => msg === 'sign_in.provider_refused');
  t.deepEqual(
    refused.map(({ error }) => error),
    ['the provider responded with invalid_client (401)'],
  );
});

test('a user links an account at the provider with their password, signs in with it and unlinks it', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const person = await addPerson(api, tenantId, { role: 'editor' });
  const sub = addProviderUser(provider, { email: 'private@home.example', email_verified: false });
  const browser = new Browser(api.url, cookiesOf(person.headers));
  const csrf = { 'X-CSRF-Token': person.headers['X-CSRF-Token'] ?? '' };
  t.is((await new Browser(api.url).signIn(provider, sub)).status, 403);

  const wrong = await browser.call('POST', '/user/identities', { password: 'not my password' }, csrf);
  t.is(wrong.status, 400);
  t.is(wrong.json['error'], 'password is not your password');
  const begun = await browser.call('POST', '/user/identities', { password: PASSWORD }, csrf);
  t.is(begun.status, 200, begun.text);
  const page = await browser.open(await provider.signIn(String(begun.json['url']), sub));
  t.is(page.location, `${api.url}/settings/account`, page.html);

  const other = new Browser(api.url);
  t.is((await other.signIn(provider, sub)).status, 303);
  t.is(((await other.session()).json['user'] as { id: string }).id, person.user.id);
  const listed = await browser.call('GET', '/user/identities');
  const [identity] = listed.json['identities'] as { id: string; issuer: string; email: string }[];
  t.like(identity, { issuer: provider.issuer, is_current: true, email: 'private@home.example' });

  const unlinked = await browser.call('DELETE', `/user/identities/${identity?.id}`, undefined, csrf);
  t.deepEqual(unlinked.json, { ended_sessions: 1 });
  t.is((await other.session()).status, 401);
  t.is((await browser.session()).status, 200);
  t.is((await new Browser(api.url).signIn(provider, sub)).status, 403);
  t.deepEqual(
    (await auditOf(t, tenantId)).map(({ action }) => action),
    ['member.identity_unlinked', 'member.signed_in', 'member.identity_linked'],
  );
});

test('a user with two-factor authentication links the provider with a code, and signs in without one', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const person = await addPerson(api, tenantId);
  const started = await person.call('POST', '/v1/user/totp', { password: PASSWORD });
  const secret = String(started.json.secret);
  const step = Math.floor(Date.now() / 30_000);
  t.is((await person.call('POST', '/v1/user/totp/confirm', { code: totpCode(secret, step) })).status, 200);
  const sub = addProviderUser(provider);
  const browser = new Browser(api.url, cookiesOf(person.headers));
  const link = (body: Record<string, string>) =>
    browser.call('POST', '/user/identities', body, { 'X-CSRF-Token': person.headers['X-CSRF-Token'] ?? '' });
  t.is((await link({ password: PASSWORD })).json['error'], 'code is required, because two-factor authentication is on');
  const used = await link({ password: PASSWORD, code: totpCode(secret, step) });
  t.regex(String(used.json['error']), /^code is wrong or has already been used/);
  const begun = await link({ password: PASSWORD, code: totpCode(secret, step + 1) });
  t.is(begun.status, 200, begun.text);
  t.is((await browser.open(await provider.signIn(String(begun.json['url']), sub))).status, 303);
  const other = new Browser(api.url);
  t.is((await other.signIn(provider, sub)).status, 303);
  t.like((await other.session()).json['user'], { id: person.user.id, totp_enabled: true });
});

test('a user with an account at a former provider links one at the present provider as well', async (t) => {
  const { api } = t.context;
  const person = await addPerson(api, (await api.account()).tenantId);
  await api.database.pool.query(
    `INSERT INTO open_id_identities (id, user_id, issuer, subject, email, created_at)
     VALUES ($1, $2, 'https://former.example', $2, '', 0)`,
    [api.makeId('idn'), person.user.id],
  );
  const url = await api.another({ openId: openIdOf(provider, { isOnly: true }) });
  const browser = new Browser(url, cookiesOf(person.headers));
  const csrf = { 'X-CSRF-Token': person.headers['X-CSRF-Token'] ?? '' };
  const listed = async () => {
    const { identities } = (await browser.call('GET', '/user/identities')).json as {
      identities: { issuer: string; is_current: boolean }[];
    };
    return identities.map(({ issuer, is_current: isCurrent }) => [issuer, isCurrent]);
  };
  t.deepEqual(await listed(), [['https://former.example', false]]);
  const begun = await browser.call('POST', '/user/identities', { password: PASSWORD }, csrf);
  const page = await browser.open(await provider.signIn(String(begun.json['url']), addProviderUser(provider)));
  t.is(page.status, 303, page.html);
  t.deepEqual(await listed(), [
    ['https://former.example', false],
    [provider.issuer, true],
  ]);
});

function cookiesOf(headers: Record<string, string>): Map<string, string> {
  return new Map([(headers['Cookie'] ?? '').split('=') as [string, string]]);
}
