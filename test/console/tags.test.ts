import anyTest, { type TestFn } from 'ava';
import { findBarriers } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

test('a monitor is tagged in its form, and found and routed to a channel by its tags', async (t) => {
  const { service } = t.context;
  await service.call('POST', '/monitors', { name: 'Plain', target: 'http://127.0.0.1:1/' });
  const { json: channel } = await service.call('POST', '/channels', {
    type: 'telegram',
    name: 'Payments team',
    all_monitors: false,
  });
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  await page.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:1/');
  await page.getByLabel('Name', { exact: true }).fill('Shop');
  await page.getByLabel('Tags', { exact: true }).fill('env:prod, pay ments!');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.getByText('“ments!” is not a tag: use letters, digits and . _ / - like env:prod').waitFor();
  await page.getByLabel('Tags', { exact: true }).fill('payments env:prod, payments');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.waitForURL(/\/monitors\/mon_/);
  const path = new URL(page.url()).pathname;
  t.deepEqual((await service.call('GET', path)).json['tags'], ['env:prod', 'payments']);

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('link', { name: 'Clone' }).click();
  await page.waitForURL(/\?from=/);
  const tags = page.getByLabel('Tags', { exact: true });
  await tags.waitFor();
  t.is(await tags.inputValue(), 'env:prod, payments', 'a clone has the tags of its original');
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  t.regex(
    (await page.getByRole('dialog').textContent()) ?? '',
    /"tags": \[\s*"env:prod",\s*"payments"\s*\]/,
    'and so has the copied request',
  );
  await page.keyboard.press('Escape');
  await page.goto(path);
  await page.getByRole('link', { name: 'payments', exact: true }).click();
  await page.waitForURL(/\?tag=payments$/);
  await page.getByLabel('Tag', { exact: true }).waitFor();
  t.deepEqual(await page.getByRole('list', { name: 'Monitors' }).getByRole('link').count(), 1);
  await page.getByLabel('Tag', { exact: true }).selectOption('');
  await page.getByRole('link', { name: /Plain/ }).waitFor();
  t.deepEqual(await findBarriers(page), []);

  await page.goto(`/channels/${channel['id']}?tab=settings`);
  await page.getByLabel('And monitors with tags').fill('payments, env:prod');
  await page.getByLabel('Only monitors with all of these tags').check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  t.deepEqual((await service.call('GET', `/channels/${channel['id']}`)).json['monitor_tags'], {
    all: ['env:prod', 'payments'],
  });
  await page.goto('/channels');
  await page.getByText('tagged env:prod and payments').waitFor();
  await page.goto(`${path}/edit`);
  await page.getByText('Telegram, by tags').waitFor();
  t.deepEqual(complaints, []);
});
