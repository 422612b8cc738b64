import anyTest, { type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { findBarriers, openPage, signIn, startBrowser } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

/** Returns the number of sheets that the page takes when printed. */
async function countSheets(page: Page): Promise<number> {
  const pdf = await page.pdf({ format: 'A4' });
  return pdf.toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0;
}

test.serial('a page opened offline says so, and loads on retry once online', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/');
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Reports' }).first().click();
  await page.getByText('You’re offline. Check your connection').waitFor();
  t.is(await page.getByText('Something went wrong').count(), 0);
  t.deepEqual(await findBarriers(page), []);
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Reports' }).waitFor();
  t.deepEqual(complaints, []);
});

test.serial('on a slow network a skeleton is shown until the page has loaded', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/');
  const loading = page.getByRole('status', { name: 'Loading' });
  for (const path of ['/', '/settings/usage', '/incidents']) {
    // Held for as long as the skeleton is measured.
    const measured = Promise.withResolvers<void>();
    await page.route('**/v1/**', async (route) => {
      await measured.promise;
      await route.continue();
    });
    await page.goto(path, { waitUntil: 'commit' });
    await loading.first().waitFor();
    const bars = await loading
      .first()
      .evaluate((element) => [...element.querySelectorAll('*')].filter((bar) => bar.clientHeight >= 12).length);
    t.true(bars >= 6, `${path} shows ${bars} bars`);
    measured.resolve();
    await loading.first().waitFor({ state: 'detached' });
    await page.unroute('**/v1/**');
  }
  t.deepEqual(complaints, []);
});

test.serial('a page is printed whole, with all rows of a list', async (t) => {
  const { service } = t.context;
  await Promise.all(
    Array.from({ length: 80 }, (_, number) => service.call('POST', '/monitors', { name: `Row ${number}` })),
  );
  const { page, complaints } = await openSignedIn(t, '/');
  await page.getByText('Row 0', { exact: true }).waitFor();
  t.true((await page.getByRole('listitem').count()) < 60, 'on screen only visible rows are rendered');
  t.true((await countSheets(page)) >= 3);
  await until(async () => (await page.getByRole('listitem').count()) < 60);
  await page.goto('/docs?operation=createMonitor');
  await page.getByText('Send request').waitFor();
  t.true((await countSheets(page)) >= 2);
  await page.emulateMedia({ media: 'print' });
  t.is(
    await page.evaluate('document.querySelector("main").scrollHeight - document.querySelector("main").clientHeight'),
    0,
    'nothing is behind a scroll bar',
  );
  t.deepEqual(complaints, []);
});

test.serial('the initial password notice spans the page, even with scroll bars', async (t) => {
  const { service, person } = t.context;
  const browser = await startBrowser(t, { showsScrollbars: true });
  const { page } = await openPage(t, browser, { url: service.url });
  await page.goto('/settings');
  await signIn(page, person);
  const notice = await page.getByRole('complementary', { name: 'Notice' }).boundingBox();
  t.is((notice?.x ?? 0) + (notice?.width ?? 0), page.viewportSize()?.width ?? 0);
});

test.serial('only operators see the link to the queues', async (t) => {
  const { browser, service } = t.context;
  const { page } = await openSignedIn(t, '/settings/members');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Email').fill('editor@example.org');
  await page.keyboard.press('Enter');
  const link = (await page.getByLabel('Invitation link', { exact: true }).textContent()) ?? '';
  await page.goto('/fleet');
  await page.getByRole('link', { name: 'Queues' }).first().waitFor();

  const editor = await openPage(t, browser, { url: service.url });
  await editor.page.goto(new URL(link).pathname);
  await editor.page.getByLabel('Name').fill('Ed Itor');
  await editor.page.getByLabel('Password').fill('a long pass phrase');
  await editor.page.getByRole('button', { name: 'Join' }).click();
  await editor.page.getByRole('navigation', { name: 'Main' }).first().waitFor({ state: 'attached' });
  await editor.page.goto('/fleet');
  await editor.page.getByRole('heading', { name: 'Operators only' }).waitFor();
  t.is(await editor.page.getByRole('link', { name: 'Queues', includeHidden: true }).count(), 0);
  t.deepEqual(await findBarriers(editor.page), []);
  t.deepEqual(editor.complaints, []);
});
