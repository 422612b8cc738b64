import anyTest, { type TestFn } from 'ava';
import { openPage, signIn, waitForConsole } from '../helpers/browser.ts';
import { withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { isNginxInstalled } from '../helpers/nginx.ts';
import { startTarget } from '../helpers/target.ts';

const test = anyTest as TestFn<ConsoleService>;
const isTried = isNginxInstalled();
if (isTried) withConsole(test, () => Promise.resolve({}), '/ops/uptime');

// `npm run test:base-path` runs all console tests below a path.
(isTried ? test : test.skip)(
  'behind nginx, below a path, the console, its links and the queue board work',
  async (t) => {
    const { browser, service, person } = t.context;
    const target = await startTarget(t);
    const { page, complaints } = await openPage(t, browser, { url: service.url });
    const failures: string[] = [];
    page.on('response', (response) => {
      // Before the sign-in there is no session.
      if (response.status() >= 400 && response.status() !== 401)
        failures.push(`${response.status()} ${response.url()}`);
    });

    await page.goto('/');
    await signIn(page, person);
    await page.getByRole('link', { name: 'Monitors' }).first().click();
    await page.getByRole('link', { name: 'New monitor' }).first().click();
    await page.waitForURL('/monitors/new');
    await page.getByRole('textbox', { name: 'URL' }).fill(target.url());
    await page.getByRole('textbox', { name: 'Name' }).fill('Shop');
    await page.getByRole('button', { name: 'Create monitor' }).click();
    await page.getByRole('heading', { level: 1, name: 'Shop is up' }).waitFor();
    const link = page.getByRole('link', { name: 'Edit' }).first();
    t.regex((await link.getAttribute('href')) ?? '', /^\/ops\/uptime\/monitors\/mon_\w+\/edit$/);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Shop is up' }).waitFor();
    await page.goBack();
    await waitForConsole(page);

    await page.goto('/docs');
    await page.getByRole('heading', { level: 1 }).waitFor();
    t.deepEqual(complaints, []);
    // The board requests fonts from another host, which its policy blocks.
    await page.goto('/queues');
    await page.getByText('evaluate').first().waitFor();
    t.deepEqual(failures, []);
  },
);
