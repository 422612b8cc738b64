import anyTest, { type TestFn } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import type { ApiServer } from '../api/api-server.ts';
import { addPerson } from '../api/person.ts';
import { addTransitions } from '../api/statistics/measured-monitor.ts';
import { furnishAccount, type Furnished, type Kind } from '../attackers/furnished-account.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { until } from '../helpers/until.ts';
import { WALK } from './page-walk.ts';

const test = anyTest as TestFn<ConsolePages>;
const openAs = withConsolePages(test);

/** From the minimum readable width (WCAG 1.4.10) over tablets with a side navigation to the largest screens. */
const WIDTHS = [320, 390, 768, 820, 1024, 1280, 1440, 1920, 2560];

const HEIGHT = 800;

test('no page scrolls sideways at any width, even with the longest names, URLs and reasons', async (t) => {
  const account = await furnishAccount(t.context.api, 'long');
  await lengthenTexts(t.context.api, account);
  const { page, complaints } = await openAs(t, await addPerson(t.context.api, account.account.tenantId));
  const ids = Object.fromEntries(Object.entries(account.ids).map(([kind, [id = '']]) => [kind, id])) as Record<
    Kind,
    string
  >;
  const views = Object.values(WALK)
    .filter(({ isOpen }) => isOpen !== true)
    .flatMap((walked) => walked.views(ids));
  const problems: string[] = [];
  for (const { path } of views) {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
    problems.push(...(await findAtWidths(page, path)));
  }
  await page.goto('/channels/new');
  await page.getByLabel('Chosen monitors').check();
  await page.getByRole('list', { name: 'Monitors' }).getByRole('checkbox').first().waitFor();
  problems.push(...(await findAtWidths(page, 'the chosen monitors')));
  await page.goto('/monitors/new');
  await page.getByRole('textbox', { name: 'Name' }).waitFor();
  await page.evaluate('document.querySelectorAll("main details").forEach((fold) => { fold.open = true; })');
  await page.getByRole('group', { name: 'Send alerts to' }).getByRole('checkbox').first().waitFor();
  problems.push(...(await findAtWidths(page, 'the channels of a monitor')));
  const viewer = await openAs(t, await addPerson(t.context.api, account.account.tenantId, { role: 'viewer' }));
  await viewer.page.goto('/settings/tokens');
  await viewer.page.getByRole('heading', { name: 'Owners only' }).waitFor();
  problems.push(...(await findAtWidths(viewer.page, 'a page for owners')));
  t.deepEqual(problems, []);
  t.deepEqual(complaints, []);
});

test('a row on a phone starts with how long and why a monitor is down, even if muted and in maintenance', async (t) => {
  const { api } = t.context;
  const { account, ids } = await furnishAccount(api, 'quiet');
  const [id = ''] = ids.monitor;
  const mutedUntil = Math.floor(Date.now() / 1000) + 7200;
  const { status } = await account.owner('POST', `/v1/monitors/${id}/mute`, { until: mutedUntil });
  t.is(status, 200);
  await account.owner('POST', `/v1/monitors/${id}/maintenance`, { duration_seconds: 7200 });
  await api.database.pool.query(
    `UPDATE incidents SET resolved_at = NULL, resolution = NULL, reason = 'HTTP 503' WHERE id = $1`,
    [ids.incident[0]],
  );
  await api.database.pool.query(`UPDATE monitors SET state = 'down' WHERE id = $1`, [id]);
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId), { size: 'phone' });
  await page.goto('/');
  const row = page.getByRole('link', { name: /Down for .* · HTTP 503 Maintenance until .* Muted until / });
  const line = row.getByText(/^Down for .* · HTTP 503$/);
  t.true(await line.evaluate((element) => element.scrollWidth <= element.clientWidth), 'it is not cut off');
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

