import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { closeDatabase, openDatabase } from '../../../models/database.ts';
import { buildUnsubscribeLink } from '../../../notifications/email/links.ts';
import { openMailSending, type Email, type MailSending } from '../../../notifications/email/sending.ts';
import { createHarness } from '../../helpers/harness.ts';
import { startMailServer, type MailServer } from '../../helpers/smtp-server.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

type Test = ExecutionContext<{ api: ApiServer }>;

const PUBLIC_URL = 'https://spotcheck.example';
const DAY_MS = 86_400_000;

// All tests share one API and one mail server, so they run serially.
let mail: MailServer;
let sending: MailSending;
const { harness, close } = createHarness();
const { serial: test } = anyTest as TestFn<{ api: ApiServer }>;
test.before(async () => {
  mail = await startMailServer(harness);
  sending = openMailSending({ settings: mail.settings, onTrouble: () => undefined });
  harness.teardown(() => sending.close());
});
test.after.always(close);
withApiServer(anyTest as TestFn<{ api: ApiServer }>, {
  sendEmail: (email) => sending.send(email),
  config: {
    publicUrl: PUBLIC_URL,
    planCountLimits: true,
    telegramBotName: null,
    slackClientId: null,
    trustedProxies: [],
  },
});

let made = 0;

test('an address gets a link whose page confirms it when submitted, not when opened', async (t) => {
  const { create, visit, read } = await prepare(t);
  const { id, address, link, expiresAt } = await create({ name: 'On call <b>&</b>' });
  t.true(Math.abs(expiresAt * 1000 - Date.now() - DAY_MS) < 60_000);
  t.like(await read(id), { type: 'email', status: 'pending', enabled: true, address, reports: false, url_host: null });

  for (let scan = 0; scan < 2; scan += 1) {
    const page = await visit(link);
    t.is(page.status, 200, page.html);
    t.regex(page.html, /<form method="post"><button type="submit">Confirm<\/button><\/form>/);
    t.regex(page.html, /Alerts of the channel “On call &lt;b&gt;&amp;&lt;\/b&gt;” will be sent to/);
    t.is(page.headers.get('referrer-policy'), 'no-referrer');
    t.is(page.headers.get('cache-control'), 'no-store');
    t.regex(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*form-action 'self'/);
  }
  t.is((await read(id)).status, 'pending');
  t.is((await visit(link, 'HEAD')).status, 405);

  const confirmed = await visit(link, 'POST');
  t.is(confirmed.status, 200);
  t.regex(confirmed.html, /<h1>Address confirmed<\/h1>/);
  t.is((await read(id)).status, 'connected');
  for (const method of ['GET', 'POST']) {
    const again = await visit(link, method);
    t.is(again.status, 400);
    t.regex(again.html, /This address is confirmed already/);
  }
  t.is(mail.mailsTo(address).length, 1);
});

test('the confirmation email repeats no text of the account and has no unsubscribe header', async (t) => {
  const { create } = await prepare(t);
  const { address } = await create({ name: 'Buy now at https://spam.example' });
  const [message] = mail.mailsTo(address);
  t.is(message?.headers['subject'], 'Confirm this address for Spotcheck alerts');
  t.notRegex(`${message?.raw}${message?.text}${message?.html}`, /spam\.example|Buy now/);
  t.false('list-unsubscribe' in (message?.headers ?? {}));
  t.is(message?.headers['auto-submitted'], 'auto-generated');
});

test('a link that was changed, truncated or sealed for another purpose confirms nothing', async (t) => {
  const { api, create, visit, read } = await prepare(t);
  const { id, link } = await create();
  const token = new URL(buildUnsubscribeLink(id, PUBLIC_URL, api.database.secrets.seal)).searchParams.get('token');
  const bad = [
    link.slice(0, -3),
    `${link}x`,
    `${PUBLIC_URL}/connect/email`,
    `${PUBLIC_URL}/connect/email?code=${token}`,
    `${PUBLIC_URL}/connect/email?code=a&code=b`,
  ];
  for (const one of bad) {
    const page = await visit(one, 'POST');
    t.is(page.status, 400, one);
    t.regex(page.html, /This link is not valid/);
  }
  t.is((await read(id)).status, 'pending');
});

test('a confirmation link expires after one day', async (t) => {
  const { api, create, visitAt, read } = await prepare(t);
  const { id, link } = await create();
  const later = await api.another({ now: () => Date.now() + DAY_MS + 1000 });
  const page = await visitAt(later, link, { method: 'POST' });
  t.is(page.status, 400);
  t.regex(page.html, /This link has expired/);
  t.is((await read(id)).status, 'pending');
});

