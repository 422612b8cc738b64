import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { findBarriers, openPage, signIn, startBrowser } from '../helpers/browser.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startService, type Service } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Receiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

type Story = { page: Page; service: Service; receiver: Receiver; databaseUrl: string };

const PERSON = { email: 'admin@localhost', password: randomBytes(12).toString('base64url') };

test('a new account is guided to its first alert, and a webhook moves to another URL', async (t) => {
  const [{ databaseUrl, drop }, receiver, browser] = await Promise.all([
    createTestDatabase(),
    startReceiver(t),
    startBrowser(t),
  ]);
  t.teardown(drop);
  const service = await startService(t, {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_PASSWORD: PERSON.password,
    NODE_EXTRA_CA_CERTS: receiver.caFile,
    ALLOW_PRIVATE_NETWORK: 'true',
    LOG_LEVEL: 'warn',
  });
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  await page.goto('/');
  await signIn(page, PERSON);
  const story = { page, service, receiver, databaseUrl };
  await createMonitor(t, story);
  await addChannel(t, story);
  await sendTest(t, story);
  await moveWebhook(t, story);
  t.deepEqual(complaints, []);
});

/** Creates a monitor: the list counts the completed steps, and the form warns that no channel gets alerts. */
async function createMonitor(t: ExecutionContext, { page }: Story): Promise<void> {
  await page.getByRole('heading', { name: 'Get started: 0 of 3' }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('region', { name: 'Get started' }).getByRole('link', { name: 'New monitor' }).click();
  await page.getByText('No channel receives alerts from this monitor.').waitFor();
  await page.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:1/');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/monitors\/mon_/);
  const warning = page.getByText('No channel receives alerts from this monitor.');
  await warning.getByRole('link', { name: 'New channel' }).waitFor();
  await page.goto('/');
  await page.getByRole('heading', { name: 'Get started: 1 of 3' }).waitFor();
}

/** Adds a channel: the form reports problems in its own words, and the new channel's heading gets the focus. */
async function addChannel(t: ExecutionContext, { page, receiver }: Story): Promise<void> {
  await page.getByRole('region', { name: 'Get started' }).getByRole('link', { name: 'New channel' }).click();
  const url = page.getByRole('textbox', { name: 'URL' });
  const save = page.getByRole('button', { name: 'Test and save' });
  await save.click();
  await url.and(page.locator(':focus')).waitFor();
  await page.getByText('Enter a URL').waitFor();
  await url.fill(receiver.url.replace('https:', 'http:'));
  await save.click();
  await page.getByText('The URL must start with https://').waitFor();
  await url.and(page.locator(':focus')).waitFor();
  t.is(receiver.received.length, 0);

  receiver.answer.status = 302;
  await url.fill(receiver.url);
  await save.click();
  await page.getByText('Test delivery failed: The endpoint responded with 302; redirects are not followed').waitFor();
  await url.and(page.locator(':focus')).waitFor();
  receiver.answer.status = 204;
  await page.getByRole('button', { name: 'Add secret header' }).click();
  await page.getByLabel('Name of header 1').fill('Host');
  await page.getByLabel('Secret value of Host').fill('elsewhere');
  await save.click();
  await page.getByText('Deliveries set this header themselves').waitFor();
  await page.getByLabel('Name of header 1').fill('Authorization');
  await page.getByLabel('Secret value of Authorization').fill('Bearer first');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('On call');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'On call is connected' }).and(page.locator(':focus')).waitFor();
  t.is(receiver.received.at(-1)?.headers.authorization, 'Bearer first');
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  await page.getByRole('heading', { level: 1, name: 'On call' }).waitFor();
}

/**
 * Sends a test: in another browser, and once the first test is out of the log, it is still to be done. Then the list
 * disappears until no channel accepts alerts.
 */
async function sendTest(t: ExecutionContext, { page, receiver, databaseUrl }: Story): Promise<void> {
  await withClient(databaseUrl, (client) => client.query('TRUNCATE deliveries CASCADE'));
  await page.evaluate('localStorage.removeItem("spotcheck:test-alert")');
  await page.goto('/');
  const countTests = () => receiver.received.filter(({ json }) => json['test'] === true).length;
  const before = countTests();
  await page.getByRole('button', { name: 'Send to On call' }).click();
  await until(() => countTests() === before + 1);
  await page.getByText('Test alert delivered').waitFor();
  const list = page.getByRole('region', { name: 'Get started' });
  await list.waitFor({ state: 'detached' });
  await page.goto('/channels');
  await page.getByRole('link', { name: /On call/ }).click();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('Channel disabled').waitFor();
  await page.goto('/');
  await list.getByText('Without one, no one is notified.').waitFor();
  await list.getByRole('button', { name: 'Hide checklist' }).click();
  await page.getByText('No channel receives alerts.').getByRole('link', { name: 'Channels' }).waitFor();
  t.deepEqual(await findBarriers(page), []);
}

/** Moves the webhook: a URL that fails the test is not stored, and the next one gets the alerts with its headers. */
async function moveWebhook(t: ExecutionContext, { page, receiver, service }: Story): Promise<void> {
  await page.goto('/channels');
  await page.getByRole('link', { name: /On call/ }).click();
  await page.getByRole('navigation', { name: 'Channel', exact: true }).getByRole('link', { name: 'Settings' }).click();
  t.false((await page.content()).includes('Bearer first'));
  const url = page.getByRole('textbox', { name: 'URL' });
  const save = page.getByRole('button', { name: 'Test and save' });
  receiver.answer.status = 500;
  await url.fill(`${receiver.url}/moved`);
  await save.click();
  await page.getByText('Test delivery failed: The endpoint responded with 500').waitFor();
  receiver.answer.status = 204;
  await page.getByRole('button', { name: 'Replace the value of Authorization' }).click();
  await page.getByLabel('Secret value of Authorization').fill('Bearer second');
  await page.keyboard.press('Enter');
  await page.getByText('Test alert delivered. Changes saved').waitFor();
  t.is(receiver.received.at(-1)?.headers.authorization, 'Bearer second');
  t.deepEqual(await findBarriers(page), []);

  const { json } = await service.call('GET', '/channels');
  const [channel] = json['channels'];
  t.deepEqual(channel?.header_names, ['Authorization']);
  const sent = receiver.received.length;
  await service.call('POST', `/channels/${channel?.id}/test`);
  t.is(receiver.received[sent]?.headers.authorization, 'Bearer second');
  t.false(JSON.stringify(json).includes('Bearer'));
}
