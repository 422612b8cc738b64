import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { ApiDependencies } from '../../../api/handler.ts';
import { closeDatabase, openDatabase } from '../../../models/database.ts';
import { attemptSlack, openSlackSending, type SlackSending } from '../../../notifications/slack/attempt.ts';
import { authorizeSlack } from '../../../notifications/slack/authorization.ts';
import { SLACK_CLIENT_ID, startSlackServer, type SlackServer } from '../../helpers/slack-server.ts';
import { withApiServer, type ApiServer } from '../api-server.ts';

type Test = ExecutionContext<{ api: ApiServer }>;

const PUBLIC_URL = 'https://spotcheck.example';
const HOUR_MS = 3_600_000;

// All tests share one API, and each has its own Slack server, so they run serially.
let slack: SlackServer;
const sending = (): SlackSending =>
  openSlackSending({ allowPrivateNetwork: false, apiUrl: slack.apiUrl, deadlineMs: 60_000 });
const authorizeAs = (clientSecret: string) => (code: string) =>
  authorizeSlack(
    code,
    { clientId: SLACK_CLIENT_ID, clientSecret, returnUrl: `${PUBLIC_URL}/connect/slack` },
    sending(),
  );
const DEPENDENCIES: Partial<ApiDependencies> = {
  authorizeSlack: (code) => authorizeAs(slack.clientSecret)(code),
  sendSlack: (webhookUrl, message) => attemptSlack(webhookUrl, message, sending()),
  config: {
    publicUrl: PUBLIC_URL,
    planCountLimits: true,
    telegramBotName: null,
    slackClientId: SLACK_CLIENT_ID,
    trustedProxies: [],
  },
};

const { serial: test } = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(anyTest as TestFn<{ api: ApiServer }>, DEPENDENCIES);

test('the return page from Slack names the connected channel, and a first message is sent', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl, read } = await create({ name: 'Team <b>&</b>' });
  const page = await visit(slack.approve(authorizeUrl));
  t.is(page.status, 200, page.html);
  t.regex(page.html, /<h1>Slack is connected<\/h1>/);
  t.regex(page.html, /Alerts for “Team &lt;b&gt;&amp;&lt;\/b&gt;” arrive in #alerts in Acme/);
  t.regex(page.html, /A first message has been sent there/);
  t.like(await read(), {
    type: 'slack',
    status: 'connected',
    enabled: true,
    team_name: 'Acme',
    channel_name: '#alerts',
    url_host: null,
  });
  t.is(slack.posts.length, 1);
  t.regex(String(slack.posts[0]?.json['text']), /Connected to Spotcheck/);
});

test('a link that connected a channel connects nothing again, and no further code is sent to Slack', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl, read } = await create();
  const address = slack.approve(authorizeUrl);
  t.is((await visit(address)).status, 200);
  const before = await read();
  for (const again of [address, slack.approve(authorizeUrl, '#elsewhere')]) {
    const page = await visit(again);
    t.is(page.status, 400);
    t.regex(page.html, /This link was already used/);
  }
  t.deepEqual(await read(), before);
  t.is(slack.exchanges(), 1);
  t.is(slack.posts.length, 1);
});

test('of two concurrent returns with one link only one connects', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl, read } = await create();
  const pages = await Promise.all(
    ['#one', '#two'].map(async (channel) => ({ channel, ...(await visit(slack.approve(authorizeUrl, channel))) })),
  );
  t.deepEqual(pages.map(({ status }) => status).toSorted(), [200, 400]);
  const winner = pages.find(({ status }) => status === 200);
  t.is((await read())['channel_name'], winner?.channel);
  t.is(slack.posts.length, 1);
});

test('a Slack link expires after one hour', async (t) => {
  const { create, visitAt } = await prepare(t);
  const { authorizeUrl, read } = await create();
  const page = await visitAt(slack.approve(authorizeUrl), { now: () => Date.now() + HOUR_MS + 1000 });
  t.is(page.status, 400);
  t.regex(page.html, /This link has expired/);
  t.is((await read())['status'], 'pending');
  t.is(slack.exchanges(), 0);
});

test('denying access in Slack shows why, and the link can still be used', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl, read } = await create();
  const state = encodeURIComponent(new URL(authorizeUrl).searchParams.get('state') ?? '');
  for (const [error, words] of [
    ['access_denied', /Access was denied in Slack/],
    ['invalid_scope', /reported an error/],
    ['%3Cscript%3E', /reported an error/],
  ] as const) {
    const page = await visit(`${PUBLIC_URL}/connect/slack?error=${error}&state=${state}`);
    t.is(page.status, 400);
    t.regex(page.html, words);
  }
  t.is((await read())['status'], 'pending');
  t.is((await visit(slack.approve(authorizeUrl))).status, 200);
});