test('of two concurrent confirmations only one succeeds', async (t) => {
  const { create, visit } = await prepare(t);
  const { link } = await create();
  const pages = await Promise.all([visit(link, 'POST'), visit(link, 'POST')]);
  t.deepEqual(pages.map(({ status }) => status).toSorted(), [200, 400]);
});

test('resending a confirmation invalidates the previous link', async (t) => {
  const { account, create, visit, read } = await prepare(t);
  const { id, address, link } = await create();
  const { status, json } = await account.owner('POST', `/v1/channels/${id}/confirmation`);
  t.is(status, 202);
  t.is(json.id, id);
  t.is(mail.mailsTo(address).length, 2);
  const old = await visit(link, 'POST');
  t.is(old.status, 400);
  t.regex(old.html, /This link no longer works/);
  t.is((await visit(linkOf(address), 'POST')).status, 200);
  t.is((await read(id)).status, 'connected');
  isError(t, await account.owner('POST', `/v1/channels/${id}/confirmation`), {
    status: 409,
    error: `channel ${id} is confirmed already`,
  });
});

test('confirmations cannot be resent by readers, by other accounts or for other channel types', async (t) => {
  const { api, account, create } = await prepare(t);
  const { id, address } = await create();
  const path = `/v1/channels/${id}/confirmation` as const;
  t.is((await account.reader('POST', path)).status, 403);
  t.is((await api.anonymous('POST', path)).status, 401);
  isError(t, await (await api.account()).owner('POST', path), {
    status: 404,
    error: `channel ${id} does not exist`,
  });
  const slack = (await account.owner('POST', '/v1/channels', { type: 'slack' })).json;
  isError(t, await account.owner('POST', `/v1/channels/${slack.id}/confirmation`), {
    status: 400,
    error: `confirmations apply to email channels only, but channel ${slack.id} is of type slack`,
  });
  t.is(mail.mailsTo(address).length, 1);
});

test('confirmations are limited to 5 a day per address across accounts, and to 50 a day per account', async (t) => {
  const { api, account, create } = await prepare(t);
  const { address } = await create();
  const other = await api.account();
  for (const { owner } of [account, other, account, other])
    t.is((await owner('POST', '/v1/channels', { type: 'email', address: address.toUpperCase() })).status, 201);
  isError(t, await other.owner('POST', '/v1/channels', { type: 'email', address }), {
    status: 429,
    error: /^at most 5 confirmations to this email address per day: wait \d+ s$/,
  });
  t.is((await other.owner('GET', '/v1/channels')).json.channels.length, 2);
  const { owner } = await api.account();
  const statuses: number[] = [];
  for (let sent = 0; sent < 51; sent += 1)
    statuses.push((await owner('POST', '/v1/channels', { type: 'email', address: newAddress() })).status);
  t.deepEqual(statuses, [...Array.from({ length: 50 }, () => 201), 429]);
});

test('an invalid address, or one that the mail server refuses, is not stored', async (t) => {
  const { account } = await prepare(t);
  mail.refusals.to = { code: 550, text: '5.1.1 No such user' };
  const refused = await account.owner('POST', '/v1/channels', { type: 'email', address: newAddress() });
  mail.refusals.to = null;
  isError(t, refused, {
    status: 400,
    error: /^confirmation could not be sent: The mail server refused the address with 550/,
  });
  for (const address of [
    'oncall',
    'a@b',
    'a@b.example, c@d.example',
    'a@b.example\r\nBcc: c@d.example',
    '<a@b.example>',
  ])
    isError(t, await account.owner('POST', '/v1/channels', { type: 'email', address }), {
      status: 400,
      error: /^address must be one email address such as oncall@example\.com, got "/,
    });
  t.deepEqual((await account.owner('GET', '/v1/channels')).json, { channels: [] });
});

test('an internationalized domain is stored and addressed in ASCII', async (t) => {
  const { account } = await prepare(t);
  const { json } = await account.owner('POST', '/v1/channels', { type: 'email', address: 'Anna@MÜNCHEN.example' });
  t.is((await account.owner('GET', `/v1/channels/${json.id}`)).json.address, 'Anna@xn--mnchen-3ya.example');
  t.true(mail.taken.some(({ headers }) => headers['to'] === 'Anna@xn--mnchen-3ya.example'));
});

test('without a mail server the error says what the operator must set', async (t) => {
  const { api, account } = await prepare(t);
  const without = await api.another({ sendEmail: null });
  const answer = await account.owner('POST', '/v1/channels', { type: 'email', address: newAddress() }, {}, without);
  isError(t, answer, {
    status: 400,
    error: 'type email is not available here: the operator of this installation must set SMTP_URL and MAIL_FROM',
  });
});

