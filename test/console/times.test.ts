import anyTest, { type TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { fromWallTime, toWallTime } from '../../console/parts/wall-time.ts';
import { findBarriers } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { insertReport } from '../helpers/stored-report.ts';
import { startTarget } from '../helpers/target.ts';
import { startReceiver, type Receiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

const test = anyTest as TestFn<ConsoleService>;

let receiver: Receiver | null = null;
withConsole(test, async (harness) => {
  receiver = await startReceiver(harness);
  return { NODE_EXTRA_CA_CERTS: receiver.caFile };
});

/** Returns the text of an element with all whitespace as plain spaces: some formats use narrow ones. */
async function textOf(page: Page, selector: string): Promise<string> {
  return ((await page.locator(selector).first().textContent()) ?? '').replaceAll(/\s+/g, ' ');
}

test.serial('a report uses UTC and English regardless of the time zone and language of the browser', async (t) => {
  const { service, databaseUrl } = t.context;
  const { json } = await service.call('POST', '/monitors', { name: 'Shop' });
  await insertReport(databaseUrl, json['id']);
  const { page, complaints } = await openSignedIn(t, '/reports/rep_test', {
    locale: 'de-DE',
    timezoneId: 'America/Los_Angeles',
  });
  await page.getByRole('heading', { level: 1, name: /^Mar 16.*22, 2026$/ }).waitFor();
  await page.getByText(/All times in UTC\. Created Mar 23, 2026, 00:00:00 UTC\./).waitFor();
  // In that zone it was the evening of the 17th; the red bar is that of the 18th.
  await page.getByRole('link', { name: /^Mar 18, (2026, )?02:00 UTC$/ }).waitFor();
  await page.getByText('10,000 checks').waitFor();
  await page.getByText('Mar 16', { exact: true }).first().waitFor();
  await page.getByRole('cell', { name: '99.800%' }).first().waitFor();
  const strip = page.getByRole('img', { name: 'Uptime by day: 1 of 7 days with downtime' });
  const fills = await strip
    .locator('g > rect')
    .evaluateAll((bars) => bars.map((bar) => bar.ownerDocument.defaultView?.getComputedStyle(bar).fill));
  const colors = await page.evaluate(`['up-soft', 'down-fill', 'degraded-fill', 'nothing'].map((name) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(--' + name + ')';
    return getComputedStyle(probe).color;
  })`);
  t.deepEqual([fills[0], fills[2], fills[4], fills[5]], colors, 'the strip has the usual colors');
  t.is(await strip.locator('path').count(), 1, 'the day without data is hatched');
  t.deepEqual(complaints, []);
});

test.serial('each user chooses a time zone and clock, which are stored and shown beside times', async (t) => {
  const { service, databaseUrl } = t.context;
  const { json } = await service.call('POST', '/monitors', { name: 'Kept', type: 'heartbeat' });
  const path = `/monitors/${json['id']}`;
  await withClient(databaseUrl, (client) =>
    client.query('UPDATE monitors SET created_at = $2, updated_at = $2 WHERE id = $1', [
      json['id'],
      Date.UTC(2026, 10, 20, 16, 30, 5) / 1000,
    ]),
  );
  const { page, complaints } = await openSignedIn(t, path, { locale: 'fr-FR', timezoneId: 'Europe/Paris' });
  await page.getByText('Nov 20, 2026, 17:30:05 GMT+1').waitFor();
  await page.getByText('Times in Europe/Paris').first().waitFor();
  t.regex(await textOf(page, 'div:has(> dt:text-is("Next ping expected"))'), / GMT\+[12]$/);

  await page.goto('/settings');
  const zone = page.getByLabel('Time zone');
  await zone.waitFor();
  const names = (await page.evaluate(
    `[...document.querySelectorAll('datalist option')].map(({ value }) => value)`,
  )) as string[];
  for (const name of ['Asia/Kolkata', 'Europe/Kyiv', 'Asia/Kathmandu']) t.true(names.includes(name), name);
  t.false(names.includes('Asia/Calcutta'));
  await zone.fill('Atlantis');
  await zone.press('Enter');
  await page.getByText('Choose a time zone from the list').waitFor();
  await zone.fill('asia/tokyo');
  await zone.press('Enter');
  await page.getByText(/^Now: .* GMT\+9$/).waitFor();
  await page.getByRole('group', { name: 'Clock' }).getByRole('button', { name: '12-hour' }).click();
  await page.getByText(/^Now: .*[AP]M GMT\+9$/).waitFor();
  t.deepEqual(await findBarriers(page), []);

  const other = await openSignedIn(t, path, { locale: 'en-US', timezoneId: 'America/New_York' });
  await other.page.getByText(/^Nov 21, 2026, 1:30:05\sAM GMT\+9$/).waitFor();
  await other.page.getByText('Times in Asia/Tokyo').first().waitFor();
  await other.page.goto('/settings');
  await other.page.getByLabel('Time zone').fill('UTC');
  await other.page.keyboard.press('Enter');
  await other.page.getByText(/^Now: .*[AP]M UTC$/).waitFor();
  await other.page.getByLabel('Time zone').fill('Browser');
  await other.page.keyboard.press('Enter');
  await other.page.getByText(/^Now: .*[AP]M E[SD]T$/).waitFor();
  const stored = other.page.waitForResponse((response) => response.request().method() === 'PATCH');
  await other.page.getByRole('group', { name: 'Clock' }).getByRole('button', { name: 'Browser' }).click();
  t.true((await stored).ok());
  // Chromium still uses the name Calcutta.
  const india = await openSignedIn(t, path, { timezoneId: 'Asia/Kolkata' });
  await india.page.getByText('Times in Asia/Kolkata').first().waitFor();
  t.deepEqual([...complaints, ...other.complaints, ...india.complaints], []);
});

test.serial('outages are timed to the second, short durations tick, and future times are not "just now"', async (t) => {
  const { service } = t.context;
  if (receiver === null) return t.fail('there is no receiver');
  const { status, json: channel } = await service.call('POST', '/channels', { type: 'webhook', url: receiver.url });
  t.is(status, 201);
  receiver.answer.status = 500;
  const target = await startTarget(t);
  target.health.status = 503;
  const settings = { name: 'Search', target: target.url(), interval_seconds: 3600, down_after_failures: 1 };
  const { json } = await service.call('POST', '/monitors', settings);
  const { page, complaints } = await openSignedIn(t, `/monitors/${json['id']}`, {
    locale: 'de-DE',
    timezoneId: 'Asia/Kolkata',
  });
  await page.getByRole('heading', { level: 1, name: 'Search is down' }).waitFor();
  await page.getByText('Times in Asia/Calcutta').or(page.getByText('Times in Asia/Kolkata')).first().waitFor();
  t.regex(await textOf(page, 'li button .whitespace-nowrap span'), /^[A-Z][a-z]{2} \d{1,2}, \d{2}:\d{2}:\d{2}$/);

  await page.getByRole('link', { name: 'View incident' }).click();
  await page.locator('ol time').first().waitFor();
  t.regex(await textOf(page, 'ol time'), /^[A-Z][a-z]{2} \d{1,2}, \d{2}:\d{2}:\d{2}$/);

  await page.goto(`/channels/${channel['id']}`);
  await page
    .getByText(/in a few seconds/)
    .first()
    .waitFor();

  await page.goto(`/monitors/${json['id']}`);
  await page.getByRole('button', { name: 'Pause' }).click();
  // Three consecutive seconds: a clock that ticks every ten seconds skips some.
  await page.evaluate(`new Promise((resolve) => {
    const seen = new Set();
    const look = () => {
      seen.add(Number(/For (\\d+) s, since/.exec(document.body.textContent)?.[1]));
      if ([...seen].some((each) => seen.has(each + 1) && seen.has(each + 2))) resolve();
      else requestAnimationFrame(look);
    };
    look();
  })`);
  t.deepEqual(complaints, []);
});

for (const [wrong, byMs] of [
  ['a minute behind', -60_000],
  ['a day ahead', 86_400_000],
] as const) {
  test.serial(`times follow the clock of the service if that of the browser is ${wrong}`, async (t) => {
    const { page } = await openSignedIn(t, '/settings/sessions');
    await page.clock.setFixedTime(Date.now() + byMs);
    await page.goto('/settings/sessions');
    const current = page.getByRole('row').filter({ hasText: 'Current session' });
    await current
      .getByText(/^(just now|\d+ (?:s|min) ago)$/)
      .first()
      .waitFor();
    t.notRegex((await current.textContent()) ?? '', /in \d+ (s|min)|in 1 min|in a few seconds/);
    await current.getByText(/^in 1[34] d/).waitFor();
  });
}

test.serial('incidents are grouped by day in the chosen time zone, with English names', async (t) => {
  const { databaseUrl } = t.context;
  await withClient(databaseUrl, (client) =>
    client.query(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
         detected_at, resolved_at, resolution)
       SELECT 'inc_of_march', tenant_id, 'mon_gone', 'Gone', 'down', 'HTTP 500 instead of 2xx', '{}', $1::bigint,
         $1::bigint, $1::bigint + 60000, 'recovered' FROM users LIMIT 1`,
      [Date.UTC(2026, 2, 5, 22, 15)],
    ),
  );
  const { page, complaints } = await openSignedIn(t, '/incidents?monitor_id=mon_gone', {
    locale: 'de-DE',
    timezoneId: 'Asia/Kolkata',
  });
  await page.getByText('Friday, March 6, 2026').waitFor();
  await page.getByRole('link', { name: /Gone.*03:45/ }).waitFor();
  t.deepEqual(complaints, []);
});

test('wall times of a zone convert back to the same moment, even around DST changes', (t) => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'])
    for (const at of [Date.UTC(2026, 2, 8, 6, 30), Date.UTC(2026, 9, 25, 3), Date.UTC(2026, 10, 23, 12, 5)])
      t.is(fromWallTime(toWallTime(at / 1000, zone), zone), at / 1000, `${zone} ${at}`);
  t.is(toWallTime(Date.UTC(2026, 10, 23, 23) / 1000, 'Asia/Tokyo'), '2026-11-24T08:00:00');
  // In Berlin half past two did not exist that night: the clocks went from two to three.
  t.is(fromWallTime('2026-03-29T02:30', 'Europe/Berlin'), Date.UTC(2026, 2, 29, 1, 30) / 1000);
  t.is(fromWallTime('2026-03-08T02:30', 'America/New_York'), Date.UTC(2026, 2, 8, 7, 30) / 1000);
  t.is(fromWallTime('', 'UTC'), null);
  // Values of an input while a year is typed, or has a digit too many.
  for (const year of ['0002', '0020', '0202', '20260', '9999']) t.is(fromWallTime(`${year}-03-08T02:30`, 'UTC'), null);
});
