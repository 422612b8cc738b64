import { readFile } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { withClient } from '../../cli/embedded-postgres/connection.ts';
import { findBarriers, openPage, signIn } from '../helpers/browser.ts';
import { withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { totpCode } from '../helpers/totp.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

const overflow = (page: Page) =>
  page.evaluate('document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth');
const copied = async (page: Page, label: string) => (await page.getByLabel(label, { exact: true }).textContent()) ?? '';

test.serial('a token is shown once, works, shows when it was used, and is refused once it is revoked', async (t) => {
  const { browser, service, person } = t.context;
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  await page.goto('/settings/tokens');
  await signIn(page, person);
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByLabel('Name', { exact: true }).and(page.locator(':focus')).waitFor();
  await page.keyboard.type('Office screen');
  await page.getByLabel('It expires').selectOption('In 30 days');
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('Enter');
  const token = await copied(page, 'API token');
  t.regex(token, /^spk_/);
  t.regex(
    await copied(page, 'Command that lists the monitors'),
    new RegExp(`^curl -H 'Authorization: Bearer ${token}' http.*/v1/monitors$`),
  );
  t.deepEqual(await findBarriers(page), []);
  // A person who closes it without having kept it is asked.
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Have you kept the token?' }).getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  t.false((await page.content()).includes(token));

  const ask = (method: string) =>
    fetch(`${service.url}/v1/monitors`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(method === 'POST' && { body: '{"name":"x"}' }),
    });
  t.is((await ask('GET')).status, 200);
  t.is((await ask('POST')).status, 403, 'it may read alone');
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'Office screen' });
  await row.getByText('in 29 d').waitFor();
  await row.getByRole('button', { name: 'Revoke Office screen' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click();
  await row.getByText('Revoked').waitFor();
  t.is((await ask('GET')).status, 401);
  t.deepEqual(complaints, []);
});

test.serial(
  'the audit log tells owners who changed what, field by field, from the monitor it leads back to',
  async (t) => {
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
    const list = page.getByRole('list', { name: 'Changes' });
    const rowOf = (text: string) => list.getByRole('listitem').filter({ hasText: text });
    await rowOf('You signed in')
      .first()
      .getByText(/from (127\.0\.0\.1|::1)/)
      .waitFor();
    const deleted = rowOf('deleted the monitor Old shop');
    t.is(await deleted.getByRole('link').count(), 0, 'there is nothing to go to any more');
    await deleted.getByRole('button', { name: /fields$/ }).click();
    await deleted.getByText('2xx', { exact: true }).waitFor();
    const changed = rowOf('changed the monitor Checkout');
    await changed.getByRole('button', { name: /fields$/ }).click();
    await changed.getByText('60 → 300').waitFor();
    await changed.getByText('changed; it is a secret and not shown').first().waitFor();
    t.is(await overflow(page), 0);
    t.deepEqual(await findBarriers(page), []);
    t.false((await page.content()).includes('not-to-be-seen'));

    await changed.getByRole('link', { name: 'Checkout' }).click();
    await page.getByRole('link', { name: 'Changes', exact: true }).click();
    await page.getByRole('button', { name: 'Only Checkout' }).waitFor();
    await deleted.waitFor({ state: 'detached' });
    t.deepEqual(await list.getByRole('listitem').count(), 2);
    await rowOf('made the monitor Checkout')
      .getByRole('button', { name: /^Token / })
      .click();
    await page.getByRole('button', { name: /^Only by / }).waitFor();
    await page.getByRole('button', { name: 'Only Checkout' }).click();
    await deleted.waitFor();
    t.is(await rowOf('You signed in').count(), 0);
    await page.getByLabel('What').selectOption('Channels');
    await page.getByRole('heading', { name: 'No change matches' }).waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await rowOf('You signed in').first().waitFor();
    t.deepEqual(complaints, []);
  },
);