test('from phones to tablets all status filters, names and Remove buttons are visible', async (t) => {
  const { account } = await furnishAccount(t.context.api, 'tablet');
  const { page } = await openAs(t, await addPerson(t.context.api, account.tenantId));
  await page.goto('/');
  for (const width of [320, 768, 820, 1024, 1100]) {
    await page.setViewportSize({ width, height: HEIGHT });
    const rows = page.getByRole('list', { name: 'Monitors' }).getByRole('link');
    await rows.first().waitFor();
    const chips = await page.getByRole('group', { name: 'Status' }).getByRole('button').all();
    t.true(chips.length >= 3);
    for (const chip of chips) {
      const box = await chip.boundingBox();
      t.true(box !== null && box.x >= 0 && box.x + box.width <= width, `${await chip.textContent()} at ${width}`);
    }
    const name = await rows.first().getByText('http tablet', { exact: true }).boundingBox();
    t.true((name?.width ?? 0) >= 100, `the name has ${name?.width} px at ${width}`);
  }
  await page.setViewportSize({ width: 320, height: HEIGHT });
  await page.goto('/settings/members');
  const remove = page.getByRole('button', { name: /^Remove / }).first();
  await remove.waitFor();
  const box = await remove.boundingBox();
  t.true(box !== null && box.x + box.width <= 320, 'the button is visible');
  const tabs = page.getByRole('navigation', { name: 'Settings' }).locator('> div');
  t.true(await tabs.evaluate((line) => line.scrollWidth <= line.clientWidth), 'the line spans all tabs');
});

test('with browser font sizes up to 32 px names are visible and no control leaves the screen', async (t) => {
  const { account, ids } = await furnishAccount(t.context.api, 'letters');
  const { page, complaints } = await openAs(t, await addPerson(t.context.api, account.tenantId));
  const devtools = await page.context().newCDPSession(page);
  await page.goto('/');
  const row = page.getByRole('list', { name: 'Monitors' }).getByRole('link').filter({ hasText: 'http letters' });
  const name = row.getByText('http letters', { exact: true });
  const isOnScreen = async (control: Locator, width: number) => {
    // A menu may close at that moment.
    const box = await control.boundingBox({ timeout: 5000 }).catch(() => null);
    return box !== null && box.x >= 0 && box.x + box.width <= width;
  };
  for (const standard of [16, 20, 24, 32]) {
    await devtools.send('Page.setFontSizes', { fontSizes: { standard } });
    await until(() =>
      page.evaluate(`getComputedStyle(document.documentElement).fontSize === '${standard * 0.9375}px'`),
    );
    for (const width of [360, 820, 1280, 1920]) {
      await page.setViewportSize({ width, height: HEIGHT });
      const at = `letters of ${standard} px at ${width}`;
      await row.waitFor();
      t.true(((await name.boundingBox())?.width ?? 0) > 150, `the name with ${at}`);
      const controls = page.locator('nav:visible :is(a, button):visible, main :is(button, select):visible');
      const offScreen = () =>
        controls.evaluateAll(
          (all, edge) =>
            all.length === 0
              ? ['no controls']
              : all
                  .map((control) => ({ text: control.textContent, box: control.getBoundingClientRect() }))
                  .filter(({ box }) => box.left < 0 || box.right > edge)
                  .map(({ text }) => text),
          width,
        );
      // All at once, because a page that is still changing to its new size replaces controls.
      await until(async () => (await offScreen()).length === 0, { timeoutMs: 20_000 }).catch(() => undefined);
      t.deepEqual(await offScreen(), [], at);
      t.deepEqual(await findSideways(page), [], at);
      const cut = await row.evaluate((link) => link.scrollHeight - link.clientHeight);
      t.true(cut <= 1, `a row lacks ${cut} px with ${at}`);
    }
  }
  await page.setViewportSize({ width: 360, height: HEIGHT });
  await page.goto('/maintenance');
  const planned = page.getByRole('main').getByRole('link', { name: 'New window' });
  await planned.waitFor();
  t.true(await isOnScreen(planned, 360), 'New window');
  await page.goto(`/monitors/${ids.monitor[0]}`);
  for (const width of [360, 820, 1280]) {
    await page.setViewportSize({ width, height: HEIGHT });
    const item = page.getByRole('button', { name: 'Delete', exact: true });
    // The resize may close an open menu.
    await until(async () => {
      if (!(await item.isVisible())) await page.getByRole('button', { name: 'More actions' }).click();
      return await isOnScreen(item, width);
    });
    await page.keyboard.press('Escape');
  }
  t.deepEqual(complaints, []);
});

