import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Locator, Page, Route } from 'playwright-core';
import type { Account } from '../api/api-server.ts';
import { addPerson } from '../api/person.ts';
import { findBarriers, findSideways, signIn, signInInAnotherTab } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsolePages>;
const openAs = withConsolePages(test);

/** Creates monitors named `Shop 10` and so on, all of which are up. */
async function addMonitors(
  t: ExecutionContext<ConsolePages>,
  { owner, tenantId }: Account,
  tags: readonly string[][],
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, own] of tags.entries()) {
    const settings = { name: `Shop ${index + 10}`, type: 'tcp', target: '127.0.0.1:1', tags: own };
    const { status, json } = await owner('POST', '/v1/monitors', settings);
    t.is(status, 201);
    ids.push(String(json['id']));
  }
  await t.context.api.database.pool.query(`UPDATE monitors SET state = 'up' WHERE tenant_id = $1`, [tenantId]);
  return ids;
}

const listOf = (page: Page) => page.getByRole('list', { name: 'Monitors' });
const boxOf = (page: Page, name: string): Locator => listOf(page).getByRole('checkbox', { name: `Select ${name}` });
const selected = (page: Page, monitors: string, rest = '') =>
  page.getByRole('region', { name: 'Selection' }).getByText(`${monitors} selected${rest}`, { exact: true }).waitFor();
const outcome = (page: Page, text: string) =>
  page.getByRole('region', { name: 'Bulk change' }).getByText(text, { exact: true }).waitFor();
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
/** Moves the pointer to Undo, which stays visible meanwhile. */
const holdUndo = (page: Page) => page.getByRole('button', { name: 'Undo', exact: true }).hover();
const namesOf = async (page: Page) => (await listOf(page).getByRole('checkbox', { checked: true }).all()).length;

