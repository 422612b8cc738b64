import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { findBarriers, openPage, signIn, signInInAnotherTab } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

type Context = ExecutionContext<ConsoleService>;
type Person = ConsoleService['person'];

/** Returns a function that sends requests in a separate session, beside the browser's. */
async function signedInElsewhere({ context: { service } }: Context, person: Person) {
  const json = { 'Content-Type': 'application/json' };
  const begun = await fetch(`${service.url}/v1/session`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(person),
  });
  const { csrf_token: token } = (await begun.json()) as { csrf_token: string };
  const headers = { ...json, Cookie: begun.headers.get('set-cookie')?.split(';')[0] ?? '', 'X-CSRF-Token': token };
  return (path: string, body?: object, method = 'POST') =>
    fetch(`${service.url}/v1${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
}

/** Closes the event stream, which would report at once that the session has ended, so that the next request does. */
async function closeStream(page: Page): Promise<void> {
  await page.route('**/v1/live', (route) => route.abort());
  await page.reload();
}

/** Ends a user's sessions in all browsers, like "Sign out other sessions". */
async function signOutEverywhere(t: Context, person: Person): Promise<void> {
  const send = await signedInElsewhere(t, person);
  t.is((await send('/sessions/end-others')).status, 200);
}

const storage = (page: Page) => page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })');

test.serial('after a session has ended, input except secrets is restored, and the page says why', async (t) => {
  const { service, person } = t.context;
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  await closeStream(page);
  await page.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:1/health');
  await page.getByLabel('Name', { exact: true }).fill('Health');
  await page.getByText('Request', { exact: true }).click();
  await page.getByRole('button', { name: 'Add secret header' }).click();
  await page.getByLabel('Name of header 1').fill('X-Key');
  await page.getByLabel('Secret value of X-Key').fill('s3cret-header');
  await page.getByLabel('Authentication').selectOption('bearer');
  await page.getByLabel('Token', { exact: true }).fill('s3cret-token');
  await signOutEverywhere(t, person);
  await page.getByRole('button', { name: 'Create monitor' }).click();

  await page.getByText(/^Your session expired or was ended elsewhere\..*what you typed is kept, except/).waitFor();
  t.deepEqual(await findBarriers(page), []);
  t.regex(String(await storage(page)), /Health/);
  t.notRegex(String(await storage(page)), /s3cret/);
  // A reload of the tab must not lose the draft.
  await page.reload();
  await page.getByText(/what you typed is kept, except/).waitFor();
  await signIn(page, person);
  await page.getByLabel('Secret value of X-Key').waitFor();
  t.is(await page.getByLabel('URL', { exact: true }).inputValue(), 'http://127.0.0.1:1/health');
  t.is(await page.getByLabel('Secret value of X-Key').inputValue(), '');
  t.is(await page.getByLabel('Token', { exact: true }).inputValue(), '');
  t.notRegex(String(await storage(page)), /Health/, 'it is restored once');
  await page.getByLabel('Secret value of X-Key').fill('s3cret-header');
  await page.getByLabel('Authentication').selectOption('');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.waitForURL(/\/monitors\/mon_/);
  const { monitors } = (await service.call('GET', '/monitors?q=Health')).json;
  t.is(monitors.length, 1);
  t.deepEqual(complaints, []);
});

test.serial('a dialog is restored with its input, for the same user only', async (t) => {
  const { person } = t.context;
  const owner = await signedInElsewhere(t, person);
  const { url } = (await (await owner('/invitations', { email: 'grace@example.org', role: 'owner' })).json()) as {
    url: string;
  };
  const grace = { email: 'grace@example.org', password: 'a long pass phrase' };
  const accepted = await fetch(`${t.context.service.url}/v1/invitations/accept`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: url.split('/').at(-1), name: 'Grace', password: grace.password }),
  });
  t.is(accepted.status, 201);

  const typeTokenName = async (page: Page) => {
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Terraform');
    await signOutEverywhere(t, person);
    await page.keyboard.press('Enter');
    await page.getByText(/what you typed is kept, except/).waitFor();
  };
  const { page, complaints } = await openSignedIn(t, '/settings/tokens');
  await closeStream(page);
  await typeTokenName(page);
  await signIn(page, person);
  const name = page.getByRole('dialog', { name: 'New API token' }).getByLabel('Name', { exact: true });
  t.is(await name.inputValue(), 'Terraform');
  await page.getByRole('button', { name: 'Cancel' }).click();

  await typeTokenName(page);
  await signIn(page, grace);
  await page.getByRole('button', { name: 'New token' }).click();
  t.is(await name.inputValue(), '');
  t.notRegex(String(await storage(page)), /Terraform/);
  t.deepEqual(complaints, []);
});

test.serial('signing out warns about unsaved input and leaves none behind', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  await page.getByLabel('Name', { exact: true }).fill('Unsaved');
  const signOut = async (answer: string) => {
    await page.locator('.account-button').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('dialog').getByRole('button', { name: answer }).click();
  };
  await signOut('Cancel');
  await page.locator('.account-button:focus').waitFor();
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'Unsaved');
  await page.keyboard.press('Control+k');
  // The palette is loaded on first use.
  await page.getByRole('dialog', { name: 'Command palette' }).waitFor();
  await page.keyboard.type('Sign out');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'Unsaved');
  await signOut('Leave');
  await page.getByLabel('Password').waitFor();
  t.is(await page.getByText('Your session').count(), 0);
  t.notRegex(String(await storage(page)), /Unsaved/);
  t.deepEqual(complaints, []);
});

test.serial("two users editing one monitor see each other's changes and never overwrite them silently", async (t) => {
  const { service } = t.context;
  const { json } = await service.call('POST', '/monitors', {
    name: 'Checkout',
    target: 'http://127.0.0.1:1/',
    interval_seconds: 3600,
    check_spec: { request: { headers: { Accept: '*/*' } } },
  });
  const path = `/monitors/${json['id']}` as const;
  const one = await openSignedIn(t, `${path}/edit`);
  const other = await openSignedIn(t, `${path}/edit`);
  const read = async () => (await service.call('GET', path)).json;
  const save = async ({ page }: typeof one) => {
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.waitForURL((url) => url.pathname === path);
  };
  const nameOf = ({ page }: typeof one) => page.getByLabel('Name', { exact: true });

  // While both are connected, one sees the other's change at once.
  await nameOf(other).fill('Checkout of the shop');
  await save(other);
  await one.page.getByRole('alert').filter({ hasText: 'Someone else changed this monitor: name.' }).waitFor();
  t.is(await nameOf(one).inputValue(), 'Checkout of the shop');
  t.deepEqual(await findBarriers(one.page), []);

  // Without a connection, and before the stream is back, the service refuses changes based on outdated settings.
  await nameOf(one).fill('Till');
  await one.page.route('**/v1/live', (route) => route.abort());
  // The open stream may outlive the connection, so reads are held back until the service has refused.
  const refused = one.page.waitForResponse((response) => response.request().method() === 'PATCH');
  await one.page.route(`**/v1${path}`, async (route) => {
    if (route.request().method() === 'GET') await refused;
    await route.continue();
  });
  await one.page.context().setOffline(true);
  await other.page.goto(`${path}/edit`);
  await nameOf(other).fill('Checkout of Northwind');
  await other.page.getByLabel('Content type').fill('text/plain');
  await save(other);
  await one.page.context().setOffline(false);
  await one.page.getByRole('button', { name: 'Save changes' }).click();
  await one.page.getByText('Saving replaces their name with yours.').waitFor();
  t.is((await read()).name, 'Checkout of Northwind', 'nothing was stored');
  await save(one);
  t.like(await read(), { name: 'Till' });
  t.is((await read()).check_spec.request?.contentType, 'text/plain', 'the change of another field is preserved');
  t.deepEqual([...one.complaints, ...other.complaints], []);
});

test.serial('a monitor created without a target is reported as a draft', async (t) => {
  const { page } = await openSignedIn(t, '/monitors/new');
  await page.getByLabel('Name', { exact: true }).fill('Later');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.waitForURL(/\/monitors\/mon_/);
  await page.getByText('Later is saved as a draft').waitFor();
  t.is(await page.getByText('is watched from now on').count(), 0);
});

test.serial('an open page leads to sign-in when its session is ended elsewhere, and keeps its input', async (t) => {
  const { person } = t.context;
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' });
  await page.getByLabel('Name', { exact: true }).fill('Half a monitor');
  await signOutEverywhere(t, person);
  await page.getByText(/^Your session expired or was ended elsewhere\..*secrets and webhook URLs\.$/).waitFor();
  await signIn(page, person);
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'Half a monitor');
  t.deepEqual(complaints, []);
});

test.serial('the open page of a removed member says so at once, and a later sign-in reveals nothing', async (t) => {
  const { browser, service, person } = t.context;
  const owner = await signedInElsewhere(t, person);
  const { url } = (await (await owner('/invitations', { email: 'gone@shop.example', role: 'viewer' })).json()) as {
    url: string;
  };
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  await page.goto(new URL(url).pathname);
  await page.getByLabel('Name').fill('Gone');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' });
  // After a refused request the page gives the stream time to report the reason; the clock is paused, so that time
  // never ends.
  await page.clock.install();
  // Playwright refuses a time that has passed when the page receives it.
  await until(() =>
    page.clock.pauseAt(Date.now() + 5000).then(
      () => true,
      () => false,
    ),
  );
  await page.route('**/v1/incidents*', (route) => route.fulfill({ status: 401, json: { error: 'no session' } }));
  const refused = page.waitForResponse((response) => response.status() === 401);
  await page.getByRole('link', { name: 'Incidents' }).first().click();
  await refused;
  await withClient(t.context.databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>(`SELECT id FROM users WHERE email = 'gone@shop.example'`);
    t.is((await owner(`/members/${rows[0]?.id}`, undefined, 'DELETE')).status, 204);
  });
  await page.getByText('You no longer have access to this account.').waitFor();
  await page.clock.resume();
  await page.getByLabel('Email').fill('gone@shop.example');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Incorrect email or password').waitFor();
  t.deepEqual(complaints, []);
});

test.serial('a page continues with a new session of the same user, and resets for another user', async (t) => {
  const { service, person } = t.context;
  const { page, complaints } = await openSignedIn(t, '/agents/new');
  await closeStream(page);
  const send = await signedInElsewhere(t, person);
  const { url } = (await (await send('/invitations', { email: 'next@shop.example', role: 'editor' })).json()) as {
    url: string;
  };
  const other = await page.context().newPage();
  const json = { 'Content-Type': 'application/json' };
  const change = async (path: string, body: object) =>
    t.true((await other.request.post(`${service.url}/v1${path}`, { headers: json, data: body })).ok());
  await page.getByLabel('Name', { exact: true }).fill('home-lab');
  await change('/session', person);
  await page.getByRole('button', { name: 'Create agent' }).click();
  await page.getByText('Agent created').first().waitFor();

  await page.goto('/monitors/new');
  await page.getByLabel('Name', { exact: true }).fill('Half a monitor');
  await page.getByLabel('URL', { exact: true }).fill('https://shop.example/');
  const token = new URL(url).pathname.split('/').at(-1);
  await change('/invitations/accept', { token, name: 'Next', password: 'correct horse battery' });
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.getByRole('button', { name: 'Next' }).waitFor();
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), '');
  t.false((await (await other.request.get(`${service.url}/v1/monitors`)).text()).includes('Half a monitor'));

  const { json: job } = await service.call('POST', '/monitors', { name: 'Job', type: 'heartbeat' });
  await page.goto(`/monitors/${String(job['id'])}`);
  const next = { email: 'next@shop.example', password: 'correct horse battery' };
  const refusal = page.getByText('Someone else signed in in this browser. Nothing was changed');
  for (const [credentials, name] of [
    [person, 'Admin'],
    [next, 'Next'],
  ] as const) {
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await change('/session', credentials);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.account-button').filter({ hasText: name }).waitFor();
    await refusal.waitFor();
    t.is(await page.getByRole('button', { name: 'Dismiss' }).count(), 1, 'messages to the previous user are removed');
  }
  t.not((await service.call('GET', `/monitors/${String(job['id'])}`)).json['status'], 'paused');
  t.deepEqual(complaints, []);
});

test.serial('a page whose session was replaced in another tab reopens its stream at once', async (t) => {
  const { service, person } = t.context;
  const { page } = await openSignedIn(t, '/agents');
  await page.getByRole('status').filter({ hasText: 'Live' }).first().waitFor();
  // A lost stream reconnects after 30 s.
  const again = page.waitForRequest('**/v1/live', { timeout: 25_000 });
  await signInInAnotherTab(page, service.url, person);
  await again;
  t.is(await page.getByLabel('Password').count(), 0);
});

test.serial('unsaved input is still guarded after a failed sign-out', async (t) => {
  const { page } = await openSignedIn(t, '/monitors/new');
  await page.getByLabel('Name', { exact: true }).fill('Unsaved');
  await page.route('**/v1/session', (route) => route.fulfill({ status: 500, json: { error: 'internal error' } }));
  await page.locator('.account-button').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
  await page.getByText('Internal error').waitFor();
  await page.unroute('**/v1/session');
  await page.getByRole('link', { name: 'Incidents', exact: true }).first().click();
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click();
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'Unsaved');
});
