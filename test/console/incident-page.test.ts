import anyTest, { type TestFn } from 'ava';
import type { Locator } from 'playwright-core';
import { buildAgentMessage } from '../../core/agents/message.ts';
import { buildTestMessage } from '../../core/alerts/envelope.ts';
import { DAY_MS } from '../../core/time.ts';
import { createInvitation, generateInvitationToken } from '../../models/accounts/invitations.ts';
import { insertDeliveries } from '../../models/alerts/deliveries.ts';
import { insertTransitions } from '../../models/incidents/history.ts';
import { runOn } from '../../models/sql.ts';
import { send } from '../api/api-server.ts';
import { addPerson, PASSWORD, type Person } from '../api/person.ts';
import { addTransitions } from '../api/statistics/measured-monitor.ts';
import { furnishAccount } from '../attackers/furnished-account.ts';
import { findBarriers, findSideways } from '../helpers/browser.ts';
import { withConsolePages, type ConsolePages } from '../helpers/console-pages.ts';
import { totpCode } from '../helpers/totp.ts';

const test = anyTest as TestFn<ConsolePages>;
const open = withConsolePages(test);

/** Returns a text with all whitespace as plain spaces: some formats use narrow ones. */
async function textOf(place: Locator): Promise<string> {
  return ((await place.textContent()) ?? '').replaceAll(/\s+/g, ' ');
}

