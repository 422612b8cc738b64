import test from 'ava';
import { newPreparedDataDir, startService, type Service } from '../helpers/running-service.ts';
import { SLACK_CLIENT_ID, startSlackServer, type SlackPost, type SlackServer } from '../helpers/slack-server.ts';
import { PATIENTLY } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';

const PATIENCE = { timeoutMs: 120_000 };

/** Waits for a message whose notification matches `words`, after the first `since` messages. */
async function arrived(slack: SlackServer, words: RegExp, since = 0): Promise<SlackPost> {
  return await until(() => slack.posts.slice(since).find(({ json }) => words.test(String(json['text']))), PATIENCE);
}

/** Returns the rich text of a message, block by block. */
function shownIn({ json }: SlackPost): string {
  const blocks = json['blocks'] as { type: string; elements?: { elements: { text: string }[] }[] }[];
  return blocks
    .map(({ elements = [] }) => elements.flatMap((section) => section.elements.map(({ text }) => text)).join(''))
    .join('\n');
}

/** Creates a Slack channel and authorizes it as a user would; returns its id and the resulting page. */
async function connect({ call, url }: Service, slack: SlackServer) {
  const { json } = await call('POST', '/channels', { type: 'slack', name: 'Team' });
  const address = new URL(slack.approve(String(json['authorize_url'])));
  const response = await fetch(`${url}${address.pathname}${address.search}`);
  return { id: String(json['id']), status: response.status, page: await response.text() };
}

test('a Slack channel gets an outage and its recovery, and is disconnected if its webhook is revoked', async (t) => {
  const slack = await startSlackServer(t);
  const target = await startTarget(t);
  const service = await startService(t, {
    DATA_DIR: await newPreparedDataDir(t),
    LOG_LEVEL: 'trace',
    SLACK_CLIENT_ID,
    SLACK_CLIENT_SECRET: slack.clientSecret,
    SLACK_API_URL: slack.apiUrl,
  });
  const { call } = service;
  const { id, status, page } = await connect(service, slack);
  t.is(status, 200, page);
  t.regex(page, /arrive in #alerts in Acme/);
  t.like((await call('GET', `/channels/${id}`)).json, {
    status: 'connected',
    team_name: 'Acme',
    channel_name: '#alerts',
  });
  await arrived(slack, /Connected to Spotcheck/);

  const monitor = await call('POST', '/monitors', {
    name: 'Shop <!channel>',
    target: target.url(),
    ...PATIENTLY,
  });
  await until(
    async () => (await call('GET', `/monitors/${String(monitor.json['id'])}`)).json['status'] === 'up',
    PATIENCE,
  );
  target.health.status = 503;
  const down = await arrived(slack, /Down: Shop/);
  // The first up of a monitor is not sent.
  t.deepEqual(
    slack.posts.map(({ json }) => String(json['text']).split('\n')[0]),
    ['\u{1F514} Connected to Spotcheck', '\u{1F534} Down: Shop &lt;!channel&gt;'],
  );
  t.notRegex(String(down.json['text']), /<!/);
  t.regex(shownIn(down), /HTTP 503 instead of 2xx/);
  t.regex(shownIn(down), /Failing from: local\nSince: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for /);
  t.true(down.body.includes(`/monitors/${String(monitor.json['id'])}"`), down.body);

  target.health.status = 200;
  const up = await arrived(slack, /Recovered: Shop/);
  t.regex(shownIn(up), /Duration: (\d+ seconds?|less than a second)/);

  slack.revoke();
  target.health.status = 503;
  const channel = await until(async () => {
    const { json } = await call('GET', `/channels/${id}`);
    return json['status'] === 'pending' && json;
  }, PATIENCE);
  t.like(channel, { enabled: true, team_name: 'Acme' });
  t.regex(String(channel['last_error']), /Slack no longer accepts messages for this channel: the webhook was removed/);
  // The log line follows the state that the API shows already.
  await until(() => /"msg":"channel\.disconnected"/.test(service.program.output()), PATIENCE);

  const webhook = down.webhook;
  for (const secret of [slack.clientSecret, webhook]) t.false(service.program.output().includes(secret));
  t.is(await service.program.stop(), 0);
});
