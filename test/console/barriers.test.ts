import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Locator, Page } from 'playwright-core';
import type { PageName } from '../../console/paths.ts';
import { addPerson, PASSWORD, type Person } from '../api/person.ts';
import { canary } from '../attackers/canary-life.ts';
import { searchFor } from '../attackers/canary-search.ts';
import { furnishAccount, type Kind } from '../attackers/furnished-account.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { CONSOLE_BASE_PATH } from '../helpers/nginx.ts';
import { totpCode } from '../helpers/totp.ts';
import { until } from '../helpers/until.ts';
import { WALK, type PageView, type WalkedDialog } from './page-walk.ts';

const test = anyTest as TestFn<ConsolePages>;
const openAs = withConsolePages(test);

/** Every second page is tested in the first two forms, the others in the last two; `ALL_FORMS=1` tests all in each. */
const FORMS = [
  { size: 'desktop', colorScheme: 'light' },
  { size: 'phone', colorScheme: 'dark' },
  { size: 'desktop', colorScheme: 'dark' },
  { size: 'phone', colorScheme: 'light' },
] as const;
const hasAllForms = process.env['ALL_FORMS'] === '1';

/** Minimum width at which a page must be readable without sideways scrolling (WCAG 1.4.10). */
const NARROW = { width: 320, height: 640 };

/** Maximum layout shift of a good page (web.dev, Cumulative Layout Shift). */
const MAX_SHIFT = 0.1;

/** All controls; the keyboard reaches only one radio button of each group. */
const CONTROLS =
  'a[href], button:enabled, input:enabled:not([type="radio"]), input[type="radio"]:enabled:checked, ' +
  'select:enabled, textarea:enabled, summary, [tabindex="0"]';

test('every page and dialog is accessible, and no secret is shown again', async (t) => {
  const { api } = t.context;
  const account = await furnishAccount(api, 'walk');
  const person = await addPerson(api, account.account.tenantId, { isOperator: true, mark: 'walker' });
  const secrets = await giveSecrets(t, person);
  // The new password has ended all other sessions.
  t.is(
    (
      await api.anonymous('POST', '/v1/session', {
        email: person.email,
        password: secrets.get('new password'),
        code: secrets.get('recovery code 1'),
      })
    ).status,
    201,
  );
  const findSecrets = searchFor(secrets);
  const ids = firstOf(account.ids);
  for (const [number, form] of FORMS.entries()) {
    // Within a minute, all forms make more requests than a person may.
    await api.database.pool.query('DELETE FROM rate_limits');
    const { page, complaints } = await openAs(t, person, form);
    if (form.size === 'phone') await page.setViewportSize(NARROW);
    const problems: string[] = [];
    const isShown = (index: number) => hasAllForms || Math.floor(number / 2) === index % 2;
    const names = (Object.keys(WALK) as PageName[]).filter((_, index) => isShown(index));
    for (const name of names.filter((each) => WALK[each].isOpen !== true))
      for (const view of WALK[name].views(ids)) problems.push(...(await visit(page, view, findSecrets)));
    await page.context().clearCookies();
    for (const name of names.filter((each) => WALK[each].isOpen === true))
      for (const view of WALK[name].views(ids)) problems.push(...(await visit(page, view, findSecrets)));
    t.deepEqual([...problems, ...complaints], [], JSON.stringify(form));
    await page.context().close();
  }
});

test('an account never sees data of another: not in lists, by URL or live', async (t) => {
  const { api } = t.context;
  const [own, foreign] = [await furnishAccount(api, 'ownmark'), await furnishAccount(api, 'foreignmark')];
  const { page, complaints } = await openAs(t, own.person, FORMS[0]);
  const found = { own: [] as string[], foreign: [] as string[] };
  const readPage = async (path: string) => {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
    const text = (await page.evaluate('document.documentElement.outerHTML')) as string;
    if (text.includes('ownmark')) found.own.push(path);
    if (text.includes('foreignmark')) found.foreign.push(path);
  };
  const pages = Object.values(WALK).filter(({ isOpen }) => isOpen !== true);
  const paths = ({ ids }: typeof own) => pages.flatMap(({ views }) => views(firstOf(ids)).map(({ path }) => path));
  for (const path of new Set([...paths(own), ...paths(foreign)])) await readPage(path);
  t.deepEqual(found.foreign, []);
  t.true(found.own.length >= 12, `pages that show the account's own data: ${found.own.join(' ')}`);

  await readPage('/');
  const rename = ({ account, ids }: typeof own, name: string) =>
    account.owner('PATCH', `/v1/monitors/${ids.monitor[0] ?? ''}`, { name });
  t.is((await rename(foreign, 'foreignmark renamed')).status, 200);
  t.is((await rename(own, 'ownmark renamed')).status, 200);
  await page.getByText('ownmark renamed').waitFor();
  t.false(((await page.evaluate('document.documentElement.outerHTML')) as string).includes('foreignmark'));
  t.deepEqual(complaints, []);
});

