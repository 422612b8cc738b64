import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { DAY_MS } from '../../core/time.ts';
import { watchMaintenance } from '../../workers/maintenance/plan.ts';
import { addPerson, type Person } from '../api/person.ts';
import { findBarriers, findSideways, signIn } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS;
/** A Saturday, one to two weeks ahead. */
const SATURDAY_MS = TODAY_MS + (13 - new Date(TODAY_MS).getUTCDay()) * DAY_MS;
const START = `${new Date(SATURDAY_MS).toISOString().slice(0, 10)}T02:30`;

type Context = ExecutionContext<ConsolePages>;
type Role = 'owner' | 'viewer';

/** Creates an account with a monitor, and returns a function that adds users. */
async function prepare(t: Context) {
  const account = await t.context.api.account();
  const { json: monitor } = await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://a.example/' });
  const person = (role: Role = 'owner') => addPerson(t.context.api, account.tenantId, { role });
  return { account, monitorId: monitor.id, person };
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

async function plan({ account, monitorId }: Prepared, body: object): Promise<string> {
  const sent = { name: 'Backups', monitor_ids: [monitorId], duration_seconds: 3600, ...body };
  const { status, json, text } = await account.owner('POST', '/v1/maintenance-windows', sent);
  if (status !== 201) throw new Error(text);
  return json.id;
}

const windowOf = async ({ account }: Prepared, id: string) =>
  (await account.owner('GET', `/v1/maintenance-windows/${id}`)).json;

async function openAt(t: Context, person: Person, path: string) {
  const opened = await open(t, person);
  await opened.page.goto(path);
  return opened;
}

/** Returns a pattern of a day as lists show it, without the year in the current one. */
function shownDay(ms: number): string {
  const format = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });
  return format.format(ms).replace(/, \d{4}$/, '(?:$&)?');
}

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).first().click();

