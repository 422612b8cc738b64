import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { addPerson } from '../api/person.ts';
import { furnishAccount } from '../attackers/furnished-account.ts';
import { signIn } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';
import { totpCode } from '../helpers/totp.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

/** Prepares a monitor that is up, and returns its page, not opened yet. */
async function prepare(t: ExecutionContext<ConsolePages>) {
  const { api } = t.context;
  const account = await api.account();
  const { json } = await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example/' });
  await api.database.pool.query(`UPDATE monitors SET state = 'up' WHERE id = $1`, [json.id]);
  const person = await addPerson(api, account.tenantId);
  const opened = await open(t, person);
  return { ...opened, account, person, id: json.id, path: `/monitors/${json.id}` };
}

test('an outage that began and ended while the stream was down is listed after it reconnects', async (t) => {
  const { api } = t.context;
  const { page, complaints, account, id, path } = await prepare(t);
  const lost = Promise.withResolvers<void>();
  const requested = Promise.withResolvers<void>();
  let streams = 0;
  await page.route('**/v1/live', async (route) => {
    streams += 1;
    // The first stream starts and breaks off; the next one is answered after the outage.
    if (streams === 1) {
      await route.fulfill({ contentType: 'text/event-stream', body: 'retry: 100\nevent: ready\ndata: {}\n\n' });
      return;
    }
    requested.resolve();
    await lost.promise;
    await route.continue();
  });
  await page.goto(path);
  await page.getByText('No incidents yet.').waitFor();
  await requested.promise;
  await api.database.pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
     VALUES ($1, $2, $3, 'Shop', 'down', 'answered 503', '{frankfurt}', $4, $4, $4::bigint + 1000, 'recovered')`,
    [api.makeId('inc'), account.tenantId, id, Date.now() - 2000],
  );
  lost.resolve();
  await page
    .getByRole('table', { name: /^Incidents/ })
    .getByText('answered 503')
    .first()
    .waitFor();
  t.deepEqual(complaints, []);
});

test('a page whose file failed to load in a short outage is loaded once the stream is back', async (t) => {
  const { page, complaints } = await prepare(t);
  const isBack = Promise.withResolvers<void>();
  let streams = 0;
  await page.route('**/v1/live', async (route) => {
    streams += 1;
    if (streams === 1) {
      await route.fulfill({ contentType: 'text/event-stream', body: 'retry: 100\nevent: ready\ndata: {}\n\n' });
      return;
    }
    await isBack.promise;
    await route.continue();
  });
  await page.goto('/');
  const state = (text: string) => page.getByRole('status').filter({ hasText: text }).first().waitFor();
  await state('Polling');
  const lost = ['**/assets/reports-*', '**/v1/session'];
  for (const path of lost) await page.route(path, (route) => route.abort('connectionrefused'));
  await page.getByRole('link', { name: 'Reports' }).first().click();
  await page.getByText('Can’t reach the server. Try again').waitFor();
  for (const path of lost) await page.unroute(path);
  isBack.resolve();
  await page.getByRole('heading', { level: 1, name: 'Reports' }).waitFor();
  await state('Live');
  t.deepEqual(complaints, []);
});

test('a dialog cannot be closed while its request is in flight, and then shows the new token', async (t) => {
  const { page, complaints } = await prepare(t);
  const [sent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/v1/tokens', async (route) => {
    if (route.request().method() === 'POST') {
      sent.resolve();
      await answered.promise;
    }
    await route.continue();
  });
  await page.goto('/settings/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Terraform');
  await page.keyboard.press('Enter');
  await sent.promise;
  const dialog = page.getByRole('dialog', { name: 'New API token' });
  t.true(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled());
  // Browsers handle the second Escape in a row themselves.
  for (let presses = 0; presses < 2; presses += 1) await page.keyboard.press('Escape');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.mouse.click(5, 5);
  answered.resolve();
  t.regex((await page.getByLabel('API token', { exact: true }).textContent()) ?? '', /^spk_/);
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  await page.getByRole('row').filter({ hasText: 'Terraform' }).waitFor();
  t.deepEqual(complaints, []);
});

const FAILED = { status: 500, json: { error: 'internal error' } };

test('Back asks before leaving a dialog with a request in flight, until the response arrives', async (t) => {
  const { page, complaints } = await prepare(t);
  const dialog = page.getByRole('dialog', { name: 'New API token' });
  const question = page.getByRole('dialog', { name: 'Leave while saving?' });
  for (const answer of ['made', 'failed', 'left'] as const) {
    const [sent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/v1/tokens', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      sent.resolve();
      await answered.promise;
      return answer === 'failed' ? route.fulfill(FAILED) : route.continue();
    });
    await page.goto('/settings/members');
    await page.getByRole('link', { name: 'API tokens' }).click();
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name', { exact: true }).fill(`Terraform ${answer}`);
    const response = page.waitForResponse((each) => each.request().method() === 'POST');
    await page.keyboard.press('Enter');
    await sent.promise;
    await page.evaluate('history.back()');
    await question.waitFor();
    if (answer === 'left') await question.getByRole('button', { name: 'Leave' }).click();
    else answered.resolve();
    await question.waitFor({ state: 'detached' });
    if (answer === 'made') {
      t.regex((await page.getByLabel('API token', { exact: true }).textContent()) ?? '', /^spk_/);
      await page.getByRole('button', { name: 'I’ve saved it' }).click();
      await page.getByRole('row').filter({ hasText: 'Terraform made' }).waitFor();
    } else if (answer === 'failed') {
      await dialog.getByText('Internal error').waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    } else await page.waitForURL('**/settings/members');
    await dialog.waitFor({ state: 'detached' });
    answered.resolve();
    await response;
    await page.unroute('**/v1/tokens');
  }
  t.deepEqual(complaints, []);
});

test('a part of the page that fails to reload shows a warning and can be retried', async (t) => {
  const { page, complaints, path } = await prepare(t);
  await page.goto(path);
  await page.getByText('No incidents yet.').waitFor();
  const warning = page.getByRole('alert').filter({ hasText: 'This may be out of date. Internal error.' });
  t.is(await warning.count(), 0);
  await page.route(`**/v1${path}/uptime*`, (route) => route.fulfill(FAILED));
  await warning.waitFor();
  const again = page.waitForRequest(`**/v1${path}/uptime*`);
  await warning.getByRole('button', { name: 'Try again' }).click();
  await again;
  await page.unroute(`**/v1${path}/uptime*`);
  await warning.waitFor({ state: 'detached' });
  t.deepEqual(complaints, []);
});

test('older checks that fail to load show an error until a retry succeeds', async (t) => {
  const { page, complaints, path } = await prepare(t);
  const check = (at: number) => ({
    at,
    due_at: at,
    source: { id: 'agt_one', name: 'frankfurt' },
    verdict: 'up',
    reason: null,
    http_status: 200,
    latency_ms: 80,
    phases: null,
    answer: null,
  });
  let fails = true;
  await page.route(`**/v1${path}/checks*`, (route) => {
    const isOlder = new URL(route.request().url()).searchParams.has('cursor');
    if (isOlder && fails) return route.fulfill(FAILED);
    const checks = [check(isOlder ? 1_763_720_000 : 1_763_721_000)];
    return route.fulfill({
      json: { checks },
      headers: isOlder ? {} : { link: `</v1${path}/checks?cursor=a>; rel="next"` },
    });
  });
  await page.goto(path);
  await page.getByRole('button', { name: 'Load more' }).click();
  const problem = page.getByRole('alert').filter({ hasText: 'Internal error' });
  await problem.waitFor();
  fails = false;
  await page.getByRole('button', { name: 'Load more' }).click();
  await problem.waitFor({ state: 'detached' });
  t.is(await page.getByRole('button', { name: /HTTP 200/ }).count(), 2);
  t.deepEqual(complaints, []);
});

test('overview figures and histories that fail to load are marked as out of date', async (t) => {
  for (const part of ['figures', 'history']) {
    const { page, complaints } = await prepare(t);
    await page.route(`**/v1/overview/${part}*`, (route) => route.fulfill(FAILED));
    await page.goto('/');
    const warning = page.getByRole('alert').filter({ hasText: 'This may be out of date. Internal error.' });
    await warning.waitFor();
    const again = page.waitForRequest(`**/v1/overview/${part}*`);
    await warning.getByRole('button', { name: 'Try again' }).click();
    await again;
    await page.unroute(`**/v1/overview/${part}*`);
    await warning.waitFor({ state: 'detached' });
    t.deepEqual(complaints, []);
  }
});

test('histories are marked as out of date until those of all visible rows are loaded', async (t) => {
  const { page, complaints, id } = await prepare(t);
  await t.context.api.database.pool.query(
    `INSERT INTO monitors OVERRIDING SYSTEM VALUE
     SELECT (jsonb_populate_record(m, jsonb_build_object('no', m.no + 1000 + n, 'name', 'Shop ' || n,
       'id', 'mon_' || lpad(n::text, 26, '0')))).*
     FROM monitors m, generate_series(1, 69) n WHERE m.id = $1`,
    [id],
  );
  await page.setViewportSize({ width: 1280, height: 6000 });
  // The first batch has 50 of the 70.
  const countIds = (url: string) => new URL(url).searchParams.get('ids')?.split(',').length;
  const isFirst = (url: string) => countIds(url) === 50;
  await page.route('**/v1/overview/history*', (route) =>
    isFirst(route.request().url()) ? route.fulfill(FAILED) : route.continue(),
  );
  await page.goto('/');
  const warning = page.getByRole('alert').filter({ hasText: 'This may be out of date. Internal error.' });
  const idle = warning.locator('button[aria-busy="false"]');
  await idle.waitFor();
  const second = page.waitForResponse(
    (response) => /overview.history/.test(response.url()) && !isFirst(response.url()),
  );
  await idle.click();
  await second;
  await idle.waitFor();
  // The page also loads them again without a click.
  await page.unroute('**/v1/overview/history*');
  await warning.waitFor({ state: 'detached' });

  // A failed batch is loaded again while another one is in flight.
  const held = Promise.withResolvers<void>();
  let fails = true;
  await page.route('**/v1/overview/history*', async (route) => {
    const ids = new URL(route.request().url()).searchParams.get('ids')?.split(',') ?? [];
    if (fails && ids.includes(id)) return await route.fulfill(FAILED);
    if (!ids.includes(id)) await held.promise;
    return await route.continue();
  });
  await page.reload();
  await warning.waitFor();
  fails = false;
  await page.getByRole('searchbox').fill('Shop');
  await warning.waitFor({ state: 'detached' });
  const other = page.waitForResponse(
    (response) => /overview.history/.test(response.url()) && !response.url().includes(id),
  );
  held.resolve();
  await (await other).finished();
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)));
  t.is(await warning.count(), 0);
  t.deepEqual(complaints, []);
});

test('a creation whose response is lost is reported as possibly done', async (t) => {
  const { page, complaints, account } = await prepare(t);
  const forms = [
    { path: '/agents', button: 'Create agent', what: 'agent' },
    { path: '/monitors', button: 'Create monitor', what: 'monitor' },
  ] as const;
  for (const { path, button, what } of forms) {
    await page.goto(`${path}/new`);
    await page.getByLabel('Name', { exact: true }).fill('Attic');
    await page.route(`**/v1${path}`, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await page.getByRole('button', { name: button }).click();
    await page
      .getByText(`The connection was lost. The ${what} may have been created: check the list before you try again`)
      .waitFor();
  }
  const { monitors } = (await account.owner('GET', '/v1/monitors?q=Attic')).json;
  t.is(monitors.length, 1);
  t.deepEqual(complaints, []);
});

test('two-factor changes whose responses are lost show the actual state, and a reused code is explained', async (t) => {
  const { page, complaints, person } = await prepare(t);
  await page.goto('/settings/account');
  await page.getByRole('button', { name: 'Turn on' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Your password').fill(person.password);
  await page.keyboard.press('Enter');
  const secret = (await dialog.getByLabel('Secret', { exact: true }).textContent()) ?? '';
  const code = totpCode(secret, Math.floor(Date.now() / 30_000));
  await dialog.getByLabel('6-digit code').fill(code);
  await page.route('**/v1/user/totp/confirm', async (route) => {
    await route.fetch();
    await route.abort('connectionreset');
  });
  await page.route('**/v1/session', (route) => route.abort('connectionreset'));
  await page.keyboard.press('Enter');
  await dialog.getByText('Can’t reach the server').waitFor();
  for (const path of ['**/v1/user/totp/confirm', '**/v1/session']) await page.unroute(path);
  await dialog.getByRole('button', { name: 'Turn on' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Two-factor authentication is on. If you have no recovery codes, create new ones').waitFor();
  await page.getByText('10 recovery codes left').waitFor();

  await page.getByRole('button', { name: 'New recovery codes' }).click();
  await dialog.getByLabel('Your password').fill(person.password);
  await dialog.getByLabel('Code', { exact: true }).fill(code);
  await page.keyboard.press('Enter');
  await dialog.getByText('Wrong code, or it was already used: wait for the next one').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await page.route('**/v1/user/totp', (route) => route.fulfill({ status: 409, json: { error: 'it is off' } }));
  await page.route('**/v1/session', async (route) => {
    const response = await route.fetch();
    const signedIn = await response.json();
    await route.fulfill({ response, json: { ...signedIn, user: { ...signedIn.user, totp_enabled: false } } });
  });
  await page.getByRole('button', { name: 'Turn off' }).click();
  await dialog.getByLabel('Your password').fill(person.password);
  await dialog.getByLabel('Code', { exact: true }).fill('123456');
  await page.keyboard.press('Enter');
  await page.getByText('Two-factor authentication is off').waitFor();
  await page.getByRole('button', { name: 'Turn on' }).waitFor();
  t.deepEqual(complaints, []);
});

test('when the response to joining is lost, the page says so and the new user can sign in', async (t) => {
  const { person } = await prepare(t);
  const email = `${person.user.id}@shop.example`;
  const { json } = await person.call('POST', '/v1/invitations', { email, role: 'editor' });
  const { page, complaints } = await open(t, null);
  await page.goto(new URL(json.url).pathname);
  t.is(await page.getByLabel('Name').getAttribute('maxlength'), '255');
  await page.getByLabel('Name').fill('Grace Hopper');
  await page.getByLabel('Password').fill('a long pass phrase');
  await page.route('**/v1/invitations/accept', async (route) => {
    await route.fetch();
    await route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByText('The connection was lost. You may have joined: try to sign in').waitFor();
  await page.context().clearCookies();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(page, { email, password: 'a long pass phrase' });
  t.deepEqual(complaints, []);
});

test('a save whose response was lost is not reported as a change by someone else', async (t) => {
  const { page, complaints, account, id, path } = await prepare(t);
  await t.context.api.database.pool.query('UPDATE monitors SET updated_at = updated_at - 60 WHERE id = $1', [id]);
  await page.goto(`${path}/edit`);
  await page.getByRole('status').filter({ hasText: 'Live' }).first().waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Shop of Northwind');
  const stored = `**/v1/monitors/${id}`;
  await page.route(stored, async (route) => {
    if (route.request().method() !== 'PATCH') return route.continue();
    await route.fetch();
    return route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.locator('[data-whole]').waitFor();
  await page.unroute(stored);
  const read = page.waitForResponse(stored);
  await account.owner('PATCH', `/v1/monitors/${id}`, { tags: ['shop'] });
  await read;
  await page.getByText('Someone else changed this monitor: tags.').waitFor();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.waitForURL((url) => url.pathname === path);
  t.like((await account.owner('GET', `/v1/monitors/${id}`)).json, { name: 'Shop of Northwind', tags: ['shop'] });
  t.deepEqual(complaints, []);
});

test('a note or wallboard link whose response is lost is reported as possibly created', async (t) => {
  const { api } = t.context;
  const { page, complaints, account, id } = await prepare(t);
  const incidentId = api.makeId('inc');
  await api.database.pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at)
     VALUES ($1, $2, $3, 'Shop', 'down', 'answered 503', '{frankfurt}', $4, $4)`,
    [incidentId, account.tenantId, id, Date.now() - 2000],
  );
  const lose = (path: string) =>
    page.route(`**/v1${path}`, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
  const lost = (what: string) => page.getByText(`The connection was lost. The ${what} may have been created`).waitFor();
  await lose(`/incidents/${incidentId}/notes`);
  await page.goto(`/incidents/${incidentId}`);
  await page.getByRole('textbox', { name: 'Add a note' }).fill('Restarted');
  await page.getByRole('button', { name: 'Add note' }).click();
  await lost('note');
  await lose('/tokens');
  await page.goto('/');
  page.on('dialog', (dialog) => void dialog.accept());
  await page.getByRole('button', { name: 'Wallboard' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  await lost('link');
  t.deepEqual(complaints, []);
});

test('a deletion in progress is shown on the button of its menu', async (t) => {
  const { page, complaints, path } = await prepare(t);
  const deleted = Promise.withResolvers<void>();
  await page.route(`**/v1${path}`, async (route) => {
    if (route.request().method() === 'DELETE') await deleted.promise;
    await route.continue();
  });
  await page.goto(path);
  const more = page.getByRole('button', { name: 'More actions' });
  await more.click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete monitor' }).click();
  await page.locator('button[aria-label="More actions"][aria-busy="true"]').waitFor();
  await more.click({ force: true });
  t.false(await page.getByRole('button', { name: 'Delete', exact: true }).isVisible());
  deleted.resolve();
  await page.getByText('Shop deleted').waitFor();
  t.deepEqual(complaints, []);
});

/** Goes to a page of the console without a page load, as by a link. */
async function openByHistory(page: Page, path: string): Promise<void> {
  const to = CONSOLE_BASE_PATH + path;
  await page.evaluate(`history.pushState(null, '', '${to}'); dispatchEvent(new PopStateEvent('popstate'))`);
}

/** Fills in a form, submits it, and leaves for the incidents before the response. */
async function leaveWhileSaving(page: Page, { path, button }: { path: string; button: string }) {
  const [sent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(/\/v1\/(monitors|maintenance-windows)$/, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    sent.resolve();
    await answered.promise;
    return route.continue();
  });
  await page.goto(`/${path}/new`);
  await page.getByLabel('Name', { exact: true }).fill('Attic');
  if (path === 'maintenance') await page.getByLabel('All monitors').check();
  await page.getByRole('button', { name: button }).click();
  await sent.promise;
  await page.getByRole('link', { name: 'Incidents', exact: true }).first().click();
  const question = page.getByRole('dialog', { name: 'Leave while saving?' });
  await question.getByText('may still be saved').waitFor();
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.waitForURL('**/incidents');
  return { answered };
}

test('leaving a form during its save warns that it may still be saved, and stays on the new page', async (t) => {
  const { page, complaints } = await prepare(t);
  for (const [path, button] of [
    ['monitors', 'Create monitor'],
    ['maintenance', 'Plan maintenance'],
  ] as const) {
    const { answered } = await leaveWhileSaving(page, { path, button });
    answered.resolve();
    await page.getByText(/^Attic (is saved as a draft|planned)$/).waitFor();
    t.regex(page.url(), /\/incidents$/);
    await page.unroute(/\/v1\/(monitors|maintenance-windows)$/);
  }
  t.deepEqual(complaints, []);
});

test('a form reopened during its earlier save stays open and empty when the response arrives', async (t) => {
  const { page, complaints } = await prepare(t);
  for (const [path, button] of [
    ['monitors', 'Create monitor'],
    ['maintenance', 'Plan maintenance'],
  ] as const) {
    const isForm = (url: URL) => url.pathname.endsWith(`/${path}/new`);
    const { answered } = await leaveWhileSaving(page, { path, button });
    await page.goBack();
    await page.waitForURL(isForm);
    answered.resolve();
    await page.getByText(/^Attic (is saved as a draft|planned)$/).waitFor();
    t.true(isForm(new URL(page.url())));
    t.is(await page.getByLabel('Name', { exact: true }).inputValue(), '');
    await page.unroute(/\/v1\/(monitors|maintenance-windows)$/);
  }
  t.deepEqual(complaints, []);
});

test('the leave dialog closes when the save fails, and the form still asks before its input is lost', async (t) => {
  const { page, complaints } = await prepare(t);
  for (const [path, button, title, leave] of [
    ['agents', 'Create agent', 'Leave without saving?', 'Leave'],
    ['monitors', 'Create monitor', 'Leave without saving?', 'Leave'],
    ['maintenance', 'Plan maintenance', 'Discard changes?', 'Discard'],
  ] as const) {
    const [sent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(/\/v1\/(agents|monitors|maintenance-windows)$/, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      sent.resolve();
      await answered.promise;
      return route.fulfill(FAILED);
    });
    await page.goto('/incidents');
    // The history entry gives the console a page to go back to.
    await openByHistory(page, `/${path}/new`);
    await page.getByLabel('Name', { exact: true }).fill('Attic');
    if (path === 'maintenance') await page.getByLabel('All monitors').check();
    await page.getByRole('button', { name: button }).click();
    await sent.promise;
    await page.evaluate('history.back()');
    const whileSaving = page.getByRole('dialog', { name: 'Leave while saving?' });
    await whileSaving.waitFor();
    answered.resolve();
    await page.getByText('Internal error').waitFor();
    await whileSaving.waitFor({ state: 'detached' });
    await page.evaluate('history.back()');
    await page.getByRole('dialog', { name: title }).getByRole('button', { name: leave }).click();
    await page.waitForURL('**/incidents');
    await page.unroute(/\/v1\/(agents|monitors|maintenance-windows)$/);
  }
  t.deepEqual(complaints, []);
});

test('a confirmation and the command palette close on navigation', async (t) => {
  const { page, complaints, account, path } = await prepare(t);
  await page.goto('/incidents');
  await page.getByRole('link', { name: 'Monitors', exact: true }).first().click();
  await page.getByRole('link', { name: /Shop/ }).click();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const question = page.getByRole('dialog', { name: 'Delete Shop?' });
  await question.waitFor();
  await page.goBack();
  await question.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  await palette.waitFor();
  await page.goForward();
  await page.waitForURL(`**${path}`);
  await palette.waitFor({ state: 'detached' });
  t.is((await account.owner('GET', `/v1${path}`)).status, 200);
  t.deepEqual(complaints, []);
});

test('after a deletion, Back and Forward lead to lists, and never to the page of what was deleted', async (t) => {
  const { person, ids } = await furnishAccount(t.context.api, 'gone');
  const { page, complaints } = await open(t, person);
  const isAt = (path: string) => page.waitForURL((url) => url.pathname === path);
  const press = async (name: string) => {
    await page.getByRole('button', { name, exact: true }).click();
  };
  const list = (title: string) => page.getByRole('heading', { level: 1, name: title }).waitFor();
  for (const [title, button, ...tabs] of [
    ['Channels', 'Delete channel', 'Messages', 'Settings'],
    ['Agents', 'Delete agent'],
    ['Maintenance', 'Delete'],
  ] as const) {
    const path = `/${title.toLowerCase()}`;
    await page.goto('/incidents');
    await page.getByRole('link', { name: title, exact: true }).first().click();
    await list(title);
    await page.getByRole('main').getByRole('link', { name: /gone/ }).first().click();
    for (const tab of tabs) await page.getByRole('main').getByRole('link', { name: tab, exact: true }).click();
    await press(button);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Delete / })
      .click();
    await isAt(path);
    await list(title);
    await page.goBack();
    await isAt('/incidents');
    await list('Incidents');
    // Two entries: the list, and the page that is replaced by it.
    for (const _ of ['list', 'deleted']) await page.goForward();
    await isAt(path);
    await list(title);
  }

  const removeMonitor = async () => {
    for (const name of ['More actions', 'Delete', 'Delete monitor']) await press(name);
    await page.getByRole('list', { name: 'Monitors' }).waitFor();
  };
  await page.goto('/incidents');
  await page.getByRole('link', { name: 'Spotcheck' }).click();
  await page.getByRole('link', { name: /heartbeat gone/ }).click();
  await page.getByRole('link', { name: 'Edit', exact: true }).first().click();
  await press('Cancel');
  await removeMonitor();
  await isAt('/');
  await page.goBack();
  await isAt('/incidents');

  const [monitor, incident] = [`/monitors/${ids.monitor[0]}`, `/incidents/${ids.incident[0]}`];
  await page.goto(monitor);
  for (const path of [incident, monitor]) {
    await page.locator(`main a[href$="${path}"]`).first().click();
    await isAt(path);
  }
  await removeMonitor();
  await isAt('/monitors');
  await page.goBack();
  await isAt(incident);
  await page.goBack();
  await isAt('/monitors');
  t.deepEqual(complaints, []);
});

