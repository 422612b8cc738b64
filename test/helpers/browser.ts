import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import type { Harness } from './harness.ts';
import { PATIENCE_MS } from './with-client.ts';

/**
 * A page in a separate browser profile, with everything that went wrong in it. `complaints` are errors, refusals of its
 * Content-Security-Policy, and requests to other hosts.
 */
export type OpenPage = { page: Page; complaints: readonly string[] };

export type PageOptions = {
  /** URL of the console. */
  url: string;
  size?: keyof typeof SIZES;
  colorScheme?: 'light' | 'dark';
  /** Language and time zone of the browser. */
  locale?: string;
  timezoneId?: string;
};

/** A phone has a touch screen, and its scroll bars take no space. */
const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
} as const;

/**
 * Arguments for a minimum of processes, no background network traffic, and no sandbox. Tests also run as root, and open
 * only this project's pages: for seconds each, in which optimized code costs more than it saves.
 */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--renderer-process-limit=1',
  '--js-flags=--no-opt',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Debian's paths; other systems set CHROMIUM_PATH. The shell is the same engine without windows, and takes a third less
 * CPU time for the same tests.
 */
const PATHS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const CHROMIUM = process.env['CHROMIUM_PATH'] ?? PATHS.find((path) => existsSync(path)) ?? '/usr/bin/chromium';

/**
 * Script that makes pages as patient as the tests, which may stall. A page would give up a held request after 30 s, and
 * hide a success after 5 s, before the test reads it. Only successes wait for 5 s once: polls are intervals.
 */
const PATIENT = `{
  const [{ timeout }, { setTimeout }] = [AbortSignal, globalThis];
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms <= 10_000 ? ms : ${PATIENCE_MS});
  globalThis.setTimeout = (work, ms, ...rest) => setTimeout(work, ms === 5000 ? 20_000 : ms, ...rest);
}`;

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** Browser log of responses with an error status, which pages handle themselves. */
const OF_ANSWERS = /^Failed to load resource/;

/** Starts a browser for a test, or for all tests of a file. Scroll bars are hidden unless requested. */
export async function startBrowser(t: Harness, { showsScrollbars = false } = {}): Promise<Browser> {
  if (!existsSync(CHROMIUM))
    throw new Error(
      `There is no Chromium at ${CHROMIUM}: the console's tests need it (Debian: apt-get install ` +
        'chromium-headless-shell; elsewhere set CHROMIUM_PATH)',
    );
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ARGUMENTS,
    ...(showsScrollbars && { ignoreDefaultArgs: ['--hide-scrollbars'] }),
  });
  t.teardown(() => browser.close());
  return browser;
}

/** Opens an empty page in a new browser profile; its paths are relative to the console. */
export async function openPage(
  t: Harness,
  browser: Browser,
  { url, size = 'desktop', colorScheme = 'light', locale = 'en-GB', timezoneId = 'UTC' }: PageOptions,
): Promise<OpenPage> {
  const context = await browser.newContext({
    ...SIZES[size],
    colorScheme,
    baseURL: url,
    reducedMotion: 'reduce',
    locale,
    timezoneId,
  });
  // Like all other waits, including those of requests that a test sends in place of its page.
  context.setDefaultTimeout(PATIENCE_MS);
  await context.addInitScript(PATIENT);
  const complaints: string[] = [];
  const page = await context.newPage();
  t.teardown(async () => {
    // The page may be waiting for a request that the test answers, which fails once the page is closed.
    if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
  hideBasePath(page, new URL(url).pathname.replace(/\/$/, ''));
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  // The browser also reports refusals of the policy as errors.
  page.on(
    'console',
    (message) => message.type() === 'error' && !OF_ANSWERS.test(message.text()) && complaints.push(message.text()),
  );
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== 'data:' && origin !== new URL(url).origin) complaints.push(`asks another host: ${request.url()}`);
  });
  return { page, complaints };
}

/**
 * Lets tests use paths as if the console were at the root, in navigation, in the page's URL and in those of requests.
 */
function hideBasePath(page: Page, basePath: string): void {
  if (basePath === '') return;
  const cut = (url: string) => url.replace(new RegExp(`^(\\w+://[^/]+)${basePath}(?=/)`), '$1');
  const [goto, url, waitForURL] = [page.goto.bind(page), page.url.bind(page), page.waitForURL.bind(page)];
  const place = (to: string) => (to.startsWith('/') && !to.startsWith(`${basePath}/`) ? basePath + to : to);
  page.goto = (to, options) => goto(place(to), options);
  page.url = () => cut(url());
  page.waitForURL = (wanted, options) => {
    if (typeof wanted === 'string') return waitForURL(place(wanted), options);
    return waitForURL((each) => {
      const shown = cut(each.href);
      return wanted instanceof RegExp ? wanted.test(shown) : Boolean((wanted as (at: URL) => boolean)(new URL(shown)));
    }, options);
  };
  page.on('request', (request) => {
    const asked = request.url();
    request.url = () => cut(asked);
  });
}