test('a weekly window is previewed while edited, planned in its own time zone, and listed', async (t) => {
  const prepared = await prepare(t);
  const person = await prepared.person();
  await person.call('PATCH', '/v1/user', { time_zone: 'America/Costa_Rica', clock: '24h' });
  const { page, complaints } = await openAt(t, person, '/maintenance');
  await page.getByRole('heading', { name: 'No maintenance planned' }).waitFor();
  await page.getByRole('link', { name: 'New window' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Backups');
  await page.getByRole('button', { name: 'Plan maintenance' }).click();
  await page.getByText('Choose monitors or enter tags').waitFor();
  await page.getByLabel('Repeats').selectOption('weekly');
  await page.getByLabel('First start').fill(START);
  const zone = page.getByLabel('Time zone');
  t.is(await zone.inputValue(), 'America/Costa Rica', 'the default is the time zone of the user');
  await zone.fill('Asia/Tokyo');
  await zone.blur();
  await page.getByLabel('Sun', { exact: true }).check();
  await page.getByRole('checkbox', { name: /^Shop/ }).check();
  const times = page.getByRole('list', { name: 'Next times' }).getByRole('listitem');
  await times
    .first()
    .getByText(new RegExp(`^${shownDay(SATURDAY_MS)}, 02:30 – 03:30`))
    .waitFor();
  await times
    .first()
    .getByText(new RegExp(`for you ${shownDay(SATURDAY_MS - DAY_MS)}, 11:30 – 12:30`))
    .waitFor();
  await until(async () => (await times.count()) === 10);
  await page.getByRole('heading', { name: '1 monitor', exact: true }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Plan maintenance' }).click();
  await page.waitForURL(/\/maintenance\/mnt_/);
  await page.getByRole('heading', { level: 1, name: 'Backups' }).waitFor();
  await page.getByText('Every week on Saturday and Sunday at 02:30').waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  const { rrule, timezone, local_start: start, monitor_ids: ids } = await windowOf(prepared, id);
  t.deepEqual(
    { rrule, timezone, start, ids },
    {
      rrule: 'FREQ=WEEKLY;BYDAY=SA,SU',
      timezone: 'Asia/Tokyo',
      start: START,
      ids: [prepared.monitorId],
    },
  );
  await page.getByRole('link', { name: 'Maintenance', exact: true }).first().click();
  await page.getByRole('list', { name: 'Maintenance windows' }).getByText('Scheduled').waitFor();
  t.deepEqual(complaints, []);
});

test('a window in progress shows on the page and row of its monitor, and is extended and ended', async (t) => {
  const prepared = await prepare(t);
  const person = await prepared.person();
  const { page, complaints } = await openAt(t, person, `/monitors/${prepared.monitorId}`);
  await press(page, 'More actions');
  await press(page, 'Maintenance');
  await page.getByLabel('From now, for').and(page.locator(':focus')).selectOption({ label: '30 min' });
  await press(page, 'Start maintenance');
  const banner = page.getByRole('status').filter({ hasText: /^In maintenance until / });
  await banner.waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.goto('/');
  await page
    .getByRole('link', { name: /Shop.*Maintenance until / })
    .first()
    .waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.goto(`/monitors/${prepared.monitorId}`);
  await banner.getByRole('link', { name: 'Shop' }).click();
  await page.getByText('In progress').first().waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  const before = (await windowOf(prepared, id)).current?.ends_at ?? 0;
  await press(page, 'Extend');
  await page.getByLabel('By', { exact: true }).selectOption({ label: '1 h' });
  await page.getByRole('dialog').getByRole('button', { name: 'Extend' }).click();
  await page.getByText('Maintenance extended').waitFor();
  t.is((await windowOf(prepared, id)).current?.ends_at, before + 3600);
  await press(page, 'End now');
  await page.getByRole('dialog').getByRole('button', { name: 'End now' }).click();
  await page.getByText('Ended', { exact: true }).waitFor();
  t.is((await windowOf(prepared, id)).status, 'ended');
  await page.goto(`/monitors/${prepared.monitorId}`);
  await page.getByRole('button', { name: 'Check now' }).waitFor();
  t.is(await banner.count(), 0);
  t.deepEqual(complaints, []);
});

test('rows and lists show the start and end of maintenance from live events, without polling', async (t) => {
  const prepared = await prepare(t);
  const { database } = t.context.api;
  const person = await prepared.person();
  const { page, complaints } = await open(t, person);
  const asked: string[] = [];
  let lastAskedAtMs = Date.now();
  // Figures and history above the list are read periodically, so they do not count.
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/^\/v1\/overview\/(?:figures|history)$/.test(pathname)) return;
    asked.push(pathname);
    lastAskedAtMs = Date.now();
  });
  await page.goto('/');
  const list = await openAt(t, person, '/maintenance');
  const status = list.page.getByRole('list', { name: 'Maintenance windows' });
  await page.getByRole('link', { name: /Shop/ }).first().waitFor();
  for (const opened of [page, list.page]) await opened.getByText('Live', { exact: true }).first().waitFor();
  // The start of the stream makes the page load everything again.
  await until(() => asked.filter((path) => path === '/v1/overview').length > 1 && Date.now() - lastAskedAtMs > 3000);
  asked.length = 0;
  const id = await plan(prepared, { starts_at: Math.ceil(Date.now() / 1000) + 600 });
  await status.getByText('Scheduled').waitFor();
  const row = page.getByRole('link', { name: /Shop.*Maintenance until / }).first();
  t.is(await row.count(), 0);
  // Whatever is read periodically is read within this time.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  t.deepEqual(asked, []);
  // The window is moved instead of waited for, so that a slow machine does not find it begun too soon.
  await database.pool.query(
    `WITH moved AS (
       UPDATE maintenance_occurrences SET starts_at = starts_at - 600_000 WHERE window_id = $1 RETURNING no
     ), begun AS (
       UPDATE maintenance_windows SET starts_at = starts_at - 600_000 WHERE id = $1
     ) UPDATE maintenance_times SET started_at = started_at - 600_000 FROM moved WHERE occurrence_no = moved.no`,
    [id],
  );
  // The process `maintain` does this every few seconds.
  await watchMaintenance({ database, now: Date.now });
  await row.waitFor();
  await status.getByText('In progress').waitFor();
  t.deepEqual([...new Set(asked)].toSorted(), ['/v1/incidents', '/v1/overview']);
  await prepared.account.owner('POST', `/v1/maintenance-windows/${id}/end`, {});
  await row.waitFor({ state: 'detached' });
  await status.getByText('Ended').waitFor();
  t.deepEqual([...complaints, ...list.complaints], []);
});

test('occurrences are skipped, and a window is edited without changing its times, then deleted', async (t) => {
  const prepared = await prepare(t);
  const id = await plan(prepared, { cron: '30 3 * * *', timezone: 'UTC' });
  const next = (await windowOf(prepared, id)).next?.starts_at ?? 0;
  const { page, complaints } = await openAt(t, await prepared.person(), `/maintenance/${id}`);
  await page.getByText('Cron 30 3 * * *').waitFor();
  await press(page, 'Skip next');
  await page.getByRole('dialog').getByRole('button', { name: 'Skip it' }).click();
  const rows = page.getByRole('table', { name: 'Occurrences' }).getByRole('row');
  await rows.filter({ hasText: 'Skipped' }).waitFor();
  t.is((await windowOf(prepared, id)).next?.starts_at, next + 86_400);
  await rows
    .filter({ hasText: 'Planned' })
    .first()
    .getByRole('button', { name: /^Skip / })
    .click();
  await until(async () => (await windowOf(prepared, id)).next?.starts_at === next + 2 * 86_400);
  t.deepEqual(await findBarriers(page), []);

  await page.keyboard.press('e');
  await page.getByLabel('Name', { exact: true }).fill('Night backups');
  await page.getByLabel('Alerts to chats').selectOption('drop');
  const sent = page.waitForRequest((request) => request.method() === 'PATCH');
  await page.getByRole('button', { name: 'Save changes' }).click();
  t.deepEqual((await sent).postDataJSON(), { name: 'Night backups', alerts: 'drop' });
  await page.getByRole('heading', { level: 1, name: 'Night backups' }).waitFor();
  await press(page, 'Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete window' }).click();
  await page.getByRole('heading', { name: 'No maintenance planned' }).waitFor();
  t.deepEqual(complaints, []);
});