/** Values of an hour, the widest such figures. */
const LATE = { count: 9, p50: 12.345, p99: 3599.9 };

test('the fleet page for operators shows all its tables and never scrolls sideways', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  await api.database.pool.query(
    `INSERT INTO processes (id, kind, version, host, pid, figures, started_at, seen_at)
     SELECT gen_random_uuid()::text, kind, '0.1.0', repeat('host', 16), 4194304, $1,
       extract(epoch FROM now())::bigint - 8640000, extract(epoch FROM now())::bigint + 600
     FROM unnest(ARRAY['web', 'check ' || repeat('region', 10), 'evaluate', 'maintain']) AS kind`,
    [JSON.stringify({ lateness: LATE, evaluationLag: LATE })],
  );
  await api.database.pool.query(`UPDATE agents SET version = repeat('9', 64) WHERE kind = 'first_party'`);
  const { page, complaints } = await openAs(t, await addPerson(api, tenantId, { isOperator: true }));
  await page.goto('/fleet');
  for (const name of ['Processes', 'Shared agents', 'Queues'])
    await page.getByRole('table', { name }).getByRole('row').nth(1).waitFor();
  t.deepEqual(await findAtWidths(page, '/fleet'), []);
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

test('the overview has four figures, the last check, sortable columns, dense rows and full width', async (t) => {
  const { api } = t.context;
  const { account, ids } = await furnishAccount(api, 'sorted');
  const [shop = '', beat = ''] = ids.monitor;
  await addTransitions(api, { tenantId: account.tenantId, monitorId: beat }, [[Date.now() - 2 * HOUR_MS, 'up']]);
  await api.database.pool.query('UPDATE monitors SET created_at = created_at - 86400 WHERE tenant_id = $1', [
    account.tenantId,
  ]);
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId));
  await page.goto('/');
  const rows = page.getByRole('list', { name: 'Monitors' }).getByRole('link');
  await rows.nth(2).waitFor();
  const figure = (name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd');
  t.is(await figure('Open incidents').textContent(), '1');
  await figure('Uptime, 24 h')
    .filter({ hasText: /^\d+\.\d\d%$/ })
    .waitFor();
  await figure('Alerts, 24 h').filter({ hasText: /^1$/ }).waitFor();
  await figure('Response time (p50), 24 h').waitFor();
  await page
    .locator(`a[href$="/monitors/${shop}"]`)
    .getByText(/^(just now|\d+ (?:s|min) ago)$/)
    .waitFor();

  const sortBy = (name: RegExp) => page.getByRole('group', { name: 'Sort by' }).getByRole('button', { name }).click();
  const isFirst = (name: RegExp) => rows.first().getByText(name).waitFor();
  await sortBy(/^Monitor/);
  await isFirst(/^heartbeat sorted/);
  await sortBy(/^Monitor/);
  await isFirst(/^vendor sorted/);
  await page.waitForURL(/sort=name-desc/);
  await sortBy(/^Uptime/);
  await isFirst(/^http sorted/);
  await sortBy(/^Uptime/);
  await isFirst(/^heartbeat sorted/);
  t.is(await page.getByLabel('Order').inputValue(), 'uptime-desc', 'the Order field shows the same');
  t.deepEqual(await findBarriers(page), []);

  const heightOf = async () => (await rows.first().boundingBox())?.height;
  t.is(await heightOf(), 54);
  await page.getByRole('button', { name: 'Dense rows' }).click();
  await until(async () => (await heightOf()) === 34);
  await page.reload();
  await rows.first().waitFor();
  t.is(await heightOf(), 34, 'the setting survives a reload');
  t.deepEqual(await findBarriers(page), []);
  await page.setViewportSize({ width: 2560, height: HEIGHT });
  await until(async () => ((await rows.first().boundingBox())?.width ?? 0) > 2200);
  t.deepEqual(complaints, []);
});

/** More rows than fit on a screen of the walk, even dense ones. */
const ROWS = 18;

