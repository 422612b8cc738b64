import { readFile } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { findBarriers, openPage, signIn } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { insertReport } from '../helpers/stored-report.ts';
import { totpCode } from '../helpers/totp.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

const overflow = (page: Page) =>
  page.evaluate('document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth');
const copied = async (page: Page, label: string) => (await page.getByLabel(label, { exact: true }).textContent()) ?? '';

test.serial('a token is shown once, can only read, shows its expiry, and is rejected once revoked', async (t) => {
  const { service } = t.context;
  const { page, complaints } = await openSignedIn(t, '/settings/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByLabel('Name', { exact: true }).and(page.locator(':focus')).waitFor();
  await page.keyboard.type('Office screen');
  await page.getByLabel('Expires').selectOption('In 30 days');
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('Enter');
  const token = await copied(page, 'API token');
  t.regex(token, /^spk_/);
  t.regex(
    await copied(page, 'Command to list monitors'),
    new RegExp(`^curl -H 'Authorization: Bearer ${token}' http.*/v1/monitors$`),
  );
  t.deepEqual(await findBarriers(page), []);
  // Closing without saving the token asks for confirmation.
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Saved the token?' }).getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  t.false((await page.content()).includes(token));

  const ask = (method: string) =>
    fetch(`${service.url}/v1/monitors`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(method === 'POST' && { body: '{"name":"x"}' }),
    });
  t.is((await ask('GET')).status, 200);
  t.is((await ask('POST')).status, 403, 'it can only read');
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'Office screen' });
  await row.getByText('in 29 d').waitFor();
  await row.getByRole('button', { name: 'Revoke Office screen' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click();
  await row.getByText('Revoked').waitFor();
  // The button that had the focus is gone.
  await page.getByRole('heading', { name: 'API tokens' }).and(page.locator(':focus')).waitFor();
  t.is((await ask('GET')).status, 401);
  t.deepEqual(complaints, []);
});

test.serial('the audit log shows owners who changed which fields, linked to the monitor and from it', async (t) => {
  const { browser, service, person } = t.context;
  const { json } = await service.call('POST', '/monitors', { name: 'Checkout', interval_seconds: 60 });
  await service.call('PATCH', `/monitors/${json['id']}`, {
    interval_seconds: 300,
    check_spec: { request: { auth: { type: 'bearer', token: 'not-to-be-seen' } } },
  });
  const { json: gone } = await service.call('POST', '/monitors', { name: 'Old shop' });
  await service.call('DELETE', `/monitors/${gone['id']}`);
  const { page, complaints } = await openPage(t, browser, { url: service.url, size: 'phone', colorScheme: 'dark' });
  await page.goto('/settings/audit-log');
  await signIn(page, person);
  const list = page.getByRole('list', { name: 'Entries' });
  const rowOf = (text: string) => list.getByRole('listitem').filter({ hasText: text });
  await rowOf('You signed in')
    .first()
    .getByText(/from (127\.0\.0\.1|::1)/)
    .waitFor();
  const deleted = rowOf('deleted the monitor Old shop');
  t.is(await deleted.getByRole('link').count(), 0, 'a deleted monitor is not linked');
  await deleted.getByRole('button', { name: /fields$/ }).click();
  await deleted.getByText('2xx', { exact: true }).waitFor();
  const changed = rowOf('changed the monitor Checkout');
  await changed.getByRole('button', { name: /fields$/ }).click();
  await changed.getByText('60 → 300').waitFor();
  await changed.getByText('changed (secret, not shown)').first().waitFor();
  t.is(await overflow(page), 0);
  t.deepEqual(await findBarriers(page), []);
  t.false((await page.content()).includes('not-to-be-seen'));

  await changed.getByRole('link', { name: 'Checkout' }).click();
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await page.getByRole('button', { name: 'Checkout only' }).waitFor();
  await deleted.waitFor({ state: 'detached' });
  t.deepEqual(await list.getByRole('listitem').count(), 2);
  await rowOf('created the monitor Checkout')
    .getByRole('button', { name: /^Token / })
    .click();
  await page.getByRole('button', { name: /^By .* only$/ }).waitFor();
  await page.getByRole('button', { name: 'Checkout only' }).click();
  await deleted.waitFor();
  t.is(await rowOf('You signed in').count(), 0);
  await page.getByLabel('Object').selectOption('Channels');
  await page.getByRole('heading', { name: 'No entries match' }).waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await rowOf('You signed in').first().waitFor();
  t.deepEqual(complaints, []);
});

