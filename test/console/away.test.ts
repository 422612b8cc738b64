import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { openPage, signIn } from '../helpers/browser.ts';
import { withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

const AWAY = /Can’t reach the server\..* updated at \d/;

/** Opens a live page, and returns functions that stop and resume the process behind it. */
async function openLivePage(t: ExecutionContext<ConsoleService>) {
  const { browser, service, person } = t.context;
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  await page.goto('/');
  await signIn(page, person);
  await isShown(page, 'Live');
  // The stream may open before the data are there, and without data the warning names no time.
  await page.getByText(/^Updated \d/).waitFor();
  const { pid } = service.program.child;
  return { page, complaints, send: (signal: NodeJS.Signals) => process.kill(Number(pid), signal) };
}

async function isShown(page: Page, state: string, timeout = 60_000): Promise<void> {
  await page.getByRole('status').filter({ hasText: state }).first().waitFor({ timeout });
}

test.serial('a hung service is reported as unreachable until it responds again', async (t) => {
  const { page, send } = await openLivePage(t);
  t.teardown(() => send('SIGCONT'));
  send('SIGSTOP');
  await page.getByRole('alert').filter({ hasText: AWAY }).waitFor();
  await isShown(page, 'No connection');
  send('SIGCONT');
  await isShown(page, 'Live');
  await page.getByRole('alert').first().waitFor({ state: 'detached' });
  t.is(await page.getByRole('alert').count(), 0);
});

test.serial('a page that the service does not answer at first says so, and opens once it does', async (t) => {
  const { page } = await openLivePage(t);
  const refused = { status: 503, json: { error: 'the database does not respond: try again in a few seconds' } };
  // A proxy in front of the service may have a page of its own.
  const replies = [{ status: 200, contentType: 'text/html', body: '<h1>Maintenance</h1>' }, refused];
  await page.route('**/v1/session', (route) => route.fulfill(replies.shift() ?? refused), { times: 2 });
  await page.goto('/channels');
  await page.getByRole('heading', { name: 'Can’t reach Spotcheck' }).waitFor();
  await page.getByRole('heading', { name: 'No alert channels yet' }).waitFor();
  t.is(await page.getByText('Can’t reach Spotcheck').count(), 0);
});

/** Waits until a request to this path fails: without a response, or behind nginx with its 502. */
async function requestFails(page: Page, path: string): Promise<void> {
  const isOurs = (url: string) => new URL(url).pathname === `${CONSOLE_BASE_PATH}${path}`;
  if (CONSOLE_BASE_PATH === '') await page.waitForEvent('requestfailed', (request) => isOurs(request.url()));
  else await page.waitForResponse((response) => response.status() === 502 && isOurs(response.url()));
}

test.serial('a failed reload under a live stream shows a warning and is retried until it succeeds', async (t) => {
  const { page } = await openLivePage(t);
  const { service } = t.context;
  const { json: monitor } = await service.call('POST', '/monitors', { name: 'Shop', type: 'heartbeat' });
  await page.getByRole('link', { name: /Shop/ }).waitFor();
  const refused = { status: 429, headers: { 'retry-after': '1' }, json: { error: 'too many requests' } };
  await page.route('**/v1/overview', (route) => route.fulfill(refused));
  // The start of a maintenance window makes the page load everything again.
  await service.call('POST', `/monitors/${String(monitor['id'])}/maintenance`, { duration_seconds: 3600 });
  await page.getByText(/This may be out of date\. Too many requests/).waitFor();
  await isShown(page, 'Live');
  t.is(await page.getByText(/Maintenance until/).count(), 0);
  await page.unroute('**/v1/overview');
  await page.getByText(/Maintenance until/).waitFor();
  t.is(await page.getByText(/This may be out of date/).count(), 0);
});

test.serial('live changes trigger no reload before the Retry-After of a 429 has passed', async (t) => {
  const { page } = await openLivePage(t);
  const { service } = t.context;
  await page.goto('/channels');
  await page.getByRole('heading', { name: 'No alert channels yet' }).waitFor();
  await isShown(page, 'Live');
  const requests: string[] = [];
  const refused = { status: 429, headers: { 'retry-after': '3600' }, json: { error: 'too many requests' } };
  await page.route('**/v1/channels', (route) => {
    requests.push(route.request().url());
    return route.fulfill(refused);
  });
  await service.call('POST', '/channels', { type: 'telegram', name: 'One' });
  await page.getByText(/Too many requests/).waitFor();
  await service.call('POST', '/channels', { type: 'telegram', name: 'Two' });
  await page.waitForTimeout(3000);
  t.is(requests.length, 1);
});

test.serial('a killed service is reported as unreachable; after its restart the page loads by itself', async (t) => {
  const { page, complaints, send } = await openLivePage(t);
  send('SIGKILL');
  const warning = page.getByRole('alert').filter({ hasText: AWAY });
  await warning.waitFor();
  await warning.evaluate((element) => element.setAttribute('data-first', ''));
  for (let poll = 0; poll < 2; poll += 1) await requestFails(page, '/v1/overview');
  await requestFails(page, '/v1/live');
  t.is(await warning.and(page.locator('[data-first]')).count(), 1, 'the warning never disappeared');
  await isShown(page, 'No connection');
  await page.getByRole('link', { name: 'Reports' }).first().click();
  await page.getByText('Can’t reach the server. Try again').waitFor();
  t.is(await page.getByText('Something went wrong').count(), 0);
  await t.context.restart();
  await page.getByRole('heading', { level: 1, name: 'Reports' }).waitFor();
  await isShown(page, 'Live');
  t.is(await warning.count(), 0);
  t.deepEqual(complaints, []);
});
