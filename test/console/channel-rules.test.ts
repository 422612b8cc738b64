import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { createChannel, type NewChannel } from '../../models/alerts/channels.ts';
import { addPerson, type Person } from '../api/person.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { until } from '../helpers/until.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

const WHITE = 'rgb(255, 255, 255)';

type Context = ExecutionContext<ConsolePages>;

async function prepare(t: Context) {
  const account = await t.context.api.account();
  const { json: channel } = await account.owner('POST', '/v1/channels', { type: 'telegram', name: 'On call' });
  const { json: monitor } = await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://a.example/' });
  const person = (role: 'owner' | 'viewer' = 'owner') => addPerson(t.context.api, account.tenantId, { role });
  const rulesOf = async () => (await account.owner('GET', `/v1/channels/${channel.id}`)).json.rules;
  return { account, channelId: channel.id, monitorId: monitor.id, person, rulesOf };
}

async function openAt(t: Context, person: Person, path: string) {
  const opened = await open(t, person);
  await opened.page.goto(path);
  return opened;
}

test('rules are edited and validated in fields, saved, and shown as sentences', async (t) => {
  const { channelId, person, rulesOf } = await prepare(t);
  const { page, complaints } = await openAt(t, await person(), `/channels/${channelId}?tab=settings`);
  await page.getByText('Every event is sent at once.').waitFor();
  await page.getByRole('button', { name: 'Add a rule' }).click();
  const rule = page.getByRole('group', { name: 'Rule 1' });
  await rule.getByLabel('Degraded').uncheck();
  await rule.getByLabel('Unless acknowledged').check();
  await rule.getByLabel('At most (times)').fill('many');
  await rule.getByLabel('Quiet hours').selectOption({ label: 'Wait until they end' });
  await rule.getByLabel('Hours', { exact: true }).fill('at night');
  await page.getByRole('button', { name: 'Save rules' }).click();
  await rule.getByText('A whole number, 1 to 20').waitFor();
  await rule.getByText('Requires a delay or a repeat interval').waitFor();
  await rule.getByText('Use a format like Mo-Su 22:00-07:00').waitFor();
  t.deepEqual(await findBarriers(page), []);
  t.is(await rulesOf(), undefined);

  await rule.getByLabel('At most (times)').fill('3');
  await rule.getByLabel('Repeat every (minutes)').fill('30');
  await rule.getByLabel('After (minutes)').fill('15');
  await rule.getByLabel('Tags').fill('shop, env:prod');
  await rule.getByLabel('Hours', { exact: true }).fill('Mo-Su 22:00-07:00');
  await rule
    .getByText(
      'When down, unknown or recovered, of monitors tagged env:prod or shop, after 15 minutes, again every 30 ' +
        'minutes, up to 3 times, unless acknowledged, held during Mo-Su 22:00-07:00 (UTC).',
    )
    .waitFor();
  await page.getByRole('button', { name: 'Preview last 30 days' }).click();
  await page.getByText('0 alerts would have been sent in the last 30 days, 0 held back.').waitFor();
  await page.getByRole('button', { name: 'Save rules' }).click();
  await page.getByText('Rules saved').waitFor();
  t.deepEqual(await rulesOf(), [
    {
      events: ['monitor.down', 'monitor.unknown', 'monitor.up'],
      tags: ['env:prod', 'shop'],
      after_seconds: 900,
      repeat_seconds: 1800,
      repeat_max: 3,
      unless_acknowledged: true,
      quiet: { timezone: 'UTC', hours: 'Mo-Su 22:00-07:00', mode: 'defer' },
    },
  ]);
  await page.setViewportSize({ width: 320, height: 800 });
  t.deepEqual(await findSideways(page), []);

  const viewer = await openAt(t, await person('viewer'), `/channels/${channelId}?tab=settings`);
  await viewer.page.getByRole('listitem').filter({ hasText: 'When down, unknown or recovered' }).waitFor();
  t.is(await viewer.page.getByRole('button', { name: 'Save rules' }).count(), 0);
  await page.getByRole('button', { name: 'Remove rule 1' }).click();
  await page.getByRole('button', { name: 'Save rules' }).click();
  await until(async () => (await rulesOf()) === undefined);
  t.deepEqual(complaints, []);
});