test('an incomplete return, or one with a forged state, connects nothing', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl, read } = await create();
  const address = slack.approve(authorizeUrl);
  const { searchParams } = new URL(address);
  const state = searchParams.get('state') ?? '';
  const flipped = `${state.slice(0, -8)}${state.at(-8) === 'A' ? 'B' : 'A'}${state.slice(-7)}`;
  const cases: readonly [query: string, words: RegExp][] = [
    ['', /not complete/],
    ['?code=x', /not complete/],
    [`?state=${state}`, /not complete/],
    [`?code=&state=${state}`, /not complete/],
    [`?code=a&code=b&state=${state}`, /not complete/],
    [`?code=x&state=${state}&state=${state}`, /not complete/],
    ['?code[a]=x&state[a]=y', /not complete/],
    ['?code=x&state=y', /not valid/],
    ['?code=x&state=v1.test.', /not valid/],
    ['?code=x&state=%00', /not valid/],
    [`?code=x&state=${flipped}`, /not valid/],
  ];
  for (const [query, words] of cases) {
    const page = await visit(`${PUBLIC_URL}/connect/slack${query}`);
    t.is(page.status, 400, query);
    t.regex(page.html, words, query);
  }
  t.is((await read())['status'], 'pending');
  t.is(slack.exchanges(), 0);
});

test('a code that Slack rejects does not use up the link', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl } = await create();
  const address = new URL(slack.approve(authorizeUrl));
  address.searchParams.set('code', 'made.up');
  const page = await visit(address.href);
  t.is(page.status, 400);
  t.regex(page.html, /Slack responded with invalid_code/);
  t.is((await visit(slack.approve(authorizeUrl))).status, 200);
});

test('while Slack is unavailable nothing is connected, and the same link works afterwards', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl } = await create();
  slack.answers.api = { status: 503, body: 'upstream' };
  const page = await visit(slack.approve(authorizeUrl));
  t.is(page.status, 502);
  t.regex(page.html, /Can’t reach Slack[\s\S]*Slack responded with 503/);
  slack.answers.api = null;
  t.is((await visit(slack.approve(authorizeUrl))).status, 200);
});

test('a rejected client secret is a 502, and a missing one a 503 that names the setting', async (t) => {
  const { create, visitAt } = await prepare(t);
  const { authorizeUrl } = await create();
  const refused = await visitAt(slack.approve(authorizeUrl), { authorizeSlack: authorizeAs('wrong') });
  t.is(refused.status, 502);
  t.regex(refused.html, /bad_client_secret/);
  const without = await visitAt(slack.approve(authorizeUrl), { authorizeSlack: null });
  t.is(without.status, 503);
  t.regex(without.html, /SLACK_CLIENT_SECRET/);
});

test('a webhook outside Slack is not stored', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl, read } = await create();
  slack.answers.api = {
    status: 200,
    body: JSON.stringify({
      ok: true,
      team: { name: 'Acme' },
      incoming_webhook: { channel: '#x', url: 'http://169.254.169.254/latest' },
    }),
  };
  t.is((await visit(slack.approve(authorizeUrl))).status, 502);
  t.is((await read())['status'], 'pending');
});

test('the link of a deleted channel says that the channel no longer exists', async (t) => {
  const { create, visit, owner } = await prepare(t);
  const { authorizeUrl, id } = await create();
  await owner('DELETE', `/v1/channels/${id}`);
  const page = await visit(slack.approve(authorizeUrl));
  t.is(page.status, 400);
  t.regex(page.html, /This channel no longer exists/);
});

test('a channel is connected even if its first message fails or it is disabled, and the page says so', async (t) => {
  const { create, visit, owner } = await prepare(t);
  const { authorizeUrl, read, id } = await create();
  await owner('PATCH', `/v1/channels/${id}`, { enabled: false });
  slack.answers.webhook = { status: 500, body: '' };
  const page = await visit(slack.approve(authorizeUrl));
  t.is(page.status, 200);
  t.regex(page.html, /The first message did not arrive/);
  t.regex(page.html, /The channel is disabled/);
  t.like(await read(), { status: 'connected', enabled: false });
});

test('HEAD and POST get a 405 and do not use up the link', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl } = await create();
  const address = slack.approve(authorizeUrl);
  for (const method of ['HEAD', 'POST']) {
    const answer = await fetch(address.replace(PUBLIC_URL, t.context.api.url), { method });
    t.is(answer.status, 405);
    t.is(answer.headers.get('allow'), 'GET');
  }
  t.is((await visit(address)).status, 200);
});