test.serial(
  'an invitation is handed over as a link, and who comes by it has the role, which its owner changes',
  async (t) => {
    const { browser, service, person } = t.context;
    const { page, complaints } = await openPage(t, browser, { url: service.url });
    await page.goto('/settings/members');
    await signIn(page, person);
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByLabel('E-mail').fill('grace@example.org');
    await page.keyboard.press('Enter');
    const link = await copied(page, 'Link of the invitation');
    await page.getByRole('button', { name: 'I’ve saved it' }).click();
    await page.getByRole('row').filter({ hasText: 'grace@example.org' }).getByText('Editor').waitFor();

    const guest = await openPage(t, browser, { url: service.url, size: 'phone', colorScheme: 'dark' });
    await guest.page.goto(new URL(link).pathname);
    await guest.page.getByLabel('Name').fill('Grace Hopper');
    await guest.page.getByLabel('Password').fill('a long pass phrase');
    await guest.page.getByRole('button', { name: 'Join' }).click();
    await guest.page.getByRole('navigation', { name: 'Main' }).first().waitFor({ state: 'attached' });
    await guest.page.goto('/settings/tokens');
    await guest.page.getByRole('heading', { name: 'Only owners see this' }).waitFor();
    t.is(await guest.page.getByRole('link', { name: 'API tokens' }).count(), 0);

    await page.reload();
    const role = page.getByLabel('Role of Grace Hopper');
    await role.selectOption('Viewer');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    t.is(await role.inputValue(), 'editor', 'what was not done is not shown');
    await role.selectOption('Viewer');
    await page.getByRole('button', { name: 'Change role' }).click();
    await page.getByText('Grace Hopper is a viewer now').waitFor();
    await page.getByRole('button', { name: 'Remove Grace Hopper' }).click();
    await page.getByRole('button', { name: 'Remove member' }).click();
    await role.waitFor({ state: 'detached' });
    t.deepEqual(await findBarriers(page), []);
    await page.getByRole('button', { name: 'Leave the account' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await page.getByText('This is the last owner').waitFor();
    t.deepEqual([...complaints, ...guest.complaints], []);
  },
);

test.serial(
  'the documentation has every operation of the description, for everybody, and can be searched',
  async (t) => {
    const { browser, service } = t.context;
    const { page, complaints } = await openPage(t, browser, { url: service.url });
    await page.goto('/docs?operation=createMonitor');
    await page.getByLabel('Command for createMonitor').waitFor();
    t.regex(await copied(page, 'Command for createMonitor'), /^curl -X POST ".*\/v1\/monitors" .*"name": "Shop"/s);
    await page.getByRole('button', { name: 'Fields of check_spec' }).first().click();
    t.deepEqual(await findBarriers(page), []);
    await page.evaluate(
      'document.querySelectorAll("[id^=operation-] h3 button[aria-expanded=false]").forEach((button) => ' +
        'button.click())',
    );
    const text = await (await fetch(`${service.url}/openapi.json`)).text();
    const described = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id = '']) => id).toSorted();
    t.true(described.length > 70);
    await page.waitForFunction(`document.querySelectorAll("[id^=operation-] h4").length >= ${described.length}`);
    const shown = (await page.evaluate(
      '[...document.querySelectorAll("[id^=operation-]")].filter((each) => ' +
        '[...each.querySelectorAll("h4")].some((head) => /^Answers|What you ' +
        'answer$/.test(head.textContent))).map((each) => each.id.slice("operation-".length))',
    )) as string[];
    t.deepEqual(shown.toSorted(), described);
    t.is(await page.getByText('[object Object]').count(), 0);
    t.is(await page.getByText('undefined', { exact: true }).count(), 0);
    await page.getByLabel('Find an operation').fill('pause monitor');
    await page
      .getByRole('button', { name: 'List the incidents of the account' })
      .first()
      .waitFor({ state: 'detached' });
    t.is(await page.locator('#operation-pauseMonitor').count(), 1);
    t.deepEqual(complaints, []);
  },
);

