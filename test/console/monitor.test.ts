import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { fitZoom, readShown, spanOf, wordsOf } from '../../console/pages/monitor/ranges.ts';
import { bridgeHoles, fitLabels, listLoners, scaleSpan, stackLines } from '../../console/plots/series.ts';
import { findBarriers } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { startTarget, type Target } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

const HOUR_MS = 3_600_000;

type Watched = { id: string; target: Target };

test.serial('a monitor goes down and recovers on its open page, and each failure shows the response', async (t) => {
  const watched = await makeMonitor(t);
  const { page, complaints } = await openSignedIn(t, `/monitors/${watched.id}`);
  await heading(page, 'Shop is up').waitFor();
  t.regex(await page.title(), /^Up · Shop/);

  watched.target.health.status = 503;
  await page.getByRole('button', { name: 'Check now' }).click();
  await heading(page, 'Shop is down').waitFor();
  await page.getByText(/^For \d+ (?:s|min), since .*: HTTP 503 instead of 2xx/).waitFor();
  await page.getByText(/^Failing from local\./).waitFor();
  await page.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByText(/^Acknowledged by .* (?:just now|\d+ (?:s|min) ago)/).waitFor();

  const failed = page.getByRole('button', { name: /^Down.*HTTP 503 instead of 2xx/ }).first();
  await failed.click();
  const details = page.locator(`[id="${await failed.getAttribute('aria-controls')}"]`);
  await details.getByText('HTTP status 503').waitFor();
  await details.getByRole('group', { name: 'Headers' }).getByText('HTTP 503').waitFor();
  t.is(await details.getByRole('group', { name: 'Start of the response body' }).textContent(), 'ok');
  t.notRegex((await details.textContent()) ?? '', /\d{4}-\d\d-\d\dT/, 'times have the usual format');
  t.deepEqual(await findBarriers(page), []);

  watched.target.health.status = 200;
  await page.getByRole('button', { name: 'Check now' }).click();
  await heading(page, 'Shop is up').waitFor();
  await page.getByText(/^No incidents for/).waitFor();
  t.deepEqual(complaints, []);
});

