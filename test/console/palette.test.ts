import anyTest, { type TestFn } from 'ava';
import { findBarriers } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

test.serial('the command palette finds monitors, incidents, pages and actions by keyboard alone', async (t) => {
  const { service } = t.context;
  const target = await startTarget(t);
  target.health.status = 503;
  const create = async (name: string, url = '') => {
    const { json } = await service.call('POST', '/monitors', {
      name,
      ...(url !== '' && { target: url, interval_seconds: 1, timeout_ms: 999, down_after_failures: 1 }),
    });
    return String(json['id']);
  };
  const shop = await create('Shop', target.url());
  const search = await create('Search <b>API</b>');
  await until(async () => (await service.call('GET', `/monitors/${shop}`)).json['status'] === 'down');
  const { page, complaints } = await openSignedIn(t, '/settings');
  const box = page.getByRole('combobox', { name: 'Search monitors, incidents, pages and actions' });
  const dialog = page.getByRole('dialog', { name: 'Command palette' });
  const chosen = dialog.locator('[role=option][aria-selected=true]');
  const open = async (text: string) => {
    await page.keyboard.press('Control+k');
    await box.and(page.locator(':focus')).waitFor();
    await page.keyboard.type(text);
  };

  await open('');
  await dialog.getByRole('group', { name: 'Go to' }).getByRole('option', { name: 'Channels' }).waitFor();
  await dialog.getByRole('group', { name: 'Actions' }).getByRole('option', { name: 'New monitor' }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await open('search');
  t.is(await chosen.locator('bdi').first().textContent(), 'Search <b>API</b>');
  t.is(await box.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'));
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/monitors/${search}`);

  // A draft is not checked, so there is no option to check it now.
  await page.getByRole('heading', { level: 1, name: 'Search <b>API</b> is a draft' }).waitFor();
  await open('e');
  await dialog.getByRole('group', { name: 'This page' }).getByRole('option', { name: 'Edit' }).waitFor();
  t.is(await dialog.getByRole('option', { name: 'Check now' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await keys.getByText('Edit').waitFor();
  t.is(await keys.getByText('Check now').count(), 0);
  await page.keyboard.press('Escape');

  await open('shop');
  await dialog.getByRole('group', { name: 'Incidents' }).getByRole('option', { name: 'Shop: down' }).waitFor();
  await page.keyboard.press('ArrowDown');
  t.regex((await chosen.textContent()) ?? '', /Shop: down/);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  t.is(
    await dialog.getByRole('option').last().getAttribute('aria-selected'),
    'true',
    'ArrowUp wraps from the first option to the last',
  );
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/incidents/inc_*');
  await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor();

  // Actions of the page are found by name.
  await open('acknowledge');
  await dialog.getByRole('group', { name: 'This page' }).getByRole('option', { name: 'Acknowledge' }).waitFor();
  await page.keyboard.press('Enter');
  const question = page.getByRole('dialog', { name: 'Acknowledge this incident?' });
  await question.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByRole('button', { name: 'Unacknowledge' }).waitFor();

  // The palette opens from within a field, too.
  await page.getByRole('textbox', { name: 'Add a note' }).focus();
  await open('theme dark');
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme=dark]').waitFor({ state: 'attached' });

  for (const [text, name, path] of [
    ['two-factor', 'Profile', 'account'],
    ['audit', 'Audit log', 'audit-log'],
  ] as const) {
    await open(text);
    await dialog.getByRole('group', { name: 'Go to' }).getByRole('option', { name }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/settings/${path}`);
  }

  // The palette shows some of many monitors and their total; pages are never cut off.
  for (let n = 0; n < 9; n += 1) await create(`Row ${n}`);
  await open('');
  await dialog.getByText('Monitors (8 of 11)').waitFor();
  await dialog.getByText(/^\d+ of \d+ results$/).waitFor({ state: 'attached' });
  await dialog.getByRole('group', { name: 'Go to' }).getByRole('option', { name: 'System' }).waitFor();
  // Enter ends the composition of a word, as in Japanese, and must not select an option.
  await box.evaluate((input) => input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true })));
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.regex(page.url(), /\/settings\/audit-log$/);

  await open('no such thing anywhere');
  await dialog.getByText('No results').waitFor();
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});