function firstOf(ids: Readonly<Record<Kind, string[]>>): Record<Kind, string> {
  return Object.fromEntries(Object.entries(ids).map(([kind, [id = '']]) => [kind, id])) as Record<Kind, string>;
}

/** Returns the problems of a page, one line each. */
async function visit(
  page: Page,
  { path, shows, dialogs = [] }: PageView,
  findSecrets: (text: string) => string[],
): Promise<string[]> {
  const problems: string[] = [];
  await page.goto(path);
  await page.getByText(shows).first().waitFor({ state: 'attached' });
  await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
  const headings = await page.getByRole('heading', { level: 1 }).count();
  if (headings !== 1) problems.push(`${headings} headings of its own`);
  const shift = await sumShifts(page);
  if (shift > MAX_SHIFT) problems.push(`it moved by ${shift} while it loaded`);
  problems.push(...(await findBarriers(page)), ...(await findSideways(page)));
  problems.push(...(await findUnreached(page)).map((control) => `the keyboard does not come to ${control}`));
  problems.push(...findSecrets(await readAll(page)).map((secret) => `the ${secret} is shown`));
  for (const dialog of dialogs) problems.push(...(await openAndClose(page, dialog)));
  const sections = await page
    .locator('nav[aria-label="Settings"] a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
  const paths = sections.map((section) => section.slice(CONSOLE_BASE_PATH.length));
  const walked = new Set(WALK.settingsSection.views({} as never).map((section) => section.path));
  problems.push(
    ...paths.filter((section) => !walked.has(section)).map((section) => `${section} has no row in page-walk.ts`),
  );
  return problems.map((problem) => `${path}: ${problem}`);
}

/**
 * Opens and closes a dialog by keyboard: it must take the focus without trapping it, close on Escape, and return the
 * focus to its opener.
 */
async function openAndClose(page: Page, { title, by, within, leads }: WalkedDialog): Promise<string[]> {
  const problems: string[] = [];
  const opener = (within ?? by)(page);
  for (const pressed of within === undefined ? [opener] : [opener, by(page)]) {
    await pressed.focus();
    await page.keyboard.press('Enter');
  }
  problems.push(...(await seeDialog(page, title)));
  if (leads === undefined) await page.keyboard.press('Escape');
  else {
    await page.getByRole('dialog').getByRole('button', { name: leads.press, exact: true }).click();
    problems.push(...(await seeDialog(page, leads.title)));
    await page.keyboard.press('Escape');
    problems.push(...(await seeDialog(page, leads.asks)));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: leads.asks }).waitFor({ state: 'detached' });
    await page
      .getByRole('dialog', { name: leads.title })
      .getByRole('button', { name: /^I(’ve saved| have kept)/ })
      .click();
  }
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  return (await hasFocus(opener))
    ? problems
    : [
        ...problems,
        `after ${String(title)} the keyboard is at ` +
          `${String(await page.evaluate('document.activeElement.outerHTML.slice(0, 200)'))}`,
      ];
}

async function seeDialog(page: Page, title: RegExp): Promise<string[]> {
  const dialog = page.getByRole('dialog', { name: title });
  await dialog.waitFor();
  await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
  const hasKeyboard = await dialog.evaluate((element) => element.contains(element.ownerDocument.activeElement));
  return [
    ...(hasKeyboard ? [] : ['it has not the keyboard']),
    ...(await findBarriers(page, 'dialog:modal')),
    ...(await findSideways(page)),
  ].map((problem) => `${String(title)}: ${problem}`);
}

async function hasFocus(element: Locator): Promise<boolean> {
  return await until(() => element.evaluate((each) => each === each.ownerDocument.activeElement), {
    timeoutMs: 5000,
  }).catch(() => false);
}

/**
 * Returns how far content has moved since the page began to load, as browsers measure it (sum of layout-shift entries).
 */
async function sumShifts(page: Page): Promise<number> {
  return (await page.evaluate(`new Promise((resolve) => {
    let sum = 0;
    const add = (list) => (sum += list.getEntries().reduce((total, { value }) => total + value, 0));
    new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve(Math.round(sum * 1000) / 1000), 50);
  })`)) as number;
}

/** Holds Tab down from the start of the page to its end, and returns the controls that never got the focus. */
async function findUnreached(page: Page): Promise<string[]> {
  await page.evaluate(`{
    window.reached = new Set();
    window.listing = (event) => window.reached.add(event.target);
    document.addEventListener('focusin', window.listing);
    document.activeElement?.blur();
    getSelection().removeAllRanges();
  }`);
  const controls =
    `[...document.querySelectorAll('${CONTROLS}')].filter((each) => each.tabIndex >= 0 && ` +
    'each.getClientRects().length > 0 && each.checkVisibility({ visibilityProperty: true }))';
  const count = (await page.evaluate(`${controls}.length`)) as number;
  for (let presses = 0; presses < 2 * count + 10; presses += 1) {
    await page.keyboard.down('Tab');
    if (presses >= count && (await page.evaluate('document.activeElement === document.body'))) break;
  }
  await page.keyboard.up('Tab');
  return (await page.evaluate(`{
    document.removeEventListener('focusin', window.listing);
    ${controls}.filter((each) => !window.reached.has(each)).map((each) => each.outerHTML.slice(0, 200));
  }`)) as string[];
}