test.serial('ranges, zoom and the selected moment are kept in the URL, by mouse and keyboard', async (t) => {
  // No scheduled check may add a row.
  const { id } = await makeMonitor(t, { interval_seconds: 86_400 });
  await addHistory(t, id);
  // The range ends before the first result.
  const from = Math.floor(Date.now() / 1000) - 40 * 3600;
  const { page, complaints } = await openSignedIn(t, `/monitors/${id}?from=${from}&to=${from + 36_000}`);
  await page.getByText(/^No data in \w+ \d/).waitFor();
  await page.getByRole('button', { name: '7 d', exact: true }).click();
  await page.waitForURL(/\?range=7d$/);
  t.is(await page.getByRole('button', { name: '7 d', exact: true }).getAttribute('aria-pressed'), 'true');
  await page.getByRole('button', { name: '24 h', exact: true }).click();
  await page.waitForURL((url) => url.search === '');
  const plot = page.getByRole('slider', { name: /^Response time/ });
  await plot.waitFor();
  await page.getByText('Average breakdown').waitFor();
  await page.getByText('the last 24 hours:').waitFor();

  await plot.focus();
  await page.keyboard.press('End');
  for (let presses = 0; presses < 60; presses += 1) await page.keyboard.press('ArrowLeft');
  await until(async () => /: p95 .* ms, p50 .* ms$|no data/.test((await plot.getAttribute('aria-valuetext')) ?? ''));
  await page.keyboard.press('Enter');
  await page.waitForURL(/at=\d+/);
  // The list is limited to the selected step.
  await until(async () => /^\d{4}-\d\d-\d\dT/.test(await page.getByLabel('From', { exact: true }).inputValue()));
  t.regex(await page.getByLabel('To', { exact: true }).inputValue(), /^\d{4}-\d\d-\d\dT/);
  await page.keyboard.press('+');
  await page.waitForURL(/from=\d+&to=\d+/);
  await page.keyboard.press('Escape');
  await page.waitForURL((url) => !url.searchParams.has('from'));

  await page.getByText('the last 24 hours:').waitFor();
  const box = await plot.boundingBox();
  if (box === null) return t.fail('the plot has no location');
  await page.mouse.move(box.x + 200, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 60);
  // New values arrive meanwhile.
  const answered = page.waitForResponse((response) => response.url().includes(`/${id}/stats?`));
  t.is((await t.context.service.call('PATCH', `/monitors/${id}`, { name: 'Shop by the sea' })).status, 200);
  await (await answered).finished();
  await heading(page, 'Shop by the sea is up').waitFor();
  await page.locator('[aria-busy="false"] .time-plot').waitFor();
  await page.mouse.move(box.x + 400, box.y + 60);
  await page.mouse.up();
  await page.waitForURL(/from=\d+&to=\d+/);
  const { searchParams } = new URL(page.url());
  const zoomed = Number(searchParams.get('to')) - Number(searchParams.get('from'));
  t.true(zoomed > 3 * 3600 && zoomed < 12 * 3600, `a drag over a quarter of a day zooms to ${zoomed} s`);
  t.false(searchParams.has('at'), 'a drag selects no moment');
  await page.getByRole('button', { name: 'Back to 24 h' }).click();
  await page.getByText('the last 24 hours:').waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Custom' }).click();
  await page.getByRole('dialog').getByLabel('From').and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Back to 24 h' }).click();

  const listed = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'Checks', exact: true }) })
    .getByRole('listitem');
  for (const count of [40, 60]) {
    await page.getByRole('button', { name: 'Load more' }).click();
    await listed.nth(count - 1).waitFor();
  }
  t.is(await listed.count(), 60);
  t.is(
    new Set(
      await listed.getByRole('button').evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-controls'))),
    ).size,
    60,
    'no check is listed twice',
  );

  await page.getByRole('button', { name: 'Timings', exact: true }).click();
  await page.waitForURL(/view=phases/);
  await page.getByRole('button', { name: /^DNS\s*[\d.]+ ms$/ }).waitFor();
  await plot.focus();
  await page.keyboard.press('End');
  await until(async () => {
    await page.keyboard.press('ArrowLeft');
    return /: Download 5.* ms, Wait 50.* ms, TLS 14.* ms, Connect 9.* ms, DNS 2.* ms$/.test(
      (await plot.getAttribute('aria-valuetext')) ?? '',
    );
  });
  await page.getByRole('button', { name: '1 y', exact: true }).click();
  await page.waitForURL(/range=1y.*view=phases|view=phases.*range=1y/);
  await page.getByText('the 2 d since it was created:').waitFor();
  await page.getByRole('button', { name: /^DNS\s*[\d.]+ ms$/ }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);

  // After a failed request the old chart must not stay visible.
  const ofStatistics = (url: URL) => url.pathname.endsWith('/stats');
  await page.route(ofStatistics, (route) => route.abort());
  await page.getByRole('button', { name: '30 d', exact: true }).click();
  await heading(page, 'Couldn’t load this', 2).waitFor();
  t.is(await plot.count(), 0);
  await page.unroute(ofStatistics);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('the 2 d since it was created:').waitFor();

  // Months of a year include the full year: "Dec 25" would be a day.
  await withClient(t.context.databaseUrl, (client) =>
    client.query('UPDATE monitors SET created_at = created_at - 400 * 86400 WHERE id = $1', [id]),
  );
  await page.addInitScript(`{
    window.drawn = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.drawn.push(text);
      fillText.call(this, text, ...rest);
    };
  }`);
  await page.goto(`/monitors/${id}?range=1y`);
  await plot.waitFor();
  const months = await until(async () => {
    const drawn = (await page.evaluate('window.drawn')) as string[];
    return drawn.some((text) => text.startsWith('Jan')) && drawn.filter((text) => /^[A-Z][a-z]{2}\b/.test(text));
  });
  t.deepEqual(
    months.filter((month) => !/^[A-Z][a-z]{2} \d{4}$/.test(month)),
    [],
  );
});

