import anyTest, { type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import type { Monitor } from '../../console/client/api.ts';
import { arrange, listPaths, type Line } from '../../console/pages/overview/folders.ts';
import { addPerson } from '../api/person.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsolePages>;
const openAs = withConsolePages(test);

const monitorOf = (id: string, tags: string[], status: Monitor['status'] = 'up') =>
  ({ id, name: id, tags, status }) as Monitor;
const OPEN = { sort: 'attention', overdue: new Set<string>(), isOpen: () => true };
const outline = (lines: readonly Line[]) =>
  lines.map((line) => `${'  '.repeat(line.depth)}${'folder' in line ? `${line.folder.name}/` : line.monitor.id}`);

test('folders are nested by slashes, and a monitor in two subfolders counts once in their parent', (t) => {
  const lines = arrange(
    [
      monitorOf('both', ['group:shop/cart', 'group:shop/pay'], 'down'),
      monitorOf('alone', ['env:prod', 'group']),
      monitorOf('odd', ['group:/shop//cart/', 'group:shop/cart']),
      monitorOf('around', ['group:shop'], 'paused'),
    ],
    OPEN,
  );
  t.deepEqual(outline(lines), [
    'shop/',
    '  cart/',
    '    both',
    '    odd',
    '  pay/',
    '    both',
    '  around',
    'No group/',
    '  alone',
  ]);
  const [shop] = lines.flatMap((line) => ('folder' in line ? [line.folder] : []));
  t.like(shop, { path: 'shop', worst: 'down', counts: { down: 1, up: 1, paused: 1 }, ids: ['both', 'odd', 'around'] });
});

test('folders are sorted like monitors: by status, by name, or by their first monitor', (t) => {
  const monitors = [
    monitorOf('a', ['group:f10']),
    monitorOf('b', ['group:f9'], 'paused'),
    monitorOf('c', ['group:f11'], 'degraded'),
    monitorOf('d', []),
  ];
  const namesBy = (sort: string) =>
    arrange(monitors, { ...OPEN, sort }).flatMap((line) => ('folder' in line ? [line.folder.name] : []));
  t.deepEqual(namesBy('attention'), ['f11', 'f10', 'f9', 'No group']);
  t.deepEqual(namesBy('name'), ['f9', 'f10', 'f11', 'No group']);
  t.deepEqual(namesBy('name-desc'), ['f11', 'f10', 'f9', 'No group']);
  t.deepEqual(namesBy('slowest'), ['f10', 'f9', 'f11', 'No group']);
  const overdue = arrange(monitors, { ...OPEN, overdue: new Set(['a', 'd']) });
  t.like(overdue[0], { folder: { name: 'f11' } });
  t.like(overdue[2], { folder: { name: 'f10', worst: 'overdue' } });
});

test('a closed folder hides its contents, and unchanged lines keep their object identity', (t) => {
  const monitors = [monitorOf('a', ['group:x/y']), monitorOf('b', ['group:z']), monitorOf('c', [])];
  t.deepEqual([...listPaths(monitors)], ['x', 'x/y', 'z', '']);
  const before = arrange(monitors, { ...OPEN, isOpen: (path) => path !== 'x' });
  t.deepEqual(outline(before), ['x/', 'z/', '  b', 'No group/', '  c']);
  const changed = [...monitors.slice(0, 1), monitorOf('b', ['group:z'], 'down'), ...monitors.slice(2)];
  const after = arrange(changed, { ...OPEN, isOpen: (path) => path !== 'x', before });
  t.deepEqual(
    after.map((line) => before.includes(line)),
    [false, false, true, true, true],
    'only the folder and the monitor that changed are new, and they come first',
  );
});

test('folders open and close by mouse and keyboard, stay so after a reload, and fit all widths', async (t) => {
  const { api } = t.context;
  const { tenantId, owner } = await api.account();
  const create = async (name: string, tags: string[]) => {
    const { status, json } = await owner('POST', '/v1/monitors', { name, type: 'tcp', target: '127.0.0.1:1', tags });
    t.is(status, 201);
    return String(json['id']);
  };
  await create('Cart', ['group:shop/cart', 'group:web']);
  const pay = await create('Pay', [`group:shop/payments`, 'env:prod']);
  await create('Deep', ['group:a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z']);
  await create('W'.repeat(255), [`group:${'W'.repeat(64)}`]);
  await create('Lonely', []);
  await api.database.pool.query(`UPDATE monitors SET state = 'up' WHERE tenant_id = $1`, [tenantId]);
  await api.database.pool.query(`UPDATE monitors SET state = 'down' WHERE id = $1`, [pay]);
  const person = await addPerson(api, tenantId);
  const { page, complaints } = await openAs(t, person);
  // Tall enough for all rows.
  await page.setViewportSize({ width: 1280, height: 2600 });
  await page.goto('/');
  await page.getByRole('button', { name: 'Folders', exact: true }).click();
  const folder = (name: string | RegExp) => page.getByRole('list', { name: 'Monitors' }).getByRole('button', { name });
  const rows = page.getByRole('list', { name: 'Monitors' }).getByRole('link');
  const shop = folder(/^shop 1 down 1 up$/);
  await shop.waitFor();
  t.is(await rows.filter({ hasText: /^Cart/ }).count(), 2, 'in both of its folders');
  t.is(await folder(/^No group 1 up$/).getAttribute('aria-expanded'), 'true');
  t.deepEqual(await findBarriers(page), []);

  await shop.click();
  t.is(await shop.getAttribute('aria-expanded'), 'false');
  await folder(/^shop\/payments/).waitFor({ state: 'detached' });
  await page.reload();
  await shop.waitFor();
  t.is(await shop.getAttribute('aria-expanded'), 'false', 'it stays closed');
  await page.getByRole('searchbox').fill('pay');
  await rows.filter({ hasText: /^Pay/ }).waitFor();
  t.deepEqual(await foldersOf(page), ['shop', 'payments'], 'a search opens folders with matches');
  await page.getByRole('searchbox').press('Enter');
  await page.waitForURL(`**/monitors/${pay}`);
  await page.goto('/');

  await shop.focus();
  await page.keyboard.press('ArrowRight');
  await until(async () => (await shop.getAttribute('aria-expanded')) === 'true');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.locator('a:focus', { hasText: 'Pay' }).waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.locator('button:focus', { hasText: 'payments' }).waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.locator('button:focus', { hasText: 'shop' }).waitFor();
  await page.keyboard.press('Space');
  await until(async () => (await shop.getAttribute('aria-expanded')) === 'false');
  await page.getByRole('button', { name: 'Close all folders' }).click();
  await until(async () => (await rows.count()) === 0);
  await page.getByRole('button', { name: 'Open all folders' }).click();
  await rows.filter({ hasText: /^Deep/ }).waitFor();
  for (const width of [320, 390, 600, 768, 1024, 1280, 1920, 2560]) {
    await page.setViewportSize({ width, height: 3200 });
    t.deepEqual(await findSideways(page), [], `${width}`);
    const box = await rows.filter({ hasText: /^Deep/ }).getByText('Deep', { exact: true }).boundingBox();
    t.true((box?.width ?? 0) > 30, `the deepest name has ${box?.width} px at ${width}`);
  }
  await page.setViewportSize({ width: 320, height: 800 });
  t.deepEqual(await findBarriers(page), []);

  const { page: other } = await openAs(t, await addPerson(api, tenantId, { role: 'viewer' }));
  await other.goto('/');
  await other.getByRole('button', { name: 'Folders', exact: true, pressed: false }).click();
  await other
    .getByRole('list', { name: 'Monitors' })
    .getByRole('button', { name: /^shop 1/, expanded: true })
    .waitFor();
  t.deepEqual(complaints, []);
});

test('an account without groups sees a hint on how to create folders', async (t) => {
  const { tenantId, owner } = await t.context.api.account();
  await owner('POST', '/v1/monitors', { name: 'Lonely', type: 'tcp', target: '127.0.0.1:1' });
  const { page } = await openAs(t, await addPerson(t.context.api, tenantId));
  await page.goto('/');
  await page.getByRole('button', { name: 'Folders', exact: true }).click();
  await page.getByText('No folders yet.').waitFor();
  t.deepEqual(await foldersOf(page), ['No group']);
});

async function foldersOf(page: Page): Promise<string[]> {
  return await page
    .getByRole('list', { name: 'Monitors' })
    .getByRole('button')
    .locator('.font-medium')
    .evaluateAll((names) => names.map((name) => name.lastChild?.textContent ?? ''));
}