test('monitors are selected one by one, by range, key and filter, and stay selected after navigation', async (t) => {
  const account = await t.context.api.account();
  await addMonitors(t, account, [['a'], ['a'], ['b'], ['b'], ['b'], []]);
  const { page, complaints } = await openAs(t, await addPerson(t.context.api, account.tenantId));
  await page.goto('/?sort=name');
  await boxOf(page, 'Shop 11').check();
  await selected(page, '1 monitor');
  await boxOf(page, 'Shop 14').click({ modifiers: ['Shift'] });
  await selected(page, '4 monitors');
  await boxOf(page, 'Shop 12').uncheck();
  await selected(page, '3 monitors');
  t.deepEqual(await findBarriers(page), []);
  // Just beside the box, where fingers tap.
  const { x, y, width, height } = (await boxOf(page, 'Shop 15').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.click(x + width + 5, y + height + 8);
  await selected(page, '4 monitors');
  t.is(new URL(page.url()).pathname, '/', 'no monitor is opened');
  await page.keyboard.press('Escape');
  await page.getByRole('region', { name: 'Selection' }).waitFor({ state: 'detached' });

  await listOf(page)
    .getByRole('link')
    .filter({ hasText: /^Shop 11/ })
    .focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Shift+ArrowDown');
  await selected(page, '3 monitors');
  await page.keyboard.press('Shift+ArrowUp');
  await selected(page, '2 monitors');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await selected(page, '3 monitors');
  t.deepEqual(await Promise.all(['Shop 11', 'Shop 12', 'Shop 14'].map((name) => boxOf(page, name).isChecked())), [
    true,
    true,
    true,
  ]);
  t.is(await namesOf(page), 3);

  await page.getByLabel('Tag', { exact: true }).selectOption('b');
  await selected(page, '3 monitors', ', 1 not in this list');
  await press(page, 'Select all 3 that match');
  await selected(page, '4 monitors', ', 1 not in this list');
  await press(page, 'Clear the selection');
  const all = page.getByRole('checkbox', { name: 'Select all that match: 3 monitors' });
  await all.check();
  await selected(page, '3 monitors');
  await boxOf(page, 'Shop 13').uncheck();
  t.true(await all.evaluate((box) => (box as unknown as { indeterminate: boolean }).indeterminate));
  await page.getByLabel('Tag', { exact: true }).selectOption('');
  await boxOf(page, 'Shop 15').waitFor();
  await page.keyboard.press('a');
  await selected(page, '6 monitors');
  await page.getByRole('link', { name: 'Incidents' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Incidents' }).waitFor();
  await page.goBack();
  await selected(page, '6 monitors');
  t.deepEqual(complaints, []);
});

test('a bulk pause skips paused monitors, and its undo resumes exactly those that it paused', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const ids = await addMonitors(t, account, [[], [], []]);
  await account.owner('POST', `/v1/monitors/${ids[0]}/pause`);
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId));
  const paused = async () =>
    Promise.all(ids.map(async (id) => (await account.owner('GET', `/v1/monitors/${id}`)).json['enabled'] === 0));
  await page.goto('/');
  await boxOf(page, 'Shop 10').waitFor();
  await page.keyboard.press('a');
  await selected(page, '3 monitors');
  await page.getByRole('button', { name: 'Pause 2 monitors' }).press('Enter');
  await outcome(page, '2 monitors paused');
  // By keyboard, the focus moves to the outcome, and Tab reaches Undo, which stays visible while it has the focus.
  await page.getByRole('region', { name: 'Bulk change' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Tab');
  await page.getByRole('button', { name: 'Undo' }).and(page.locator(':focus')).waitFor();
  t.deepEqual(await paused(), [true, true, true]);
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('Enter');
  await outcome(page, '2 monitors resumed');
  t.deepEqual(await paused(), [true, false, false]);
  await page.getByRole('region', { name: 'Bulk change' }).waitFor({ state: 'detached' });
  await page.locator('main:focus').waitFor();

  await boxOf(page, 'Shop 11').check();
  await press(page, 'Check 1 monitor now');
  await outcome(page, 'Checks of 1 monitor started');
  t.is(await page.getByRole('button', { name: 'Undo' }).count(), 0, 'a check cannot be undone');
  t.deepEqual(complaints, []);
});

test('tags are added and removed in bulk, and undo restores the previous tags', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const full = Array.from({ length: 20 }, (_, n) => `tag-${n}`);
  const ids = await addMonitors(t, account, [['env:prod', 'old'], ['old'], full]);
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId));
  const tags = async () =>
    Promise.all(ids.map(async (id) => (await account.owner('GET', `/v1/monitors/${id}`)).json['tags']));
  await page.goto('/');
  await boxOf(page, 'Shop 10').waitFor();
  await page.keyboard.press('a');
  await press(page, 'Add tags to 3 monitors');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Add tags' }).click();
  await dialog.getByText('Enter a tag').waitFor();
  await dialog.getByLabel('Tags', { exact: true }).fill('group:shop, pay ments!');
  await dialog.getByRole('button', { name: /^Add/ }).click();
  await dialog.getByText('“ments!” is not a tag').waitFor();
  await dialog.getByLabel('Tags', { exact: true }).fill('group:shop');
  await dialog.getByRole('button', { name: 'env:prod', pressed: false }).click();
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(await findSideways(page), []);
  await dialog.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText(/\/v1\/monitors\/bulk/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.getByRole('button', { name: 'Add to 3 monitors' }).click();
  await outcome(page, 'env:prod and group:shop added to 2 of 3 monitors');
  await holdUndo(page);
  t.deepEqual(await tags(), [['env:prod', 'group:shop', 'old'], ['env:prod', 'group:shop', 'old'], full.toSorted()]);
  await press(page, 'Show 1 failure');
  await page.getByRole('dialog').getByText('Shop 12').waitFor();
  await page.getByRole('dialog').getByText(/20/).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('z');
  await outcome(page, 'env:prod and group:shop removed from 2 monitors');
  t.deepEqual(await tags(), [['env:prod', 'old'], ['old'], full.toSorted()]);

  await page.keyboard.press('a');
  await press(page, 'Remove tags from 3 monitors');
  await dialog.getByRole('button', { name: 'old', pressed: false }).click();
  await dialog.getByRole('button', { name: 'Remove from 2 monitors' }).click();
  await outcome(page, 'old removed from 2 monitors');
  await holdUndo(page);
  t.deepEqual(await tags(), [['env:prod'], [], full.toSorted()]);
  await press(page, 'Undo');
  await outcome(page, 'old added to 2 monitors');
  t.deepEqual(await tags(), [['env:prod', 'old'], ['old'], full.toSorted()]);
  t.deepEqual(complaints, []);
});