test.serial('an invited user joins by link with the chosen role, which an owner can change or remove', async (t) => {
  const { browser, service, person } = t.context;
  const { page, complaints } = await openSignedIn(t, '/settings/account');
  await page.getByLabel('Name', { exact: true }).fill('Ada Park');
  await page.getByRole('button', { name: 'Save name' }).click();
  await page.getByText('Name saved').waitFor();
  await page.goto('/settings/members');
  t.true(await page.getByRole('button', { name: 'Leave the account' }).isDisabled());
  await page.getByText('Only owner', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.getByText('Enter an email address, such as').waitFor();
  await page.getByLabel('Email').fill('grace@example.org');
  await page.keyboard.press('Enter');
  const link = await copied(page, 'Invitation link');
  await page.getByRole('button', { name: 'Copy', exact: true }).and(page.locator(':focus')).waitFor();
  await page.getByText(/^Others can’t open this link: .*PUBLIC_URL/).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'I’ve sent it' }).click();
  await page.getByRole('button', { name: 'Invite' }).and(page.locator(':focus')).waitFor();
  await page.getByRole('row').filter({ hasText: 'grace@example.org' }).getByText('Editor').waitFor();

  const guest = await openPage(t, browser, { url: service.url, size: 'phone', colorScheme: 'dark' });
  await guest.page.goto(new URL(link).pathname);
  await guest.page.getByRole('heading', { name: 'Join default' }).waitFor();
  await guest.page.getByText('Ada Park invites you as an editor: monitors, channels and agents.').waitFor();
  t.false(
    (await guest.page.content()).includes(person.email),
    'the invitation does not reveal the email address of the inviter',
  );
  await guest.page.getByLabel('Name').fill('Grace Hopper');
  await guest.page.getByLabel('Password').fill('a long pass phrase');
  await guest.page.getByRole('button', { name: 'Join' }).click();
  await guest.page.getByRole('navigation', { name: 'Main' }).first().waitFor({ state: 'attached' });
  await guest.page.goto('/settings/tokens');
  await guest.page.getByRole('heading', { name: 'Owners only' }).waitFor();
  t.is(await guest.page.getByRole('link', { name: 'API tokens' }).count(), 0);

  const role = page.getByLabel('Role of Grace Hopper');
  const focused = role.and(page.locator(':focus'));
  await role.focus();
  t.is(await page.getByRole('table', { name: 'Invitations' }).count(), 0, 'an accepted invitation is not open');
  await role.selectOption('Viewer');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await focused.waitFor();
  t.is(await role.inputValue(), 'editor', 'a cancelled change is not shown');
  await page.route('**/v1/members/*', (route) => route.abort(), { times: 1 });
  await role.selectOption('Viewer');
  await page.getByRole('button', { name: 'Change role' }).click();
  await page.getByRole('alert').getByRole('button', { name: 'Dismiss' }).click();
  await focused.waitFor();
  t.is(await role.inputValue(), 'editor', 'nor is one that failed');
  await role.selectOption('Viewer');
  await page.getByRole('button', { name: 'Change role' }).click();
  await page.getByText('Grace Hopper is now a viewer').waitFor();
  await page.locator('select:not([aria-disabled])').and(focused).waitFor();
  t.is(await role.inputValue(), 'viewer');
  await page.getByRole('button', { name: 'Remove Grace Hopper' }).click();
  await page.getByRole('button', { name: 'Remove member' }).click();
  await role.waitFor({ state: 'detached' });
  t.deepEqual(await findBarriers(page), []);
  await page.getByLabel('Account name').fill('Northwind');
  await page.getByRole('button', { name: 'Rename account' }).click();
  await page.getByText('Account renamed').waitFor();
  await page.getByRole('button', { name: 'Rename account', disabled: true }).and(page.locator(':focus')).waitFor();
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Email').fill(person.email);
  await page.keyboard.press('Enter');
  await page.getByText(`There is already a member with the address ${person.email}`).waitFor();
  await page.getByLabel('Email').fill('joan@example.org');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'I’ve sent it' }).click();
  await page.getByRole('button', { name: 'Revoke the invitation for joan@example.org' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke invitation' }).click();
  await page.getByText('No pending invitations.').waitFor();
  await page.getByRole('heading', { name: 'Invitations' }).and(page.locator(':focus')).waitFor();
  t.is(await page.getByText('Northwind', { exact: true }).first().isVisible(), true);
  await page.goto('/settings/audit-log');
  await page.getByText('renamed the account Northwind').waitFor();
  await page.goto('/settings/members');
  await page.getByRole('button', { name: 'Leave the account', disabled: true }).waitFor();
  t.deepEqual([...complaints, ...guest.complaints], []);
});

