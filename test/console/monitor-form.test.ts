import anyTest, { type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { findBarriers } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';
import { startStatusPage } from '../helpers/status-page.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

/** Presses Tab until the focused element has this name. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const called = String(
      await page.evaluate('(document.activeElement.labels?.[0] ?? document.activeElement).textContent'),
    );
    if (name.test(called)) return;
  }
  throw new Error(`Tab does not lead to ${name}`);
}

const opened = (page: Page) =>
  page.evaluate('[...document.querySelectorAll("details")].forEach((fold) => { fold.open = true; })');

test.serial('a monitor is created by keyboard alone, and errors are shown at their fields', async (t) => {
  const { service } = t.context;
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  const target = page.getByLabel('URL', { exact: true });
  await target.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('shop.example');
  await page.keyboard.press('Enter');
  const problem = page.locator('form').getByRole('alert').filter({ hasText: 'Start with http:// or https://' });
  await problem.waitFor();
  t.is(await target.getAttribute('aria-invalid'), 'true');
  const described = await target.evaluate(
    (input) => input.ownerDocument.getElementById(input.getAttribute('aria-describedby') ?? '')?.textContent,
  );
  t.is(described, 'Start with http:// or https://');
  await target.and(page.locator(':focus')).waitFor();

  await page.keyboard.press('Home');
  await page.keyboard.type('http://127.0.0.1:1/');
  await tabTo(page, /^Name$/);
  await page.keyboard.type('Shop');
  await tabTo(page, /^Check every$/);
  await page.keyboard.type('2');
  await tabTo(page, /^Thresholds/);
  await page.keyboard.press('Enter');
  await tabTo(page, /^Timeout/);
  await page.keyboard.type('soon');
  await page.keyboard.press('Enter');
  await page.getByText('Enter a number').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('2500');
  await tabTo(page, /^Run test$/);
  await page.keyboard.press('Enter');
  await page.getByText('Down', { exact: true }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await tabTo(page, /^Create monitor$/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/monitors\/mon_/);
  const { json } = await service.call('GET', new URL(page.url()).pathname);
  const { name, target: watched, interval_seconds, timeout_ms, down_after_failures } = json;
  t.deepEqual(
    { name, watched, interval_seconds, timeout_ms, down_after_failures },
    {
      name: 'Shop',
      watched: 'http://127.0.0.1:1/shop.example',
      interval_seconds: 120,
      timeout_ms: 2500,
      down_after_failures: 2,
    },
  );
  t.deepEqual(complaints, []);
});

/** An expression: the focused control if the form's bar covers it, else an empty text. */
const COVERED = `(() => {
  const { activeElement: control } = document;
  const bar = document.querySelector('form button[type="submit"]').parentElement;
  if (control.closest('form') === null || bar.contains(control)) return '';
  return control.getBoundingClientRect().top + 3 < bar.getBoundingClientRect().top ? '' : control.outerHTML;
})()`;

test.serial('the bar at the bottom of the form covers no control that Tab leads to', async (t) => {
  for (const size of ['desktop', 'phone'] as const) {
    const { page, complaints } = await openSignedIn(t, '/monitors/new?type=http', { size });
    await page.getByLabel('URL', { exact: true }).focus();
    await page.evaluate(`for (const fold of document.querySelectorAll('form details')) fold.open = true`);
    const covered: unknown[] = [];
    let isInBody = false;
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press('Tab');
      isInBody ||= (await page.evaluate('document.activeElement.tagName')) === 'TEXTAREA';
      covered.push(await page.evaluate(COVERED));
    }
    t.true(isInBody);
    // The buttons of the bar are in view wherever the page is.
    await page.getByRole('button', { name: 'Create monitor', exact: true }).focus();
    await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    t.is(await page.locator('main').evaluate((main) => main.scrollTop), 0, size);
    // The dialog of one of them scrolls to its own.
    await page.setViewportSize({ width: 400, height: 160 });
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    const dialog = page.getByRole('dialog');
    const copy = dialog.getByRole('button', { name: 'Copy', exact: true });
    await copy.focus();
    const [inner, outer] = [await copy.boundingBox(), await dialog.boundingBox()];
    if (inner === null || outer === null) return t.fail();
    t.true(inner.y + inner.height <= outer.y + outer.height, size);
    t.deepEqual(covered.filter(Boolean), [], size);
    t.deepEqual(complaints, []);
  }
});