test('deleting 11 monitors requires typing their number, and deletes no other', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const ids = await addMonitors(t, account, [...Array.from({ length: 11 }, () => ['group:shop']), []]);
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId));
  await page.goto(`/monitors/${ids[0]}`);
  await page.getByRole('link', { name: 'Monitors', exact: true }).first().click();
  await press(page, 'Folders');
  await boxOf(page, 'shop: 11 monitors').check();
  await selected(page, '11 monitors');
  await page.getByRole('searchbox').fill('shop 21');
  await selected(page, '11 monitors', ', 11 not in this list');
  await press(page, 'Delete 11 monitors');
  const dialog = page.getByRole('dialog', { name: 'Delete 11 monitors?' });
  await dialog.getByText('None of them is in the list you see').waitFor();
  await dialog.getByText('6 more').waitFor();
  await dialog.getByRole('button', { name: 'Delete 11 monitors' }).click();
  await dialog.getByText('Type 11 to confirm').nth(1).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await dialog.getByLabel('Type 11 to confirm').fill('11');
  await dialog.getByLabel('Type 11 to confirm').press('Enter');
  await outcome(page, '11 monitors deleted');
  t.is(await page.getByRole('button', { name: 'Undo' }).count(), 0);
  const left = (await account.owner('GET', '/v1/monitors')).json['monitors'] as { id: string }[];
  t.deepEqual(
    left.map(({ id }) => id),
    [ids[11]],
  );
  await page.getByRole('searchbox').fill('');
  await boxOf(page, 'Shop 21').check();
  await press(page, 'Delete 1 monitor');
  await page.getByRole('dialog', { name: 'Delete Shop 21?' }).getByRole('button', { name: 'Cancel' }).click();
  await selected(page, '1 monitor');
  await page.goBack();
  await page.waitForURL((url) => url.pathname === '/monitors');
  await boxOf(page, 'Shop 21').waitFor();
  t.deepEqual(complaints, []);
});

test('a viewer sees no checkboxes, and the selection bar fits every width', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitors(t, account, [['group:shop'], ['group:shop/cart']]);
  const viewer = await openAs(t, await addPerson(api, account.tenantId, { role: 'viewer' }));
  await viewer.page.goto('/');
  await listOf(viewer.page).getByRole('link').first().waitFor();
  await viewer.page.keyboard.press('a');
  await viewer.page.keyboard.press('j');
  await viewer.page.keyboard.press('x');
  t.is(await viewer.page.getByRole('checkbox').count(), 0);
  t.is(await viewer.page.getByRole('region', { name: 'Selection' }).count(), 0);

  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId));
  await page.goto('/');
  await press(page, 'Folders');
  await boxOf(page, 'Shop 10').check();
  for (const width of [320, 390, 600, 768, 1024, 1280, 1920, 2560]) {
    await page.setViewportSize({ width, height: 800 });
    t.deepEqual(await findSideways(page), [], `${width}`);
    for (const button of await page.getByRole('group', { name: 'Actions' }).getByRole('button').all()) {
      const box = await button.boundingBox();
      t.true(box !== null && box.x >= 0 && box.x + box.width <= width, `${await button.textContent()} at ${width}`);
    }
    t.is(
      await boxOf(page, 'shop: 2 monitors').evaluate(
        (box) => (box as unknown as { indeterminate: boolean }).indeterminate,
      ),
      true,
    );
  }
  await page.setViewportSize({ width: 320, height: 800 });
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

