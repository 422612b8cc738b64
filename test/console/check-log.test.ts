import { readFile } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { pingTokenOf } from '../helpers/api-client.ts';
import { findBarriers } from '../helpers/browser.ts';
import { openSignedIn, withConsole, type ConsoleService } from '../helpers/console-service.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsoleService>;
withConsole(test);

test.serial('the check log is filtered by time and exported as CSV with the same filter', async (t) => {
  const { service } = t.context;
  const { json } = await service.call('POST', '/monitors', {
    name: 'Backup',
    type: 'heartbeat',
    interval_seconds: 3600,
  });
  const id = String(json['id']);
  const token = pingTokenOf(await service.call('GET', `/monitors/${id}`));
  t.is((await fetch(`${service.url}/ping/${token}`, { method: 'POST', body: '1412 files\n7 GB' })).status, 200);
  const listed = async () => (await service.call('GET', `/monitors/${id}/checks`)).json['checks'].length > 0;
  await until(listed);
  const { page, complaints } = await openSignedIn(t, `/monitors/${id}`);
  const log = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Pings', exact: true }) });
  await log.getByRole('listitem').first().waitFor();
  const all = await log.getByRole('listitem').count();
  await log.getByRole('listitem').first().getByRole('button').click();
  t.is(await log.getByRole('group', { name: 'Output of the job' }).textContent(), '1412 files\n7 GB');

  // A poll asks for the last minute first, and for the whole page after a ping.
  await page.waitForRequest(/\/checks\?.*since=/);
  t.is((await fetch(`${service.url}/ping/${token}`, { method: 'POST', body: '7 files' })).status, 200);
  await log.getByRole('listitem').nth(all).waitFor();
  t.is(await log.getByRole('listitem').count(), all + 1);

  const download = page.waitForEvent('download');
  await log.getByRole('link', { name: 'CSV' }).click();
  const file = await download;
  t.is(file.suggestedFilename(), `checks-${id}.csv`);
  const lines = (await readFile(await file.path(), 'utf8')).split('\r\n');
  t.regex(lines[0] ?? '', /^time,location,verdict,cause,reason,/);
  t.is(lines.length, all + 3);

  // The test's browser is in UTC.
  const local = (ms: number) => new Date(ms).toISOString().slice(0, 19);
  await log.getByLabel('From').fill(local(Date.now() + 3_600_000));
  await log.getByLabel('From').blur();
  await log.getByRole('listitem').first().waitFor({ state: 'detached' });
  await page.waitForURL(/since=\d+/);
  t.regex((await log.getByRole('link', { name: 'CSV' }).getAttribute('href')) ?? '', /since=\d+&until=\d+/);
  await log.getByLabel('To').fill(local(Date.now() - 3_600_000));
  await log.getByLabel('To').blur();
  await log.getByText('Must be after From').waitFor();
  t.deepEqual(await findBarriers(page), []);
  // A half-typed year stays in its field when the page re-renders.
  await log.getByLabel('From').fill('0202-01-01T10:00:01');
  await log.getByLabel('From').blur();
  await log.getByLabel('To').fill(local(Date.now() + 7_200_000));
  await log.getByLabel('To').blur();
  await log.getByRole('listitem').first().waitFor({ state: 'detached' });
  t.is(await log.getByLabel('From').inputValue(), '0202-01-01T10:00:01');
  await log.getByRole('button', { name: 'Clear time' }).click();
  await log.getByRole('listitem').first().waitFor();
  await log.getByLabel('From').fill(local(Date.now() - 3_600_000));
  await log.getByLabel('From').blur();
  await page.waitForURL(/since=\d+/);
  await log.getByRole('listitem').first().waitFor();
  t.deepEqual(complaints, []);
});
