import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Locator } from 'playwright-core';
import { nearestKnown } from '../../console/plots/series.ts';
import { pingTokenOf } from '../helpers/api-client.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { rdapDomain, startRdapServer } from '../helpers/registry.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Expiry of the test domain, in 19.5 days: the started day counts as a whole one. */
const EXPIRY_MS = Date.now() + 19.5 * DAY_MS;

withConsole(test, async (harness) => {
  const registry = await startRdapServer(harness, (_request, response) =>
    response
      .writeHead(200, { 'Content-Type': 'application/rdap+json' })
      .end(rdapDomain('shop.com', new Date(EXPIRY_MS).toISOString())),
  );
  const bootstrap = await startHttpServer(harness, (_request, response) =>
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(
        JSON.stringify({ version: '1.0', publication: '2026-11-01T00:00:00Z', services: [[['com'], [registry.base]]] }),
      ),
  );
  return { RDAP_BOOTSTRAP_URL: `http://127.0.0.1:${bootstrap.port}/dns.json` };
});

async function create(t: ExecutionContext<ConsoleService>, settings: object): Promise<string> {
  const { status, json } = await t.context.service.call('POST', '/monitors', settings);
  t.is(status, 201, JSON.stringify(json));
  return json['id'];
}

/** Reports whether a row ends above the element at the bottom of the screen. */
async function isWhole(row: Locator, below: Locator): Promise<boolean> {
  const [upper, lower] = await Promise.all([row.boundingBox(), below.boundingBox()]);
  return upper !== null && lower !== null && upper.y + upper.height <= lower.y;
}

test.serial('an offline location is named and not counted, and the quorum is that of the remaining ones', async (t) => {
  const { service, databaseUrl } = t.context;
  const lab = 'agt_home_lab';
  await withClient(databaseUrl, (client) =>
    client.query(
      `INSERT INTO agents (id, tenant_id, kind, name, last_seen_at, created_at)
       SELECT $1, tenant_id, 'tenant', 'home-lab', extract(epoch FROM now())::bigint, 1 FROM users LIMIT 1`,
      [lab],
    ),
  );
  const { json: listed } = await service.call('GET', '/agents');
  const local = listed['agents'].find(({ name }: { name: string }) => name === 'local');
  const target = await startTarget(t);
  const id = await create(t, {
    name: 'Shop',
    target: target.url(),
    interval_seconds: 30,
    agent_sources: [local?.id, lab],
    down_min_sources: 2,
  });
  const reportFromLab = (secondsAgo: number) =>
    withClient(databaseUrl, (client) =>
      client.query(
        `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict)
         SELECT $2::bigint, s.monitor_no, s.agent_no, 80, 200, 1 FROM agents a
         JOIN monitor_sources s ON s.agent_no = a.no JOIN monitors m ON m.no = s.monitor_no AND m.id = $3
         WHERE a.id = $1`,
        [lab, Date.now() - secondsAgo * 1000, id],
      ),
    );
  await reportFromLab(1);
  await until(async () => (await service.call('GET', `/monitors/${id}`)).json['status'] === 'up');
  const { page, complaints } = await openSignedIn(t, `/monitors/${id}`);
  await page.getByRole('heading', { level: 1, name: 'Shop is up' }).waitFor();
  await page.getByRole('row', { name: /home-lab/ }).waitFor();
  t.is(await page.getByText(/home-lab: offline/).count(), 0);

  // The state after 90 s of silence, for which no test waits.
  await withClient(databaseUrl, (client) =>
    client.query('UPDATE agents SET last_seen_at = last_seen_at - 100, offline_at = $2 WHERE id = $1', [
      lab,
      Date.now(),
    ]),
  );
  await page.getByText(/home-lab: offline since .*, not counted\./).waitFor();
  await page.getByText('Down when the 1 remaining location fails.').waitFor();
  const row = page.getByRole('row', { name: /home-lab/ });
  await row.getByText('Offline', { exact: true }).waitFor();
  await row.getByText(/^since .*, not counted$/).waitFor();
  t.is(await page.getByText(/from 2 locations/).count(), 0);
  t.deepEqual(await findBarriers(page), []);
  // A single failing location makes the monitor down, as the page has announced.
  target.health.status = 503;
  await page.getByRole('heading', { level: 1, name: 'Shop is down' }).waitFor();
  await page.getByText(/^Failing from local\./).waitFor();
  t.deepEqual(complaints, []);
});