test.serial('an edit keeps secrets unless replaced, is saved once, and asks before input is lost', async (t) => {
  const { service } = t.context;
  const request = {
    headers: { Accept: '*/*' },
    secretHeaders: { 'X-Key': 's3cret' },
    auth: { type: 'bearer', token: 's3cret' },
  };
  const { json } = await service.call('POST', '/monitors', {
    name: 'Till',
    target: 'http://127.0.0.1:1/',
    interval_seconds: 3600,
    check_spec: { request },
  });
  const path = `/monitors/${json['id']}`;
  const { page, complaints } = await openSignedIn(t, '/incidents');
  const patches: unknown[] = [];
  page.on('request', (sent) => {
    if (sent.method() !== 'PATCH') return;
    const { if_settings_version: version, ...patch } = sent.postDataJSON() as Record<string, unknown>;
    t.regex(String(version), /^[\w-]{16}$/, 'the request has the version of the settings that it is based on');
    patches.push(patch);
  });
  // The history entry gives the console a page to go back to.
  const edit = `${CONSOLE_BASE_PATH}${path}/edit`;
  await page.evaluate(`history.pushState(null, '', '${edit}'); dispatchEvent(new PopStateEvent('popstate'))`);
  await page.getByLabel('Name', { exact: true }).fill('Till 1');
  t.false((await page.content()).includes('s3cret'));

  await page.getByRole('link', { name: 'Incidents' }).first().click();
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click();
  await page.evaluate('history.back()');
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click();
  t.is(new URL(page.url()).pathname, `${path}/edit`);
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'Till 1');
  await opened(page);
  t.deepEqual(await findBarriers(page), []);

  await page.getByRole('button', { name: 'Save changes' }).dblclick();
  await page.waitForURL((url) => url.pathname === path);
  const kept = { headers: { Accept: '*/*' }, preserveSecretHeaders: true, auth: { type: 'bearer' } };
  t.deepEqual(patches, [{ name: 'Till 1', check_spec: { request: kept } }]);

  await page.goto(`${path}/edit`);
  await page.getByRole('button', { name: 'Remove X-Key' }).click();
  await page.getByText('will be removed when you save').waitFor();
  await page.getByRole('button', { name: 'Keep X-Key' }).click();
  await page.getByRole('button', { name: 'Replace the value of X-Key' }).press('Enter');
  await page.getByLabel('Secret value of X-Key').and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Enter the value of X-Key').waitFor();
  await page.getByLabel('Secret value of X-Key').fill('new');
  await page.getByLabel('Secret value of X-Key').press('Control+Enter');
  await page.waitForURL((url) => url.pathname === path);
  const { preserveSecretHeaders: _, ...rest } = kept;
  t.deepEqual(patches.slice(1), [{ check_spec: { request: { ...rest, secretHeaders: { 'X-Key': 'new' } } } }]);
  const read = await service.call('GET', path);
  t.deepEqual(read.json['check_spec'], {
    request: { headers: { Accept: '*/*' }, secretHeaderNames: ['X-Key'], auth: { type: 'bearer' } },
  });
  t.deepEqual(complaints, []);
});

test.serial('the form of every type fits a phone, and a new heartbeat shows its ping URL', async (t) => {
  const { service } = t.context;
  const { page, complaints } = await openSignedIn(t, '/monitors/new?type=dns', { size: 'phone', colorScheme: 'dark' });
  await page.getByRole('button', { name: 'Add rule' }).click();
  t.deepEqual(await findBarriers(page), []);
  for (const type of [
    'TCP port',
    'Ping',
    'Domain expiry',
    'Vendor status',
    'UDP service',
    'DNS records',
    'Web page or API',
    'Cron job or heartbeat',
  ]) {
    await page.getByRole('radio', { name: type }).check();
    await opened(page);
    t.is(await page.evaluate('document.querySelector("main").scrollWidth'), 360, `${type} is no wider than the screen`);
  }
  await page.getByLabel('Name', { exact: true }).fill('Backup');
  await page.getByLabel('Unit of expect a ping every').selectOption('minutes');
  await page.getByLabel('Expect a ping every', { exact: true }).fill('');
  await page.getByLabel('Expect a ping every', { exact: true }).pressSequentially('1.5');
  t.is(await page.getByLabel('Expect a ping every', { exact: true }).inputValue(), '1.5');
  await page.getByLabel('Unit of expect a ping every').selectOption('days');
  await page.getByLabel('Expect a ping every', { exact: true }).fill('1');
  await page.getByText('1 d 4 h 48 min after its last ping').and(page.locator(':visible')).waitFor();
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.getByRole('heading', { name: 'Waiting for the first ping of Backup' }).waitFor();
  const address = (await page.getByLabel('Ping URL', { exact: true }).textContent()) ?? '';
  t.is((await fetch(address)).status, 200);
  await page.getByText(`replace ${new URL(address).host} with an address they can reach`).waitFor();
  t.deepEqual(await findBarriers(page), []);
  t.is(await page.evaluate('document.querySelector("main").scrollWidth'), 360);
  await page.getByRole('link', { name: 'View monitor' }).click();
  await page.waitForURL(/\/monitors\/mon_/);
  await until(async () => (await service.call('GET', new URL(page.url()).pathname)).json['status'] === 'up');
  t.deepEqual(complaints, []);
});