/** Adds a connected channel and returns its id. */
async function addChannel(t: Context, tenantId: string, channel: Partial<NewChannel> & Pick<NewChannel, 'type'>) {
  const { api } = t.context;
  const id = api.makeId('nch');
  await createChannel(api.database, {
    id,
    tenantId,
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: Date.now(),
    author: null,
    ...channel,
  });
  return id;
}

/** A webhook whose URL receives no requests here. */
const HOOK = { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA', headers: {} };

/** Adds a channel and returns the path of its messages page. */
async function messagesOf(t: Context, tenantId: string, channel: Parameters<typeof addChannel>[2]) {
  return `/channels/${await addChannel(t, tenantId, channel)}?tab=messages`;
}

test('saving channel settings does not undo concurrent changes by another user', async (t) => {
  const { account, monitorId, person } = await prepare(t);
  const add = async (name: string) =>
    (await account.owner('POST', '/v1/monitors', { name, target: 'https://a.example/' })).json.id as string;
  const [blog, wiki] = [await add('Blog'), await add('Wiki')];
  const id = await addChannel(t, account.tenantId, {
    type: 'webhook',
    webhook: HOOK,
    allMonitors: false,
    monitorIds: [monitorId],
  });
  const change = (body: object) => account.owner('PATCH', `/v1/channels/${id}`, body);
  const stored = async () => (await account.owner('GET', `/v1/channels/${id}`)).json;
  await change({ rules: [{ after_seconds: 90 }] });
  const { page, complaints } = await openAt(t, await person(), `/channels/${id}?tab=settings`);
  await page.getByRole('list', { name: 'Monitors' }).getByRole('checkbox', { name: /Blog/ }).check();
  await page.getByLabel('Wait during maintenance and mutes').check();
  t.is(await page.getByLabel('After (minutes)').inputValue(), '1.5');
  await page.getByLabel('After (minutes)').fill('0');
  await change({ monitor_ids: [wiki], rules: [{ after_seconds: 100 }] });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  t.deepEqual(((await stored()).monitor_ids as string[]).toSorted(), [blog, wiki].toSorted());
  t.true((await stored()).follows_maintenance);

  await page.getByRole('button', { name: 'Save rules' }).click();
  await page
    .getByText('Someone else changed these rules. Reload to see the changes, or save again to replace them')
    .waitFor();
  t.deepEqual((await stored()).rules, [{ after_seconds: 100 }]);
  await page.getByRole('button', { name: 'Save rules' }).click();
  await page.getByText('Rules saved').waitFor();
  t.deepEqual((await stored()).rules, [{ after_seconds: 0 }]);

  await page.getByLabel('Format').selectOption({ label: 'ntfy' });
  await page.getByRole('link', { name: 'Messages', exact: true }).click();
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  t.is(await page.getByLabel('Format').inputValue(), 'ntfy');
  await page.getByRole('link', { name: 'Messages', exact: true }).click();
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.getByText(/^POST https/).waitFor();
  t.deepEqual(complaints, []);
});

test('a channel previews its messages as it would send them, or says why it would not', async (t) => {
  const { account, person, channelId } = await prepare(t);
  const { page, complaints } = await openAt(t, await person('viewer'), `/channels/${channelId}?tab=messages`);
  const telegram = page.getByLabel('Message in Telegram');
  await telegram.getByText('Down: Shop').waitFor();
  t.is(await telegram.locator('b').textContent(), 'Down: Shop');
  await page.getByText('Every event is sent at once.').waitFor();
  await page.getByRole('button', { name: 'Unstable', exact: true }).click();
  await telegram.getByText('Unstable: Shop').waitFor();
  await page.getByText('Currently, this channel does not summarize flapping.').waitFor();
  t.deepEqual(await findBarriers(page), []);

  const email = { type: 'email', address: 'oncall@customer.example', wantsReports: true } as const;
  await page.goto(await messagesOf(t, account.tenantId, email));
  await page.getByRole('button', { name: 'Report', exact: true }).click();
  const html = page.getByLabel('Email HTML');
  await html.getByRole('cell', { name: '99.702%' }).waitFor();
  t.is(await html.evaluate((box) => box.ownerDocument.defaultView?.getComputedStyle(box).backgroundColor), WHITE);
  await page.getByText('Plain text').click();
  await page.getByLabel('Email plain text').getByText('unsubscribe?token=***').waitFor();
  t.deepEqual(await findBarriers(page), []);

  const template = { method: 'POST', contentType: 'application/json', body: '{"text": {{ title }} }' } as const;
  const webhook = {
    url: 'https://hooks.example/key-of-the-hook',
    signingSecret: 'whsec_AAAA',
    headers: { Authorization: 'Bearer key-of-the-header' },
    format: { template },
  };
  await page.goto(await messagesOf(t, account.tenantId, { type: 'webhook', webhook }));
  await page.getByRole('alert').getByText('does not render valid JSON').waitFor();
  await page.getByText('POST https://hooks.example/***').waitFor();
  await page.getByLabel('Body').getByText('"monitor.down"').waitFor();
  await page.getByText('Headers', { exact: true }).click();
  await page.getByLabel('Headers').getByText('Authorization: ***').waitFor();
  t.false((await page.content()).includes('key-of-the'));
  t.deepEqual(await findBarriers(page), []);

  await page.setViewportSize({ width: 320, height: 800 });
  await page.goto(await messagesOf(t, account.tenantId, { type: 'slack' }));
  await page.getByLabel('Message', { exact: true }).selectOption({ label: 'Digest' });
  await page.getByLabel('Message in Slack').getByText('14 monitors: 14 down').waitFor();
  t.deepEqual(await findSideways(page), []);
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

test('a monitor is muted for 2 h and unmuted on its page, and its row shows the mute', async (t) => {
  const { account, monitorId, person } = await prepare(t);
  await addChannel(t, account.tenantId, { type: 'webhook', webhook: HOOK });
  await addChannel(t, account.tenantId, { type: 'webhook', webhook: HOOK, name: 'Quiet', followsMaintenance: true });
  const { page, complaints } = await openAt(t, await person(), `/monitors/${monitorId}`);
  await page.getByRole('button', { name: 'Mute', exact: true }).click();
  await page.getByLabel('From now, for').and(page.locator(':focus')).selectOption({ label: '2 h' });
  t.deepEqual(await findBarriers(page), []);
  await page.getByRole('dialog').getByText('Alerts to Pager are not held.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Mute' }).click();
  await page.getByText(/^Shop muted until .* Alerts to Pager are not held\.$/).waitFor();
  await page.getByText(/^Muted until /).waitFor();
  const viewer = await openAt(t, await person('viewer'), '/');
  await viewer.page.getByRole('link', { name: /Shop.*Muted until / }).waitFor();
  const mutedUntil = async () => (await account.owner('GET', `/v1/monitors/${monitorId}`)).json.muted_until ?? 0;
  t.true(Math.abs((await mutedUntil()) - Date.now() / 1000 - 7200) < 60);
  // Data loaded during the mute must not reappear after it.
  await page.reload();
  await page.getByRole('button', { name: 'Unmute' }).click();
  await until(async () => (await mutedUntil()) === 0);
  await page.getByRole('button', { name: 'Mute', exact: true }).waitFor();
  t.deepEqual(complaints, []);
});

test('input during a save stays unsaved, and the same change by two users is no conflict', async (t) => {
  const { account, monitorId, person } = await prepare(t);
  const { json: blog } = await account.owner('POST', '/v1/monitors', { name: 'Blog', target: 'https://a.example/' });
  const id = await addChannel(t, account.tenantId, {
    type: 'webhook',
    webhook: HOOK,
    allMonitors: false,
    monitorIds: [monitorId, blog.id],
  });
  const stored = async () => (await account.owner('GET', `/v1/channels/${id}`)).json;
  const { page, complaints } = await openAt(t, await person(), `/channels/${id}?tab=settings`);
  const name = page.getByLabel('Name', { exact: true });
  const save = page.getByRole('button', { name: 'Save', exact: true });
  await page.route(`**/v1/channels/${id}`, async (route) => {
    if (route.request().method() === 'PATCH' && (await name.inputValue()) === 'First') await name.fill('Second');
    await route.continue();
  });
  await name.fill('First');
  await save.click();
  await until(async () => (await stored()).name === 'First');
  await page.getByText('Saved', { exact: true }).waitFor();
  await save.click();
  await until(async () => (await stored()).name === 'Second');
  await save.and(page.locator('[aria-busy="false"]')).waitFor();

  await account.owner('PATCH', `/v1/channels/${id}`, { name: 'Third', rules: [{ after_seconds: 120 }] });
  await name.fill('Third');
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByLabel('After (minutes)').fill('2');
  await page.getByRole('button', { name: 'Save rules' }).click();
  await page.getByText('Rules saved').waitFor();
  const saved = page.getByText('Saved', { exact: true });
  await until(async () => (await saved.count()) === 0);
  await save.click();
  await saved.waitFor();
  t.is(await page.getByText('Someone else changed').count(), 0);

  // The same monitors in another order count as unchanged.
  const shop = page.getByRole('list', { name: 'Monitors' }).getByRole('checkbox', { name: /Shop/ });
  await shop.uncheck();
  await shop.check();
  await page.getByRole('link', { name: 'Messages', exact: true }).click();
  await page.getByText(/^POST https/).waitFor();
  t.deepEqual(complaints, []);
});

test('settings restored after a sign-in do not undo changes that others made meanwhile', async (t) => {
  const { account, person } = await prepare(t);
  const id = await addChannel(t, account.tenantId, { type: 'webhook', webhook: HOOK, rules: [{ after_seconds: 60 }] });
  const stored = async () => (await account.owner('GET', `/v1/channels/${id}`)).json;
  const { page } = await openAt(t, await person(), `/channels/${id}?tab=settings`);
  await page.getByLabel('After (minutes)').fill('5');
  await page.getByLabel('Name', { exact: true }).fill('Ours');
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Save rules' }).click();
  await page.getByLabel('Password').waitFor();
  await account.owner('PATCH', `/v1/channels/${id}`, { name: 'Theirs', rules: [{ after_seconds: 120 }] });
  await page.context().addCookies(cookies);
  await page.reload();
  await page.getByLabel('After (minutes)').waitFor();
  t.is(await page.getByLabel('After (minutes)').inputValue(), '5');
  await page.getByRole('button', { name: 'Save rules' }).click();
  await page.getByText('Someone else changed these rules.').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Someone else changed this channel.').waitFor();
  t.like(await stored(), { name: 'Theirs', rules: [{ after_seconds: 120 }] });
});

test('a new channel keeps its input while an unconfigured type is chosen, and warns before losing it', async (t) => {
  const { person } = await prepare(t);
  const { page, complaints } = await openAt(t, await person(), '/channels/new');
  await page.getByLabel('Format').selectOption({ label: 'Custom template' });
  await page.getByLabel('Body', { exact: true }).fill('{"text": {{ text | json }}}');
  await page.getByRole('radio', { name: 'Slack' }).check();
  await page.getByRole('heading', { name: 'Slack isn’t configured' }).waitFor();
  t.false(await page.getByLabel('Name', { exact: true }).isVisible());
  await page.getByRole('radio', { name: 'Webhook' }).check();
  t.is(await page.getByLabel('Body', { exact: true }).inputValue(), '{"text": {{ text | json }}}');
  await page.getByRole('link', { name: 'Incidents', exact: true }).first().click();
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Leave' }).click();
  await page.waitForURL('**/incidents');
  t.deepEqual(complaints, []);
});

test('failed alerts are not redelivered from a date outside 1970 to 2999', async (t) => {
  const { account, person } = await prepare(t);
  const id = await addChannel(t, account.tenantId, { type: 'webhook', webhook: HOOK });
  const { page, complaints } = await openAt(t, await person(), '/channels');
  const replays: string[] = [];
  page.on('request', (request) => request.url().endsWith('/replay') && replays.push(request.url()));
  await page.route(`**/v1/channels/${id}/deliveries*outcome=failed*`, (route) =>
    route.fulfill({ json: { deliveries: [] }, headers: { Link: '</v1/x?cursor=next>; rel="next"' } }),
  );
  await page.goto(`/channels/${id}`);
  await page.getByRole('button', { name: 'Redeliver failed' }).click();
  const dialog = page.getByRole('dialog', { name: 'Redeliver failed alerts' });
  await dialog.getByLabel('Period').selectOption({ label: 'Custom time' });
  await dialog.getByLabel('Failed since').fill('0026-11-01T10:00');
  await dialog.getByRole('button', { name: 'Redeliver' }).click();
  await dialog.getByText('Enter a date between 1970 and 2999').waitFor();
  t.deepEqual(replays, []);
  t.deepEqual(complaints, []);
});

test('draft rules that an earlier release stored in another format are dropped', async (t) => {
  const { account, channelId, person } = await prepare(t);
  await account.owner('PATCH', `/v1/channels/${channelId}`, { rules: [{ events: ['monitor.down'] }] });
  const editor = await person();
  const { page, complaints } = await openAt(t, editor, '/channels');
  const userId = (await editor.call('GET', '/v1/session')).json.user.id;
  const kept = JSON.stringify({ userId, drafts: { [`channel ${channelId} rules`]: [{ tags: 'earlier' }] } });
  await page.evaluate(`sessionStorage.setItem('drafts', ${JSON.stringify(kept)})`);
  await page.goto(`/channels/${channelId}?tab=settings`);
  await page.getByRole('group', { name: 'Rule 1' }).waitFor();
  t.is(await page.getByLabel('Tags', { exact: true }).last().inputValue(), '');
  t.deepEqual(complaints, []);
});

test('a preview is shown only for the rules that it is of, and a typed time zone goes with its rule', async (t) => {
  const { channelId, person } = await prepare(t);
  const { page, complaints } = await openAt(t, await person(), `/channels/${channelId}?tab=settings`);
  const rule = (number: number) => page.getByRole('group', { name: `Rule ${number}` });
  for (const number of [1, 2]) {
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await rule(number).getByLabel('Tags').fill(`number-${number}`);
    await rule(number).getByLabel('Quiet hours').selectOption({ label: 'Wait until they end' });
  }
  const preview = page.getByRole('button', { name: 'Preview last 30 days' });
  const found = page.getByText('would have been sent');
  await preview.click();
  await found.waitFor();
  await rule(1).getByLabel('Tags').fill('number-one');
  await found.waitFor({ state: 'detached' });
  const [requested, edited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/rules/preview', async (route) => {
    requested.resolve();
    await edited.promise;
    await route.continue();
  });
  await preview.click();
  await requested.promise;
  await rule(1).getByLabel('Tags').fill('number-1');
  edited.resolve();
  await preview.and(page.locator('[aria-busy="false"]')).waitFor();
  t.is(await found.count(), 0);

  await rule(1).getByLabel('Time zone').fill('xyz');
  await rule(1).getByLabel('Time zone').blur();
  await page.getByRole('button', { name: 'Remove rule 1' }).click();
  await until(async () => (await rule(1).getByLabel('Tags').inputValue()) === 'number-2');
  t.is(await rule(1).getByLabel('Time zone').inputValue(), 'UTC');
  await page.getByRole('button', { name: 'Save rules' }).click();
  await page.getByText('Rules saved').waitFor();
  t.deepEqual(complaints, []);
});
