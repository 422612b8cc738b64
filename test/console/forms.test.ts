import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { findBarriers, openPage, signIn } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { totpCode } from '../helpers/totp.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

const isFocused = (field: Locator) => field.and(field.page().locator(':focus')).waitFor();

/** Returns the message at a field. */
const problemOf = (field: Locator) =>
  field.evaluate(
    (input) => input.ownerDocument.getElementById(input.getAttribute('aria-describedby') ?? '')?.textContent,
  );

/** Collects the method and path of each request of the page that changes something. */
function watchWrites(page: Page): string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  return sent;
}

test.serial('all errors of a monitor are shown at once, in the units of the form', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  const sent = watchWrites(page);
  const url = page.getByLabel('URL', { exact: true });
  const create = page.getByRole('button', { name: 'Create monitor' });
  await create.click();
  await page.getByText('Fix 1 error').waitFor();
  t.is(await problemOf(url), 'Enter a URL');
  await isFocused(url);
  t.is(await problemOf(page.getByLabel('Check every', { exact: true })), 'Default: 1 minute. 1 second to 24 hours.');

  await url.fill('localhost:9401');
  const interval = page.getByLabel('Check every', { exact: true });
  await interval.fill('2000');
  await page.getByText('Thresholds').click();
  const timeout = page.getByLabel('Timeout (ms)');
  await timeout.fill('20000');
  const target = page.getByLabel('Uptime target (%)');
  await target.fill('200');
  await create.click();
  await page.getByText('Fix 4 errors').waitFor();
  t.deepEqual(await Promise.all([url, interval, timeout, target].map(problemOf)), [
    'Start with http:// or https://',
    'At most 24 hours (1440 minutes)',
    'At most 10000',
    'Between 0 and 100',
  ]);
  await isFocused(url);
  t.deepEqual(await findBarriers(page), []);

  await url.fill('http://127.0.0.1:1/');
  await interval.fill('0');
  await timeout.fill('');
  await create.click();
  await page.getByText('Fix 2 errors').waitFor();
  t.is(await problemOf(interval), 'At least 1 second');
  await isFocused(interval);
  t.deepEqual(sent, []);
  t.deepEqual(complaints, []);
});

test.serial(
  'an empty assertion or DNS rule is refused at its input, and a completed assertion is stored',
  async (t) => {
    const { page, complaints } = await openSignedIn(t, '/monitors/new');
    const sent = watchWrites(page);
    await page.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:1/');
    await page.getByText('Expected response').click();
    await page.getByRole('button', { name: 'Add assertion' }).click();
    await page.getByRole('button', { name: 'Create monitor' }).click();
    const value = page.getByLabel('Value of assertion 1');
    await isFocused(value);
    t.is(await problemOf(value), 'Enter a value');
    t.is(await value.getAttribute('aria-invalid'), 'true');
    t.deepEqual(sent, []);
    t.deepEqual(await findBarriers(page), []);
    await value.fill('ok');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/monitors\/mon_/);
    const { json } = await t.context.service.call('GET', `/monitors/${page.url().split('/').at(-1)}`);
    t.deepEqual(json.check_spec.assertions, [{ source: 'text_body', op: 'contains', value: 'ok' }]);

    await page.goto('/monitors/new?type=dns');
    await page.getByLabel('Name to look up').fill('shop.example');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByRole('button', { name: 'Create monitor' }).click();
    const record = page.getByLabel('Record 1', { exact: true });
    await isFocused(record);
    t.is(await problemOf(record), 'Add at least one expected record');
    t.is(await record.getAttribute('aria-invalid'), 'true');
    t.deepEqual(complaints, []);
  },
);

test.serial('the agent, token and password forms say what is missing or wrong, and focus that field', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/agents/new');
  const name = page.getByRole('textbox', { name: 'Name' });
  await page.getByRole('button', { name: 'Create agent' }).click();
  await isFocused(name);
  t.is(await problemOf(name), 'Enter a name');
  await name.fill('home-lab');
  await page.keyboard.press('Enter');
  await isFocused(page.getByRole('heading', { level: 1, name: 'home-lab' }));
  await page.getByRole('button', { name: 'I’ve saved it' }).click();

  await page.goto('/settings/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  const token = page.getByRole('dialog').getByRole('textbox', { name: 'Name' });
  await isFocused(token);
  await page.keyboard.press('Enter');
  await page.getByText('Enter a name').waitFor();
  await isFocused(token);

  await page.goto('/settings/account');
  const form = page.locator('form').filter({ has: page.getByLabel('New password') });
  const [current, next] = [form.locator('input[autocomplete="current-password"]'), page.getByLabel('New password')];
  await current.fill('not my password');
  await next.fill('short');
  await page.keyboard.press('Enter');
  await isFocused(next);
  t.is(await problemOf(next), 'At least 12 characters');
  await next.fill('long enough for anybody');
  await page.keyboard.press('Enter');
  await page.getByText('That’s not your current password').waitFor();
  await isFocused(current);
  t.deepEqual(await findBarriers(page), []);

  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByLabel('Your password').fill('not my password');
  await page.keyboard.press('Enter');
  await page.getByText('Wrong password', { exact: true }).waitFor();
  t.deepEqual(complaints, []);
});