test.serial(
  'a cron schedule previews its next runs in both time zones, shows errors, and survives an edit',
  async (t) => {
    const { service } = t.context;
    const { page, complaints } = await openSignedIn(t, '/monitors/new?type=heartbeat');
    await page.getByLabel('Name', { exact: true }).fill('Nightly');
    const cron = page.getByLabel('Cron schedule', { exact: true });
    // A schedule hides the interval, so its error could not be corrected.
    await page.getByLabel('Expect a ping every', { exact: true }).fill('0');
    await cron.fill('0 0 31 2 *');
    const runs = page.getByRole('region', { name: 'Next runs' });
    await runs.getByText(/no runs in the next ten years/i).waitFor();
    await page.getByRole('button', { name: 'Create monitor' }).click();
    await page
      .locator('form')
      .getByRole('alert')
      .filter({ hasText: /no runs in the next ten years/i })
      .first()
      .waitFor();
    // Either the field or its preview says what is wrong, about the text that is there.
    t.is(await runs.getByText(/no runs/i).count(), 0);
    await cron.fill('61 * * * *');
    await runs.getByText(/minute/i).waitFor();
    t.is(await cron.getAttribute('aria-invalid'), 'false');
    await cron.fill('30 12 * * *');
    await page.getByLabel('Time zone', { exact: true }).fill('Asia/Tokyo');
    await page.getByLabel('Time zone', { exact: true }).press('Tab');
    await runs
      .getByText(/^\d{4}-\d\d-\d\d 12:30 Asia\/Tokyo \(\d{4}-\d\d-\d\d 03:30 UTC\)$/)
      .first()
      .waitFor();
    t.is(await runs.getByRole('listitem').count(), 5);
    await page
      .getByText(/after it was due/)
      .and(page.locator(':visible'))
      .waitFor();
    t.deepEqual(await findBarriers(page), []);
    await page.getByRole('button', { name: 'Create monitor' }).click();
    const heading = page.getByRole('heading', { name: 'Waiting for the first ping of Nightly' });
    await heading.and(page.locator(':focus')).waitFor();
    await page.getByRole('link', { name: 'View monitor' }).click();
    await page.waitForURL(/\/monitors\/mon_/);
    await page
      .getByText(/^\d{4}-\d\d-\d\d 12:30 Asia\/Tokyo \(/)
      .first()
      .waitFor();
    await page.getByText('30 12 * * *, Asia/Tokyo').waitFor();
    const path = `/monitors/${new URL(page.url()).pathname.slice('/monitors/'.length)}` as const;
    const stored = async () => (await service.call('GET', path)).json.check_spec.heartbeat?.schedule;
    const schedule = { cron: '30 12 * * *', timezone: 'Asia/Tokyo', early_seconds: 60 };
    t.deepEqual(await stored(), schedule);
    await page.goto(`${path}/edit`);
    await page.getByLabel('Name', { exact: true }).fill('Nightly 2');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.waitForURL((url) => url.pathname === path);
    t.deepEqual(await stored(), schedule);
    t.deepEqual(
      complaints.filter((text) => !text.includes('400')),
      [],
    );
  },
);

test.serial("a vendor's components are selected from its status page, with their states", async (t) => {
  const { service } = t.context;
  const site = await startStatusPage(t);
  const { components } = site.page;
  components[1] = { id: 'c2', name: 'Dashboard', status: 'major_outage' };
  const { page, complaints } = await openSignedIn(t, '/monitors/new?type=vendor');
  await page.getByLabel('Vendor', { exact: true }).selectOption('other');
  await page.getByLabel('Status page', { exact: true }).fill(site.url);
  await page.getByRole('button', { name: 'Load components' }).click();
  await page.getByRole('checkbox', { name: 'Dashboard Major outage' }).check();
  await page.getByRole('checkbox', { name: 'API Operational' }).check();
  await page.getByRole('checkbox', { name: 'API Operational' }).uncheck();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.waitForURL(/\/monitors\/mon_/);
  const path = `/monitors/${new URL(page.url()).pathname.slice('/monitors/'.length)}` as const;
  const watched = async () => (await service.call('GET', path)).json.check_spec.vendor?.components;
  t.deepEqual(await watched(), ['Dashboard']);

  await page.goto(`${path}/edit`);
  const ticked = page.getByRole('checkbox', { name: 'Dashboard Major outage', checked: true });
  await ticked.uncheck();
  await page.getByText('None selected: all components count.').waitFor();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.waitForURL((url) => url.pathname === path);
  t.deepEqual(await watched(), []);
  t.deepEqual(complaints, []);
});

test.serial('the form of a deleted monitor says so when opened and when saved', async (t) => {
  const { service } = t.context;
  const { page, complaints } = await openSignedIn(t, '/monitors/mon_gone/edit');
  for (const path of ['/monitors/mon_gone/edit', '/monitors/new?from=mon_gone']) {
    await page.goto(path);
    await page.getByRole('heading', { name: 'Monitor not found' }).waitFor();
    t.is(await page.getByRole('link', { name: 'All monitors' }).getAttribute('href'), '/monitors');
  }
  t.deepEqual(await findBarriers(page), []);
  const { json } = await service.call('POST', '/monitors', { name: 'Till' });
  await page.goto(`/monitors/${json['id']}/edit`);
  await page.getByLabel('Name', { exact: true }).fill('Till 1');
  await service.call('DELETE', `/monitors/${json['id']}`);
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('This monitor was deleted meanwhile. Your changes can’t be saved', { exact: true }).waitFor();
  t.deepEqual(complaints, []);
});

/** Runs an action of the command palette. */
async function runAction(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Command palette' }).getByRole('combobox').fill(name);
  await page.keyboard.press('Enter');
}

test.serial('New monitor opens an empty form from a copy and after a creation', async (t) => {
  const { service } = t.context;
  const { json } = await service.call('POST', '/monitors', { name: 'Till', target: 'http://127.0.0.1:1/' });
  const { page, complaints } = await openSignedIn(t, `/monitors/new?from=${json['id']}`);
  const [url, name] = [page.getByLabel('URL', { exact: true }), page.getByLabel('Name', { exact: true })];
  await page.getByText('Copy of Till.').waitFor();
  await name.fill('Till 2');
  await runAction(page, 'New monitor');
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.waitForURL((to) => to.search === '');
  await until(async () => (await url.inputValue()) === '');
  t.is(await name.inputValue(), '');
  // The browser's buttons change the monitor that is copied, too.
  await name.fill('Attic');
  await page.evaluate('history.back()');
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('Copy of Till.').waitFor();
  await until(async () => (await url.inputValue()) === 'http://127.0.0.1:1/');

  await page.goto('/monitors/new?type=heartbeat');
  for (const each of ['Backup', 'Rotation']) {
    await name.fill(each);
    await page.getByRole('button', { name: 'Create monitor' }).click();
    await page.getByRole('heading', { name: `Waiting for the first ping of ${each}` }).waitFor();
    await runAction(page, 'New monitor');
    await url.waitFor();
    await page.getByRole('radio', { name: 'Cron job or heartbeat' }).check();
  }
  await page.goto('/agents/new');
  await name.fill('home-lab');
  await page.getByRole('button', { name: 'Create agent' }).click();
  await page.getByRole('button', { name: 'I’ve saved it' }).waitFor();
  await runAction(page, 'New agent');
  // The token is shown only once.
  await page.getByRole('dialog', { name: /\?$/ }).getByRole('button', { name: 'I’ve saved it' }).click();
  await page.getByRole('button', { name: 'Create agent' }).waitFor();
  t.is(await name.inputValue(), '');
  t.deepEqual(complaints, []);
});

test.serial('Back after an edit leads to the page before the monitor', async (t) => {
  const { service } = t.context;
  const { json } = await service.call('POST', '/monitors', { name: 'Ledger' });
  const path = `/monitors/${json['id']}`;
  const { page, complaints } = await openSignedIn(t, '/incidents');
  await page.getByRole('link', { name: 'Monitors', exact: true }).first().click();
  await page.getByRole('link', { name: /Ledger/ }).click();
  for (const name of ['Ledger 1', 'Ledger 2']) {
    await page.getByRole('link', { name: 'Edit', exact: true }).first().click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.waitForURL((url) => url.pathname === path);
    await page.getByRole('heading', { level: 1, name: `${name} is a draft` }).waitFor();
  }
  await page.goBack();
  const list = page.getByRole('list', { name: 'Monitors' });
  await list.waitFor();
  // A form that was opened by its address is replaced by the monitor.
  await page.goto(`${path}/edit`);
  await page.getByLabel('Name', { exact: true }).fill('Ledger 3');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.waitForURL((url) => url.pathname === path);
  await page.goBack();
  await list.waitFor();
  t.deepEqual(complaints, []);
});