test('a recovery shows that too few locations agree, and alerts show their time to the second', async (t) => {
  const { api } = t.context;
  const { account, person, agent, ids } = await furnishAccount(api, 'quorum');
  const [monitor = '', incident = '', channel = ''] = [ids.monitor[0], ids.incident[0], ids.channel[0]];
  const run = runOn(api.database.pool);
  const [begun] = await run<{ atMs: number }>('SELECT started_at AS "atMs" FROM incidents WHERE id = $1', [incident]);
  const endMs = (begun?.atMs ?? 0) + 600_000;
  const said = { agentNo: agent.no, fresh: true, newestAtMs: endMs, decidedBy: [], streak: [] };
  const sources = [
    { ...said, name: 'frankfurt', standing: 'votes', vote: 'up' },
    { ...said, name: 'virginia', standing: 'votes', vote: 'down' },
    { ...said, name: 'hanoi', standing: 'offline', vote: 'down', fresh: false },
  ];
  await insertTransitions(run, [
    {
      monitorId: monitor,
      tenantId: account.tenantId,
      sequence: 2,
      from: 'down',
      to: 'up',
      atMs: endMs,
      detectedAtMs: endMs,
      cause: null,
      reason: null,
      evidence: { sources },
    },
  ]);
  await run(`UPDATE incidents SET resolved_at = $2, resolution = 'recovered' WHERE id = $1`, [incident, endMs]);
  const sentMs = (begun?.atMs ?? 0) + 5000;
  const message = { ...buildTestMessage({ nowMs: sentMs, publicUrl: api.url }), detail: { incident_id: incident } };
  await run(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at)
     VALUES ($1, $2, $3, $4, 'monitor.down', $5, $6, $6)`,
    [api.makeId('dlv'), account.tenantId, channel, monitor, JSON.stringify(message), sentMs],
  );

  const { page, complaints } = await open(t, person, { timezoneId: 'Asia/Tokyo' });
  await page.goto(`/incidents/${incident}`);
  const recovery = page
    .getByRole('listitem')
    .filter({ hasText: /^Recovered/ })
    .first();
  await recovery.getByText('1 of 2 locations still down: too few to agree').waitFor();
  t.deepEqual(
    await recovery.getByRole('list', { name: 'Results by location' }).getByRole('listitem').allTextContents(),
    ['frankfurt up', 'virginia down', 'hanoi agent offline'],
  );
  const inTokyo = new Intl.DateTimeFormat('en-US', {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZone: 'Asia/Tokyo',
  }).format(sentMs);
  const sent = page.getByRole('table', { name: 'Notifications' }).getByRole('row', { name: /channel quorum/ });
  await sent.waitFor();
  t.true((await textOf(sent)).endsWith(inTokyo), `${await textOf(sent)} has ${inTokyo}`);
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

test('a delivery about an agent links to it, in the log and in its details', async (t) => {
  const { api } = t.context;
  const { account, person, agent, ids } = await furnishAccount(api, 'lab');
  const [channel = ''] = ids.channel;
  const nowMs = Date.now();
  const message = buildAgentMessage({
    agent: { id: agent.id, name: agent.name, region: null },
    state: 'offline',
    atMs: nowMs,
    lastSeenAt: Math.floor(nowMs / 1000) - 100,
    publicUrl: api.url,
  });
  await insertDeliveries(runOn(api.database.pool), [
    {
      id: api.makeId('dlv'),
      tenantId: account.tenantId,
      channelId: channel,
      monitorId: null,
      message,
      createdAtMs: nowMs,
    },
  ]);
  const { page, complaints } = await open(t, person);
  await page.goto(`/channels/${channel}`);
  const row = page.getByRole('row', { name: /^Agent offline/ });
  await row.getByRole('link', { name: 'agent lab' }).waitFor();
  await row.getByRole('link', { name: /Agent offline/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Agent offline: agent lab' });
  await dialog.getByRole('link', { name: 'agent lab' }).click();
  await page.waitForURL(`**/agents/${agent.id}`);
  t.deepEqual(complaints, []);
});

test('an unsent alert shows why, and a held one until when', async (t) => {
  const { api } = t.context;
  const { account, person, ids } = await furnishAccount(api, 'held');
  const [monitorId = '', incident = '', channelId = ''] = [ids.monitor[0], ids.incident[0], ids.channel[0]];
  const run = runOn(api.database.pool);
  const { tenantId } = account;
  const name = (await account.owner('GET', `/v1/monitors/${monitorId}`)).json.name as string;
  const nowMs = Date.now();
  const add = async (reason: string, outcome: 'pending' | 'superseded', holder: string | null = null) => {
    const id = api.makeId('dlv');
    const message = { ...buildTestMessage({ nowMs, publicUrl: api.url }), detail: { incident_id: incident } };
    const [next, finished] = outcome === 'pending' ? [nowMs + 2 * DAY_MS, null] : [nowMs, nowMs];
    await run(
      `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, outcome, next_attempt_at,
         finished_at, created_at) VALUES ($1, $2, $3, $4, 'monitor.down', $5, $6, $7, $8, $9)`,
      [id, tenantId, channelId, monitorId, JSON.stringify(message), outcome, next, finished, nowMs],
    );
    await run('INSERT INTO held_deliveries (delivery_id, reason, held_by) VALUES ($1, $2, $3)', [id, reason, holder]);
    return id;
  };
  await add('quiet_hours', 'pending');
  await add('delay', 'superseded');
  const joined = await add('parent', 'superseded', monitorId);
  const { page, complaints } = await open(t, person);
  await page.goto(`/channels/${channelId}`);
  await page.getByRole('row', { name: /Waiting: ?quiet hours, until [A-Z][a-z]+ \d/ }).waitFor();
  await page.getByRole('row', { name: /Not sent separately: ?rule delay/ }).waitFor();
  await page.goto(`/channels/${channelId}?delivery=${joined}`);
  const dialog = page.getByRole('dialog');
  await dialog
    .getByRole('status')
    .filter({ hasText: `Not sent separately: parent ${name}` })
    .waitFor();
  await dialog.getByText('Parent', { exact: true }).waitFor();
  t.is(await dialog.getByRole('link', { name }).count(), 2);
  await page.goto(`/incidents/${incident}`);
  await page.getByRole('row', { name: /Waiting: ?quiet hours/ }).waitFor();
  t.deepEqual(complaints, []);
});

test("incidents are filtered by dates in the user's time zone, including those that began earlier", async (t) => {
  const { api } = t.context;
  const { account, person, ids } = await furnishAccount(api, 'dates');
  const add = (id: string, startMs: number, endMs: number) =>
    api.database.pool.query(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
         detected_at, resolved_at, resolution)
       VALUES ($1, $2, 'mon_gone', $1, 'down', 'HTTP 503', '{}', $3, $3, $4, 'recovered')`,
      [id, account.tenantId, startMs, endMs],
    );
  // In Tokyo: one at 07:15 on the 6th, and one that ends at 08:00 on the 6th.
  await add('inc_morning', Date.UTC(2026, 2, 5, 22, 15), Date.UTC(2026, 2, 5, 22, 20));
  await add('inc_night', Date.UTC(2026, 2, 4, 10), Date.UTC(2026, 2, 5, 23));
  await add('inc_later', Date.UTC(2026, 2, 6, 15), Date.UTC(2026, 2, 6, 16));
  const { page, complaints } = await open(t, person, { timezoneId: 'Asia/Tokyo' });
  await page.goto('/incidents?status=resolved');
  const row = (name: string) => page.getByRole('link', { name: new RegExp(name) });
  await row('inc_later').waitFor();
  await page.getByLabel('Period').selectOption('Custom dates');
  await page.getByLabel('From').fill('2026-03-06');
  await page.getByLabel('To', { exact: true }).fill('2026-03-06');
  await page.getByLabel('To', { exact: true }).press('Tab');
  await page.waitForURL(/from=2026-03-06&to=2026-03-06/);
  await row('inc_later').waitFor({ state: 'detached' });
  await row('inc_morning').waitFor();
  await row('inc_night').waitFor();
  await page.getByText('Times in Asia/Tokyo').waitFor();
  t.deepEqual(await findBarriers(page), []);
  for (const width of [320, 768, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    t.deepEqual(await findSideways(page), []);
  }
  await page.getByLabel('From').fill('2026-03-07');
  await page.getByLabel('From').press('Tab');
  await page.getByText('Must not be before From').waitFor();
  await page.getByLabel('To', { exact: true }).fill('');
  await page.getByLabel('To', { exact: true }).press('Tab');
  await row('inc_later').waitFor();
  t.is(await row('inc_morning').count(), 0);
  await page.getByLabel('Period').selectOption('Any time');
  await row('inc_morning').waitFor();
  t.false(new URL(page.url()).searchParams.has('from'));

  await page.getByLabel('Period').selectOption('Custom dates');
  // The state of the field after the first digit of a year.
  await page.getByLabel('From').fill('0002-03-06');
  await page.getByLabel('From').press('Tab');
  t.is(await page.getByLabel('From').inputValue(), '0002-03-06');
  t.false(new URL(page.url()).searchParams.has('from'));
  await api.database.pool.query('UPDATE incidents SET started_at = $2, detected_at = $2 WHERE id = $1', [
    ids.incident[0],
    Date.now() - 3 * DAY_MS,
  ]);
  await page.goto('/incidents?period=1d');
  await page.getByRole('region', { name: 'Open' }).getByRole('link', { name: /dates/ }).waitFor();
  t.deepEqual(complaints, []);
});