/** Fills in the sign-in page, and waits until it is gone. */
export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await waitForConsole(page);
}

/**
 * Signs in again as another tab does, at the URL of a console. A page asks for the session a second after its own has
 * ended; on a busy machine the browser may not have the next one by then, so the page's request waits for it.
 */
export async function signInInAnotherTab(
  page: Page,
  url: string,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const signedIn = Promise.withResolvers<void>();
  // Left in place: without any route the browser would continue requests that the test holds.
  await page.route('**/v1/session', async (route) => {
    await signedIn.promise;
    await route.continue();
  });
  const response = await page.context().request.post(`${url}/v1/session`, { data: { email, password } });
  if (!response.ok()) throw new Error(`The sign-in was answered with ${response.status()}`);
  signedIn.resolve();
}

/** Waits until the console of a signed-in user is shown. */
export async function waitForConsole(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Main' }).first().waitFor({ state: 'attached' });
}

/**
 * Returns the accessibility barriers of a page or a part of it: axe-core's serious and critical findings, one line
 * each.
 */
export async function findBarriers(page: Page, part?: string): Promise<string[]> {
  await loadAxe(page);
  // Unreported results are not collected; style sheets are only preloaded for whole pages, because a single rule needs
  // them.
  const options = { resultTypes: ['violations'], selectors: false, preload: part === undefined };
  // This code runs in the page, without types. A rule's impact is that of all its findings: the minor and moderate
  // rules take a third of the time, and their findings are not reported here.
  const violations = (await page.evaluate(
    `axe.run(${part === undefined ? 'document' : JSON.stringify(part)}, { ...${JSON.stringify(options)}, rules: ` +
      `Object.fromEntries(axe._audit.rules.filter(({ impact }) => impact === 'minor' || impact === 'moderate')` +
      '.map(({ id }) => [id, { enabled: false }])) }).then(({ violations }) => violations)',
  )) as { id: string; impact: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html}: ${failureSummary}`),
    );
}

const judgedOnce = new WeakSet<Page>();

/**
 * Loads axe-core into the current document unless it is there. It has 650 kB: a page that needs it twice keeps it for
 * all later documents, where it is parsed on its first call.
 */
async function loadAxe(page: Page): Promise<void> {
  const isThere = `typeof axe !== 'undefined' || ('readAxe' in window && (readAxe(), true))`;
  if (await page.evaluate(isThere)) return;
  const source = await readFile(AXE, 'utf8');
  if (judgedOnce.has(page)) await page.addInitScript({ content: `window.readAxe = () => { ${source} };` });
  judgedOnce.add(page);
  await page.evaluate(source);
}

/**
 * Returns boxes that scroll sideways, and the elements that overflow them: in the page, its main part, a dialog, or any
 * box inside. Code may be as wide as its lines, and a bar of tabs may slide.
 */
export async function findSideways(page: Page): Promise<string[]> {
  return (await page.evaluate(`{
    const scrolls = (each) => /auto|scroll/.test(getComputedStyle(each).overflowX) &&
      !each.matches('pre, code, textarea, nav, input');
    const isCut = (each, root) => {
      for (let box = each.parentElement; box !== null && box !== root; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== 'visible') return true;
      return false;
    };
    const beyond = (root) => [...root.querySelectorAll('*')].filter((each) => !isCut(each, root) &&
      each.getBoundingClientRect().right > root.getBoundingClientRect().left + root.clientWidth + 1);
    const innermost = (root) => beyond(root).filter((each, _, all) => !all.some((other) => other !== each &&
      each.contains(other)));
    const isWide = (each) => each.scrollWidth > each.clientWidth;
    [...[document.documentElement, ...document.querySelectorAll('main, dialog[open]')].filter(isWide),
      ...[...document.querySelectorAll('main *, dialog[open] *')].filter((each) => isWide(each) && scrolls(each))]
      .map((each) => each.localName + ': ' + each.scrollWidth + ' of ' + each.clientWidth + ' by ' +
        innermost(each).slice(0, 3).map(({ localName, className }) => localName + '.' + className).join(', '));
  }`)) as string[];
}
