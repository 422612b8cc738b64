import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import { addPerson } from '../api/person.ts';
import { furnishAccount } from '../attackers/furnished-account.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

test('a wallboard link works without a sign-in, shows when data is out of date, and can be revoked', async (t) => {
  const { api } = t.context;
  const { account, person, ids } = await furnishAccount(api, 'corridor');
  const { page, complaints } = await open(t, person);
  await page.goto('/');
  const link = await createLink(t, page);

  const screen = await open(t, null);
  const asked: { url: string; cookie: string | undefined }[] = [];
  screen.page.on('request', (request) => asked.push({ url: request.url(), cookie: request.headers()['cookie'] }));
  await screen.page.goto(link);
  await screen.page.getByRole('heading', { level: 1, name: '1 down' }).waitFor();
  const tiles = screen.page.getByRole('list', { name: 'Monitors' }).getByRole('listitem');
  t.regex((await tiles.first().textContent()) ?? '', /^http corridorDown for /);
  t.is(await tiles.count(), ids.monitor.length);
  t.regex(await screen.page.title(), /^1 down/);
  t.regex(await faviconOf(screen.page), /dc3039/, 'the icon is that of down');
  const text = (await screen.page.evaluate('document.documentElement.outerHTML')) as string;
  for (const inside of ['corridor.example', 'reason corridor', ...ids.monitor, ...ids.incident])
    t.false(text.includes(inside), `the wall contains ${inside}`);
  t.deepEqual(await findBarriers(screen.page), []);
  for (const width of [320, 1280, 2560]) {
    await screen.page.setViewportSize({ width, height: 800 });
    t.deepEqual(await findSideways(screen.page), []);
  }

  await api.database.pool.query(`UPDATE monitors SET state = 'up' WHERE tenant_id = $1`, [account.tenantId]);
  await screen.page.getByRole('heading', { level: 1, name: `All ${ids.monitor.length} monitors are up` }).waitFor();
  t.regex(await faviconOf(screen.page), /2aa662/);
  const isWall = (url: URL) => url.pathname === '/v1/wall';
  await screen.page.route(isWall, (route) => route.abort());
  await screen.page
    .getByRole('alert')
    .filter({ hasText: /Last updated \d/ })
    .waitFor();
  await screen.page.unroute(isWall);
  await screen.page.getByRole('alert').waitFor({ state: 'detached' });

  const { tokens } = (await person.call('GET', '/v1/tokens')).json;
  const token = tokens.find(({ scopes }) => scopes.includes('wall'));
  t.is((await person.call('DELETE', `/v1/tokens/${token?.id ?? ''}`)).status, 204);
  await screen.page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
  t.deepEqual(await findBarriers(screen.page), []);
  const secret = new URL(link).hash.slice(1);
  t.deepEqual(
    asked.filter(({ url, cookie }) => url.replace(link, '').includes(secret) || cookie !== undefined),
    [],
    'the token is in no URL, and no cookie is sent',
  );
  t.deepEqual(
    [...new Set(asked.map(({ url }) => new URL(url).pathname))].filter((path) => path.startsWith('/v1/')),
    ['/v1/wall'],
  );
  t.deepEqual([...complaints, ...screen.complaints], []);
});

test('the wallboard uses the time zone of a signed-in user, and by link that of the screen', async (t) => {
  const { api } = t.context;
  const { person } = await furnishAccount(api, 'zoned');
  t.is((await person.call('PATCH', '/v1/user', { time_zone: 'asia/tokyo', clock: '24h' })).status, 200);
  const { page, complaints } = await open(t, person);
  await page.goto('/wall');
  await page.getByText('Times in Asia/Tokyo').waitFor();
  const hour = async () => /Updated (\d\d):/.exec((await page.getByText(/^Updated/).textContent()) ?? '')?.[1];
  const inTokyo = () => String((new Date().getUTCHours() + 9) % 24).padStart(2, '0');
  await until(async () => (await hour()) === inTokyo());
  await page.goto('/');
  const screen = await open(t, null);
  await screen.page.goto(await createLink(t, page));
  await screen.page.getByText('Times in UTC').waitFor();
  await page.goto('/wall');
  await page.getByText('Times in Asia/Tokyo').waitFor();
  t.is((await person.call('DELETE', '/v1/session')).status, 204);
  await page.getByRole('heading', { name: 'Sign in to see the wallboard' }).waitFor();
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
  t.deepEqual([...complaints, ...screen.complaints], []);
});