test('a focused row is never covered by a bar at the bottom, and a cut-off one opens by a click', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  for (let n = 10; n < 10 + ROWS; n += 1) {
    const settings =
      n === 10 ? { type: 'heartbeat' } : { type: 'tcp', target: `127.0.0.1:${n}`, interval_seconds: 3600 };
    t.is((await account.owner('POST', '/v1/monitors', { name: `Row ${n}`, ...settings })).status, 201);
  }
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId), { locale: 'en-US' });
  await page.goto('/');
  const rows = page.getByRole('list', { name: 'Monitors' }).getByRole('link');
  await rows.filter({ hasText: /^Row 10Waiting for the first ping · heartbeat/ }).waitFor();
  const updated = page.getByText(/^Updated \d+:\d\d:\d\d [AP]M$/);
  t.true(((await updated.boundingBox())?.height ?? 99) < 20, 'on one line, even with a 12-hour clock');

  const isClear = () =>
    page.locator('main a:focus').evaluate((link) => {
      const { left, right, top, bottom } = link.getBoundingClientRect();
      const corners = [left + 60, right - 60].flatMap((x) => [top + 4, bottom - 4].map((y) => [x, y] as const));
      return corners.every(([x, y]) => link.contains(link.ownerDocument.elementFromPoint(x, y)));
    });
  const walk = async (what: string) => {
    for (const { width, isDense } of [{ width: 360 }, { width: 900 }, { width: 1280, isDense: true }]) {
      await page.setViewportSize({ width, height: 560 });
      if (isDense === true) await page.getByRole('button', { name: 'Dense rows' }).click();
      for (const [key, last] of [
        ['j', ROWS],
        ['k', 1],
      ] as const) {
        for (let presses = 0; presses < ROWS + 2; presses += 1) {
          await page.keyboard.press(key);
          await t.notThrowsAsync(until(isClear), `${key} ${presses} at ${width} px, ${what}`);
        }
        await page.locator(`[aria-posinset="${last}"] a:focus`).waitFor();
      }
    }
    await page.getByRole('button', { name: 'Dense rows' }).click();
  };
  await page.getByRole('heading', { name: 'Get started: 1 of 3' }).waitFor();
  await walk('the checklist');
  await page.getByRole('button', { name: 'Hide checklist' }).click();
  await page.getByText('No channel receives alerts.').waitFor();
  await walk('the warning that no channel receives alerts');
  await page.setViewportSize({ width: 1280, height: 740 });
  const end = page.viewportSize()?.height ?? 0;
  const tops = await Promise.all(
    (await rows.all()).map(async (row) => ({ row, top: (await row.boundingBox())?.y ?? 0 })),
  );
  const cut = tops.findLast(({ top }) => top < end - 8);
  const href = await cut?.row.getAttribute('href');
  await page.mouse.move(400, (cut?.top ?? 0) + 6);
  await page.mouse.down();
  await until(() => cut?.row.evaluate((link) => link.ownerDocument.activeElement === link));
  await page.mouse.up();
  await page.waitForURL(`**${href}`);

  await api.database.pool.query(
    'UPDATE monitors SET created_at = created_at - 172800, updated_at = updated_at - 172800 WHERE tenant_id = $1',
    [account.tenantId],
  );
  await page.goto('/');
  await page
    .getByRole('status')
    .filter({ hasText: `${ROWS - 1} monitors overdue` })
    .waitFor();
  await walk('the bar of overdue monitors');
  t.deepEqual(complaints, []);
});