test.serial('a report is found in the list, shows its days, and is there to print and as CSV', async (t) => {
  const { browser, service, person, databaseUrl } = t.context;
  const { json } = await service.call('POST', '/monitors', { name: 'Shop' });
  const id = json['id'];
  await insertReport(databaseUrl, id);
  const { page, complaints } = await openPage(t, browser, { url: service.url, size: 'phone' });
  await page.goto('/reports');
  await signIn(page, person);
  await page.getByRole('button', { name: 'Monthly' }).click();
  await page.getByRole('heading', { name: 'No report yet' }).waitFor();
  await page.getByRole('button', { name: 'Weekly' }).click();
  await page.getByRole('link', { name: /16.*22 March 2026/ }).click();
  await page.getByRole('img', { name: 'Uptime by day: 1 of 7 days with downtime' }).waitFor();
  await page.getByRole('img', { name: 'Response time by day: percentiles up to 300 ms' }).waitFor();
  await page.getByText('HTTP 502 instead of 2xx').waitFor();
  await page.getByText('Target 99.9 % missed').waitFor();
  t.is(await overflow(page), 0);
  t.deepEqual(await findBarriers(page), []);
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  t.regex(await readFile(await (await saved).path(), 'utf8'), /Shop/);
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Page to print' }).click();
  const printed = await opened;
  await printed.getByRole('heading', { name: 'Weekly report: 16 to 22 March 2026' }).waitFor();
  t.deepEqual(complaints, []);
});

test.serial(
  'an operator reads what giving a region up does to its monitors, chooses where they go, and gives it up',
  async (t) => {
    const { browser, service, person, databaseUrl } = t.context;
    await withClient(databaseUrl, (client) =>
      client.query(
        `INSERT INTO agents (id, kind, name, region, last_seen_at, created_at)
         SELECT 'agt_' || region, 'first_party', region, region, extract(epoch FROM now())::bigint, 1
         FROM unnest(ARRAY['tokyo', 'paris']) AS region`,
      ),
    );
    const { json } = await service.call('POST', '/monitors', { name: 'Far away', agent_sources: ['agt_tokyo'] });
    const { page, complaints } = await openPage(t, browser, { url: service.url });
    await page.goto('/fleet');
    await signIn(page, person);
    const row = page.getByRole('row').filter({ hasText: 'tokyo' });
    await row.getByRole('button', { name: 'Give up tokyo' }).click();
    const dialog = page.getByRole('dialog', { name: 'Give up tokyo?' });
    await dialog.getByText('1 monitor is watched from tokyo, 1 of them from nowhere else.').waitFor();
    await dialog.getByLabel('Instead of it').selectOption('paris');
    await dialog.getByText('1 monitor is moved to another region').waitFor();
    t.deepEqual(await findBarriers(page), []);
    t.deepEqual(
      (await service.call('GET', `/monitors/${json['id']}`)).json['agent_sources'],
      ['agt_tokyo'],
      'a plan does nothing',
    );
    await dialog.getByRole('button', { name: 'Give up' }).click();
    await row.getByText('Given up').waitFor();
    t.deepEqual((await service.call('GET', `/monitors/${json['id']}`)).json['agent_sources'], ['agt_paris']);
    t.is(await row.getByRole('button').count(), 0);
    t.deepEqual(complaints, []);
  },
);

test.serial('what operators and owners see fits a phone and is accessible', async (t) => {
  const { browser, service, person } = t.context;
  const { page, complaints } = await openPage(t, browser, { url: service.url, size: 'phone', colorScheme: 'dark' });
  await page.goto('/fleet');
  await signIn(page, person);
  const pages = [
    ['/fleet', 'evaluate'],
    ['/settings/sessions', 'This one'],
    ['/settings/usage', 'Requests to the API'],
    ['/docs', 'Everything that this console shows'],
  ] as const;
  for (const [path, text] of pages) {
    await page.goto(path);
    await page.getByText(text).first().waitFor();
    t.is(await overflow(page), 0, `${path} is no wider than the screen`);
    t.deepEqual(await findBarriers(page), [], path);
  }
  t.deepEqual(complaints, []);
});