test('a bulk job shows its progress, even after a reload, and each failure with its reason', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const full = Array.from({ length: 20 }, (_, n) => `tag-${n}`);
  const [plain] = await addMonitors(t, account, [[], full]);
  // More monitors than a job changes in one batch.
  await api.database.pool.query(
    `INSERT INTO monitors OVERRIDING SYSTEM VALUE
     SELECT (jsonb_populate_record(m, jsonb_build_object('no', m.no + 1000 + n,
       'id', 'mon_' || lpad(n::text, 26, '0'), 'name', 'Shop ' || n))).*
     FROM monitors m, generate_series(12, 309) n WHERE m.id = $1`,
    [plain],
  );
  await api.database.pool.query(
    `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds, phase)
     SELECT m.no + 1000 + n, s.agent_no, s.interval_seconds, s.phase
     FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no, generate_series(12, 309) n WHERE m.id = $1`,
    [plain],
  );
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId));
  const lock = await api.database.pool.connect();
  t.teardown(() => lock.release());
  // The progress arrives over the stream.
  await page.route('**/v1/monitors/bulk/*', () => undefined);
  await page.goto('/');
  await page.getByText('All 300', { exact: true }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.keyboard.press('a');
  await selected(page, '300 monitors');
  // A monitor locked by another transaction blocks the job.
  await lock.query('BEGIN');
  await lock.query(`SELECT 1 FROM monitors WHERE tenant_id = $1 AND name = 'Shop 309' FOR UPDATE`, [account.tenantId]);
  await press(page, 'Add tags to 300 monitors');
  await page.getByRole('dialog').getByLabel('Tags', { exact: true }).fill('new');
  await page.getByRole('dialog').getByRole('button', { name: 'Add to 300 monitors' }).click();
  await page.getByText('Adding new to 300 monitors…').waitFor();
  const progress = page.getByRole('progressbar');
  const isUnderWay = async () => Number(await progress.getAttribute('aria-valuenow')) > 0;
  await until(isUnderWay);
  t.is(await progress.getAttribute('aria-valuemax'), '300');
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('a');
  await page.getByRole('button', { name: /^Pause/, disabled: true }).waitFor();
  await page.unroute('**/v1/monitors/bulk/*');
  await page.reload();
  await page.getByText('Adding new to 300 monitors…').waitFor();
  await until(isUnderWay);
  await lock.query('COMMIT');
  await outcome(page, 'new added to 299 of 300 monitors');
  await holdUndo(page);
  await press(page, 'Show 1 failure');
  const dialog = page.getByRole('dialog', { name: '1 failure' });
  t.regex((await dialog.getByRole('listitem').textContent()) ?? '', /^Shop 11.*20/);
  await dialog.getByRole('button', { name: 'Select it' }).click();
  await selected(page, '1 monitor');
  await press(page, 'Undo');
  await outcome(page, 'new removed from 299 monitors');
  const { rows } = await api.database.pool.query('SELECT id FROM monitors WHERE tenant_id = $1 AND $2 = ANY(tags)', [
    account.tenantId,
    'new',
  ]);
  t.deepEqual(rows, []);
  t.deepEqual(complaints, []);
});