test('a strip shows down red, degraded amber and unknown hatched, and a day links to its incidents', async (t) => {
  const { api } = t.context;
  const { account, ids } = await furnishAccount(api, 'strip');
  const [id = ''] = ids.monitor;
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const [degradedAt, downAt, unknownAt] = [today - 10 * DAY_MS, today - 20 * DAY_MS, today - 30 * DAY_MS];
  const { pool } = api.database;
  await pool.query('DELETE FROM transitions WHERE monitor_id = $1', [id]);
  await pool.query('DELETE FROM incidents WHERE monitor_id = $1', [id]);
  await pool.query(`UPDATE monitors SET state = 'up', created_at = $2 WHERE id = $1`, [id, today / 1000 - 60 * 86_400]);
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
    [today - 60 * DAY_MS, 'up'],
    [unknownAt + HOUR_MS, 'unknown'],
    [unknownAt + 2 * HOUR_MS, 'up'],
    // This outage spans midnight: it began the day before.
    [downAt - 5 * MINUTE_MS, 'down'],
    [downAt + 5 * MINUTE_MS, 'up'],
    [degradedAt + HOUR_MS, 'degraded'],
    [degradedAt + 4 * HOUR_MS, 'up'],
  ]);
  await pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
     VALUES ('inc_night', $1, $2, 'Night shift', 'down', 'HTTP 503', '{}', $3, $3, $4, 'recovered'),
            ('inc_other', $1, $2, 'Another day', 'degraded', 'slow', '{}', $5, $5, $6, 'recovered')`,
    [
      account.tenantId,
      id,
      downAt - 5 * MINUTE_MS,
      downAt + 5 * MINUTE_MS,
      degradedAt + HOUR_MS,
      degradedAt + 4 * HOUR_MS,
    ],
  );
  const { page, complaints } = await openAs(t, await addPerson(api, account.tenantId));
  await page.goto('/');
  const row = page.getByRole('link', { name: /http strip/ });
  await row.getByRole('img', { name: /^Downtime on 2 of \d+ days, degraded on 1$/ }).waitFor();
  const colors = await page.evaluate(`Object.fromEntries(['down', 'degraded'].map((name) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(--' + name + '-fill)';
    return [name, getComputedStyle(probe).color];
  }))`);
  const fills = Object.fromEntries(
    await Promise.all(
      ['down', 'degraded'].map(async (name) => [
        name,
        await row
          .locator(`[data-days="${name}"]`)
          .evaluate((bar) => String(bar.ownerDocument.defaultView?.getComputedStyle(bar).fill)),
      ]),
    ),
  );
  t.deepEqual(fills, colors);
  t.is(await row.locator('[data-days="none"]').count(), 3, 'hatched by three lines');

  const days = row.getByRole('img', { name: /^Downtime on/ });
  const isDownDay = (url: URL) => url.searchParams.get('day') === new Date(downAt).toISOString().slice(0, 10);
  await clickDay(days, 20);
  await page.waitForURL(isDownDay);
  await page.getByRole('link', { name: /Night shift/ }).waitFor();
  await page.goBack();
  await clickDay(days, 19);
  await page.waitForURL(`**/monitors/${id}`);

  const legends = page.getByRole('list', { name: 'Legend' });
  await legends.nth(1).waitFor();
  t.deepEqual(await legends.nth(1).getByRole('listitem').allTextContents(), [
    'Up',
    'Degraded',
    'Down',
    'No data/paused/maintenance',
    'Not created yet',
  ]);
  await page.setViewportSize({ width: 320, height: HEIGHT });
  t.deepEqual(await findSideways(page), []);
  const strip = page.getByRole('slider', { name: /^The last 90 days/ });
  await strip.focus();
  await page.keyboard.press('End');
  for (let day = 0; day < 20; day += 1) await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  await page.waitForURL(isDownDay);
  await page.getByRole('link', { name: /Night shift/ }).waitFor();
  t.is(await page.getByRole('link', { name: /Another day/ }).count(), 0);
  await page.getByRole('button', { name: 'All days' }).click();
  await page.getByRole('link', { name: /Another day/ }).waitFor();
  t.deepEqual(complaints, []);
});

/** Clicks on the day that many days ago in a strip of 90 days. */
async function clickDay(strip: Locator, daysAgo: number): Promise<void> {
  const { width = 0, height = 0 } = (await strip.boundingBox()) ?? {};
  await strip.click({ position: { x: ((89.5 - daysAgo) * width) / 90, y: height / 2 } });
}

async function findAtWidths(page: Page, what: string): Promise<string[]> {
  const problems: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    problems.push(...(await findSideways(page)).map((problem) => `${what} at ${width}: ${problem}`));
  }
  return problems;
}

/** Gives all texts of customers and targets their maximum length, without a space to break at. */
async function lengthenTexts({ database: { pool } }: ApiServer, { account, ids }: Furnished): Promise<void> {
  const { tenantId } = account;
  const [incident = ''] = ids.incident;
  const name = 'W'.repeat(255);
  const url = `https://shop.northwind.example/${'checkout-'.repeat(219)}`.slice(0, 2000);
  await pool.query('UPDATE monitors SET name = $2 WHERE tenant_id = $1', [tenantId, name]);
  await pool.query(`UPDATE monitors SET target = $2, body_match = $3 WHERE tenant_id = $1 AND type = 'http'`, [
    tenantId,
    url,
    name,
  ]);
  await pool.query('UPDATE incidents SET monitor_name = $2, reason = $3, sources_down = $4 WHERE tenant_id = $1', [
    tenantId,
    name,
    url,
    [name],
  ]);
  await pool.query('UPDATE incident_evidence SET source_name = $2, reason = $3 WHERE incident_id = $1', [
    incident,
    name,
    url,
  ]);
  await pool.query('UPDATE incident_notes SET text = $2, author = $3 WHERE incident_id = $1', [incident, url, name]);
  await pool.query('UPDATE maintenance_occurrences SET window_name = $2 WHERE tenant_id = $1', [tenantId, name]);
  await pool.query('UPDATE maintenance_windows SET description = $2 WHERE tenant_id = $1', [tenantId, url]);
  for (const table of ['channels', 'agents', 'api_tokens', 'maintenance_windows'])
    await pool.query(`UPDATE ${table} SET name = $2 WHERE tenant_id = $1`, [tenantId, name]);
  // The maximum length of a version that an agent reports.
  await pool.query('UPDATE agents SET version = left($2, 64), arch = left($2, 64) WHERE tenant_id = $1', [
    tenantId,
    name,
  ]);
  await pool.query(
    `UPDATE reports SET content = replace(content::text, 'http long', $2)::json,
       details = jsonb_build_object('days', jsonb_build_object($3::text, $4::jsonb), 'incidents', '[]'::jsonb,
         'service_gaps', '[]'::jsonb)
     WHERE tenant_id = $1`,
    [
      tenantId,
      name,
      ids.monitor[0],
      JSON.stringify([{ date: '2026-03-16', uptime_percent: 98.6, worst_state: 'down', response_ms: { p50: null } }]),
    ],
  );
  await pool.query('UPDATE tenants SET name = $2 WHERE id = $1', [tenantId, name]);
  await pool.query('UPDATE users SET name = $2 WHERE tenant_id = $1', [tenantId, name]);
  await pool.query('UPDATE audit_log SET object_name = $2 WHERE tenant_id = $1', [tenantId, name]);
  await pool.query('UPDATE delivery_attempts SET error = $2, response = $2 WHERE delivery_id = ANY($1::text[])', [
    ids.delivery,
    url,
  ]);
}

