import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Page, Route } from 'playwright-core';
import { addPerson } from '../api/person.ts';
import { furnishAccount } from '../attackers/furnished-account.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

type Context = ExecutionContext<ConsolePages>;

/** Holds back requests of a page; the returned function waits for one of them, by its number. */
async function hold(page: Page, url: string, method = 'GET'): Promise<(number: number) => Promise<Route>> {
  const held: Route[] = [];
  await page.route(url, (route) => (route.request().method() === method ? void held.push(route) : route.continue()));
  return (number) => until(() => held[number]);
}

/** Prepares an account with a monitor, and opens an empty page of an owner. */
async function prepare(t: Context, body: object = {}) {
  const { api } = t.context;
  const account = await api.account();
  const sent = { name: 'Shop', target: 'https://shop.example/', ...body };
  const { json } = await account.owner('POST', '/v1/monitors', sent);
  const person = await addPerson(api, account.tenantId, { isOperator: true });
  return { ...(await open(t, person)), account, person, id: json.id, path: `/monitors/${json.id}` };
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

const isIdle = (page: Page, name: string) => page.getByRole('button', { name, exact: true, disabled: true }).waitFor();

test('several occurrences are skipped at a time; what else changes their window waits', async (t) => {
  const { page, complaints, account, id } = await prepare(t);
  const { json: window } = await account.owner('POST', '/v1/maintenance-windows', {
    name: 'Backups',
    monitor_ids: [id],
    duration_seconds: 3600,
    rrule: 'FREQ=DAILY',
  });
  const skipped = await hold(page, '**/v1/maintenance-windows/*/skip', 'POST');
  await page.goto(`/maintenance/${window.id}`);
  const occurrences = page.getByRole('table', { name: 'Occurrences' });
  for (const number of [1, 2]) {
    await occurrences
      .getByRole('button', { name: /^Skip / })
      .nth(number)
      .click();
    await skipped(number - 1);
  }
  for (const number of [0, 1]) await (await skipped(number)).continue();
  await until(async () => (await occurrences.getByText('Skipped').count()) === 2);

  await press(page, 'Skip next');
  await press(page, 'Skip it');
  const next = await skipped(2);
  for (const name of ['End now', 'Delete']) await isIdle(page, name);
  await next.continue();
  await until(async () => (await occurrences.getByText('Skipped').count()) === 3);
  t.deepEqual(complaints, []);
});

test('while a monitor is checked, the buttons that change it wait', async (t) => {
  const { page, complaints, path } = await prepare(t);
  const checked = await hold(page, '**/v1/monitors/*/check', 'POST');
  await page.goto(path);
  await press(page, 'Check now');
  const check = await checked(0);
  for (const name of ['Pause', 'Mute']) await isIdle(page, name);
  await press(page, 'More actions');
  await isIdle(page, 'Delete');
  await check.fulfill({ json: { sources: [] } });
  await page.getByText('Check started').waitFor();
  for (const name of ['Delete', 'Delete monitor']) await press(page, name);
  await page.getByText('Shop deleted').waitFor();
  t.deepEqual(complaints, []);
});

test('an incident is not snoozed while it is acknowledged, and several notes are deleted at a time', async (t) => {
  const { person, ids } = await furnishAccount(t.context.api, 'late');
  const path = `/incidents/${ids.incident[0]}`;
  await person.call('POST', `/v1${path}/notes`, { text: 'A second note' });
  const { page, complaints } = await open(t, person);
  const acknowledged = await hold(page, '**/v1/incidents/*/acknowledge', 'POST');
  const deleted = await hold(page, '**/v1/incidents/*/notes/*', 'DELETE');
  await page.goto(path);
  await press(page, 'Acknowledge');
  const acknowledgement = await acknowledged(0);
  await isIdle(page, 'Snooze');
  await acknowledgement.continue();
  await page.getByRole('button', { name: 'Unacknowledge' }).waitFor();

  const remove = page.getByRole('button', { name: 'Delete note' });
  for (const number of [0, 1]) {
    await remove.nth(number).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete note' }).click();
    await deleted(number);
  }
  for (const number of [0, 1]) await (await deleted(number)).continue();
  await until(async () => (await remove.count()) === 0);
  t.deepEqual(complaints, []);
});