test('an acknowledgement is shown even without a stream', async (t) => {
  const { api } = t.context;
  const { page, complaints, account, id, path } = await prepare(t);
  await page.route('**/v1/live', (route) => route.abort());
  await api.database.pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at)
     VALUES ($1, $2, $3, 'Shop', 'down', 'answered 503', '{frankfurt}', $4, $4)`,
    [api.makeId('inc'), account.tenantId, id, Date.now() - 2000],
  );
  await api.database.pool.query(`UPDATE monitors SET state = 'down' WHERE id = $1`, [id]);
  await page.goto(path);
  await page.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByText('Acknowledged. Your team can see it.').waitFor();
  await page.getByText(/^Acknowledged by person /).waitFor();
  t.deepEqual(complaints, []);
});

test('a form that stays open after the user agreed to leave asks again', async (t) => {
  const { page, complaints } = await prepare(t);
  // Both are addresses of the same page.
  await page.goto('/monitors/new/');
  await page.getByLabel('Name', { exact: true }).waitFor();
  await openByHistory(page, '/monitors/new');
  await page.getByLabel('Name', { exact: true }).fill('Attic');
  await page.evaluate('history.back()');
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.waitForURL('**/monitors/new/');
  t.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'Attic');
  await page.getByRole('link', { name: 'Incidents', exact: true }).first().click();
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.waitForURL('**/incidents');
  t.deepEqual(complaints, []);
});
