import { createHmac, randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { findBarriers, openPage, signIn, startBrowser } from '../helpers/browser.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startService, type Service } from '../helpers/running-service.ts';
import { startTarget, type Target } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Receiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

type Story = { page: Page; service: Service; receiver: Receiver; target: Target };

const PERSON = { email: 'admin@localhost', password: randomBytes(12).toString('base64url') };

test('an outage is followed from webhook to recovery, an agent is created, and a viewer changes nothing', async (t) => {
  const [{ databaseUrl, drop }, receiver, target, browser] = await Promise.all([
    createTestDatabase(),
    startReceiver(t),
    startTarget(t),
    startBrowser(t),
  ]);
  const service = await startService(t, {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_PASSWORD: PERSON.password,
    NODE_EXTRA_CA_CERTS: receiver.caFile,
    PLAN_COUNT_LIMITS: 'false',
    ALLOW_PRIVATE_NETWORK: 'true',
    SLACK_CLIENT_ID: '1.2',
    SLACK_CLIENT_SECRET: 'slack-secret',
    LOG_LEVEL: 'warn',
  });
  t.teardown(drop);
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  const story = { page, service, receiver, target };
  await page.goto('/channels');
  await signIn(page, PERSON);

  const secret = await connectWebhook(t, story);
  const incident = await watchItGoDown(t, story);
  await takeItOn(t, story);
  await sendAgain(t, story);
  await changeSecret(t, story, secret);
  await changeFormat(t, story);
  await recover(t, story, incident);
  await makeAgent(t, story);
  t.deepEqual(complaints, []);

  await withClient(databaseUrl, (client) => client.query(`UPDATE users SET role = 'viewer'`));
  const phone = await openPage(t, browser, { url: service.url, size: 'phone', colorScheme: 'dark' });
  await viewOnly(t, phone.page, incident);
  t.deepEqual(phone.complaints, []);
});

/**
 * Connects a webhook: a failed test is reported at the URL field; a passed one is stored, and the test was signed with
 * its secret.
 */
async function connectWebhook(t: ExecutionContext, { page, receiver }: Story): Promise<string> {
  await page.getByRole('heading', { name: 'No alert channels yet' }).waitFor();
  await page.getByRole('link', { name: 'New channel' }).click();
  // This service has a Slack app but no bot for Telegram, for which no link would ever work.
  await page.getByRole('radio', { name: 'Slack' }).check();
  await page.getByRole('button', { name: 'Create and connect' }).waitFor();
  await page.getByRole('radio', { name: 'Telegram' }).check();
  await page.getByRole('heading', { name: 'Telegram isn’t configured' }).waitFor();
  await page.getByRole('link', { name: 'Use a webhook' }).click();
  const address = page.getByRole('textbox', { name: 'URL' });
  await address.fill(receiver.url);
  await page.getByRole('textbox', { name: 'Name' }).fill('On call');
  receiver.answer.status = 500;
  await page.keyboard.press('Enter');
  t.regex((await page.getByRole('alert').textContent()) ?? '', /^Test delivery failed: .*500/);
  t.is(await address.getAttribute('aria-invalid'), 'true');
  t.deepEqual(await findBarriers(page), []);

  receiver.answer.status = 204;
  await page.getByRole('button', { name: 'Test and save' }).click();
  const secret = (await page.getByLabel('Signing secret', { exact: true }).textContent()) ?? '';
  const tested = receiver.received.at(-1);
  t.is(
    tested?.headers['x-service-signature'],
    `sha256=${createHmac('sha256', secret)
      .update(tested?.body ?? '')
      .digest('hex')}`,
  );
  await page.getByRole('button', { name: 'Python' }).click();
  t.regex((await page.getByLabel('Python code that verifies a delivery').textContent()) ?? '', /def is_from_spotcheck/);
  t.deepEqual(await findBarriers(page), []);
  // Leaving without saving the secret asks for confirmation.
  await page.getByRole('link', { name: 'Incidents', exact: true }).first().click();
  await page.getByRole('dialog', { name: 'Saved the secret?' }).getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  await page.getByRole('heading', { level: 1, name: 'On call' }).waitFor();
  await page.getByRole('row', { name: /^Test.*Delivered/ }).waitFor();
  t.true(await page.getByRole('button', { name: 'Redeliver failed' }).isDisabled(), 'nothing has failed');
  return secret;
}

/** Watches the monitor go down in the open list; returns the incident's path. */
async function watchItGoDown(t: ExecutionContext, { page, service, target, receiver }: Story): Promise<string> {
  // Checked once, and when the test says so: the target of checks every few seconds might once respond too late.
  const { status } = await service.call('POST', '/monitors', {
    name: 'Shop',
    target: target.url(),
    interval_seconds: 3600,
    down_after_failures: 1,
  });
  t.is(status, 201);
  await until(() => receiver.received.some(({ event, json }) => event === 'monitor.up' && json['test'] !== true));
  await page.getByRole('link', { name: 'Incidents', exact: true }).first().click();
  await page.getByRole('heading', { name: 'No incidents yet' }).waitFor();
  target.health.status = 503;
  await checkNow(t, service);
  const row = page.getByRole('region', { name: 'Open' }).getByRole('link', { name: /Shop/ });
  await row.waitFor();
  t.regex((await row.textContent()) ?? '', /Shop.*HTTP 503 instead of 2xx · local.*Down for/);
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor();
  return new URL(page.url()).pathname;
}

/** Checks the only monitor. */
async function checkNow(t: ExecutionContext, { call }: Service): Promise<void> {
  const { monitors } = (await call('GET', '/monitors')).json;
  t.is((await call('POST', `/monitors/${monitors[0]?.id ?? ''}/check`)).status, 202);
}

/** A note by an attacker: no part of it may run, load, or link to anything but the URL it shows. */
const HOSTILE_NOTE = [
  '<img src=x onerror="document.title=1"> <script>document.title=1</script>',
  '[run](javascript:document.title=1) [data](data:text/html,x) ![pixel](https://evil.example/pixel.png)',
  '[https://bank.example](https://evil.example/login) [user](https://bank.example@evil.example)',
].join('\n');

/** Reads the incident, acknowledges it, and writes notes, by keyboard where that is quicker. */
async function takeItOn(t: ExecutionContext, { page, service }: Story): Promise<void> {
  const evidence = page.getByRole('article');
  t.regex(
    (await evidence.textContent()) ?? '',
    /local.*HTTP 503.*HTTP 503 instead of 2xx.*Wait.*connection: close.*ok/s,
  );
  await page.getByRole('row', { name: /On call.*Down.*Delivered/ }).waitFor();
  await page.keyboard.press('a');
  await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByRole('button', { name: 'Unacknowledge' }).waitFor();
  await page
    .getByText(/^Acknowledged by ./)
    .first()
    .waitFor();
  const text = page.getByRole('textbox', { name: 'Add a note' });
  const notes = page.getByRole('list', { name: 'Notes' });
  for (const note of ['Rolled back to 4.12.\n<b>Twice</b>\n\n- **database** `full`\n- cache', 'Wrong place']) {
    await text.fill(note);
    await page.keyboard.press('Control+Enter');
    await notes.getByText(note.split('\n')[0] ?? '').waitFor();
    await until(async () => (await text.inputValue()) === '');
  }
  t.regex((await notes.textContent()) ?? '', /<b>Twice<\/b>/);
  await notes.getByRole('button', { name: 'Delete note' }).last().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete note' }).click();
  await notes.getByText('Wrong place').waitFor({ state: 'detached' });
  const items = notes.locator('> li');
  t.is(await items.count(), 1);
  t.is(await items.first().getByRole('listitem').count(), 2);
  t.is(await items.first().locator('strong').textContent(), 'database');
  t.is(await items.first().locator('code').textContent(), 'full');

  const incidentId = new URL(page.url()).pathname.split('/').pop();
  t.is((await service.call('POST', `/incidents/${incidentId}/notes`, { text: HOSTILE_NOTE })).status, 201);
  const hostile = notes.locator('> li', { hasText: 'bank.example' });
  await hostile.waitFor();
  t.is(await hostile.locator('img, script, iframe').count(), 0);
  t.deepEqual(await hostile.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href'))), [
    'https://evil.example/pixel.png',
    'https://evil.example/login',
  ]);
  t.regex((await hostile.textContent()) ?? '', /https:\/\/bank\.example \(evil\.example\)/);
  t.is(await hostile.locator('a:not([rel="noopener noreferrer nofollow"])').count(), 0);
  await hostile.getByRole('button', { name: 'Delete note' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete note' }).click();
  await hostile.waitFor({ state: 'detached' });
  t.deepEqual(await findBarriers(page), []);
}

/** Goes from the incident to the channel's record, and sends the same delivery again. */
async function sendAgain(t: ExecutionContext, { page, receiver }: Story): Promise<void> {
  const first = receiver.received.find(({ event }) => event === 'monitor.down');
  const copies = () => receiver.received.filter(({ json }) => json['delivery_id'] === first?.json['delivery_id']);
  t.is(copies().length, 1);
  await page.getByRole('link', { name: 'On call' }).click();
  const dialog = page.getByRole('dialog', { name: 'Down: Shop' });
  await dialog.getByText('HTTP 204').waitFor();
  t.regex((await dialog.getByRole('link', { name: 'Shop' }).getAttribute('href')) ?? '', /^\/monitors\/mon_/);
  t.regex((await dialog.getByRole('link', { name: 'View incident' }).getAttribute('href')) ?? '', /^\/incidents\/inc_/);
  t.deepEqual(await findBarriers(page), []);
  await dialog.getByRole('button', { name: 'Redeliver' }).click();
  await until(() => copies().length === 2);
  await dialog.getByRole('heading', { name: '2 attempts' }).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  const row = page.getByRole('row', { name: /Down.*Shop.*Delivered.*2 attempts/ });
  await row.getByRole('link', { name: 'View incident' }).click();
  await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor();
  await page.goBack();
  await row.waitFor();
  await page.getByLabel('Outcome').selectOption({ label: 'Failed' });
  await page.getByRole('heading', { name: 'No deliveries match your filters' }).waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  receiver.answer.status = 400;
  await page.getByRole('button', { name: 'Send a test' }).click();
  t.regex((await page.getByRole('alert').textContent()) ?? '', /Test delivery failed: .*400/);
  receiver.answer.status = 204;
  await page.getByRole('alert').getByRole('button', { name: 'Dismiss' }).click();
  await page.getByRole('row', { name: /^Test.*Failed/ }).waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('row', { name: /^Test.*Delivered/ }).waitFor();
}

/** Rotates the secret, which is shown once and signs the next test; then limits alerts to a chosen monitor. */
async function changeSecret(t: ExecutionContext, { page, receiver }: Story, before: string): Promise<void> {
  await page.getByRole('link', { name: 'Settings' }).last().click();
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await page
    .getByRole('dialog', { name: 'Rotate the signing secret?' })
    .getByRole('button', { name: 'Rotate secret' })
    .click();
  const secret = (await page.getByLabel('Signing secret', { exact: true }).textContent()) ?? '';
  t.not(secret, before);
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  await page.getByRole('radio', { name: 'Chosen monitors' }).check();
  await page.getByRole('checkbox', { name: /Shop/ }).check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved').waitFor();
  t.deepEqual(await findBarriers(page), []);
  const sent = receiver.received.length;
  await page.keyboard.press('t');
  await page.getByRole('dialog').getByRole('button', { name: 'Send a test' }).click();
  const tested = await until(() => receiver.received[sent]);
  t.is(
    tested.headers['x-service-signature'],
    `sha256=${createHmac('sha256', secret).update(tested.body).digest('hex')}`,
  );
}

/**
 * Changes the format: a template that cannot be rendered is an error of its field; a good one is sent, and can be
 * removed again.
 */
async function changeFormat(t: ExecutionContext, { page, receiver }: Story): Promise<void> {
  await page.getByRole('combobox', { name: 'Format' }).selectOption('Custom template');
  const body = page.getByRole('textbox', { name: 'Body' });
  await body.fill('{"title": "{{ monitor.name }}"}');
  const save = page.getByRole('button', { name: 'Test and save' });
  await save.click();
  t.regex((await page.getByRole('alert').textContent()) ?? '', /^Test delivery failed: the body does not render valid/);
  t.is(await body.getAttribute('aria-invalid'), 'true');
  await body.fill('{"title": {{ title | json }}}');
  t.deepEqual(await findBarriers(page), []);
  await save.click();
  await page.getByText('Test alert delivered. Changes saved').waitFor();
  t.deepEqual(receiver.received.at(-1)?.json, { title: 'Recovered: Test delivery' });
  await page.getByRole('combobox', { name: 'Format' }).selectOption('Signed JSON');
  await save.click();
  await until(() => receiver.received.at(-1)?.json['event'] === 'monitor.up');
}

/** Waits until the incident's page shows the recovery without a reload. */
async function recover(t: ExecutionContext, { page, service, target }: Story, incident: string): Promise<void> {
  await page.goto(incident);
  await page.getByText(/^Down for/).waitFor();
  target.health.status = 200;
  await checkNow(t, service);
  await page.getByText(/^Was down for/).waitFor();
  await page.getByText('Recovered', { exact: true }).first().waitFor();
  // A resolved incident cannot be acknowledged.
  t.is(await page.getByRole('button', { name: /cknowledge/ }).count(), 0);
  await page.getByRole('row', { name: /On call.*Up.*Delivered/ }).waitFor();
  t.deepEqual(await findBarriers(page), []);
}

/** Creates an agent: its command is shown once, and the page reports its first check-in with that token. */
async function makeAgent(t: ExecutionContext, { page, service }: Story): Promise<void> {
  await page.getByRole('link', { name: 'Agents' }).first().click();
  await page.getByRole('link', { name: 'New agent' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('home-lab');
  await page.getByRole('button', { name: 'Create agent' }).click();
  const token = /SPOTCHECK_AGENT_TOKEN=(spa_[\w-]+)/.exec(
    (await page.getByLabel('Install command').textContent()) ?? '',
  )?.[1];
  await page.getByText(/replace localhost:\d+ with an address they can reach/).waitFor();
  t.deepEqual(await findBarriers(page), []);
  const checkIn = { capabilities: ['http'], version: '0.1.0', arch: 'x64', publicKey: null };
  const { status } = await fetch(`${service.url}/agent/v1/pull`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(checkIn),
  });
  t.is(status, 200);
  await page.getByText('Agent connected.').waitFor();
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  await page.getByText('Online').waitFor();
  await page.getByRole('heading', { name: 'No monitors yet' }).waitFor();
  const { json } = await service.call('POST', '/monitors', {
    name: 'Attic',
    target: 'http://127.0.0.1:1/',
    agent_sources: [new URL(page.url()).pathname.split('/').pop()],
  });
  const watched = page.getByRole('list', { name: 'Monitors of this agent' });
  await watched.getByRole('link', { name: /^Attic.*Pending for/ }).waitFor();
  await service.call('POST', `/monitors/${json['id']}/pause`);
  await watched.getByRole('link', { name: /^Attic.*Paused for/ }).waitFor();
  t.deepEqual(await findBarriers(page), []);
}

/** Checks that a viewer on a phone sees everything, is offered no changes, and never has to scroll sideways. */
async function viewOnly(t: ExecutionContext, page: Page, incident: string): Promise<void> {
  await page.goto(incident);
  await signIn(page, PERSON);
  const offers = page.getByRole('button', {
    name: /cknowledge|Delete|Redeliver|Add note|Send|able|Rotate|Save|New|curl/,
  });
  const pages: readonly [path: string, shows: string][] = [
    [incident, 'Rolled back to 4.12.'],
    ['/incidents?status=resolved', 'HTTP 503 instead of 2xx'],
    ['/channels', 'On call'],
    ['/agents', 'Run by this service'],
  ];
  for (const [path, shows] of pages) {
    await page.goto(path);
    await page.getByText(shows).first().waitFor();
    t.is(await offers.count(), 0, path);
    t.is(
      await page.evaluate('Math.max(document.documentElement.scrollWidth, document.querySelector("main").scrollWidth)'),
      360,
      `${path} fits`,
    );
    t.deepEqual(await findBarriers(page), [], path);
  }
  for (const path of ['/channels/new', '/agents/new']) {
    await page.goto(path);
    await page.getByRole('heading', { name: 'View only' }).waitFor();
  }
  await page.goto('/channels');
  await page.getByRole('link', { name: /On call/ }).click();
  await page
    .getByRole('row', { name: /Up.*Shop/ })
    .first()
    .waitFor();
  t.is(await offers.count(), 0, 'a channel');
  await page.getByRole('link', { name: 'Settings' }).last().click();
  await page.getByText('Sends alerts for 1 monitor.', { exact: false }).waitFor();
  t.is(await offers.count(), 0, 'its settings');
}
