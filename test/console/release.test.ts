import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { consolePages, readConsole } from '../../api/system/console-pages.ts';
import { DIST } from '../../console/build/build.ts';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { furnishAccount } from '../attackers/furnished-account.ts';
import { findBarriers, openPage, startBrowser } from '../helpers/browser.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const built = await readConsole(DIST, '');
/** Served files; a release replaces those with a hash in their names. */
const files = new Map(built?.files);
withApiServer(test, {}, (routes) => void routes.use(consolePages(built && { ...built, files }, '')));

/** Opens the overview as a user of a new account. */
async function openOverview(t: ExecutionContext<{ api: ApiServer }>, account: string) {
  const { api } = t.context;
  const { person } = await furnishAccount(api, account);
  const opened = await openPage(t, await startBrowser(t), { url: api.url });
  const [name = '', value = ''] = (person.headers['Cookie'] ?? '').split('=');
  await opened.page.context().addCookies([{ name, value, url: api.url }]);
  await opened.page.goto('/');
  await opened.page.getByRole('list', { name: 'Monitors' }).waitFor();
  return opened;
}

test.serial('a tab left open during an update offers the new version once old files are missing', async (t) => {
  const { page, complaints } = await openOverview(t, 'release');
  for (const path of files.keys()) if (path.startsWith('/assets/reports-')) files.delete(path);
  await page.getByRole('link', { name: 'Reports' }).first().click();
  await page.getByText('Spotcheck was updated', { exact: true }).waitFor();
  t.is(await page.getByRole('alert').count(), 0, 'no error is shown while the server responds');
  t.deepEqual(await findBarriers(page), []);
  for (const [path, file] of built?.files ?? []) files.set(path, file);
  await page.getByRole('button', { name: 'Reload page' }).click();
  await page.getByRole('heading', { level: 1, name: 'Reports' }).waitFor();
  t.deepEqual(complaints, []);
});

