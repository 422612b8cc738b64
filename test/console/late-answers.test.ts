import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Locator, Page, Route } from 'playwright-core';
import { createPartitions } from '../../models/system/partitions.ts';
import { send } from '../api/api-server.ts';
import { addPerson } from '../api/person.ts';
import { furnishAccount } from '../attackers/furnished-account.ts';
import { signIn, signInInAnotherTab } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

type Context = ExecutionContext<ConsolePages>;

const FAILED = { status: 500, json: { error: 'internal error' } };
const REFUSED = { status: 401, json: { error: 'not signed in' } };

/** Holds back requests of a page; the returned function waits for one of them, by its number. */
async function hold(page: Page, url: string, method = 'GET'): Promise<(number: number) => Promise<Route>> {
  const held: Route[] = [];
  await page.route(url, (route) => (route.request().method() === method ? void held.push(route) : route.continue()));
  return (number) => until(() => held[number]);
}

/** Waits until the page has handled what it has received. */
const handled = (page: Page) => page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));

/** Answers a request that was held back, and waits until the page has handled the answer. */
async function answer(page: Page, route: Route, answered: Parameters<Route['fulfill']>[0]): Promise<void> {
  await route.fulfill(answered);
  await (await route.request().response())?.finished();
  await handled(page);
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

/** Clicks a button or chooses an option, and returns whether what matches a selector is in the very next frame. */
const rightAfter = (control: Locator, selector: string, option: string | null = null) =>
  control.evaluate(
    async (element, [shown, value]) => {
      if (value !== null && element instanceof HTMLSelectElement) {
        element.value = value;
        element.dispatchEvent(new Event('change', { bubbles: true }));
      } else if (element instanceof HTMLElement) element.click();
      // The page renders in microtasks, before the frame.
      for (let tasks = 0; tasks < 50; tasks += 1) await Promise.resolve();
      return document.querySelector(shown) === null ? 'gone' : 'shown';
    },
    [selector, option] as const,
  );

const isIdle = (page: Page, name: string) => page.getByRole('button', { name, exact: true, disabled: true }).waitFor();

const live = (page: Page) => page.getByRole('status').filter({ hasText: 'Live' }).first().waitFor();

const visit = async (page: Page, title: string) => {
  await page.getByRole('link', { name: title, exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
};

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

test('a form shows a change that someone else saved before its stream of changes began', async (t) => {
  const { page, complaints, account, id, path } = await prepare(t);
  await t.context.api.database.pool.query('UPDATE monitors SET updated_at = updated_at - 60 WHERE id = $1', [id]);
  const stream = await hold(page, '**/v1/live');
  await page.goto(`${path}/edit`);
  const name = page.getByLabel('Name', { exact: true });
  await name.waitFor();
  const held = await stream(0);
  await account.owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop of Northwind' });
  await held.continue();
  await page.getByRole('alert').filter({ hasText: 'Someone else changed this monitor: name.' }).waitFor();
  t.is(await name.inputValue(), 'Shop of Northwind');
  t.deepEqual(complaints, []);
});

test('a save that would replace a change by someone else leads to its notice, if that is off screen', async (t) => {
  const { page, complaints, account, id, path } = await prepare(t);
  await t.context.api.database.pool.query('UPDATE monitors SET updated_at = updated_at - 60 WHERE id = $1', [id]);
  await page.goto(`${path}/edit`);
  await live(page);
  const scroll = (to: 'start' | 'end') =>
    page.locator('main').evaluate((main, at) => main.scrollTo(0, at === 'start' ? 0 : main.scrollHeight), to);
  await page.getByLabel('Name', { exact: true }).fill('Shop one');
  await scroll('end');
  await account.owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop two' });
  await page.getByText('Saving replaces their name with yours.').waitFor();
  await press(page, 'Save changes');
  await page.locator('[data-whole]:focus').getByText('Not saved yet: this monitor has changed').waitFor();
  t.is((await account.owner('GET', `/v1/monitors/${id}`)).json.name, 'Shop two');

  await account.owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop three', tags: ['shop'] });
  await page.getByText('Someone else changed this monitor: name and tags.').waitFor();
  await scroll('start');
  await press(page, 'Save changes');
  await page.waitForURL((url) => url.pathname === path);
  t.like((await account.owner('GET', `/v1/monitors/${id}`)).json, { name: 'Shop one', tags: ['shop'] });
  t.deepEqual(complaints, []);
});

for (const [name, saveTwice] of [
  ['a double-click', (page) => page.getByRole('button', { name: 'Save changes' }).dblclick()],
  [
    'a held Ctrl+Enter',
    async (page) => {
      for (const key of ['Control', 'Enter', 'Enter']) await page.keyboard.down(key);
      for (const key of ['Enter', 'Control']) await page.keyboard.up(key);
    },
  ],
] as const satisfies [name: string, saveTwice: (page: Page) => Promise<void>][]) {
  test(`${name} saves once, and so cannot replace a change by someone else unread`, async (t) => {
    const { page, complaints, account, id, path } = await prepare(t);
    await t.context.api.database.pool.query('UPDATE monitors SET updated_at = updated_at - 60 WHERE id = $1', [id]);
    await page.goto(`${path}/edit`);
    await live(page);
    await page.getByLabel('Name', { exact: true }).fill('Shop one');
    await page.locator('main').evaluate((main) => main.scrollTo(0, main.scrollHeight));
    await account.owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop two' });
    await page.getByText('Saving replaces their name with yours.').waitFor();
    await saveTwice(page);
    t.is(await page.locator('[aria-busy="true"]').count(), 0);
    await page.locator('[data-whole]').getByText('Not saved yet: this monitor has changed').waitFor();
    t.is((await account.owner('GET', `/v1/monitors/${id}`)).json.name, 'Shop two');
    t.deepEqual(complaints, []);
  });
}

test('of two changes by someone else the newer one is shown, whichever is read first', async (t) => {
  const { page, complaints, account, id, path } = await prepare(t);
  await t.context.api.database.pool.query('UPDATE monitors SET updated_at = updated_at - 60 WHERE id = $1', [id]);
  await page.goto(`${path}/edit`);
  await live(page);
  const name = page.getByLabel('Name', { exact: true });
  await name.waitFor();
  const read = await hold(page, `**/v1/monitors/${id}`);
  const older: string[] = [];
  for (const [number, text] of ['Shop two', 'Shop three'].entries()) {
    await account.owner('PATCH', `/v1/monitors/${id}`, { name: text });
    await read(number);
    older.push(JSON.stringify((await account.owner('GET', `/v1/monitors/${id}`)).json));
  }
  await (await read(1)).continue();
  await page.getByText('Someone else changed this monitor: name.').waitFor();
  await answer(page, await read(0), { contentType: 'application/json', body: older[0] ?? '' });
  t.is(await name.inputValue(), 'Shop three');
  t.deepEqual(complaints, []);
});

test('a dialog that asks how long closes once the answer is stored, before the page is loaded again', async (t) => {
  const { page, complaints, path } = await prepare(t);
  await page.goto(path);
  await live(page);
  const asked = await hold(page, '**/v1/overview');
  await press(page, 'Mute');
  const dialog = page.getByRole('dialog', { name: 'Mute Shop' });
  await dialog.getByRole('button', { name: 'Mute', exact: true }).click();
  const late = await asked(0);
  await dialog.waitFor({ state: 'detached' });
  t.is(late.request().failure(), null, 'the page still waits');
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

test('a refusal of an ended session does not end the one that followed it', async (t) => {
  const { page, complaints, person } = await prepare(t);
  await page.clock.install();
  await page.goto('/');
  await live(page);
  const asked = await hold(page, '**/v1/reports*');
  await page.getByRole('link', { name: 'Reports', exact: true }).first().click();
  const late = await asked(0);
  const again = page.waitForResponse('**/v1/live');
  await signInInAnotherTab(page, t.context.api.url + CONSOLE_BASE_PATH, person);
  await again;
  await live(page);
  await answer(page, late, REFUSED);
  // A page with a stream waits 2 s for the reason.
  await page.clock.runFor(3000);
  await visit(page, 'Channels');
  t.deepEqual(complaints, []);
});

test('a late answer that there is no session does not end the one of a sign-in since', async (t) => {
  const { page, complaints, person } = await prepare(t);
  const isBack = Promise.withResolvers<void>();
  let streams = 0;
  await page.route('**/v1/live', async (route) => {
    streams += 1;
    if (streams === 1) {
      await route.fulfill({ contentType: 'text/event-stream', body: 'retry: 100\nevent: ready\ndata: {}\n\n' });
      return;
    }
    await isBack.promise;
    await route.continue();
  });
  await page.goto('/');
  await page.getByRole('status').filter({ hasText: 'Polling' }).first().waitFor();
  // A stream that is back asks whether the session is still the same.
  const asked = await hold(page, '**/v1/session');
  isBack.resolve();
  const late = await asked(0);
  await page.route('**/v1/reports*', (route) => route.fulfill(REFUSED), { times: 1 });
  await page.getByRole('link', { name: 'Reports', exact: true }).first().click();
  await signIn(page, person);
  await answer(page, late, REFUSED);
  await visit(page, 'Channels');
  t.deepEqual(complaints, []);
});

test('the next person to sign in does not see monitors that were requested by the one before', async (t) => {
  const { page, complaints, account, person, path } = await prepare(t);
  await account.owner('POST', `/v1${path}/mute`, { until: Math.floor(Date.now() / 1000) + 3600 });
  const { json } = await person.call('GET', '/v1/overview');
  await page.goto(path);
  const unmute = page.getByRole('button', { name: 'Unmute' });
  await unmute.waitFor();
  const held: Route[] = [];
  await page.route('**/v1/overview', (route) => void held.push(route));
  await unmute.click();
  await page.getByText('Shop unmuted').waitFor();
  await page.getByRole('link', { name: 'Monitors', exact: true }).first().click();
  await page.getByRole('link', { name: 'Shop' }).waitFor();
  await page.locator('.account-button').click();
  await press(page, 'Sign out');
  await signIn(page, await addPerson(t.context.api, (await t.context.api.account()).tenantId));
  // Without those that the page gave up when the first user signed out.
  const alive = () => held.filter((route) => route.request().failure() === null);
  await until(() => alive().length === 2);
  for (const [index, answered] of [{ json }, FAILED].entries()) {
    const [route] = alive().slice(index);
    if (route !== undefined) await answer(page, route, answered);
  }
  await page.getByRole('main').getByText('Internal error').waitFor();
  t.is(await page.getByRole('link', { name: 'Shop' }).count(), 0);
  t.deepEqual(complaints, []);
});

test('figures of another period, month or region are not shown as those of the chosen one', async (t) => {
  const { page, complaints, account, id, path } = await prepare(t, { sla_target: 99.9 });
  const loading = page.getByRole('status', { name: 'Loading' });
  await page.goto(path);
  await page.getByText('Burn rate (1 h)').waitFor();
  // The drills have their own.
  await until(async () => (await loading.count()) === 0);
  const stats = await hold(page, '**/stats?*resolution=day*');
  await press(page, '90 days');
  await stats(0);
  await loading.waitFor();
  await (await stats(0)).continue();
  await loading.waitFor({ state: 'detached' });

  const window = { name: 'Backups', monitor_ids: [id], duration_seconds: 3600, rrule: 'FREQ=DAILY' };
  await account.owner('POST', '/v1/maintenance-windows', window);
  await page.goto('/maintenance?view=calendar');
  await page.getByRole('table', { name: 'Maintenance of the month' }).waitFor();
  const occurrences = await hold(page, '**/v1/maintenance-windows/occurrences*');
  t.is(await rightAfter(page.getByRole('button', { name: 'Next month' }), 'table'), 'gone');
  await occurrences(0);
  await loading.waitFor();
  await (await occurrences(0)).continue();
  await loading.waitFor({ state: 'detached' });

  await t.context.api.database.pool.query(
    `INSERT INTO agents (id, kind, name, region, last_seen_at, created_at)
     SELECT 'agt_' || region, 'first_party', region, region, extract(epoch FROM now())::bigint, 1
     FROM unnest(ARRAY['tokyo', 'paris']) AS region`,
  );
  await page.goto('/fleet');
  await press(page, 'Retire tokyo');
  const dialog = page.getByRole('dialog', { name: 'Retire tokyo?' });
  await dialog.getByText('Moved to the replacement').waitFor();
  const plans = await hold(page, '**/v1/fleet/retirements', 'POST');
  const replacement = dialog.getByLabel('Replacement region');
  t.is(await rightAfter(replacement, 'dialog dl', 'paris'), 'gone');
  await plans(0);
  await dialog.getByRole('status', { name: 'Loading' }).waitFor();
  await isIdle(page, 'Retire region');
  await (await plans(0)).continue();
  await dialog.getByText('Moved to the replacement').waitFor();
  t.true(await dialog.getByRole('button', { name: 'Retire region' }).isEnabled());
  t.deepEqual(complaints, []);
});

test('an uptime target is judged again every five minutes, also after its service hours changed', async (t) => {
  const { page, complaints, account, path } = await prepare(t, { sla_target: 99.9 });
  await page.clock.install();
  await page.goto(path);
  await page.getByText('Burn rate (1 h)').waitFor();
  await live(page);
  const sla = { target: 99, timezone: 'UTC', hours: 'Mo-Fr 09:00-17:00' };
  t.is((await account.owner('PATCH', `/v1${path}`, { sla })).status, 200);
  await page.getByRole('heading', { name: /^Service hours 99%/ }).waitFor();
  const again = page.waitForRequest('**/stats?*resolution=day*');
  await page.clock.fastForward(300_000);
  await again;
  t.deepEqual(complaints, []);
});

test('Escape closes an open menu, and keeps the selection', async (t) => {
  const { page, complaints } = await prepare(t);
  await page.goto('/');
  const box = page.getByRole('checkbox', { name: 'Select Shop' });
  await box.check();
  await page.locator('.account-button').click();
  const menu = page.getByRole('button', { name: 'Sign out' });
  await menu.waitFor();
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'hidden' });
  t.true(await box.isChecked());
  await page.keyboard.press('Escape');
  await until(async () => !(await box.isChecked()));
  t.deepEqual(complaints, []);
});

test('an older history that arrives last does not replace a newer one', async (t) => {
  const { page, complaints, account, id } = await prepare(t);
  const { json } = await account.owner('POST', '/v1/monitors', { name: 'Till', target: 'https://till.example/' });
  const main = page.getByRole('main');
  const history = (monitorId: string, uptime: number) => ({
    id: monitorId,
    first_day: 0,
    uptime_percent: uptime,
    daily_uptime: [],
    hourly_latency_ms: [],
  });
  const answerWith = (...histories: object[]) => ({ json: { histories } });
  // Requests of the same millisecond have an order, too.
  await page.clock.setFixedTime(Date.now());
  const asked = await hold(page, '**/v1/overview/history*');
  const stream = await hold(page, '**/v1/live');
  await page.goto('/');
  await asked(0);
  // The stream's first event requests everything again.
  await (await stream(0)).continue();
  await (await asked(1)).fulfill(answerWith(history(id, 99)));
  await main.getByText('99.00%').waitFor();
  await (await asked(0)).fulfill(answerWith(history(json.id, 80), history(id, 95)));
  await main.getByText('80.00%').waitFor();
  t.is(await main.getByText('99.00%').count(), 1);
  t.deepEqual(complaints, []);
});

test('a page that fails to load after the user went on to another one reports no failure there', async (t) => {
  const { page, complaints } = await prepare(t);
  await page.goto('/');
  await live(page);
  const [isLost, isHere] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/assets/reports-*', async (route) => {
    await isLost.promise;
    await route.abort('connectionrefused');
  });
  await page.route('**/assets/agents-*', async (route) => {
    await isHere.promise;
    await route.continue();
  });
  await page.route('**/v1/session', (route) => route.abort('connectionrefused'));
  for (const [letter, name] of [
    ['r', 'reports'],
    ['a', 'agents'],
  ] as const) {
    let isRequested = false;
    const requested = page.waitForRequest(`**/assets/${name}-*`).then(() => (isRequested = true));
    // On a busy machine the letters may be too far apart for a sequence.
    await until(async () => {
      await page.keyboard.type(`g${letter}`);
      return isRequested;
    });
    await requested;
  }
  const lost = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/session'));
  isLost.resolve();
  await lost;
  await handled(page);
  t.is(await page.getByText('Couldn’t load this').count(), 0);
  isHere.resolve();
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  t.deepEqual(complaints, []);
});

test('a test that ends after a refused save keeps the errors of that save', async (t) => {
  const { page, complaints } = await prepare(t);
  const tried = await hold(page, '**/v1/trials', 'POST');
  await page.goto('/monitors/new');
  await page.getByLabel('URL', { exact: true }).fill('https://shop.example/');
  await press(page, 'Run test');
  const trial = await tried(0);
  await page.getByLabel('Tags').fill('a tag!');
  await press(page, 'Create monitor');
  const error = page.getByText('is not a tag');
  await error.waitFor();
  const nothing = { region: null, cause: null, reason: null, latency_ms: null, phases: null, http_status: null };
  const json = { ...nothing, verdict: 'up', answer: null, certificate: null, conditions: [], facts: [] };
  await answer(page, trial, { json });
  await page.getByText('The settings have changed').waitFor();
  t.is(await error.count(), 1);
  t.deepEqual(complaints, []);
});

test('a test that is refused after a refused save keeps the errors of that save', async (t) => {
  const { page, complaints } = await prepare(t);
  const tried = await hold(page, '**/v1/trials', 'POST');
  await page.goto('/monitors/new');
  await page.getByLabel('URL', { exact: true }).fill('https://shop.example/');
  await press(page, 'Run test');
  const trial = await tried(0);
  await page.getByLabel('Tags').fill('a tag!');
  await press(page, 'Create monitor');
  const error = page.getByText('is not a tag');
  await error.waitFor();
  const hidden = 'check_spec.assertions[0].value must be a number';
  await answer(page, trial, { status: 400, json: { error: `the account is full; ${hidden}` } });
  const shown = 'The account is full. Some settings were refused. Run the test again to see which';
  await page.getByText(shown, { exact: true }).waitFor();
  t.is(await error.count(), 1);
  t.is(await page.getByText('assertions[0]').count(), 0, 'names of the API are not shown');
  // Without a save, the field has the error.
  await page.getByLabel('Tags').fill('');
  await press(page, 'Run test');
  await answer(page, await tried(1), { status: 400, json: { error: 'target must be a public address' } });
  await page.getByText('Fix 1 error').waitFor();
  t.deepEqual(complaints, []);
});

test('an entry that is recorded long after its time appears in a list of pings', async (t) => {
  const { page, complaints, path, id } = await prepare(t, { type: 'heartbeat', target: undefined });
  const { database } = t.context.api;
  const nowMs = Date.now();
  const ping = async (ageSeconds: number) => {
    const atMs = nowMs - ageSeconds * 1000;
    await createPartitions(database, atMs);
    await database.pool.query(
      `INSERT INTO heartbeat_pings (at, monitor_no, kind) SELECT $1, no, 'success' FROM monitors WHERE id = $2`,
      [atMs, id],
    );
  };
  await database.pool.query('UPDATE monitors SET created_at = created_at - 3600 WHERE id = $1', [id]);
  await ping(0);
  await page.clock.install();
  await page.goto(path);
  const pings = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Pings', exact: true }) });
  await pings.getByRole('listitem').first().waitFor();
  await ping(600);
  for (let polls = 0; polls < 10; polls += 1) {
    const read = page.waitForResponse(/\/checks\?.*since=|\/checks\?limit=\d+$/);
    await page.clock.runFor(5000);
    await (await read).finished();
    await handled(page);
  }
  await pings.getByRole('listitem').nth(1).waitFor();
  t.deepEqual(complaints, []);
});

test('a user who accepts an invitation while the members are reloaded is listed', async (t) => {
  const { page, complaints, person } = await prepare(t);
  const { json } = await person.call('POST', '/v1/invitations', { email: 'nell@example.org', role: 'viewer' });
  let reads = 0;
  page.on('request', (request) => void (reads += Number(request.url().endsWith('/v1/members'))));
  await page.clock.install();
  await page.goto('/settings/members');
  const row = page.getByRole('table', { name: 'Members' }).getByRole('row', { name: /Nell/ });
  await page.getByRole('table', { name: 'Invitations' }).waitFor();
  const asked = await hold(page, '**/v1/invitations');
  const before = reads;
  await page.clock.runFor(5000);
  const late = await asked(0);
  await handled(page);
  t.is(reads, before, 'members are read after invitations');
  const read = await late.fetch();
  const body = { token: json.url.split('/').at(-1), name: 'Nell', password: 'a longer secret than that' };
  const accepted = `${t.context.api.url}/v1/invitations/accept`;
  t.is((await send(accepted, { method: 'POST', headers: {}, body })).status, 201);
  await late.fulfill({ response: read });
  await row.waitFor();
  await page.clock.runFor(5000);
  await (await asked(1)).continue();
  await page.getByText('No pending invitations.').waitFor();
  t.is(await row.count(), 1);
  t.deepEqual(complaints, []);
});

test('the members are not reloaded because of an expired invitation', async (t) => {
  const { page, complaints, person } = await prepare(t);
  await person.call('POST', '/v1/invitations', { email: 'nell@example.org', role: 'viewer' });
  await t.context.api.database.pool.query(
    `UPDATE invitations SET expires_at = expires_at - 8 * 86400 WHERE tenant_id = $1`,
    [person.user.tenantId],
  );
  await page.clock.install();
  await page.goto('/settings/members');
  await page.getByRole('cell', { name: 'Expired' }).waitFor();
  let reads = 0;
  page.on('request', (request) => void (reads += Number(/\/v1\/(members|invitations)$/.test(request.url()))));
  await page.clock.runFor(11_000);
  await handled(page);
  t.is(reads, 0);
  t.deepEqual(complaints, []);
});

test('a failed change of a role is reported before the members are loaded again', async (t) => {
  const { page, complaints, account } = await prepare(t);
  await addPerson(t.context.api, account.tenantId, { mark: 'Nell', role: 'editor' });
  await page.goto('/settings/members');
  const role = page.getByLabel('Role of Nell');
  await role.waitFor();
  await page.route('**/v1/members/*', (route) => route.fulfill(FAILED));
  const asked = await hold(page, '**/v1/members');
  await role.selectOption('Viewer');
  await press(page, 'Change role');
  const late = await asked(0);
  await page.getByRole('alert').getByText('Internal error').waitFor();
  t.is(late.request().failure(), null, 'the page still waits');
  await late.continue();
  t.deepEqual(complaints, []);
});