test.serial('a report is listed, shows its days, and is available as CSV and for printing', async (t) => {
  const { service, databaseUrl } = t.context;
  const { json } = await service.call('POST', '/monitors', { name: 'Shop' });
  const id = json['id'];
  await insertReport(databaseUrl, id);
  const { page, complaints } = await openSignedIn(t, '/reports', { size: 'phone' });
  await page.getByRole('button', { name: 'Monthly' }).click();
  await page.getByRole('heading', { name: 'No reports yet' }).waitFor();
  await page.getByRole('button', { name: 'Weekly' }).click();
  await page.getByRole('link', { name: /Mar 16.*22, 2026/ }).click();
  await page.getByRole('img', { name: 'Uptime by day: 1 of 7 days with downtime' }).waitFor();
  await page.getByRole('img', { name: 'Response time by day: percentiles up to 300 ms' }).waitFor();
  await page.getByText('HTTP 502 instead of 2xx').waitFor();
  await page.getByText('SLO 99.9% missed').waitFor();
  t.is(await overflow(page), 0);
  t.deepEqual(await findBarriers(page), []);
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  t.regex(await readFile(await (await saved).path(), 'utf8'), /Shop/);
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Print / PDF' }).click();
  const printed = await opened;
  await printed.getByRole('heading', { name: 'Weekly report: 16 to 22 March 2026' }).waitFor();
  t.deepEqual(complaints, []);
});

test.serial(
  'an operator previews the effect of retiring a region, chooses a replacement, and retires it',
  async (t) => {
    const { service, databaseUrl } = t.context;
    await withClient(databaseUrl, (client) =>
      client.query(
        `INSERT INTO agents (id, kind, name, region, last_seen_at, created_at)
         SELECT 'agt_' || region, 'first_party', region, region, extract(epoch FROM now())::bigint, 1
         FROM unnest(ARRAY['tokyo', 'paris']) AS region`,
      ),
    );
    const { json } = await service.call('POST', '/monitors', { name: 'Far away', agent_sources: ['agt_tokyo'] });
    const { page, complaints } = await openSignedIn(t, '/fleet');
    const row = page.getByRole('row').filter({ hasText: 'tokyo' });
    await row.getByRole('button', { name: 'Retire tokyo' }).click();
    const dialog = page.getByRole('dialog', { name: 'Retire tokyo?' });
    const figure = (name: string) => dialog.locator('dl > div').filter({ hasText: name }).locator('dd');
    await figure('Without another region').filter({ hasText: /^1$/ }).waitFor();
    await dialog.getByLabel('Replacement region').selectOption('paris');
    await figure('Moved to the replacement').filter({ hasText: /^1$/ }).waitFor();
    t.deepEqual(await findBarriers(page), []);
    t.deepEqual(
      (await service.call('GET', `/monitors/${json['id']}`)).json['agent_sources'],
      ['agt_tokyo'],
      'the preview changes nothing',
    );
    await dialog.getByRole('button', { name: 'Retire region' }).click();
    await row.getByText('Retired').waitFor();
    t.deepEqual((await service.call('GET', `/monitors/${json['id']}`)).json['agent_sources'], ['agt_paris']);
    t.is(await row.getByRole('button').count(), 0);
    t.deepEqual(complaints, []);
  },
);

test.serial('a ping key is created, creates a heartbeat by its command, is replaced and deleted', async (t) => {
  const { service } = t.context;
  const { page, complaints } = await openSignedIn(t, '/settings/ping-key', { size: 'phone' });
  await page.getByRole('heading', { name: 'No ping key yet' }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Create ping key' }).click();
  await page.getByRole('heading', { name: 'Ping key' }).and(page.locator(':focus')).waitFor();
  const key = await copied(page, 'Ping key');
  t.regex(key, /^spp_/);
  const command = await copied(page, 'Command that creates a heartbeat');
  const [, address = ''] = /^curl -fsS -m 10 --retry 5 "(.*)"$/.exec(command) ?? [];
  t.is(address, `${service.url}/ping/${key}/backup-$(hostname -s)?create=1`);
  t.is(await overflow(page), 0);
  t.deepEqual(await findBarriers(page), []);

  t.is((await fetch(address.replace('$(hostname -s)', 'db1'))).status, 200);
  await page.goto('/');
  await page.getByRole('link', { name: 'backup-db1' }).first().click();
  t.is(
    await copied(page, 'Command by slug'),
    `curl -fsS -m 10 --retry 5 --retry-connrefused ${service.url}/ping/${key}/backup-db1`,
  );
  t.is(await overflow(page), 0);
  await page.goto('/monitors/new?type=heartbeat');
  await page.getByText('created by their first ping').click();
  t.is(await copied(page, 'Command that creates a heartbeat'), command);
  t.is(await overflow(page), 0);
  t.deepEqual(await findBarriers(page), []);

  await page.goto('/settings/ping-key');
  const press = async (name: string, confirmed: string) => {
    await page.locator('main').getByRole('button', { name, exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: confirmed }).click();
  };
  await press('Replace', 'Replace key');
  await page.getByText('Ping key replaced').waitFor();
  const next = await copied(page, 'Ping key');
  t.not(next, key);
  const ping = async (used: string) => (await fetch(`${service.url}/ping/${used}/backup-db1`)).status;
  t.deepEqual([await ping(key), await ping(next)], [404, 200]);
  await press('Delete', 'Delete key');
  await page.getByRole('heading', { name: 'No ping key yet' }).waitFor();
  t.is(await ping(next), 404);
  await page.goto('/monitors/new?type=heartbeat');
  await page.getByText('created by their first ping').click();
  await page.getByRole('link', { name: 'ping key', exact: true }).waitFor();
  t.deepEqual(complaints, []);
});

test.serial('pages for operators and owners fit a phone and are accessible', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/fleet', { size: 'phone', colorScheme: 'dark' });
  const pages = [
    ['/fleet', 'evaluate'],
    ['/settings/sessions', 'Current session'],
    ['/settings/usage', 'API requests'],
    ['/docs', 'Everything in this console'],
  ] as const;
  for (const [path, text] of pages) {
    await page.goto(path);
    await page.getByText(text).first().waitFor();
    t.is(await overflow(page), 0, `${path} is no wider than the screen`);
    t.deepEqual(await findBarriers(page), [], path);
  }
  t.deepEqual(complaints, []);
});