test('an error from the service is shown, and its field gets the focus', async (t) => {
  const prepared = await prepare(t);
  const { page } = await openAt(t, await prepared.person(), '/maintenance/new');
  await page.getByLabel('Name', { exact: true }).fill('Too often');
  await page.getByLabel('All monitors').check();
  await page.getByLabel('Repeats').selectOption('cron');
  await page.getByLabel('Cron expression').fill('*/5 * * * *');
  await page
    .getByRole('region', { name: 'Preview' })
    .getByText(/at most 24 starts on a day, got 288/)
    .waitFor();
  await page.getByRole('button', { name: 'Plan maintenance' }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: /^Have at most 24 starts on a day, got 288/ })
    .waitFor();
  t.is(await page.evaluate('document.activeElement.value'), '*/5 * * * *');
});

test('an unknown time zone blocks the form, and a duration with odd seconds is preserved', async (t) => {
  const prepared = await prepare(t);
  const { account } = prepared;
  const { page } = await openAt(t, await prepared.person(), '/maintenance/new');
  await page.getByLabel('Name', { exact: true }).fill('Backups');
  await page.getByLabel('All monitors').check();
  const zone = page.getByLabel('Time zone');
  const chosen = await zone.inputValue();
  await zone.fill('Berlin');
  await zone.press('Tab');
  await page.getByText('Choose a time zone from the list, such as Europe/Berlin').waitFor();
  await press(page, 'Plan maintenance');
  t.is(await page.evaluate('document.activeElement.getAttribute("aria-invalid")'), 'true');
  t.deepEqual((await account.owner('GET', '/v1/maintenance-windows')).json.maintenance_windows, []);
  t.is(await zone.inputValue(), 'Berlin');
  await press(page, 'Plan maintenance');
  t.deepEqual((await account.owner('GET', '/v1/maintenance-windows')).json.maintenance_windows, []);
  await zone.fill('');
  await zone.blur();
  t.is(await zone.inputValue(), chosen);

  const id = await plan(prepared, { starts_at: START, timezone: 'UTC', duration_seconds: 245 });
  await page.goto(`/maintenance/${id}/edit`);
  await page.getByLabel('Name', { exact: true }).fill('Night backups');
  await press(page, 'Save changes');
  await page.getByRole('heading', { level: 1, name: 'Night backups' }).waitFor();
  t.is((await windowOf(prepared, id)).duration_seconds, 245);
});

test('the calendar shows the occurrences of a month by day in the time zone of the user', async (t) => {
  const prepared = await prepare(t);
  const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
  await plan(prepared, { name: 'Late work', starts_at: `${day}T23:30`, timezone: 'UTC', duration_seconds: 1800 });
  const person = await prepared.person();
  await person.call('PATCH', '/v1/user', { time_zone: 'Asia/Tokyo', clock: '24h' });
  const shown = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  const { page, complaints } = await openAt(t, person, `/maintenance?view=calendar&month=${shown.slice(0, 7)}`);
  const cell = page.getByRole('cell').filter({ has: page.locator(`time[datetime="${shown}"]`) });
  await cell.getByRole('link', { name: '08:30 Late work' }).waitFor();
  t.is(await page.getByRole('link', { name: /Late work/ }).count(), 1);
  t.deepEqual(await findBarriers(page), []);
  for (const width of [320, 768, 1280, 2560]) {
    await page.setViewportSize({ width, height: 800 });
    await page.getByRole('link', { name: /Late work/ }).waitFor();
    t.deepEqual(await findSideways(page), [], String(width));
  }
  await press(page, 'Next month');
  await page.waitForURL(/month=/);
  t.deepEqual(complaints, []);
});