test.serial(
  'who chooses another password and a second factor signs in with both, and is out everywhere else',
  async (t) => {
    const { browser, service, person } = t.context;
    const attempt = (body: object) =>
      fetch(`${service.url}/v1/session`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email: person.email, ...body }),
      });
    const elsewhere = (await attempt({ password: person.password })).headers.get('set-cookie')?.split(';')[0] ?? '';
    const { page, complaints } = await openPage(t, browser, { url: service.url });
    await page.goto('/settings/account');
    await signIn(page, person);
    const password = 'correct horse battery';
    await page.getByLabel('Present password').fill('not the one it is');
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.locator('form').getByRole('alert').waitFor();
    t.is(await page.getByLabel('Present password').getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Present password').fill(person.password);
    await page.keyboard.press('Enter');
    await page.getByText('Your password is changed').waitFor();
    await page.getByText('Your password is the one that was handed out').waitFor({ state: 'detached' });
    t.is((await fetch(`${service.url}/v1/session`, { headers: { Cookie: elsewhere } })).status, 401);
    t.is((await attempt({ password: person.password })).status, 401);

    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByLabel('Your password').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'QR code of the secret below' }).waitFor();
    await page.getByLabel('Code that the app shows').and(page.locator(':focus')).waitFor();
    t.true(
      await page.evaluate('document.querySelector("dialog img").naturalWidth > 0'),
      'the policy lets the picture in',
    );
    t.deepEqual(await findBarriers(page), []);
    await page.keyboard.type(totpCode(await copied(page, 'Secret'), Math.floor(Date.now() / 30_000)));
    await page.keyboard.press('Enter');
    const codes = (await copied(page, 'Recovery codes')).trim().split('\n');
    t.is(codes.length, 10);
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await page.getByText('10 recovery codes are left').waitFor();
    t.like(await (await attempt({ password })).json(), { code_required: true });
    t.is((await attempt({ password, code: codes[0] ?? '' })).status, 201);

    await page.getByRole('button', { name: 'Turn off' }).click();
    await page.getByLabel('Your password').fill(password);
    await page.getByLabel('Code', { exact: true }).fill(codes[1] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText('The second factor is off').waitFor();
    await page.goto('/settings/audit-log');
    await page.getByText('You turned off your second factor').waitFor();
    t.is((await attempt({ password })).status, 201);
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed in here only').waitFor();
    await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
    t.deepEqual(complaints, []);
  },
);

/** The report of a week in March that a monitor was down in. */
async function insertReport(databaseUrl: string, monitorId: string): Promise<void> {
  const [start, end] = [1773619200, 1774224000];
  const ms = { p50: 100, p95: 200, p99: 300 };
  const monitor = {
    id: monitorId,
    name: 'Shop',
    type: 'http',
    uptime_percent: 99.8,
    sla_target: 99.9,
    sla_met: false,
    error_budget_seconds: -605,
    down_seconds: 1210,
    degraded_seconds: 0,
    unknown_seconds: 0,
    paused_seconds: 0,
    incidents: 1,
    longest_incident_seconds: 1210,
    mttr_seconds: 1210,
    checks: 10_000,
    response_ms: ms,
  };
  const summary = {
    monitors: 1,
    incidents: 1,
    uptime_percent: 99.8,
    down_seconds: 1210,
    sla_met: 0,
    sla_missed: 1,
    worst_monitors: [],
  };
  const days = Array.from({ length: 7 }, (_, day) => ({
    date: `2026-03-${16 + day}`,
    uptime_percent: day === 2 ? 98.6 : 100,
    worst_state: day === 2 ? 'down' : 'up',
    response_ms: ms,
  }));
  const incident = {
    id: 'inc_test',
    monitor_id: monitorId,
    monitor_name: 'Shop',
    state: 'down',
    reason: 'HTTP 502 instead of 2xx',
    started_at: start + 200_000,
    resolved_at: start + 201_210,
    duration_seconds: 1210,
    resolution: 'recovered',
  };
  await withClient(databaseUrl, (client) =>
    client.query(
      `INSERT INTO reports (id, tenant_id, period, period_start, period_end, created_at, content, details)
       SELECT 'rep_test', tenant_id, 'week', $2, $3, $3, $4, $5 FROM monitors WHERE id = $1`,
      [
        monitorId,
        start,
        end,
        JSON.stringify({ summary, monitors: [monitor] }),
        JSON.stringify({ days: { [monitorId]: days }, incidents: [incident], service_gaps: [] }),
      ],
    ),
  );
}