test('a confirmation email is attributed to its account', async (t) => {
  const { api, account } = await prepare(t);
  const accounts: string[] = [];
  const sendEmail = async (email: Email) => {
    accounts.push(email.account);
    return await sending.send(email);
  };
  const at = await api.another({ sendEmail });
  const { status } = await account.owner('POST', '/v1/channels', { type: 'email', address: newAddress() }, {}, at);
  t.is(status, 201);
  t.deepEqual(accounts, [account.tenantId]);
});

test('an address cannot be changed, but a PATCH that repeats the values read is accepted', async (t) => {
  const { account, create, read } = await prepare(t);
  const { id, address } = await create();
  const { name, type, reports, report_timezone } = await read(id);
  const patch = { name, type, reports, address, report_timezone };
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, patch)).status, 200);
  isError(t, await account.owner('PATCH', `/v1/channels/${id}`, { address: newAddress() }), {
    status: 400,
    error: 'address cannot be changed: delete the channel and create another',
  });
});

test('reports use the time zone of the channel, with at most ten zones besides UTC per account', async (t) => {
  const { api, account, create, read } = await prepare(t);
  const { id } = await create({ reports: true, report_timezone: 'europe/berlin' });
  t.like(await read(id), { reports: true, report_timezone: 'Europe/Berlin' });
  const patch = async (report_timezone: string, channel = id) =>
    await account.owner('PATCH', `/v1/channels/${channel}`, { report_timezone });
  t.is((await patch('UTC')).status, 200);
  t.is((await read(id)).report_timezone, 'UTC');
  for (const zone of ['Mars/Olympus', 'browser', '+02:00'])
    isError(t, await patch(zone), {
      status: 400,
      error: /^report_timezone must be a zone of the IANA time zone database, such as Europe\/Berlin, got "/,
    });
  const slack = (await account.owner('POST', '/v1/channels', { type: 'slack' })).json;
  isError(t, await patch('UTC', slack.id), {
    status: 400,
    error: 'report_timezone applies to email channels only, got a channel of type slack',
  });
  const zones = ['Europe/Berlin', 'Europe/Paris', 'Europe/Rome', 'Europe/Madrid', 'Europe/Oslo', 'Europe/Vienna'];
  for (const zone of [...zones, 'Asia/Tokyo', 'Asia/Seoul', 'Asia/Dubai', 'Asia/Kolkata'])
    await create({ report_timezone: zone });
  isError(t, await patch('America/New_York'), {
    status: 400,
    error: /^report_timezone must be one of the zones of other channels: .* at most 10 zones other than UTC$/,
  });
  t.is((await read(id)).report_timezone, 'UTC');
  t.is((await patch('Asia/Tokyo')).status, 200);
  const sent = api.sentEmails.length;
  const refused = { type: 'email', address: 'a@example.com', report_timezone: 'America/New_York' };
  isError(t, await account.owner('POST', '/v1/channels', refused), { status: 400, error: /^report_timezone must be/ });
  t.is(api.sentEmails.length, sent);
});

test('a POST unsubscribes, which is audited and reported to other channels; a GET only shows a button', async (t) => {
  const { api, account, create, visit, read } = await prepare(t);
  const { id, link } = await create({ name: 'Leaving' });
  const other = await create({ name: 'Staying' });
  for (const one of [link, other.link]) await visit(one, 'POST');
  const unsubscribe = buildUnsubscribeLink(id, PUBLIC_URL, api.database.secrets.seal);
  const asked = await visit(unsubscribe);
  t.is(asked.status, 200);
  t.regex(asked.html, /<button type="submit">Unsubscribe<\/button>/);
  t.like(await read(id), { enabled: true, status: 'connected' });

  const done = await visit(unsubscribe, 'POST', 'List-Unsubscribe=One-Click');
  t.is(done.status, 200);
  t.regex(done.html, /<h1>Unsubscribed<\/h1>/);
  const channel = await read(id);
  t.like(channel, { enabled: false, status: 'pending', last_error: 'A reader of this address unsubscribed' });
  t.is((await visit(unsubscribe, 'POST')).status, 200);

  const { rows } = await api.database.pool.query(
    'SELECT action, actor_kind, actor_name FROM audit_log WHERE object_id = $1 ORDER BY at, id',
    [id],
  );
  t.deepEqual(
    rows.map((row) => [row.action, row.actor_kind, row.actor_name]),
    [
      ['channel.created', 'token', 'test'],
      ['channel.connected', 'system', 'Email'],
      ['channel.disabled', 'system', 'Email'],
    ],
  );
  const { deliveries } = (await account.owner('GET', `/v1/channels/${other.id}/deliveries`)).json;
  t.deepEqual(
    deliveries.map(({ event }) => event),
    ['channel.disconnected'],
  );
  t.true(api.enqueuedAttempts.some(({ deliveryId }) => deliveryId === deliveries[0]?.id));

  // The owner cannot simply re-enable the channel: the recipient has to confirm again.
  await account.owner('PATCH', `/v1/channels/${id}`, { enabled: true });
  t.is((await read(id)).status, 'pending');
});

