import anyTest, { type TestFn } from 'ava';
import { pino } from 'pino';
import { OpenIdProvider } from '../../../../api/accounts/open-id/provider.ts';
import { generateInvitationToken, createInvitation } from '../../../../models/accounts/invitations.ts';
import { resetAccess } from '../../../../models/accounts/users.ts';
import { until } from '../../../helpers/until.ts';
import { addPerson, PASSWORD } from '../../person.ts';
import {
  addProviderUser,
  auditOf,
  Browser,
  openIdOf,
  settingsOf,
  withOpenId,
  type OpenIdContext,
} from './open-id-sign-in.ts';

// Serial, because the provider is unavailable for all tests at once.
const { serial: test } = anyTest as TestFn<OpenIdContext>;
const provider = await withOpenId(anyTest as TestFn<OpenIdContext>);

test('the sign-in methods list the password and the provider as configured', async (t) => {
  const { api } = t.context;
  for (const [openId, expected] of [
    [openIdOf(provider), { password: true, open_id: { name: 'Keycloak' } }],
    [openIdOf(provider, { isOnly: true }), { password: false, open_id: { name: 'Keycloak' } }],
    [null, { password: true, open_id: null }],
  ] as const) {
    const url = await api.another({ openId });
    t.deepEqual((await new Browser(url).call('GET', '/sign-in-methods')).json, expected);
  }
});

test('without a provider its sign-in, callback and logout routes return a 404', async (t) => {
  const url = await t.context.api.another({ openId: null });
  t.is((await new Browser(url).call('POST', '/session/open-id', {})).status, 404);
  t.is((await new Browser(url).open(`${url}/connect/open-id?code=a&state=b`)).status, 404);
  t.is((await fetch(`${url}/connect/open-id/logout`, { method: 'POST', body: new URLSearchParams() })).status, 404);
  t.is((await fetch(`${url}/connect/open-id`, { method: 'POST' })).status, 405);
  t.is((await fetch(`${url}/connect/open-id/logout`)).status, 405);
});

test('with passwords off a correct one gets a 403 with the remedy; a reset admits one user for a day', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const [ada, grace] = [await addPerson(api, tenantId), await addPerson(api, tenantId)];
  let laterMs = 0;
  const openId = openIdOf(provider, { isOnly: true });
  const url = await api.another({ openId, now: () => Date.now() + laterMs });
  const signIn = async (email: string) =>
    await new Browser(url).call('POST', '/session', { email, password: PASSWORD });
  const refused = await signIn(ada.email);
  t.is(refused.status, 403);
  t.is(
    refused.json['error'],
    'passwords are not accepted here: sign in with Keycloak. If that is impossible, an operator lets one user in for ' +
      'a day by `spotcheck user reset --email ADDRESS`',
  );
  await resetAccess(api.database, {
    userId: ada.user.id,
    passwordHash: ada.user.passwordHash,
    nowMs: Date.now(),
    author: null,
  });
  t.is((await signIn(ada.email)).status, 201);
  t.is((await signIn(grace.email)).status, 403);
  t.is((await signIn('nobody@example.org')).status, 403);
  laterMs = 86_401_000;
  t.is((await signIn(ada.email)).status, 403);
});

test('an invitation can be accepted through the provider, and only that way where passwords are off', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const inviter = await addPerson(api, tenantId);
  const url = await api.another({ openId: openIdOf(provider, { isOnly: true }) });
  const token = generateInvitationToken();
  await createInvitation(api.database, {
    id: api.makeId('inv'),
    tenantId,
    email: 'invited@example.org',
    role: 'editor',
    token,
    invitedBy: inviter.user.id,
    nowMs: Date.now(),
    author: null,
  });
  const byPassword = await new Browser(url).call('POST', '/invitations/accept', {
    token,
    name: 'Grace',
    password: 'a-new-long-password',
  });
  t.is(byPassword.status, 403);
  t.regex(String(byPassword.json['error']), /^passwords are not accepted here: open the invitation/);

  const sub = addProviderUser(provider, { email: 'private@home.example', email_verified: false });
  const browser = new Browser(url);
  t.is((await browser.signIn(provider, sub, { invitation: token })).status, 303);
  t.like((await browser.session()).json['user'], { email: 'invited@example.org', role: 'editor', has_password: false });
  const other = new Browser(url);
  const late = await other.signIn(provider, addProviderUser(provider), { invitation: token });
  t.is(late.status, 404);
  t.regex(late.html, /This invitation is over/);
  t.deepEqual(
    (await auditOf(t, tenantId)).map(({ action }) => action),
    ['member.signed_in', 'invitation.accepted'],
  );
  // Without a password, users cannot remove their only way to sign in.
  const csrf = { 'X-CSRF-Token': String((await browser.session()).json['csrf_token']) };
  const [identity] = (await browser.call('GET', '/user/identities')).json['identities'] as { id: string }[];
  const unlinking = await browser.call('DELETE', `/user/identities/${identity?.id}`, undefined, csrf);
  t.is(unlinking.status, 409);
  t.is((await browser.call('POST', '/user/identities', { password: 'x' }, csrf)).status, 409);
});

test('while the provider is unreachable its sign-in returns a 503, and passwords still work', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const person = await addPerson(api, tenantId);
  const url = await api.another({ openId: openIdOf(provider) });
  const [browser, fresh] = [new Browser(url), new Browser(await api.another({ openId: openIdOf(provider) }))];
  const end = await provider.signIn(await browser.begin(), addProviderUser(provider));
  provider.isAway = true;
  t.teardown(() => (provider.isAway = false));
  const page = await browser.open(end);
  t.is(page.status, 503);
  t.regex(page.html, /Keycloak cannot be reached/);
  const begun = await fresh.call('POST', '/session/open-id', {});
  t.is(begun.status, 503);
  t.is(begun.json['error'], 'Keycloak cannot be reached: try again in a minute');
  t.is((await browser.call('POST', '/session', { email: person.email, password: PASSWORD })).status, 201);
  provider.isAway = false;
  t.is((await fresh.call('POST', '/session/open-id', {})).status, 200);
});

test('the metadata of the provider is read again after the clock was set back', async (t) => {
  let nowMs = Date.now();
  const openId = new OpenIdProvider(settingsOf(provider), {
    logger: pino({ level: 'silent' }),
    now: () => nowMs,
    deadlineMs: 60_000,
  });
  const checks = { state: 'a', nonce: 'b', verifier: 'c'.repeat(43) };
  const begin = () => openId.authorizeUrl(checks, 'http://127.0.0.1/connect/open-id');
  const countReads = () => provider.requests.filter((path) => path === '/.well-known/openid-configuration').length;
  const before = countReads();
  await begin();
  await begin();
  t.is(countReads(), before + 1);
  nowMs -= 30 * 86_400_000;
  await begin();
  await until(() => countReads() > before + 1);
});