/** Returns everything that a page holds: its elements with attributes, field values, URL, and browser storage. */
async function readAll(page: Page): Promise<string> {
  const texts = (await page.evaluate(
    `[document.documentElement.outerHTML, ...[...document.querySelectorAll('input, textarea')].map(({ value }) ` +
      '=> value), location.href, JSON.stringify(history.state), document.cookie, JSON.stringify({ ...localStorage ' +
      '}), JSON.stringify({ ...sessionStorage }), document.title]',
  )) as string[];
  return texts.join('\n');
}

/**
 * Enters every kind of secret that the console's forms take, and collects those that it shows once. Returns all of them
 * by name.
 */
async function giveSecrets(t: ExecutionContext<ConsolePages>, person: Person): Promise<Map<string, string>> {
  const { page, complaints } = await openAs(t, person, FORMS[0]);
  const secrets = new Map<string, string>();
  const give = (name: string) => {
    const secret = canary(name.replaceAll(' ', '-'));
    secrets.set(name, secret);
    return secret;
  };
  const shown = async (label: string) => (await page.getByLabel(label, { exact: true }).textContent()) ?? '';

  await page.goto('/channels/new');
  await page
    .getByRole('textbox', { name: 'URL' })
    .fill(`https://hook.example/${give('webhook path')}?key=${give('webhook query')}`);
  await page.getByRole('button', { name: 'Test and save' }).click();
  secrets.set('signing secret', await shown('Signing secret'));
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Webhook' }).waitFor();

  await page.goto('/agents/new');
  await page.getByRole('textbox', { name: 'Name' }).fill('second');
  await page.getByRole('button', { name: 'Create agent' }).click();
  secrets.set('agent token', await shown('Token'));
  await page.getByRole('button', { name: 'I’ve saved it' }).click();

  await page.goto('/monitors/new');
  await page.getByRole('textbox', { name: 'URL' }).fill('https://shop.example/');
  await page.getByText('Request', { exact: true }).click();
  await page.getByRole('button', { name: 'Add secret header' }).click();
  await page.getByLabel('Name of header 1').fill('X-Api-Key');
  await page.getByLabel('Secret value of X-Api-Key').fill(give('secret header'));
  await page.getByLabel('Authentication').selectOption('basic');
  await page.getByRole('textbox', { name: 'User name' }).fill(give('user name'));
  await page.getByLabel('Password', { exact: true }).fill(give('basic password'));
  await page.getByLabel('Request body').fill(give('secret body'));
  await page.getByLabel('Secret (write-only)').check();
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.waitForURL(/\/monitors\/mon_/);
  await page.getByText('X-Api-Key').waitFor();
  const edit = `${new URL(page.url()).pathname}/edit`;
  await page.goto(edit);
  await page.getByText('Stored secret', { exact: true }).waitFor();
  t.deepEqual(searchFor(secrets)(await readAll(page)), [], 'the edit form of a monitor with stored secrets');

  await page.goto('/settings/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('script');
  await page.keyboard.press('Enter');
  secrets.set('API token', await shown('API token'));
  await page.getByRole('button', { name: 'I’ve saved it' }).click();

  await page.goto('/settings/members');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('textbox', { name: 'Email' }).fill('new@example.org');
  await page.keyboard.press('Enter');
  secrets.set('invitation', (await shown('Invitation link')).split('/').at(-1) ?? '');
  await page.getByRole('button', { name: 'I’ve sent it' }).click();

  await page.goto('/settings/account');
  secrets.set('old password', PASSWORD);
  await page.getByLabel('Current password').fill(PASSWORD);
  const password = give('new password');
  await page.getByLabel('New password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByText('Password changed').waitFor();
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByLabel('Your password').fill(password);
  await page.keyboard.press('Enter');
  const secret = await shown('Secret');
  secrets.set('TOTP secret', secret);
  await page.getByLabel('6-digit code').fill(totpCode(secret, Math.floor(Date.now() / 30_000)));
  await page.keyboard.press('Enter');
  for (const [index, code] of (await shown('Recovery codes')).trim().split('\n').entries())
    secrets.set(`recovery code ${index + 1}`, code);
  await page.getByRole('button', { name: 'I’ve saved them' }).click();
  await page.getByText('10 recovery codes left').waitFor();
  t.deepEqual(searchFor(secrets)(await readAll(page)), [], 'the page that showed the last secrets');
  t.true(
    [...secrets.values()].every((value) => value.length >= 8),
    'every secret is too long to be found by chance',
  );
  t.deepEqual(complaints, []);
  await page.context().close();
  return secrets;
}