test.serial(
  'a domain that expires soon is degraded after its first lookup, with a consistent count of days',
  async (t) => {
    const id = await create(t, { name: 'Our domain', type: 'domain', target: 'shop.com', warn_days: 30 });
    const { page, complaints } = await openSignedIn(t, `/monitors/${id}`, { timezoneId: 'Asia/Tokyo' });
    await page.getByRole('heading', { level: 1, name: 'Our domain is degraded' }).waitFor();
    // The day is in UTC, as registries count, and the name is shown as registries write it.
    const day = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' }).format(EXPIRY_MS);
    await page.getByText(`shop.com expires on ${day}.`).first().waitFor();
    await page.getByText(`expires on ${day}, in 20 days`).waitFor();
    t.is(await page.getByText(/in 21 days|Shop\.com|\d{4}-\d{2}-\d{2}/).count(), 0);
    t.deepEqual(complaints, []);
  },
);

test.serial(
  'a heartbeat shows that it was never pinged, a start without a verdict, and a failure while down',
  async (t) => {
    const { service } = t.context;
    const id = await create(t, { name: 'Backup', type: 'heartbeat', interval_seconds: 1, grace_seconds: 1 });
    const { page, complaints } = await openSignedIn(t, `/monitors/${id}`);
    await page.getByRole('heading', { level: 1, name: 'Backup is down' }).waitFor();
    await page.getByText('Waiting for the first ping.').first().waitFor();
    await page.getByText(/^Other computers can’t open this URL: .* replace \S+:\d+ with an address/).waitFor();
    t.is(await page.getByText(/^Last ping/).count(), 0);

    const ping = pingTokenOf(await service.call('GET', `/monitors/${id}`));
    t.is((await fetch(`${service.url}/ping/${ping}/start`)).status, 200);
    const started = page.getByRole('button', { name: /Started/ });
    await started.first().waitFor();
    t.notRegex((await started.first().textContent()) ?? '', /vote|Inconclusive/i);
    t.is(
      (await fetch(`${service.url}/ping/${ping}/fail`, { method: 'POST', body: 'disk full: /dev/sda1' })).status,
      200,
    );
    await page.getByRole('button', { name: /Reported a failure: disk full: \/dev\/sda1/ }).waitFor();
    await page.getByText(/^Last ping (just now|\d+ (?:s|min) ago)\./).waitFor();

    const nightly = await create(t, { name: 'Nightly', type: 'heartbeat', interval_seconds: 3600 });
    await page.goto(`/monitors/${nightly}`);
    await page.getByRole('heading', { level: 1, name: 'Nightly: waiting for the first ping' }).waitFor();
    await page.getByText(/An alert is sent if no ping arrives in time\.$/).waitFor();
    const token = pingTokenOf(await service.call('GET', `/monitors/${nightly}`));
    t.is((await fetch(`${service.url}/ping/${token}/fail`, { method: 'POST', body: 'No space left.' })).status, 200);
    await page.getByText(/^For .*: The job reported a failure: "No space left\."$/).waitFor();
    t.deepEqual(complaints, []);
  },
);

