import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { prepareConsole } from '../console/build/build.ts';
import { DAY_MS } from '../core/time.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import { addPerson } from '../test/api/person.ts';
import { openPage, startBrowser } from '../test/helpers/browser.ts';
import type { Harness } from '../test/helpers/harness.ts';
import type { BenchContext } from './benchmark.ts';
import { median, percentile } from './figures.ts';
import { markFrames, ownMsOf, traceFrames, type Frame } from './harness/frames.ts';
import { fillWithOutages } from './harness/history.ts';
import { startInstallation, type Installation } from './harness/installation.ts';
import { addMonitors, monitorId } from './harness/monitors.ts';
import { fillWithRollups } from './harness/rollups.ts';
import { startProcess } from './harness/running-service.ts';
import { readable, type Report } from './report.ts';

const MONITORS = 5000;
const HISTORY_DAYS = 90;

/** Bounds: compressed bytes of a first visit, milliseconds until it is usable, milliseconds of a frame. */
const FIRST_LOAD_BYTES = 200_000;
const INTERACTIVE_MS = 1000;
const FRAME_MS = 50;

/** Number of times that each step is taken: the delays that a busy machine adds to a frame are not in every round. */
const FRAME_ROUNDS = 3;

/** Number of monitors that change at a time, and the interval, while frames are measured. */
const CHANGED_AT_ONCE = 10;
const CHANGE_EVERY_MS = 100;

/** One turn of the wheel in pixels: a screen and a half. */
const WHEEL_PX = 1200;
const ROW_PX = 54;

/** Records when the page has rows, and when its search field accepts a letter: then it is usable. */
const WATCH = `window.usable = new Promise((resolve) => {
  const findField = () => {
    const field = document.querySelector('input[type="search"]');
    if (document.querySelector('ul[aria-label="Monitors"] a') === null || field === null)
      return requestAnimationFrame(findField);
    const rowsMs = performance.now();
    field.value = '7';
    field.dispatchEvent(new InputEvent('input', { bubbles: true, data: '7' }));
    const taken = () =>
      location.search === '?q=7' && document.querySelector('ul[aria-label="Monitors"] a')?.textContent.includes('7')
        ? resolve({ rowsMs, usableMs: performance.now() })
        : requestAnimationFrame(taken);
    requestAnimationFrame(taken);
  };
  requestAnimationFrame(findField);
})`;

type Way = { url: string; cookie: { name: string; value: string; url: string }; browser: Browser; harness: Harness };

/**
 * Measures the overview of 5,000 monitors: the bytes and time until it is usable, and its frames while people use it
 * and monitors change.
 */
export async function consolePage({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  // The measured console must be built from the current sources.
  await prepareConsole((text) => report.figure(text));
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'postgres');
    const { database } = installation;
    await addMonitors(installation, {
      count: MONITORS,
      intervalSeconds: 60,
      targets: ['https://shop.northwind.example/status/'],
      downAfterFailures: 1,
    });
    const untilMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    if (!isQuick) {
      await fillWithOutages(database, { days: HISTORY_DAYS, untilMs });
      await fillWithRollups(database, { monitors: MONITORS, days: 2, untilMs });
    }
    const { url } = await startProcess(harness, 'web', installation.env);
    const person = await addPerson({ database, makeId: createIdSource(), url }, installation.tenantId);
    const [name = '', value = ''] = (person.headers['Cookie'] ?? '').split('=');
    const way = { url, cookie: { name, value, url }, browser: await startBrowser(harness), harness };
    await measureFirstLoad(report, way, isQuick ? 3 : 7);
    await measureFrames(report, way, { installation, isQuick });
  });
}

async function openOverview({ url, cookie, browser, harness }: Way): Promise<{ page: Page; session: CDPSession }> {
  const { page } = await openPage(harness, browser, { url });
  await page.context().addCookies([cookie]);
  const session = await page.context().newCDPSession(page);
  return { page, session };
}