test('the wallboard marks monitors in maintenance until it ends', async (t) => {
  const { account, person, ids } = await furnishAccount(t.context.api, 'works');
  // One monitor is in maintenance already.
  const id = ids.monitor.at(-1) ?? '';
  const { page, complaints } = await open(t, person);
  await page.goto('/wall');
  const tiles = page.getByRole('list', { name: 'Monitors' }).getByRole('listitem');
  await tiles.first().waitFor();
  await tiles
    .getByText(/^Maintenance until/)
    .first()
    .waitFor();
  const before = await tiles.getByText(/^Maintenance until/).count();
  const { json } = await account.owner('POST', `/v1/monitors/${id}/maintenance`, { duration_seconds: 3600 });
  await until(async () => (await tiles.getByText(/^Maintenance until /).count()) === before + 1);
  t.is(await tiles.locator('.hatched').count(), before + 1);
  t.deepEqual(await findBarriers(page), []);
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    t.deepEqual(await findSideways(page), []);
  }
  t.is((await account.owner('POST', `/v1/maintenance-windows/${json.id}/end`, {})).status, 200);
  await until(async () => (await tiles.getByText(/^Maintenance until /).count()) === before);
  t.deepEqual(complaints, []);
});

test('the wallboard and the overview warn while checks have stopped', async (t) => {
  const { api } = t.context;
  const { account, person } = await furnishAccount(api, 'stopped');
  const { pool } = api.database;
  const { rows } = await pool.query<{ no: number }>(
    `UPDATE monitors SET state = 'up', created_at = created_at - 86400, updated_at = updated_at - 86400
     WHERE tenant_id = $1 RETURNING no`,
    [account.tenantId],
  );
  const numbers = rows.map(({ no }) => no);
  await pool.query('DELETE FROM check_results WHERE monitor_no = ANY($1::int[])', [numbers]);
  const addChecks = async (atMs: number) => {
    await createPartitions(api.database, atMs);
    await pool.query(
      `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, verdict)
       SELECT $2, s.monitor_no, s.agent_no, 80, 1 FROM monitor_sources s
       WHERE s.monitor_no = ANY($1::int[]) AND NOT EXISTS (SELECT FROM heartbeats h WHERE h.monitor_no = s.monitor_no)`,
      [numbers, atMs],
    );
  };
  await addChecks(Date.now() - 24 * MINUTE_MS);
  const wall = await open(t, person);
  await wall.page.goto('/wall');
  // A clock that is off by an hour must not affect the result.
  const overview = await open(t, person);
  await overview.page.clock.setFixedTime(Date.now() - HOUR_MS);
  await overview.page.goto('/');
  for (const { page } of [wall, overview]) {
    await page.getByRole('heading', { level: 1, name: '2 of 3 monitors overdue' }).waitFor();
    t.regex(await page.title(), /^2 of 3 monitors overdue/);
    await page
      .getByRole('status')
      .filter({ hasText: /No checks since \w+ \d+, .*: 2 monitors overdue\./ })
      .waitFor();
    t.deepEqual(await findBarriers(page), []);
  }
  const tiles = wall.page.getByRole('list', { name: 'Monitors' }).getByRole('listitem');
  const tile = tiles.filter({ hasText: 'http stopped' });
  t.regex(
    (await tile.textContent()) ?? '',
    /^http stoppedNo checks since \w+ \d+(?:, \d{4})?, \d\d:\d\dMaintenance until /,
  );
  t.regex((await tiles.last().textContent()) ?? '', /^heartbeat stoppedUp for /);
  t.notRegex(await faviconOf(wall.page), /2aa662/, 'the icon is not that of up');
  const row = overview.page.getByRole('link', { name: /http stopped/ });
  await row.getByText('Overdue', { exact: true }).waitFor();
  await row.getByText(/^No checks since \w+ \d+(?:, \d{4})?, \d\d:\d\d/).waitFor();

  await addChecks(Date.now());
  for (const { page } of [wall, overview]) {
    await page.getByRole('heading', { level: 1, name: 'All 3 monitors are up' }).waitFor();
    await page
      .getByText(/No checks since|Overdue/)
      .first()
      .waitFor({ state: 'detached' });
  }
  t.regex(await faviconOf(wall.page), /2aa662/);
  t.deepEqual([...wall.complaints, ...overview.complaints], []);
});

