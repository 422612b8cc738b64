import anyTest, { type TestFn } from 'ava';
import type { Answer } from '../helpers/api-client.ts';
import { findBarriers, openPage, signIn } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

/** Enough to make the list scroll; the names are unsorted. */
const MONITORS = 120;

test.serial('the first user signs in with the initial password and is guided to the first monitor', async (t) => {
  const { browser, service, person } = t.context;
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  await page.goto('/incidents?status=open');
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password').fill('not this one');
  await page.getByRole('button', { name: 'Sign in' }).click();
  t.regex((await page.getByRole('alert').textContent()) ?? '', /password/);
  await signIn(page, person);
  t.is(
    new URL(page.url()).pathname + new URL(page.url()).search,
    '/incidents?status=open',
    'the sign-in leads to the requested page',
  );
  await page.goto('/');
  await page.getByRole('heading', { name: 'No monitors yet' }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  const paths: string[] = [];
  page.on('request', (request) => paths.push(new URL(request.url()).pathname));
  await page.reload();
  await page.getByRole('heading', { name: 'No monitors yet' }).waitFor();
  // Once the stream opens, everything is requested again: changes in between would be missed.
  const early = paths.slice(0, paths.indexOf('/v1/live'));
  for (const path of ['/v1/session', '/v1/overview', '/v1/incidents'])
    t.is(early.filter((each) => each === path).length, 1, `${path} is requested once`);
  t.true(
    paths.indexOf('/v1/overview') < paths.findIndex((path) => path.includes('/overview-')),
    'the data is requested before the code of its page',
  );
  await page.getByRole('button', { name: person.email }).click();
  await page.getByRole('radio', { name: 'Dark' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Password').waitFor();
  t.is(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
  t.deepEqual(complaints, []);
});

test.serial(
  'the overview renders only visible rows, down ones first, and is searched by text, status and keyboard',
  async (t) => {
    const { service } = t.context;
    const settings = Array.from({ length: MONITORS }, (_, index) => ({
      name: `Shop ${(index * 37) % MONITORS}`,
      target: `127.0.0.1:${index + 1}`,
      type: 'tcp',
      interval_seconds: 3600,
    }));
    const created: Answer[] = [];
    while (created.length < MONITORS)
      created.push(
        ...(await Promise.all(
          settings.slice(created.length, created.length + 8).map((body) => service.call('POST', '/monitors', body)),
        )),
      );
    t.deepEqual(
      created.filter(({ status }) => status !== 201).map(({ json }) => json),
      [],
    );
    const ids = created.map(({ json }) => json['id']);
    await withClient(t.context.databaseUrl, async (client) => {
      await client.query(`UPDATE monitors SET enabled = false, state = 'up'`);
      // On a slow machine the checks have found by now that nothing listens there.
      await client.query('DELETE FROM incidents');
      await client.query(`UPDATE monitors SET state = 'down' WHERE id = $1`, [ids[7]]);
      await client.query(
        `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
         detected_at)
       SELECT 'inc_1', tenant_id, id, name, 'down', 'connection refused <b>', '{local}', $2, $2 FROM monitors
         WHERE id = $1`,
        [ids[7], Date.now() - 300_000],
      );
    });
    const { page, complaints } = await openSignedIn(t, '/');
    await page.getByRole('heading', { level: 1, name: '1 down' }).waitFor();
    const rows = page.getByRole('list', { name: 'Monitors' }).getByRole('listitem');
    const first = rows.first();
    t.regex((await first.textContent()) ?? '', /Down for 5 min.*connection refused <b>/);
    t.is(await first.getAttribute('aria-setsize'), String(MONITORS));
    t.true((await rows.count()) < 40, 'rows outside the viewport are not rendered');
    await page
      .getByRole('img', { name: /days?\b|No uptime/ })
      .first()
      .waitFor();

    await page
      .getByRole('img', { name: /days?\b|No uptime/ })
      .first()
      .hover();
    const tooltip = page.getByText(/: (no data|paused|[\d.]+% up)$/);
    await tooltip.waitFor();
    // On a busy machine the letters may be too far apart for a sequence.
    const incidents = page.getByRole('heading', { level: 1, name: 'Incidents' });
    await until(
      async () => {
        if ((await incidents.count()) === 0) await page.keyboard.type('gi');
        return (await incidents.count()) === 1;
      },
      { intervalMs: 2000 },
    );
    t.is(await tooltip.count(), 0, 'the tooltip of a strip disappears with it');
    await page.goBack();
    await rows.first().waitFor();

    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    t.is(await page.evaluate('document.activeElement.getAttribute("href")'), `${CONSOLE_BASE_PATH}/monitors/${ids[7]}`);
    for (let presses = 0; presses < 60; presses += 1) await page.keyboard.press('j');
    const focused = page.locator('main a:focus');
    await focused.waitFor();
    t.true(
      await focused.evaluate(
        (link) => link.getBoundingClientRect().bottom <= link.ownerDocument.documentElement.clientHeight,
      ),
      'the list scrolls with the keyboard focus',
    );
    for (let presses = 0; presses < 40; presses += 1) await page.keyboard.press('k');
    // On the way back up the filters must not cover it.
    await until(() =>
      focused.evaluate((link) => {
        const { left, top, height } = link.getBoundingClientRect();
        return link.contains(link.ownerDocument.elementFromPoint(left + 60, top + height / 2));
      }),
    );
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/monitors\/mon_/);
    const left = await page.evaluate('document.activeElement.tagName');
    t.is(left, 'MAIN', 'after a navigation the focus is on the page');
    await page.goBack();
    await focused.waitFor();
    t.true(await page.locator('main').evaluate((main) => main.scrollTop > 0), 'Back restores the scroll position');

    await page.keyboard.press('/');
    // Typed at human speed: between two letters the list re-renders, and must not take the focus away.
    await page.keyboard.type('shop 117', { delay: 40 });
    await page.waitForURL(/q=shop/);
    const found = settings.filter(({ name, target }) => `${name} ${target}`.includes('117')).length;
    await until(async () => (await rows.count()) === found);
    // The filters count the search results, and the arrow key moves from the search to the first match.
    await page.getByRole('button', { name: `All ${found}`, exact: true }).waitFor();
    await page.keyboard.press('ArrowDown');
    await rows.first().locator('a:focus').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/monitors\/mon_/);
    await page.goBack();
    await until(async () => (await rows.count()) === found);
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rows.nth(1).waitFor();
    await page.getByRole('searchbox').press('ArrowDown');
    await rows.first().locator('a:focus').waitFor();
    await page.keyboard.press('j');
    await rows.nth(1).locator('a:focus').waitFor();
    await page.getByRole('button', { name: 'Down 1' }).click();
    await until(async () => (await rows.count()) === 1);
    await page.getByRole('button', { name: /^All/ }).click();
    await rows.nth(1).waitFor();
    t.regex(String(await page.evaluate('document.activeElement.textContent')), /^All/, 'no row takes the focus');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    t.deepEqual(await findBarriers(page), []);
    t.deepEqual(complaints, []);
  },
);

test.serial('the overview fits a phone in dark mode and shows changes live', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/?status=down', { size: 'phone', colorScheme: 'dark' });
  await page.getByRole('heading', { level: 1, name: '1 down' }).waitFor();
  t.is(await page.evaluate('document.documentElement.scrollWidth'), 360, 'nothing is wider than the screen');
  t.deepEqual(await findBarriers(page), []);
  await withClient(t.context.databaseUrl, (client) => client.query(`UPDATE monitors SET state = 'up'`));
  await page.getByRole('heading', { level: 1, name: `All ${MONITORS} monitors are up` }).waitFor();
  await page.goto('/?tag=of%3Anone');
  await page.getByRole('heading', { name: 'No monitors match your filters' }).waitFor();
  await page.getByRole('button', { name: 'Remove filter tag of:none' }).click();
  await page.getByRole('list', { name: 'Monitors' }).getByRole('listitem').first().waitFor();
  t.deepEqual(complaints, []);
});

test.serial('the browser blocks and reports what the Content-Security-Policy forbids', async (t) => {
  const { browser, service } = t.context;
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  await page.goto('/');
  await page.getByLabel('Email').waitFor();
  await page.evaluate(
    `document.body.insertAdjacentHTML('beforeend', '<p style="color: red">red</p><img ` +
      `src="https://elsewhere.example/a.png">')`,
  );
  const complaint = await until(() => complaints.length >= 2 && complaints.join('\n'));
  t.regex(complaint, /inline style/);
  t.regex(complaint, /elsewhere\.example/);
});
