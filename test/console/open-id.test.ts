import anyTest, { type TestFn } from 'ava';
import { findBarriers, openPage, waitForConsole } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { startOpenIdProvider, type OpenIdProviderServer } from '../helpers/open-id-provider.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;
let provider: OpenIdProviderServer;
withConsole(test, async (harness) => {
  provider = await startOpenIdProvider();
  harness.teardown(() => provider.close());
  return {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
    OIDC_NAME: 'Keycloak',
    OIDC_PROVISION_DOMAINS: 'example.com',
  };
});

test.serial('a user signs in at the provider and returns to the page that they opened', async (t) => {
  const { browser, service } = t.context;
  provider.users.set('grace', { email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' });
  const { page } = await openPage(t, browser, { url: service.url });
  await page.goto('/settings/account');
  const button = page.getByRole('button', { name: 'Sign in with Keycloak' });
  await button.waitFor();
  t.deepEqual(await findBarriers(page), []);
  await button.click();
  await page.getByLabel('Login').fill('grace');
  await page.getByRole('button', { name: 'Continue' }).click();
  await waitForConsole(page);
  t.is(new URL(page.url()).pathname, '/settings/account');
  await page.getByText(`grace@example.com at ${provider.issuer}`).waitFor();
  t.is(await page.getByRole('button', { name: 'Change password' }).count(), 0);
  t.is(await page.getByRole('button', { name: 'Unlink' }).count(), 0);
  t.deepEqual(await findBarriers(page), []);
});

test.serial('a provider user without an account sees why and can return to the sign-in', async (t) => {
  const { browser, service } = t.context;
  provider.users.set('eve', { email: 'eve@elsewhere.example', email_verified: true });
  const { page } = await openPage(t, browser, { url: service.url });
  await page.goto('/');
  await page.getByRole('button', { name: 'Sign in with Keycloak' }).click();
  await page.getByLabel('Login').fill('eve');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'There is no user for you here' }).waitFor();
  await page.getByRole('link', { name: 'Open Spotcheck' }).click();
  await page.getByRole('button', { name: 'Sign in with Keycloak' }).waitFor();
  t.deepEqual(
    (await page.context().cookies(service.url)).map(({ name }) => name),
    [],
  );
});

test.serial('a user links the provider after entering their password, and unlinks it', async (t) => {
  const { person } = t.context;
  provider.users.set('ada', { email: 'ada@elsewhere.example' });
  const { page } = await openSignedIn(t, '/settings/account');
  await page.getByRole('button', { name: 'Link Keycloak' }).click();
  const dialog = page.getByRole('dialog', { name: 'Link Keycloak' });
  const questions: string[] = [];
  page.on('dialog', (question) => {
    questions.push(question.type());
    void question.accept();
  });
  await dialog.getByLabel('Your password').fill('not my password');
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await dialog.getByText('Wrong password').waitFor();
  await dialog.getByLabel('Your password').fill(person.password);
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Login').fill('ada');
  await page.getByRole('button', { name: 'Continue' }).click();
  t.deepEqual(questions, [], 'the browser does not ask before it goes to the provider');
  await page.getByText(`ada@elsewhere.example at ${provider.issuer}`).waitFor();
  await page.getByRole('button', { name: 'Unlink' }).click();
  await page.getByText('Not linked.').waitFor();
  t.is(await page.getByRole('button', { name: 'Link Keycloak' }).count(), 1);
});

test.serial('a user with an account at a former provider can link the present one', async (t) => {
  const { databaseUrl, person } = t.context;
  await withClient(databaseUrl, (client) =>
    client.query(
      `INSERT INTO open_id_identities (id, user_id, issuer, subject, email, created_at)
       SELECT 'idn_former', id, 'https://former.example', 'ada', 'ada@former.example', 0 FROM users WHERE email = $1`,
      [person.email],
    ),
  );
  const { page } = await openSignedIn(t, '/settings/account');
  await page.getByText('ada@former.example at https://former.example').waitFor();
  await page.getByText('no longer used here').waitFor();
  t.is(await page.getByRole('button', { name: 'Link Keycloak' }).count(), 1);
  t.deepEqual(await findBarriers(page), []);
});