test('the wallboard leads a signed-out user to the sign-in and back', async (t) => {
  const { api } = t.context;
  const { account } = await furnishAccount(api, 'foyer');
  const person = await addPerson(api, account.tenantId, { role: 'viewer' });
  const { page } = await open(t, null);
  await page.goto('/wall');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password').fill(person.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: '1 down' }).waitFor();
  t.is(new URL(page.url()).pathname, `${CONSOLE_BASE_PATH}/wall`);
});

test('a signed-in viewer can open the wallboard without a link', async (t) => {
  const { api } = t.context;
  const { account } = await furnishAccount(api, 'lobby');
  const { page, complaints } = await open(t, await addPerson(api, account.tenantId, { role: 'viewer' }));
  await page.goto('/');
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Wallboard' }).click();
  await (await opened).getByRole('heading', { level: 1, name: '1 down' }).waitFor();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await keys.getByText('Next monitor').waitFor();
  t.is(await keys.getByText('New monitor').count(), 0, 'a viewer creates none');
  t.deepEqual(complaints, []);
});

async function createLink(t: ExecutionContext<ConsolePages>, page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Wallboard' }).click();
  const dialog = page.getByRole('dialog', { name: 'Wallboard' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Corridor');
  t.deepEqual(await findBarriers(page, 'dialog:modal'), []);
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const shown = page.getByRole('dialog', { name: 'Wallboard link' });
  const link = (await shown.getByRole('group', { name: 'Wallboard link' }).textContent()) ?? '';
  t.regex(link, /\/wall#spw_[\w-]{43}$/);
  await shown.getByText(/^Others can’t open this link: .* Replace 127\.0\.0\.1:\d+ with an address/).waitFor();
  t.deepEqual(await findBarriers(page, 'dialog:modal'), []);
  await shown.getByRole('button').last().click();
  await shown.waitFor({ state: 'detached' });
  t.false(((await page.evaluate('document.documentElement.outerHTML')) as string).includes('spw_'));
  return link;
}

async function faviconOf(page: Page): Promise<string> {
  return (await page.locator('link[rel="icon"]').getAttribute('href')) ?? '';
}

test('the wallboard shows drafts and scrolls by keyboard', async (t) => {
  const { account, person } = await furnishAccount(t.context.api, 'sketch');
  await account.owner('POST', '/v1/monitors', { name: 'Idea' });
  const { page, complaints } = await open(t, person);
  await page.setViewportSize({ width: 1280, height: 160 });
  await page.goto('/wall');
  const tile = page.getByRole('listitem').filter({ hasText: 'Idea' });
  await tile.getByText('Draft', { exact: true }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('main').focus();
  await page.keyboard.press('End');
  await until(async () => (await page.getByRole('main').evaluate(({ scrollTop }) => scrollTop)) > 0);
  t.deepEqual(complaints, []);
});