test('while the database is unavailable the page says to open the link again', async (t) => {
  const { create, visitAt } = await prepare(t);
  const { authorizeUrl } = await create();
  const database = openDatabase({
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    secrets: t.context.api.database.secrets,
  });
  t.teardown(() => closeDatabase(database));
  const page = await visitAt(slack.approve(authorizeUrl), { database });
  t.is(page.status, 503);
  t.regex(page.html, /Open the channel’s link again in a minute/);
});

test('pages run no scripts, load nothing, are not cached and send no referrer', async (t) => {
  const { create, visit } = await prepare(t);
  const { authorizeUrl } = await create();
  const pages = [
    await visit(`${PUBLIC_URL}/connect/slack`),
    await visit(slack.approve(authorizeUrl, '#<img src=x onerror=alert(1)>')),
  ];
  for (const { html, headers } of pages) {
    t.regex(html, /^<!doctype html>\n<html lang="en">/);
    t.notRegex(html, /<script|<img|<link|<form|<iframe|\sstyle=|\son\w+="/);
    t.regex(html, /<main>\n<h1>/);
    t.is(headers.get('content-type'), 'text/html; charset=utf-8');
    t.regex(
      headers.get('content-security-policy') ?? '',
      new RegExp(
        "^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'; " +
          "frame-ancestors 'none'$",
      ),
    );
    t.is(headers.get('cache-control'), 'no-store');
    t.is(headers.get('referrer-policy'), 'no-referrer');
    t.is(headers.get('x-content-type-options'), 'nosniff');
  }
  t.regex(pages[1]?.html ?? '', /#&lt;img src=x onerror=alert\(1\)&gt;/);
});

test('client secret, codes, states and webhooks are in no log, read or unencrypted column', async (t) => {
  const { create, visit, owner } = await prepare(t);
  const { authorizeUrl, id } = await create();
  const address = slack.approve(authorizeUrl);
  await visit(address);
  await visit(address);
  const { api } = t.context;
  const webhook = slack.posts[0]?.webhook ?? '';
  const { rows } = await api.database.pool.query(
    'SELECT row_to_json(c)::text AS row FROM channels c WHERE id = $1 UNION ALL SELECT row_to_json(k)::text FROM ' +
      'connect_codes k UNION ALL SELECT row_to_json(a)::text FROM audit_log a',
    [id],
  );
  const { rows: recorded } = await api.database.pool.query(
    `SELECT actor_kind, actor_name, address, changes FROM audit_log WHERE object_id = $1
     AND action = 'channel.connected'`,
    [id],
  );
  t.deepEqual(recorded, [
    {
      actor_kind: 'system',
      actor_name: 'Slack',
      address: '127.0.0.1',
      changes: {
        status: ['pending', 'connected'],
        team_name: [null, 'Acme'],
        channel_name: [null, '#alerts'],
        url: 'changed',
      },
    },
  ]);
  const texts = [JSON.stringify(api.logLines), JSON.stringify(rows), (await owner('GET', `/v1/channels/${id}`)).text];
  const { searchParams } = new URL(address);
  const secrets = [
    slack.clientSecret,
    searchParams.get('code') ?? '',
    searchParams.get('state') ?? '',
    webhook,
    webhook.split('/').at(-1) ?? '',
  ];
  for (const secret of secrets) {
    t.true(secret.length > 10);
    for (const shownText of texts) t.false(shownText.includes(secret));
  }
  t.true(api.logLines.some((line) => line['msg'] === 'channel.connected' && line['channel_id'] === id));
  t.true(api.logLines.some((line) => line['msg'] === 'request.completed' && line['route'] === '/connect/slack'));
});

/** Prepares an account, and functions for a user's steps in the API and in Slack. */
async function prepare(t: Test) {
  slack = await startSlackServer(t);
  const { api } = t.context;
  const { owner } = await api.account();
  const open = async (address: string, base: string) => {
    const response = await fetch(address.replace(PUBLIC_URL, base));
    return { status: response.status, headers: response.headers, html: await response.text() };
  };
  return {
    owner,
    async create(body: object = {}) {
      const created = await owner('POST', '/v1/channels', { type: 'slack', ...body });
      t.is(created.status, 201, created.text);
      const id = String(created.json['id']);
      return {
        id,
        authorizeUrl: String(created.json['authorize_url']),
        read: async () => (await owner('GET', `/v1/channels/${id}`)).json,
      };
    },
    /** Follows Slack's redirect. */
    visit: (address: string) => open(address, api.url),
    /** Follows the redirect at another process of the installation. */
    visitAt: async (address: string, overrides: Partial<ApiDependencies>) =>
      open(address, await api.another(overrides)),
  };
}