test('the unsubscribe link of a disabled channel also changes nothing until its button is used', async (t) => {
  const { api, account, create, visit, read } = await prepare(t);
  const { id, link } = await create();
  const other = await create({ name: 'Staying' });
  for (const one of [link, other.link]) await visit(one, 'POST');
  t.is((await account.owner('PATCH', `/v1/channels/${id}`, { enabled: false })).status, 200);
  const unsubscribe = buildUnsubscribeLink(id, PUBLIC_URL, api.database.secrets.seal);
  t.regex((await visit(unsubscribe)).html, /<button type="submit">Unsubscribe<\/button>/);
  t.like(await read(id), { enabled: false, status: 'connected' });
  t.regex((await visit(unsubscribe, 'POST')).html, /<h1>Unsubscribed<\/h1>/);
  t.is((await read(id)).status, 'pending');
  const { rows } = await api.database.pool.query(
    'SELECT changes FROM audit_log WHERE object_id = $1 ORDER BY at DESC, id DESC LIMIT 1',
    [id],
  );
  t.deepEqual(Object.keys(rows[0].changes).toSorted(), ['last_error', 'status']);
  const { deliveries } = (await account.owner('GET', `/v1/channels/${other.id}/deliveries`)).json;
  t.deepEqual(deliveries, [], 'others lose no alerts, and get no note');
});

test('an unsubscribe link with an unknown key or for a deleted channel changes nothing', async (t) => {
  const { api, create, visit, read } = await prepare(t);
  const { id, link } = await create();
  await visit(link, 'POST');
  const page = await visit(`${PUBLIC_URL}/connect/email/unsubscribe?token=v1.k.AAAA`, 'POST');
  t.is(page.status, 400);
  t.regex(page.html, /This link is not valid/);
  const gone = await visit(buildUnsubscribeLink('nch_gone', PUBLIC_URL, api.database.secrets.seal), 'POST');
  t.is(gone.status, 200);
  t.is((await read(id)).status, 'connected');
});

test('while the database is unavailable both pages return a 503', async (t) => {
  const { api, create, visitAt } = await prepare(t);
  const { id, link } = await create();
  const { secrets } = api.database;
  const database = openDatabase({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', secrets });
  t.teardown(() => closeDatabase(database));
  const away = await api.another({ database });
  for (const one of [link, buildUnsubscribeLink(id, PUBLIC_URL, api.database.secrets.seal)]) {
    const page = await visitAt(away, one, { method: 'POST' });
    t.is(page.status, 503, page.html);
    t.regex(page.html, /Open the link again in a minute/);
  }
});

type Visit = { method?: string; body?: string };

async function prepare(t: Test) {
  const { api } = t.context;
  const account: Account = await api.account();
  const visitAt = async (base: string, link: string, how: Visit = {}) => {
    const { method = 'GET', body } = how;
    const { pathname, search } = new URL(link);
    const response = await fetch(`${base}${pathname}${search}`, {
      method,
      ...(body !== undefined && { body, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }),
    });
    return { status: response.status, headers: response.headers, html: await response.text() };
  };
  return {
    api,
    account,
    visitAt,
    visit: (link: string, method = 'GET', body?: string) =>
      visitAt(api.url, link, { method, ...(body !== undefined && { body }) }),
    read: async (id: string) => (await account.owner('GET', `/v1/channels/${id}`)).json,
    async create(fields: object = {}) {
      const address = newAddress();
      const { status, json, text } = await account.owner('POST', '/v1/channels', { type: 'email', address, ...fields });
      t.is(status, 201, text);
      return { id: json.id, address, link: linkOf(address), expiresAt: json.confirmation_expires_at ?? 0 };
    },
  };
}

function newAddress(): string {
  made += 1;
  return `oncall-${made}@customer.example`;
}

/** Returns the link in the newest confirmation sent to an address. */
function linkOf(address: string): string {
  const text = mail.mailsTo(address).at(-1)?.text ?? '';
  return /https:\/\/\S+\/connect\/email\?code=\S+/.exec(text)?.[0] ?? '';
}
