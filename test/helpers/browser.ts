import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import type { Harness } from './harness.ts';

/**
 * A page in a browser profile of its own, with all that went wrong in it. `complaints` are errors, refusals of its
 * Content-Security-Policy, and requests to other hosts.
 */
export type OpenPage = { page: Page; complaints: readonly string[] };

export type PageOptions = {
  /** Where the console is served. */
  url: string;
  size?: keyof typeof SIZES;
  colorScheme?: 'light' | 'dark';
  /** The browser's language and zone. */
  locale?: string;
  timezoneId?: string;
};

/** A phone has a touch screen, and no scroll bars that take room. */
const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
} as const;

/**
 * Arguments for as few processes as possible, no network traffic of the browser's own, and no sandbox. Tests run as
 * root too, and open only our own pages: for seconds each, in which optimized code costs more than it saves.
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
 * Debian's paths; other systems set CHROMIUM_PATH. The shell is the same engine without the windows around it, and
 * takes a third less CPU time for the same tests.
 */
const PATHS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const CHROMIUM = process.env['CHROMIUM_PATH'] ?? PATHS.find((path) => existsSync(path)) ?? '/usr/bin/chromium';

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** What the browser itself logs about answers with an error status: pages deal with those. */
const OF_ANSWERS = /^Failed to load resource/;

/** Starts a browser for a test, or for those of a file together. Scroll bars are hidden, unless it shows them. */
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

/** Opens an empty page in a new browser profile; paths then lead to the console. */
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
  const complaints: string[] = [];
  const page = await context.newPage();
  t.teardown(async () => {
    // The page may be asking for something that the test answers, which fails once the page is closed.
    if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
  // Two minutes, like every other wait for what must come.
  page.setDefaultTimeout(120_000);
  hideBasePath(page, new URL(url).pathname.replace(/\/$/, ''));
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  // What the policy refuses is also reported as an error.
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
 * Lets a test speak of paths as at the root, wherever the console is served. That goes for what it opens, the page's
 * address and those of requests.
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

/** Fills in the sign-in page that is shown, and waits until it is gone. */
export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await waitForConsole(page);
}

/** Waits until the console is there for who is signed in. */
export async function waitForConsole(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Main' }).first().waitFor({ state: 'attached' });
}

/**
 * Lists what keeps people from using the page, or a part of it, as it is now: axe-core's serious and critical findings,
 * one line each.
 */
export async function findBarriers(page: Page, part?: string): Promise<string[]> {
  await loadAxe(page);
  // What is not reported is not collected; style sheets are read anew only for the one rule that judges whole pages by
  // them.
  const options = { resultTypes: ['violations'], selectors: false, preload: part === undefined };
  // Runs in the page, where types of this side do not reach. A rule's own impact is that of all it finds: those of less
  // are a third of the time, and would report nothing here.
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
 * Loads axe-core into the document that the page shows, unless it is there. It has 650 kB: a page that needs it again
 * keeps it for all of its later documents, where it is read in once it is called.
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
 * Lists boxes that scroll sideways, and the elements that stick out of them. They are the page, its main part, a
 * dialog, and any box inside. Code is as wide as its lines, and a bar of tabs slides.
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