test('the less common actions of a monitor are in a menu that works by keyboard', async (t) => {
  const { account, ids } = await furnishAccount(t.context.api, 'menu');
  const { page, complaints } = await openAs(t, await addPerson(t.context.api, account.tenantId));
  await page.goto(`/monitors/${ids.monitor[0]}`);
  const more = page.getByRole('button', { name: 'More actions' });
  await more.focus();
  const clone = page.getByRole('link', { name: 'Clone' });
  t.is(await clone.count(), 0);
  await page.keyboard.press('Enter');
  await clone.waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('Tab');
  t.is(await page.evaluate('document.activeElement.textContent'), 'Maintenance');
  await page.keyboard.press('Escape');
  await clone.waitFor({ state: 'detached' });
  t.is(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'More actions');
  t.deepEqual(complaints, []);
});

test('the overview, incidents and monitor pages share the same left edge', async (t) => {
  const { account, ids } = await furnishAccount(t.context.api, 'edge');
  const { page } = await openAs(t, await addPerson(t.context.api, account.tenantId));
  for (const width of [1440, 1920]) {
    await page.setViewportSize({ width, height: HEIGHT });
    const edges: number[] = [];
    for (const path of ['/', '/incidents']) {
      await page.goto(path);
      edges.push((await page.getByRole('heading', { level: 1 }).boundingBox())?.x ?? 0);
    }
    await page.goto(`/monitors/${ids.monitor[0]}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    edges.push(
      await page.locator('main h1').evaluate((title) => title.closest('.rounded-xl')?.getBoundingClientRect().x ?? 0),
    );
    t.is(new Set(edges).size, 1, `${edges.join()} at ${width}`);
  }
});