/** Measures first loads, each in a browser with an empty cache. */
async function measureFirstLoad(report: Report, way: Way, rounds: number): Promise<void> {
  const loads: { rowsMs: number; usableMs: number; bytes: number; dataBytes: number; cpuMs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { page, session } = await openOverview(way);
    const addresses = new Map<string, string>();
    const loaded = { page: 0, data: 0 };
    session.on('Network.responseReceived', ({ requestId, response }) => addresses.set(requestId, response.url));
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      loaded[new URL(addresses.get(requestId) ?? way.url).pathname.startsWith('/v1/') ? 'data' : 'page'] +=
        encodedDataLength;
    });
    await session.send('Network.enable');
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.addInitScript(WATCH);
    await page.goto('/');
    const { rowsMs, usableMs } = (await page.evaluate('window.usable')) as { rowsMs: number; usableMs: number };
    const metrics = await readMetrics(session);
    loads.push({
      rowsMs,
      usableMs,
      bytes: loaded.page,
      dataBytes: loaded.data,
      cpuMs: 1000 * (metrics.get('TaskDuration') ?? Number.NaN),
    });
    await page.context().close();
  }
  const middle = (of: (each: (typeof loads)[number]) => number) => median(loads.map(of));
  report.figure(
    `a first visit: ${readable(middle(({ dataBytes }) => dataBytes))} bytes of data beside the page; rows after ` +
      `${readable(middle(({ rowsMs }) => rowsMs))} ms; ${readable(middle(({ cpuMs }) => cpuMs))} ms of CPU in the ` +
      `page's thread`,
  );
  report.bound({
    name: 'first load, compressed',
    value: Math.max(...loads.map(({ bytes }) => bytes)),
    unit: ' bytes',
    atMost: FIRST_LOAD_BYTES,
  });
  report.bound({
    name: `${readable(MONITORS)} monitors can be used after`,
    value: middle(({ usableMs }) => usableMs),
    unit: ' ms',
    atMost: INTERACTIVE_MS,
  });
}

/** Actions of people on the page, each measured by itself, one after the other. */
const STEPS: Readonly<Record<string, (page: Page, screens: number) => Promise<unknown>>> = {
  async 'a first visit'(page) {
    await page.goto('/');
    await waitForRows(page);
  },
  async 'scrolling by the wheel'(page, screens) {
    await page.mouse.move(700, 500);
    for (let turn = 0; turn < screens; turn += 1) await page.mouse.wheel(0, WHEEL_PX);
  },
  async 'back by the keyboard'(page, screens) {
    await page.locator('main').focus();
    for (let press = 0; press < 2 * screens; press += 1) await page.keyboard.press('PageUp');
  },
  async 'a search'(page) {
    await page.getByRole('searchbox').focus();
    for (const key of ['s', 'h', 'o', 'p', 'Space', '1', '2']) await pressAndLook(page, key);
    for (let letter = 0; letter < 7; letter += 1) await pressAndLook(page, 'Backspace');
  },
  async 'other orders'(page) {
    for (const sort of ['Name, A to Z', 'Lowest uptime', 'Newest first', 'Down first']) {
      await page.getByLabel('Order').selectOption({ label: sort });
      await look();
    }
  },
  async 'folders and a list again'(page) {
    for (let press = 0; press < 2; press += 1) {
      await page.getByRole('button', { name: 'Folders', exact: true }).click();
      await look();
    }
  },
  async 'a monitor and back'(page) {
    await page.getByRole('list', { name: 'Monitors' }).getByRole('link').nth(2).click();
    await page.locator('.time-plot canvas, .time-plot').first().waitFor({ state: 'attached' });
    await look();
    await page.goBack();
    await waitForRows(page);
    await look();
  },
};

/** Long enough for the effects of a step, such as loading the figures of the rows. */
const look = () => delay(500);