test.serial(
  'a file that fails to load once is retried, and the command palette says why it does not open',
  async (t) => {
    const { page, complaints } = await openOverview(t, 'lost');
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    const lose = async (paths: readonly string[], say: RegExp) => {
      for (const path of paths) await page.route(path, (route) => route.abort());
      await page.keyboard.press('Control+k');
      await page.getByRole('alert').filter({ hasText: say }).getByRole('button', { name: 'Dismiss' }).click();
      for (const path of paths) await page.unroute(path);
    };
    await lose(['**/assets/palette-dialog-*'], /^Spotcheck was updated\. Reload the page/);
    await lose(['**/assets/palette-dialog-*', '**/v1/session'], /^Can’t reach the server/);
    t.is(await palette.count(), 0);
    await page.keyboard.press('Control+k');
    await palette.waitFor();
    await page.keyboard.press('Escape');

    await page.route('**/assets/reports-*', (route) => route.abort(), { times: 1 });
    await page.getByRole('link', { name: 'Reports' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Reports' }).waitFor();
    t.deepEqual(complaints, []);
  },
);

test.serial('a page has its styles even if none load after the first page', async (t) => {
  const { page, complaints } = await openOverview(t, 'styles');
  await page.route('**/assets/*.css', (route) => route.abort());
  await page
    .getByRole('link', { name: /http styles/ })
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: /^http styles/ }).waitFor();
  // A variable from the styles of the charts.
  t.not(await page.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('--plot-1')`), '');
  t.deepEqual(complaints, []);
});

test.serial('a page whose first files are missing reloads once and then says what to do', async (t) => {
  const { api } = t.context;
  const browser = await startBrowser(t);
  for (const lost of [/\/assets\/index-[^/]+\.js$/, /\/assets\/style-[^/]+\.css$/]) {
    const { page, complaints } = await openPage(t, browser, { url: api.url });
    let visits = 0;
    page.on('request', (request) => (visits += request.isNavigationRequest() ? 1 : 0));
    const isGone = (path: string) => lost.test(path);
    for (const path of [...files.keys()].filter(isGone)) files.delete(path);
    await page.goto('/');
    const sentence = page.getByText('Can’t load all of this page.');
    await sentence.waitFor();
    t.is(visits, 2);
    for (const [path, file] of built?.files ?? []) files.set(path, file);
    await page.getByRole('button', { name: 'Reload page' }).click();
    await page.getByLabel('Password').waitFor();
    t.is(await sentence.count(), 0);

    // After another failure the page reloads once more, and finds the files.
    let isLost = true;
    await page.route(lost, async (route) => {
      if (isLost) await route.fulfill({ status: 404, body: '' });
      else await route.continue();
      isLost = false;
    });
    visits = 0;
    await page.reload();
    await until(() => visits === 2);
    await page.getByLabel('Password').waitFor();
    t.deepEqual([visits, await sentence.count()], [2, 0]);
    // Browsers also complain about a page in place of styles.
    t.deepEqual(
      complaints.filter((complaint) => !complaint.includes('MIME type')),
      [],
    );
  }
});

test.serial('with full browser storage a page whose first files are missing says so without a reload', async (t) => {
  const { api } = t.context;
  const { page, complaints } = await openPage(t, await startBrowser(t), { url: api.url });
  await page.goto('/');
  await page.getByLabel('Password').waitFor();
  await page.evaluate(() => {
    for (let length = 2 ** 22; length >= 1; length = Math.floor(length / 2))
      try {
        sessionStorage.setItem(`${length}`, 'x'.repeat(length));
      } catch {}
  });
  await page.route('**/assets/index-*.js', (route) => route.abort());
  let visits = 0;
  page.on('request', (request) => (visits += request.isNavigationRequest() ? 1 : 0));
  await page.reload();
  await Promise.race([page.getByText('Can’t load all of this page.').waitFor(), until(() => visits > 1)]);
  t.is(visits, 1);
  t.deepEqual(complaints, []);
});

test.serial('a wallboard with missing files reloads each minute while the server responds', async (t) => {
  const { api } = t.context;
  const browser = await startBrowser(t);
  const { person } = await furnishAccount(api, 'screen');
  const [name = '', value = ''] = (person.headers['Cookie'] ?? '').split('=');
  for (const [lost, sentence, needed] of [
    ['**/assets/index-*.js', 'Can’t load all of this page.', 2],
    ['**/assets/style-*.css', 'Can’t load all of this page.', 2],
    ['**/assets/wall-*.js', 'Reload to use the new version.', 1],
  ] as const) {
    const { page, complaints } = await openPage(t, browser, { url: api.url });
    await page.context().addCookies([{ name, value, url: api.url }]);
    await page.clock.install({ time: 0 });
    // An hour on, as the clock runs until it is paused.
    await page.clock.pauseAt(3_600_000);
    let visits = 0;
    page.on('request', (request) => (visits += request.isNavigationRequest() ? 1 : 0));
    await page.route(lost, (route) => route.abort());
    await page.goto('/wall');
    await page.getByText(sentence).waitFor();
    await page.clock.runFor(1000);
    // Without its styles a wallboard has content, which cannot be read.
    if (lost.includes('style')) await page.getByRole('main').waitFor({ state: 'attached' });
    await page.clock.runFor(58_000);
    t.is(visits, needed);
    await page.route('**/wall', (route) => route.abort());
    const failed = page.waitForEvent('requestfailed', (request) => new URL(request.url()).pathname === '/wall');
    await page.clock.runFor(1000);
    await failed;
    for (const path of [lost, '**/wall']) await page.unroute(path);
    t.is(await page.getByText(sentence).count(), 1);
    await page.clock.resume();
    await page.clock.fastForward(60_000);
    await page.getByText(sentence).waitFor({ state: 'detached' });
    await page.getByRole('main').waitFor();
    t.is(visits, needed + 1);
    // The page has loaded and does not reload again.
    await page.clock.fastForward(60_000);
    t.is(visits, needed + 1);
    t.deepEqual(complaints, []);
  }
});