test.serial('the buttons of the monitor form fit one line on a phone, and are not pinned at 200% zoom', async (t) => {
  const { page } = await openSignedIn(t, '/monitors/new');
  const create = page.getByRole('button', { name: 'Create monitor' });
  await create.waitFor();
  for (const [height, isPinned] of [
    [900, true],
    [450, false],
  ] as const) {
    await page.setViewportSize({ width: 720, height });
    t.is(((await create.boundingBox())?.y ?? 0) < height, isPinned, `at ${height} px`);
  }
  await page.setViewportSize({ width: 320, height: 640 });
  const boxes = await Promise.all([
    create.boundingBox(),
    page.getByRole('button', { name: 'Copy as curl' }).boundingBox(),
  ]);
  t.is(new Set(boxes.map((box) => box?.y)).size, 1);
  t.deepEqual(await findBarriers(page), []);
});

test.serial('a new channel focuses its URL field, and choosing another type keeps the focus', async (t) => {
  const { page, complaints } = await openSignedIn(t, '/channels/new');
  await isFocused(page.getByLabel('URL', { exact: true }));
  await page.getByRole('radio', { name: /^Webhook/ }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByText('Telegram isn’t configured').waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.getByLabel('URL', { exact: true }).waitFor();
  await isFocused(page.getByRole('radio', { name: /^Webhook/ }));
  await page.goto('/channels');
  await page.getByRole('link', { name: 'New channel' }).first().click();
  await isFocused(page.getByLabel('URL', { exact: true }));
  t.deepEqual(complaints, []);
});

test.serial('no form leaves validation to the browser, which would show one error at a time', async (t) => {
  const { browser, service, person } = t.context;
  // Without a monitor there is no link to the wallboard.
  await service.call('POST', '/monitors', { name: 'Draft' });
  const { page, complaints } = await openPage(t, browser, { url: service.url });
  const sent = watchWrites(page);
  const says = async (fields: readonly Locator[], problems: readonly string[]) => {
    await page.getByText(problems[0] ?? '', { exact: true }).waitFor();
    t.deepEqual(await Promise.all(fields.map(problemOf)), problems);
    for (const field of fields) t.is(await field.getAttribute('aria-invalid'), 'true');
    await isFocused(page.locator('[aria-invalid="true"]').first());
    t.deepEqual(await findBarriers(page), []);
  };
  await page.goto('/docs?operation=getMonitor');
  await page.getByRole('button', { name: 'Send request' }).click();
  await says(
    [page.getByLabel('API token'), page.getByLabel('id', { exact: true })],
    ['Enter an API token', 'Enter a value'],
  );

  await page.goto('/');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await says([page.getByLabel('Email'), page.getByLabel('Password')], ['Enter your email', 'Enter your password']);
  t.deepEqual(sent, []);
  await signIn(page, person);

  await page.getByRole('button', { name: 'Wallboard' }).click();
  const name = page.getByRole('dialog').getByRole('textbox', { name: 'Name' });
  await name.fill(' ');
  await page.getByRole('button', { name: 'Create link' }).click();
  await says([name], ['Enter a name']);
  await page.getByRole('button', { name: 'Cancel' }).click();

  await page.goto('/settings/members');
  const account = page.getByLabel('Account name');
  await account.fill('');
  await page.getByRole('button', { name: 'Rename account' }).click();
  await says([account], ['Enter a name']);

  await page.goto('/settings/account');
  await page.getByRole('button', { name: 'Turn on' }).click();
  const password = page.getByLabel('Your password');
  await page.getByRole('button', { name: 'Continue' }).click();
  await says([password], ['Enter your password']);
  await password.fill(person.password);
  await page.keyboard.press('Enter');
  const first = page.getByLabel('6-digit code');
  await first.waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click();
  await says([first], ['Enter the code from your app']);
  const secret = (await page.getByLabel('Secret', { exact: true }).textContent()) ?? '';
  await first.fill(totpCode(secret, Math.floor(Date.now() / 30_000)));
  await page.keyboard.press('Enter');
  const [code = ''] = ((await page.getByLabel('Recovery codes', { exact: true }).textContent()) ?? '').split('\n');
  await page.getByRole('button', { name: 'I’ve saved them' }).click();
  for (const [open, send] of [
    ['New recovery codes', 'Create new codes'],
    ['Turn off', 'Turn off'],
  ] as const) {
    await page.getByRole('button', { name: open }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: send }).click();
    await says([password, page.getByLabel('Code', { exact: true })], ['Enter your password', 'Enter a code']);
    await page.getByRole('button', { name: 'Cancel' }).click();
  }
  await page.getByRole('button', { name: 'Turn off' }).click();
  await password.fill(person.password);
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.keyboard.press('Enter');
  await page.getByText('Two-factor authentication turned off').waitFor();
  t.deepEqual(complaints, []);
});