async function pressAndLook(page: Page, key: string): Promise<void> {
  await page.keyboard.press(key);
  await delay(150);
}

async function waitForRows(page: Page): Promise<void> {
  await page.getByRole('list', { name: 'Monitors' }).getByRole('link').first().waitFor();
}

/** Takes several rounds of steps while monitors change, and judges the longest frame of each step's best round. */
async function measureFrames(report: Report, way: Way, { installation, isQuick }: FrameOptions): Promise<void> {
  const screens = isQuick ? 60 : Math.ceil((MONITORS * ROW_PX) / WHEEL_PX);
  const longest = new Map<string, Frame[]>();
  const all: Frame[] = [];
  let changed = 0;
  for (let round = 0; round < FRAME_ROUNDS; round += 1) {
    const { page } = await openOverview(way);
    await markFrames(page);
    const changes = changeMonitors(installation);
    for (const [name, run] of Object.entries(STEPS)) {
      const frames = await traceFrames(way.browser, page, async () => {
        await run(page, screens);
        await look();
      });
      all.push(...frames);
      const worst = frames.toSorted((a, b) => ownMsOf(b) - ownMsOf(a))[0];
      if (worst === undefined) throw new Error(`No frame of ${name} was traced`);
      longest.set(name, [...(longest.get(name) ?? []), worst]);
    }
    changed += await changes.stop();
    await page.context().close();
  }
  const best = [...longest].map(([name, frames]) => ({ name, ms: Math.min(...frames.map(ownMsOf)), frames }));
  for (const { name, ms, frames } of best)
    report.figure(
      `${name}: longest frame of each round ${frames.map((frame) => readable(ownMsOf(frame))).join(', ')} ms, ` +
        `at best ${readable(ms)} ms; by the clock ${frames.map(({ wallMs }) => readable(wallMs)).join(', ')} ms`,
    );
  const [walls, cpu] = [all.map(({ wallMs }) => wallMs), all.map(({ pageMs }) => pageMs)];
  report.figure(
    `${readable(all.length)} frames while ${readable(changed)} monitors changed: by the clock ` +
      `${readable(percentile(walls, 0.5))} ms (p99 ${readable(percentile(walls, 0.99))} ms); CPU of the page's ` +
      `thread ${readable(percentile(cpu, 0.5))} ms (p99 ${readable(percentile(cpu, 0.99))} ms)`,
  );
  report.bound({
    name: 'longest frame',
    value: Math.max(...best.map(({ ms }) => ms)),
    unit: ' ms',
    atMost: FRAME_MS,
  });
}

type FrameOptions = { installation: Installation; isQuick: boolean };

/** Returns the CPU seconds of the page's thread since it began, by name. */
async function readMetrics(session: CDPSession): Promise<Map<string, number>> {
  const { metrics } = await session.send('Performance.getMetrics');
  return new Map(metrics.map(({ name, value }) => [name, value]));
}

/** Takes monitors down and up again ten times a second until it is stopped; returns the number of changes. */
function changeMonitors({ database }: Installation): { stop: () => Promise<number> } {
  const run = runOn(database.pool);
  const end = new AbortController();
  const work = (async () => {
    let round = 0;
    for (; !end.signal.aborted; round += 1) {
      const ids = Array.from({ length: CHANGED_AT_ONCE }, (_, index) =>
        monitorId(1 + (((round * CHANGED_AT_ONCE + index) * 37) % MONITORS)),
      );
      await run(
        `UPDATE monitors SET state = CASE state WHEN 'up' THEN 'down' ELSE 'up' END, state_since = $2
         WHERE id = ANY($1::text[])`,
        [ids, Date.now()],
      );
      await delay(CHANGE_EVERY_MS, undefined, { signal: end.signal }).catch(() => undefined);
    }
    return round * CHANGED_AT_ONCE;
  })();
  return {
    async stop() {
      end.abort();
      return await work;
    },
  };
}
