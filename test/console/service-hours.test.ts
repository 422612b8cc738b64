import anyTest, { type TestFn } from 'ava';
import { periodAround } from '../../core/statistics/reports/periods.ts';
import { makeReport } from '../../workers/statistics/reports.ts';
import { addPerson } from '../api/person.ts';
import { addMonitor, addTransitions } from '../api/statistics/measured-monitor.ts';
import { findBarriers } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

const WEEK_SECONDS = 7 * 86_400;

test('service hours show all errors at once, are saved, shown on the monitor, and removed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const person = await addPerson(api, account.tenantId, { role: 'owner' });
  await person.call('PATCH', '/v1/user', { time_zone: 'America/New_York' });
  const { json: monitor } = await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://a.example/' });
  const { page, complaints } = await open(t, person);
  await page.goto(`/monitors/${monitor.id}/edit`);
  await page.getByText('Service hours', { exact: true }).click();
  const target = page.getByLabel('Target in service hours (%)');
  const hours = page.getByLabel('Hours', { exact: true });
  await target.fill('101');
  await hours.fill('Mo-Fr 8 to 8');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('Fix 2 errors').waitFor();
  await page.getByRole('alert').filter({ hasText: 'Between 0 and 100' }).waitFor();
  await page
    .getByRole('alert')
    .filter({
      hasText: 'A rule that cannot be read, "Mo-Fr 8 to 8": write them as in Mo-Fr 08:00-20:00; Sa 09:00-13:00',
    })
    .waitFor();
  t.deepEqual(await findBarriers(page), []);
  await target.fill('99.5');
  await hours.fill('Mo-Fr 08:00-20:00');
  const zone = page.getByLabel('Time zone');
  t.is(await zone.inputValue(), 'America/New York', 'the default is the time zone of the user');
  await zone.fill('Europe/Berlin');
  await zone.blur();
  await page.getByRole('checkbox', { name: 'Leave maintenance out' }).uncheck();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.waitForURL(/\/monitors\/mon_[^/]*$/);
  t.deepEqual((await account.owner('GET', `/v1/monitors/${monitor.id}`)).json['sla'], {
    target: 99.5,
    timezone: 'Europe/Berlin',
    hours: 'Mo-Fr 08:00-20:00',
    exclude_maintenance: false,
  });
  await page.getByText('99.5% of Mo-Fr 08:00-20:00, Europe/Berlin, maintenance counted').waitFor();
  await page.getByRole('heading', { name: /^Uptime target in service hours/ }).waitFor();
  await page.getByRole('heading', { name: /^Service hours 99\.5%/ }).waitFor();
  t.deepEqual(await findBarriers(page), []);

  await page.goto(`/monitors/${monitor.id}/edit`);
  await target.fill('');
  await hours.fill('');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.waitForURL(/\/monitors\/mon_[^/]*$/);
  t.is((await account.owner('GET', `/v1/monitors/${monitor.id}`)).json['sla'], null);
  t.deepEqual(complaints, []);
});

test('a monitor and its report show the uptime in service hours and whether the target was missed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const person = await addPerson(api, account.tenantId, { role: 'viewer' });
  const week = periodAround('week', Math.floor(Date.now() / 1000) - WEEK_SECONDS);
  const monday = week.startSeconds * 1000;
  const sla = { target: 99, timezone: 'UTC', hours: 'Mo-We 08:00-18:00' };
  const { id } = await addMonitor(api, account, { createdAtMs: monday, body: { sla, sla_target: 99.9 } });
  await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
    [monday, 'up'],
    [monday + 17 * 3_600_000, 'down'],
    [monday + 19 * 3_600_000, 'up'],
  ]);
  const { database, makeId: newId } = api;
  const nowMs = week.endSeconds * 1000;
  const made = { tenantId: account.tenantId, window: week, nowMs, isNotified: false };
  t.true((await makeReport({ database, newId, publicUrl: api.url }, made)).isMade);
  const [report] = (await account.reader('GET', '/v1/reports')).json['reports'];

  const { page, complaints } = await open(t, person);
  await page.goto(`/reports/${report?.id}`);
  await page.getByText('Service hours 99% missed').waitFor();
  await page.getByText('96.666% of Mo-We 08:00-18:00, UTC, −42 min of error budget left').waitFor();
  await page.getByText('0 of 1', { exact: true }).waitFor();
  t.deepEqual(await findBarriers(page), []);

  await page.goto(`/monitors/${id}?slo=90`);
  const service = page.getByRole('heading', { name: /^Service hours 99%/ }).locator('..');
  await service.getByText('Missed').waitFor();
  await service.getByText('1 h down', { exact: true }).waitFor();
  t.deepEqual(complaints, []);
});