test('a viewer sees maintenance windows but no actions', async (t) => {
  const prepared = await prepare(t);
  const id = await plan(prepared, { rrule: 'FREQ=DAILY' });
  const viewer = await prepared.person('viewer');
  const { page, complaints } = await openAt(t, viewer, `/maintenance/${id}`);
  await page.getByText('In progress').first().waitFor();
  await page.getByRole('table', { name: 'Occurrences' }).waitFor();
  const main = page.getByRole('main');
  t.is(await main.getByRole('button').count(), 0);
  await page.goto('/maintenance');
  await page.getByRole('link', { name: /Backups/ }).waitFor();
  t.is(await page.getByRole('link', { name: 'New window' }).count(), 0);
  await page.goto(`/maintenance/${id}/edit`);
  await page.getByRole('heading', { name: 'View only' }).waitFor();
  await page.goto(`/monitors/${prepared.monitorId}`);
  await page.getByRole('status').filter({ hasText: 'In maintenance until' }).waitFor();
  t.is(await page.getByRole('button', { name: /^(Pause|More actions)$/ }).count(), 0);
  t.deepEqual(complaints, []);
});

test('two users editing one window do not undo each other, and a conflict is reported first', async (t) => {
  const prepared = await prepare(t);
  const { account, monitorId } = prepared;
  const { json: other } = await account.owner('POST', '/v1/monitors', { name: 'Search' });
  const { json: third } = await account.owner('POST', '/v1/monitors', { name: 'Mail' });
  const id = await plan(prepared, { starts_at: START, timezone: 'UTC' });
  const path = `/v1/maintenance-windows/${id}` as const;
  const { page, complaints } = await openAt(t, await prepared.person(), `/maintenance/${id}/edit`);
  const name = page.getByLabel('Name', { exact: true });
  await page.getByRole('checkbox', { name: /^Search/ }).check();
  await account.owner('PATCH', path, { duration_seconds: 7200, monitor_ids: [monitorId, third.id] });
  await press(page, 'Save changes');
  await page.waitForURL((url) => url.pathname === `/maintenance/${id}`);
  const { duration_seconds: seconds, monitor_ids: ids } = await windowOf(prepared, id);
  t.deepEqual([seconds, ids.toSorted()], [7200, [monitorId, other.id, third.id].toSorted()]);

  await page.goto(`/maintenance/${id}/edit`);
  await name.fill('Ours');
  await account.owner('PATCH', path, { name: 'Theirs' });
  await press(page, 'Save changes');
  await page.getByText('Someone else changed this window. Reload to see the changes, or save again').waitFor();
  t.is((await windowOf(prepared, id)).name, 'Theirs');
  await press(page, 'Save changes');
  await page.getByRole('heading', { level: 1, name: 'Ours', exact: true }).waitFor();
  t.deepEqual(complaints, []);
});

test('input that an earlier release stored in another format is dropped', async (t) => {
  const prepared = await prepare(t);
  const id = await plan(prepared, { name: 'Backups' });
  const person = await prepared.person();
  const { page, complaints } = await openAt(t, person, `/maintenance/${id}`);
  const userId = (await person.call('GET', '/v1/session')).json.user.id;
  const kept = JSON.stringify({ userId, drafts: { [`maintenance ${id}`]: { name: 'Earlier' } } });
  await page.evaluate(`sessionStorage.setItem('drafts', ${JSON.stringify(kept)})`);
  await page.goto(`/maintenance/${id}/edit`);
  await until(async () => (await page.getByLabel('Name', { exact: true }).inputValue()) === 'Backups');
  t.deepEqual(complaints, []);
});

test('an edit resumed after a sign-in keeps what others changed meanwhile', async (t) => {
  const prepared = await prepare(t);
  const id = await plan(prepared, { starts_at: START, timezone: 'UTC' });
  const person = await prepared.person();
  const { page, complaints } = await openAt(t, person, `/maintenance/${id}/edit`);
  await page.getByLabel('Name', { exact: true }).fill('Night backups');
  await person.call('DELETE', '/v1/session');
  await page.getByText(/what you typed is kept/).waitFor();
  await prepared.account.owner('PATCH', `/v1/maintenance-windows/${id}`, { duration_seconds: 7200, alerts: 'drop' });
  await signIn(page, person);
  await until(async () => (await page.getByLabel('Name', { exact: true }).inputValue()) === 'Night backups');
  await press(page, 'Save changes');
  await page.waitForURL((url) => url.pathname === `/maintenance/${id}`);
  const { duration_seconds: seconds, alerts } = await windowOf(prepared, id);
  t.deepEqual([seconds, alerts], [7200, 'drop']);
  t.deepEqual(complaints, []);
});

test('Back after an edit leads to the page before the window', async (t) => {
  const prepared = await prepare(t);
  await plan(prepared, { starts_at: START, timezone: 'UTC' });
  const { page, complaints } = await openAt(t, await prepared.person(), '/maintenance');
  await page.getByRole('link', { name: /Backups/ }).click();
  await page.getByRole('link', { name: 'Edit', exact: true }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('Archive');
  await press(page, 'Save changes');
  await page.getByRole('heading', { level: 1, name: 'Archive' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Maintenance' }).waitFor();
  t.deepEqual(complaints, []);
});