test.serial('a monitor is cloned without its secrets, but with its channels', async (t) => {
  const { service } = t.context;
  const target = 'http://127.0.0.1:1/';
  const request = { headers: { Accept: '*/*' }, secretHeaders: { 'X-Key': 's3cret' } };
  const { json } = await service.call('POST', '/monitors', {
    name: 'Till',
    target,
    interval_seconds: 3600,
    check_spec: { request },
  });
  const channel = await service.call('POST', '/channels', {
    name: 'On call',
    all_monitors: false,
    monitor_ids: [json['id']],
  });
  const { page, complaints } = await openSignedIn(t, `/monitors/${json['id']}`);
  await page.getByText('No channel receives alerts from this monitor.').waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('link', { name: 'Clone' }).click();
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'Till (copy)');
  t.is(await page.getByLabel('URL', { exact: true }).inputValue(), target);
  const notified = page.getByRole('checkbox', { name: /On call/ });
  t.true(await notified.isChecked());
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.getByText('Enter the value of X-Key').waitFor();
  await page.getByLabel('Secret value of X-Key').fill('n3w');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/monitors\/mon_/);
  const copyId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  const copy = await service.call('GET', `/monitors/${copyId}`);
  t.deepEqual(
    [copy.json.interval_seconds, copy.json.check_spec],
    [3600, { request: { headers: { Accept: '*/*' }, secretHeaderNames: ['X-Key'] } }],
  );
  const routed = async () => (await service.call('GET', `/channels/${channel.json['id']}`)).json['monitor_ids'];
  t.deepEqual(await routed(), [json['id'], copyId].toSorted());

  await page.goto(`/monitors/${copyId}/edit`);
  await notified.uncheck();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.waitForURL((url) => url.pathname === `/monitors/${copyId}`);
  t.deepEqual(await routed(), [json['id']]);
  t.deepEqual(complaints, []);
});

test.serial('a form copied as a curl command creates the same monitor and contains no secrets', async (t) => {
  const { service } = t.context;
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  await page.getByLabel('URL', { exact: true }).fill("http://127.0.0.1:1/it's?a=$HOME");
  await page.getByText('Request', { exact: true }).click();
  await page.getByRole('button', { name: 'Add secret header' }).click();
  await page.getByLabel('Name of header 1').fill('X-Key');
  await page.getByLabel('Secret value of X-Key').fill('s3cret');
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  const command = (await page.getByLabel('Command', { exact: true }).textContent()) ?? '';
  t.false(command.includes('s3cret'));
  t.deepEqual(await findBarriers(page), []);
  const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -sS`], {
    env: { ...process.env, SPOTCHECK_TOKEN: service.token },
  });
  const created = JSON.parse(stdout) as { id: string };
  const { json } = await service.call('GET', `/monitors/${created.id}`);
  t.is(json.target, "http://127.0.0.1:1/it's?a=$HOME");
  t.deepEqual(json.check_spec, { request: { secretHeaderNames: ['X-Key'] } });
  t.deepEqual(complaints, []);
});

test.serial('a held Enter submits a form once', async (t) => {
  const { json: channel } = await t.context.service.call('POST', '/channels', { type: 'telegram', name: 'On call' });
  const { page, complaints } = await openSignedIn(t, `/channels/${channel.id}?tab=settings`);
  const sent = watchWrites(page);
  await page.route(`**/v1/channels/${channel.id}`, (route) =>
    route.request().method() === 'GET'
      ? route.continue()
      : route.fulfill({ status: 400, json: { error: 'name must have at most 255 characters' } }),
  );
  const name = page.getByLabel('Name', { exact: true });
  await name.fill('Night');
  await name.focus();
  await page.keyboard.down('Enter');
  await page.getByText('At most 255 characters').waitFor();
  for (let repeats = 0; repeats < 3; repeats += 1) await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  await page.getByText('At most 255 characters').waitFor();
  t.is(sent.length, 1);
  await page.keyboard.press('Enter');
  await until(() => sent.length === 2);
  t.deepEqual(complaints, []);
});

test.serial('when tests are rate limited, the form says when to try again', async (t) => {
  const { service } = t.context;
  const body = { monitor: { target: 'http://127.0.0.1:1/' } };
  while ((await service.call('POST', '/trials', body)).status !== 429);
  const { page, complaints } = await openSignedIn(t, '/monitors/new');
  await page.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:1/');
  await page.getByRole('button', { name: 'Run test' }).click();
  await page.getByText(/^Too many tests\. Try again in \d+ s$/).waitFor();
  t.deepEqual(complaints, []);
});