test.serial('charts have custom ranges, the previous period, timings, SLO windows and the monitor age', async (t) => {
  const { service, databaseUrl } = t.context;
  const target = await startTarget(t);
  const id = await create(t, { name: 'Search', target: target.url(), interval_seconds: 3600, sla_target: 99.9 });
  await until(async () => (await service.call('GET', `/monitors/${id}`)).json['status'] === 'up');
  const { page, complaints } = await openSignedIn(t, `/monitors/${id}`, { timezoneId: 'Asia/Tokyo' });
  await page.getByText(/^Times in Asia\/Tokyo\. Created (just now|\d+ (?:s|min) ago)\.$/).waitFor();
  t.notRegex((await page.getByText(/No incidents since it was created/).textContent()) ?? '', /created, \d s ago/);

  await withClient(databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('UPDATE monitors SET created_at = created_at - 1728000 WHERE id = $1', [id]);
    await client.query(
      `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, detail)
       SELECT $2::bigint - n * 600000, s.monitor_no, s.agent_no, 80, 200, 1, '{"phases": "2 9 14 50 5"}'
       FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no, generate_series(1, 125) AS n WHERE m.id = $1`,
      [id, Date.now() - HOUR_MS],
    );
    // A roll-up in between would leave the results out.
    await client.query(`UPDATE service_marks SET at = at - 172800000 WHERE name = 'rollups'`);
    await client.query('COMMIT');
  });
  await page.goto(`/monitors/${id}?view=phases`);
  const plot = page.getByRole('slider', { name: /^Response time/ });
  await plot.focus();
  await page.keyboard.press('End');
  for (let presses = 0; presses < 30; presses += 1) await page.keyboard.press('ArrowLeft');
  // Of steps five minutes apart every other one has timings, so each shows those of the nearest.
  for (let presses = 0; presses < 4; presses += 1) {
    await page.keyboard.press('ArrowLeft');
    await until(async () =>
      /: Download 5.* ms, Wait 50.* ms, .*DNS 2.* ms$/.test((await plot.getAttribute('aria-valuetext')) ?? ''),
    );
    await page.getByRole('button', { name: /^DNS\s*2.* ms$/ }).waitFor();
  }

  await page.goto(`/monitors/${id}`);
  await page.getByRole('button', { name: 'Custom' }).click();
  const dialog = page.getByRole('dialog', { name: 'Custom range' });
  const inTokyo = (ms: number) => new Date(ms + 9 * HOUR_MS).toISOString().slice(0, 16);
  const to = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 4 * HOUR_MS;
  await dialog.getByLabel('From').fill(inTokyo(to));
  await dialog.getByLabel('To').fill(inTokyo(to - HOUR_MS));
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByText('The start must be before the end.').waitFor();
  await dialog.getByLabel('From').fill(inTokyo(to - 4 * HOUR_MS));
  await dialog.getByLabel('To').fill(inTokyo(to));
  t.deepEqual(await findBarriers(page), []);
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await page.waitForURL(new RegExp(`from=${to / 1000 - 4 * 3600}&to=${to / 1000}`));

  const isBefore = (url: URL) =>
    url.pathname.endsWith('/stats') && url.searchParams.get('to') === String(to / 1000 - 4 * 3600);
  await page.route(isBefore, (route) => route.fulfill({ status: 500, json: { error: 'internal error' } }));
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL(/compare=1/);
  await page.getByText('Couldn’t load the period to compare with').waitFor();
  await page.unroute(isBefore);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: /^p50, previous period\s*\d.* ms$/ }).waitFor();
  await until(async () => /p50, previous period \d/.test((await plot.getAttribute('aria-valuetext')) ?? ''));

  await page.getByText('last 30 days').waitFor();
  await page.getByRole('group', { name: 'SLO window' }).getByRole('button', { name: '7 days' }).click();
  await page.getByText('last 7 days').waitFor();
  await page.waitForURL(/slo=7/);
  t.regex(page.url(), /compare=1/);
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