test.serial(
  'a monitor is paused, resumed and deleted, and a viewer on a phone in dark mode can only read',
  async (t) => {
    const { id } = await makeMonitor(t, { check_spec: { request: { secretHeaders: { 'X-Api-Key': 'never shown' } } } });
    const { page, complaints } = await openSignedIn(t, `/monitors/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await heading(page, 'Shop is paused').waitFor();
    await page.getByText(/^For \d+ (?:s|min), since .*No checks run/).waitFor();
    t.is((await t.context.service.call('GET', `/monitors/${id}`)).json['status'], 'paused');
    await page.keyboard.press('p');
    await heading(page, /Shop(: waiting for the first check| is up)|The status of Shop is unknown/).waitFor();
    await heading(page, 'Shop is up').waitFor();
    await page.keyboard.press('p');
    await page.getByRole('dialog', { name: 'Pause Shop?' }).getByRole('button', { name: 'Cancel' }).click();
    t.is((await t.context.service.call('GET', `/monitors/${id}`)).json['status'], 'up', 'a stray key pauses nothing');

    await withClient(t.context.databaseUrl, (client) => client.query(`UPDATE users SET role = 'viewer'`));
    const phone = await openSignedIn(t, `/monitors/${id}`, { size: 'phone', colorScheme: 'dark' });
    await phone.page.getByRole('heading', { name: 'Settings' }).waitFor();
    await phone.page.getByText('X-Api-Key secret').waitFor();
    t.is(await phone.page.getByRole('button', { name: /Pause|Delete|Check now/ }).count(), 0);
    t.is(await phone.page.evaluate('document.documentElement.scrollWidth'), 360, 'nothing is wider than the screen');
    t.deepEqual(await findBarriers(phone.page), []);
    t.deepEqual(phone.complaints, []);
    await withClient(t.context.databaseUrl, (client) => client.query(`UPDATE users SET role = 'owner'`));

    await page.reload();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete Shop?' }).getByRole('button', { name: 'Delete monitor' }).click();
    await page.waitForURL(/\/monitors$/);
    t.is((await t.context.service.call('GET', `/monitors/${id}`)).status, 404);
    await page.goto(`/monitors/${id}`);
    await heading(page, /Monitor not found/, 2).waitFor();
    t.deepEqual(complaints, []);
  },
);

test('invalid URL parameters are ignored, and a zoom stays within the allowed range', (t) => {
  t.deepEqual(readShown({ range: 'toString', from: '1', to: '2' }), { range: '24h', zoom: null, isCompared: false });
  t.deepEqual(readShown({ range: '1y', from: '1000', to: '5000', compare: '1' }), {
    range: '1y',
    zoom: { from: 1000, to: 5000 },
    isCompared: true,
  });
  t.deepEqual(spanOf({ range: '1h', zoom: null }, 10_000), { from: 6400, to: 10_000 });
  t.deepEqual(fitZoom({ from: 10_010, to: 10_020 }, 1_000_000), { from: 9720, to: 10_320 });
  t.deepEqual(fitZoom({ from: 999_000, to: 1_100_000 }, 1_000_000), { from: 898_920, to: 999_960 });
  t.deepEqual(scaleSpan({ from: 0, to: 1000 }, { center: 250, factor: 0.5, shortest: 100, latest: 2000 }), {
    from: 125,
    to: 625,
  });
});

test('a range that began before the monitor is described by the time since its creation', (t) => {
  const format = { moment: (at: number) => `at ${at}`, duration: (seconds: number) => `${seconds} s` };
  const say = (range: '1h' | '24h', age: number) =>
    wordsOf({ range, zoom: null }, { now: 1_000_000, createdAt: 1_000_000 - age }, format);
  t.is(say('1h', 3600), 'the last hour');
  t.is(say('24h', 3600), 'the 3600 s since it was created');
  t.is(say('24h', 601), 'the 601 s since it was created');
  // A younger monitor's axis covers 10 minutes.
  t.is(say('24h', 600), 'the last 10 minutes');
  const zoom = { from: 1, to: 2 };
  t.is(wordsOf({ range: '1h', zoom }, { now: 10, createdAt: 9 }, format), 'at 1 to at 2');
});

test('stacked lines leave no gap where only one of them has no value', (t) => {
  const line = (name: string, values: (number | null)[]) => ({ name, values, color: 'plot-1', width: 1 });
  const stacked = stackLines([
    line('dns', [null, 1, 2, null]),
    line('tls', [null, null, 10, 5]),
    line('wait', [null, 4, null, 3]),
  ]);
  t.deepEqual(
    stacked.map(({ name, values, labels }) => [name, values, labels]),
    [
      ['wait', [null, 5, 12, 8], [null, 4, null, 3]],
      ['tls', [null, 1, 12, 5], [null, null, 10, 5]],
      ['dns', [null, 1, 2, 0], [null, 1, 2, null]],
    ],
  );
});

test('a line bridges gaps due to the check interval and breaks at longer ones', (t) => {
  const moments = [0, 60, 120, 180, 240, 300, 900, 960, 1800];
  const bridged = bridgeHoles(moments, [5, null, 6, null, null, null, 7, 8, 9], 130);
  t.deepEqual(bridged, [5, undefined, 6, null, null, null, 7, 8, 9]);
  t.deepEqual(listLoners(bridged), []);
  t.deepEqual(listLoners(bridgeHoles([0, 60, 120, 180], [null, 3, null, null], 60)), [1]);
});

test('a tick label is drawn whole or omitted, also with a 12-hour clock', (t) => {
  t.deepEqual(fitLabels(['16:25', '16:26', '16:27'], [135, 75, 15]), ['16:25', '16:26', '16:27']);
  t.deepEqual(fitLabels(['4:25 PM', '4:26 PM', '4:27 PM'], [135, 75, 15]), ['4:25 PM', '4:26 PM', '']);
  t.deepEqual(fitLabels(['Dec 2026', 'Jan 2027'], [24, 10]), ['Dec 2026', '']);
});

/** Creates a monitor of a site that is up, with one location. */
async function makeMonitor(t: ExecutionContext<ConsoleService>, more: object = {}): Promise<Watched> {
  const target = await startTarget(t);
  const { call } = t.context.service;
  const settings = {
    name: 'Shop',
    target: target.url(),
    interval_seconds: 3600,
    down_after_failures: 1,
    sla_target: 99.9,
    ...more,
  };
  const { json, status } = await call('POST', '/monitors', settings);
  t.is(status, 201);
  const id = json['id'];
  await until(async () => (await call('GET', `/monitors/${id}`)).json['status'] === 'up');
  return { id, target };
}

/** Adds a day of results with timings, one every ten minutes, in hours that are not rolled up yet. */
async function addHistory({ context: { databaseUrl } }: ExecutionContext<ConsoleService>, id: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('UPDATE monitors SET created_at = created_at - 172800 WHERE id = $1', [id]);
    await client.query(
      `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, detail)
       SELECT $2::bigint - n * 600000, s.monitor_no, s.agent_no, 80 + n % 40, 200, 1, '{"phases": "2 9 14 50 5"}'
       FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no, generate_series(1, 125) AS n WHERE m.id = $1`,
      [id, Date.now() - HOUR_MS],
    );
    // A roll-up in between would leave the results out.
    await client.query(`UPDATE service_marks SET at = at - 172800000 WHERE name = 'rollups'`);
    await client.query('COMMIT');
  });
}

function heading(page: Page, name: string | RegExp, level = 1) {
  return page.getByRole('heading', { level, name });
}