test('the color of the error budget is also given in words: within, at risk and exhausted', async (t) => {
  const { api } = t.context;
  const { account, person, ids } = await furnishAccount(api, 'budget');
  const [id = ''] = ids.monitor;
  const startMs = Date.now() - 10 * DAY_MS;
  const { pool } = api.database;
  await pool.query(`UPDATE monitors SET state = 'up', sla_target = 99, created_at = $2 WHERE id = $1`, [
    id,
    Math.floor(startMs / 1000),
  ]);
  const { page, complaints } = await open(t, person);
  // Ten days allow 8,640 s of downtime.
  for (const [downSeconds, words] of [
    [4000, '46% of the error budget used · at risk over 75%'],
    [7000, '81% of the error budget used · at risk: over 75% (amber)'],
    [9000, '104% of the error budget used · exhausted (red)'],
  ] as const) {
    await pool.query('DELETE FROM transitions WHERE monitor_id = $1', [id]);
    await addTransitions(api, { tenantId: account.tenantId, monitorId: id }, [
      [startMs, 'up'],
      [startMs + DAY_MS, 'down'],
      [startMs + DAY_MS + downSeconds * 1000, 'up'],
    ]);
    await page.goto(`/monitors/${id}`);
    await page.getByText(words, { exact: true }).waitFor();
  }
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

/** Sets up two-factor authentication. */
async function turnOnTotp({ call }: Person): Promise<void> {
  const { json } = await call('POST', '/v1/user/totp', { password: PASSWORD });
  await call('POST', '/v1/user/totp/confirm', { code: totpCode(json.secret, Math.floor(Date.now() / 30_000)) });
}

test('the audit log says “your” and “their” for changes to oneself, and names other users', async (t) => {
  const { api } = t.context;
  const { tenantId } = await api.account();
  const ada = await addPerson(api, tenantId, { mark: 'Ada' });
  const bob = await addPerson(api, tenantId, { mark: 'Bob' });
  const nameOf = ({ user }: Person) => `${user.name} (${user.email})`;
  await turnOnTotp(ada);
  await turnOnTotp(bob);
  await ada.call('PATCH', '/v1/user', { clock: '24h' });
  const path = (person: Person) => `/v1/members/${person.user.id}` as const;
  await ada.call('PATCH', path(bob), { role: 'viewer' });
  const other = await addPerson(api, tenantId, { mark: 'Eve' });
  await other.call('PATCH', path(other), { role: 'editor' });
  const gone = await addPerson(api, tenantId, { mark: 'Gil' });
  await gone.call('DELETE', path(gone));
  await ada.call('DELETE', path(bob));
  const { json } = await ada.call('POST', '/v1/invitations', { email: 'nell@example.org', role: 'viewer' });
  const token = json.url.split('/').at(-1);
  const accepted = await send(`${api.url}/v1/invitations/accept`, {
    method: 'POST',
    headers: {},
    body: { token, name: 'Nell', password: 'a longer secret than that' },
  });
  t.is(accepted.status, 201);

  const { page, complaints } = await open(t, ada);
  await page.goto('/settings/audit-log');
  const sentences = page.getByRole('list', { name: 'Entries' }).locator('li p');
  await sentences.first().waitFor();
  const said = (await sentences.allInnerTexts()).map((text) => text.split('\n')[0]?.trim());
  t.deepEqual(said, [
    'Nell (nell@example.org) accepted the invitation',
    'You invited nell@example.org',
    `You removed the member ${nameOf(bob)}`,
    `${nameOf(gone)} left the account`,
    `${nameOf(other)} changed their role`,
    `You changed the role of ${nameOf(bob)}`,
    'You changed your profile',
    `${nameOf(bob)} enabled their two-factor authentication`,
    `${nameOf(bob)} started their two-factor setup`,
    'You enabled your two-factor authentication',
    'You started your two-factor setup',
  ]);
  t.deepEqual(await findBarriers(page), []);
  t.deepEqual(complaints, []);
});

test('the invitation form shows the errors of all fields at once', async (t) => {
  const { api } = t.context;
  const { account, person } = await furnishAccount(api, 'joining');
  const token = generateInvitationToken();
  const email = 'newcomer-with-a-long-name@example.org';
  await createInvitation(api.database, {
    id: api.makeId('inv'),
    tenantId: account.tenantId,
    email,
    role: 'viewer',
    token,
    invitedBy: person.user.id,
    nowMs: Date.now(),
    author: null,
  });
  const { page, complaints } = await open(t, null);
  await page.goto(`/invitations/${token}`);
  const [name, password] = [page.getByLabel('Name'), page.getByLabel('Password')];
  const join = () => page.getByRole('button', { name: 'Join' }).click();
  await password.waitFor();
  await join();
  await page.getByText('Enter your name').waitFor();
  await page.getByText('Use 12 to 1024 characters').waitFor();
  await page.locator('input:focus').and(name).waitFor();
  t.is(await name.getAttribute('aria-invalid'), 'true');
  t.deepEqual(await findBarriers(page), []);
  await name.fill('Nell');
  await password.fill('elevenchars');
  await join();
  await page.getByText('Use 12 to 1024 characters').waitFor();
  t.is(await page.getByText('Enter your name').count(), 0);
  await password.fill(email);
  await join();
  await page.getByText('Choose something other than your email').waitFor();
  await page.locator('input:focus').and(password).waitFor();
  await password.fill('a longer secret than that');
  await join();
  await page.getByRole('navigation', { name: 'Main' }).first().waitFor({ state: 'attached' });
  t.deepEqual(complaints, []);
});

test('an incident shows the trace ID of a failed check, linked if the API returns a trace URL', async (t) => {
  const { api } = t.context;
  const { person, ids } = await furnishAccount(api, 'traces');
  const [monitor = '', incident = ''] = [ids.monitor[0], ids.incident[0]];
  await runOn(api.database.pool)(
    `UPDATE monitors SET check_spec = '{"request":{"traceparent":true}}', sealed_secrets = NULL WHERE id = $1`,
    [monitor],
  );
  const { page, complaints } = await open(t, person);
  await page.goto(`/incidents/${incident}`);
  const [, traceId = ''] = /Trace ([\da-f]{32})/.exec(await textOf(page.getByRole('article').first())) ?? [];
  t.regex(traceId, /^[\da-f]{32}$/);
  t.is(await page.getByRole('link', { name: 'View trace' }).count(), 0);

  const url = `https://traces.example/${traceId}`;
  await page.route(`**/v1/incidents/${incident}`, async (route) => {
    const answer = await route.fetch();
    const shown: { evidence: object[] } = await answer.json();
    const evidence = shown.evidence.map((seen) => ({ ...seen, trace_url: url }));
    await route.fulfill({ response: answer, json: { ...shown, evidence, trace_url: url } });
  });
  await page.reload();
  for (const name of ['View trace', traceId]) {
    const link = page.getByRole('link', { name }).first();
    t.deepEqual([await link.getAttribute('href'), await link.getAttribute('target')], [url, '_blank'], name);
  }
  t.deepEqual(complaints, []);
});

test('an incident shows until when its monitor is in maintenance', async (t) => {
  const { api } = t.context;
  const { account, person, ids } = await furnishAccount(api, 'upkeep');
  const [monitor = '', incident = ''] = [ids.monitor[0], ids.incident[0]];
  await runOn(api.database.pool)(`UPDATE incidents SET resolved_at = NULL, resolution = NULL WHERE id = $1`, [
    incident,
  ]);
  await account.owner('POST', `/v1/monitors/${monitor}/maintenance`, { duration_seconds: 7200 });
  const { page, complaints } = await open(t, person);
  await page.goto(`/incidents/${incident}`);
  await page
    .getByRole('status')
    .filter({ hasText: /^Monitor in maintenance until / })
    .waitFor();
  t.deepEqual(complaints, []);
});

test('the focus stays on the button after a note is added, and moves to the heading after a deletion', async (t) => {
  const { person, ids } = await furnishAccount(t.context.api, 'focus');
  const { page, complaints } = await open(t, person);
  await page.goto(`/incidents/${ids.incident[0]}`);
  const add = page.getByRole('button', { name: 'Add note' });
  const notes = page.getByRole('list', { name: 'Notes' }).getByRole('listitem');
  const box = page.getByRole('textbox', { name: 'Add a note' });
  await box.fill('Restarted');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await notes.getByText('Restarted').waitFor();
  await page.locator('button:focus[aria-disabled="true"][aria-busy="false"]').and(add).waitFor();
  const sent: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
  await page.keyboard.press('Enter');
  await box.fill('Again');
  await page.locator('button:not([aria-disabled])').and(add).waitFor();
  await box.fill('');
  await page.locator('button:disabled').and(add).waitFor();
  t.deepEqual(sent, [], 'a button that ignores clicks sends nothing');

  const noted = await notes.count();
  await page.getByRole('button', { name: 'Delete note' }).last().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete note' }).click();
  await notes.nth(noted - 1).waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Notes' }).and(page.locator(':focus')).waitFor();
  t.deepEqual(complaints, []);
});