test('a request whose response is lost is retried with its idempotency key and carried out once', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitors(t, account, [[], []]);
  const { page } = await openAs(t, await addPerson(api, account.tenantId));
  const keys: (string | undefined)[] = [];
  await page.route('**/v1/monitors/bulk', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return await route.continue();
    await route.fetch();
    return await route.abort();
  });
  await page.goto('/');
  await boxOf(page, 'Shop 10').waitFor();
  await page.keyboard.press('a');
  await press(page, 'Pause 2 monitors');
  await outcome(page, '2 monitors paused');
  t.is(keys.length, 2);
  t.is(keys[0], keys[1]);
  const { rows } = await api.database.pool.query(
    `SELECT count(*)::int AS entries FROM audit_log WHERE tenant_id = $1 AND action = 'monitor.paused'`,
    [account.tenantId],
  );
  t.deepEqual(rows, [{ entries: 2 }]);
});

test('an action that is refused because the session has ended continues after the sign-in', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitors(t, account, [[], []]);
  const person = await addPerson(api, account.tenantId);
  const { page, complaints } = await openAs(t, person);
  await page.route('**/v1/monitors/bulk', (route) => route.fulfill({ status: 401, json: { error: 'not signed in' } }), {
    times: 1,
  });
  await page.goto('/');
  await boxOf(page, 'Shop 10').waitFor();
  // A page with a stream waits 2 s for the reason before it ends the session.
  await page.getByText('Live', { exact: true }).waitFor();
  await page.keyboard.press('a');
  await press(page, 'Pause 2 monitors');
  await signIn(page, person);
  await outcome(page, '2 monitors paused');
  t.deepEqual(complaints, []);
});

test('an action of a session that another tab replaces meanwhile continues in the new one', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitors(t, account, [[], []]);
  const person = await addPerson(api, account.tenantId);
  const { page, complaints } = await openAs(t, person);
  const sent = Promise.withResolvers<Route>();
  await page.route('**/v1/monitors/bulk', (route) => sent.resolve(route), { times: 1 });
  await page.goto('/');
  await boxOf(page, 'Shop 10').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.keyboard.press('a');
  await press(page, 'Pause 2 monitors');
  const first = await sent.promise;
  const again = page.waitForResponse('**/v1/live');
  await signInInAnotherTab(page, api.url + CONSOLE_BASE_PATH, person);
  await again;
  await first.fulfill({ status: 401, json: { error: 'not signed in' } });
  await outcome(page, '2 monitors paused');
  t.deepEqual(complaints, []);
});

test('an action that was refused more than a minute before the sign-in is reported', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitors(t, account, [[], []]);
  const person = await addPerson(api, account.tenantId);
  const { page, complaints } = await openAs(t, person);
  await page.route('**/v1/monitors/bulk', (route) => route.fulfill({ status: 401, json: { error: 'not signed in' } }));
  await page.goto('/');
  await boxOf(page, 'Shop 10').waitFor();
  await page.keyboard.press('a');
  await press(page, 'Pause 2 monitors');
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  await page.evaluate(`sessionStorage.bulk = JSON.stringify({ ...JSON.parse(sessionStorage.bulk), sentAtMs: 0 })`);
  await signIn(page, person);
  await outcome(page, 'The action was interrupted, and may not be complete');
  await press(page, 'Select them again');
  await selected(page, '2 monitors');
  t.deepEqual(complaints, []);
});

test('a refused action shows why, and its monitors can be selected again', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  await addMonitors(t, account, [[], []]);
  const { page } = await openAs(t, await addPerson(api, account.tenantId));
  await page.route('**/v1/monitors/bulk', (route) =>
    route.fulfill({ status: 429, json: { error: 'more than 15000 monitors a minute: wait 31 s' } }),
  );
  await page.goto('/');
  await boxOf(page, 'Shop 10').waitFor();
  await page.keyboard.press('a');
  await press(page, 'Pause 2 monitors');
  await outcome(page, 'More than 15000 monitors a minute: wait 31 s');
  t.is(await page.getByRole('button', { name: 'Undo' }).count(), 0);
  await press(page, 'Select them again');
  await selected(page, '2 monitors');
  await page.keyboard.press('Escape');
  await press(page, 'Dismiss');
  await page.getByRole('region', { name: 'Bulk change' }).waitFor({ state: 'detached' });
});