test.serial('an overdue monitor is marked in its row and on its page until a check has run', async (t) => {
  const { service, databaseUrl } = t.context;
  const target = await startTarget(t);
  const id = await create(t, { name: 'Warehouse', target: target.url(), interval_seconds: 18_000 });
  await until(async () => (await service.call('GET', `/monitors/${id}`)).json['status'] === 'up');
  // The state 20 hours after the last check, with nothing due in between.
  await withClient(databaseUrl, async (client) => {
    await client.query(
      'UPDATE monitors SET created_at = created_at - 172800, updated_at = updated_at - 172800 WHERE id = $1',
      [id],
    );
    const ofMonitor = 'monitor_no = (SELECT no FROM monitors WHERE id = $1)';
    await client.query(`DELETE FROM check_results WHERE ${ofMonitor}`, [id]);
    await client.query(
      `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict)
       SELECT $2::bigint, monitor_no, agent_no, 80, 200, 1 FROM monitor_sources WHERE ${ofMonitor}`,
      [id, Date.now() - 20 * HOUR_MS],
    );
  });
  // More rows than fit on a screen.
  for (let n = 0; n < 15; n += 1) await create(t, { name: `Job ${n}`, type: 'heartbeat', interval_seconds: 3600 });
  const { page, complaints } = await openSignedIn(t, '/');
  const row = page.getByRole('link', { name: /Warehouse/ });
  const since = /No checks since \w+ \d+(?:, \d{4})?, \d\d:\d\d/;
  await row.getByText(since).waitFor();
  await row.getByText('Overdue', { exact: true }).waitFor();
  const warning = page.getByRole('status').filter({ hasText: '1 monitor overdue: its checks do not run on time.' });
  await warning.waitFor();
  await page.getByRole('heading', { level: 1, name: /1 (overdue|of \d+ monitors overdue)$/ }).waitFor();
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: /^Overdue\s*1$/ }).click();
  await page.getByRole('link', { name: /Warehouse/ }).waitFor();
  await page.getByRole('button', { name: /^Overdue\s*1$/ }).click();
  await row.waitFor();
  await page.goto('/?status=up');
  await warning.waitFor();
  await row.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^All\b/ }).click();
  await row.waitFor();
  for (const width of [320, 820]) {
    await page.setViewportSize({ width, height: 800 });
    await row.getByText(since).waitFor();
    t.deepEqual(await findSideways(page), []);
    for (const key of ['k', 'j']) for (let presses = 0; presses < 25; presses += 1) await page.keyboard.press(key);
    await until(() => isWhole(page.locator('main a:focus'), warning));
    await page.locator('main').evaluate((main) => main.scrollTo(0, main.scrollHeight));
    await until(() => isWhole(page.getByRole('list', { name: 'Monitors' }).getByRole('link').last(), warning));
    await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
  }
  await row.click();
  await page.getByRole('heading', { level: 1, name: 'Warehouse was up at its last check' }).waitFor();
  await page.getByText(/^No checks since \w+ \d+(?:, \d{4})?, \d\d:\d\d: overdue, expected every 5 hours\.$/).waitFor();
  await page.getByText('Its status may have changed since.').waitFor();
  t.regex(await page.title(), /^Overdue · Warehouse/);
  t.deepEqual(await findBarriers(page), []);

  await page.getByRole('button', { name: 'Check now' }).click();
  await page.getByRole('heading', { level: 1, name: 'Warehouse is up' }).waitFor();
  t.is(await page.getByText(/overdue/).count(), 0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('link', { name: 'Monitors' }).first().click();
  await page.getByRole('searchbox').fill('Warehouse');
  await row.getByText(/^(just now|\d+ (?:s|min) ago)$/).waitFor();
  await warning.waitFor({ state: 'detached' });
  t.is(await row.getByText(/Overdue|No checks/).count(), 0);
  t.deepEqual(complaints, []);
});

test('the nearest known value is used unless it is too far away', (t) => {
  const moments = [0, 300, 600, 900, 1200, 1500];
  const lines = [{ name: 'DNS', values: [1, null, null, null, 5, null], color: 'plot-1', width: 1 }];
  const found = moments.map((_, index) => nearestKnown(moments, lines, { index, withinSeconds: 300 }));
  t.deepEqual(found, [0, 0, 2, 4, 4, 4]);
});