test.serial('after a new password and second factor both are required, and other sessions are ended', async (t) => {
  const { service, person } = t.context;
  const attempt = (body: object) =>
    fetch(`${service.url}/v1/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: person.email, ...body }),
    });
  const elsewhere = (await attempt({ password: person.password })).headers.get('set-cookie')?.split(';')[0] ?? '';
  const { page, complaints } = await openSignedIn(t, '/settings/account');
  const password = 'correct horse battery';
  await page.getByLabel('Current password').fill('not the one it is');
  await page.getByLabel('New password').fill(password);
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.locator('form').getByRole('alert').waitFor();
  t.is(await page.getByLabel('Current password').getAttribute('aria-invalid'), 'true');
  await page.getByLabel('Current password').fill(person.password);
  await page.keyboard.press('Enter');
  await page.getByText('Password changed').waitFor();
  await page.getByRole('complementary', { name: 'Notice' }).waitFor({ state: 'detached' });
  t.is((await fetch(`${service.url}/v1/session`, { headers: { Cookie: elsewhere } })).status, 401);
  t.is((await attempt({ password: person.password })).status, 401);

  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByLabel('Your password').and(page.locator(':focus')).waitFor();
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
  await page.getByRole('img', { name: 'QR code of the secret below' }).waitFor();
  await page.getByLabel('6-digit code').and(page.locator(':focus')).waitFor();
  t.true(
    await page.evaluate('document.querySelector("dialog img").naturalWidth > 0'),
    'the Content-Security-Policy allows the image',
  );
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.type(totpCode(await copied(page, 'Secret'), Math.floor(Date.now() / 30_000)));
  await page.keyboard.press('Enter');
  const codes = (await copied(page, 'Recovery codes')).trim().split('\n');
  t.is(codes.length, 10);
  const copy = await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).boundingBox();
  t.true(
    (copy?.height ?? 0) > 20 && (copy?.height ?? 99) < 45,
    'the Copy button is one line high beside ten lines of codes',
  );
  await page.getByRole('button', { name: 'I’ve saved them' }).click();
  await page.getByText('10 recovery codes left').waitFor();
  const heading = page.getByRole('heading', { name: 'Two-factor authentication' }).and(page.locator(':focus'));
  await heading.waitFor();
  t.like(await (await attempt({ password })).json(), { code_required: true });
  t.is((await attempt({ password, code: codes[0] ?? '' })).status, 201);

  await page.getByRole('button', { name: 'Turn off' }).click();
  await page.getByLabel('Your password').fill(password);
  await page.getByLabel('Code', { exact: true }).fill(codes[1] ?? '');
  await page.keyboard.press('Enter');
  await page.getByText('Two-factor authentication turned off').waitFor();
  await heading.waitFor();
  await page.goto('/settings/audit-log');
  await page.getByText('You disabled your two-factor authentication').waitFor();
  t.is((await attempt({ password })).status, 201);
  await page.getByRole('link', { name: 'Sessions' }).click();
  await page.getByRole('button', { name: 'Sign out other sessions' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Other sessions signed out').waitFor();
  await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
  t.deepEqual(complaints, []);
});
