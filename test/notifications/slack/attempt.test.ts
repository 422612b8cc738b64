import test from 'ava';
import nock from 'nock';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import { attemptSlack, openSlackSending } from '../../../notifications/slack/attempt.ts';

nock.disableNetConnect();
test.afterEach.always(() => nock.cleanAll());

const PATH = '/services/T1/B1/s3cr3t';
const URL_OF_CHANNEL = `https://hooks.slack.com${PATH}`;
const MESSAGE: ChatMessage = {
  tone: 'bad',
  title: 'Down: Shop',
  text: 'HTTP 503 instead of 2xx',
  facts: [],
  link: null,
};
const sending = openSlackSending({ allowPrivateNetwork: false, apiUrl: 'https://slack.com/api', deadlineMs: 60_000 });
const attempt = (url = URL_OF_CHANNEL) => attemptSlack(url, MESSAGE, sending);
const webhook = () => nock('https://hooks.slack.com').post(PATH);

test.serial('a message is posted as JSON with blocks and a text for notifications', async (t) => {
  const bodies: Record<string, unknown>[] = [];
  nock('https://hooks.slack.com', { reqheaders: { 'content-type': 'application/json; charset=utf-8' } })
    .post(PATH, (body: Record<string, unknown>) => bodies.push(body) > 0)
    .reply(200, 'ok');
  t.like(await attempt(), {
    outcome: 'delivered',
    statusCode: 200,
    error: null,
    response: 'ok',
    retryAfterMs: null,
    channelProblem: null,
    movedTo: null,
  });
  t.like(bodies[0], {
    text: '\u{1F534} Down: Shop\nHTTP 503 instead of 2xx',
    blocks: [{ type: 'header' }, { type: 'rich_text' }],
  });
});

test.serial('the duration of an attempt is right even if the clock is set a year ahead meanwhile', async (t) => {
  const { now } = Date;
  t.teardown(() => (Date.now = now));
  let aheadMs = 0;
  Date.now = () => now() + aheadMs;
  const opened = openSlackSending({ allowPrivateNetwork: false, apiUrl: 'https://slack.com/api', deadlineMs: 60_000 });
  webhook().reply(200, () => {
    aheadMs = 365 * 86_400_000;
    return 'ok';
  });
  const { durationMs } = await attemptSlack(URL_OF_CHANNEL, MESSAGE, opened);
  t.true(durationMs < 600_000, `${durationMs} ms`);
});

const GONE: readonly [status: number, word: string, meaning: RegExp][] = [
  [403, 'invalid_token', /removed from the workspace/],
  [403, 'action_prohibited', /administrator/],
  [404, 'no_service', /webhook was removed/],
  [404, 'channel_not_found', /Slack channel no longer exists/],
  [410, 'channel_is_archived', /archived/],
  [400, 'no_team', /workspace no longer exists/],
  [404, '', /webhook no longer exists/],
  [410, '<html>', /webhook no longer exists/],
];
for (const [status, word, meaning] of GONE) {
  test.serial(`${status} "${word}" ends the retries and reports a channel problem`, async (t) => {
    webhook().reply(status, word);
    const result = await attempt();
    t.like(result, { outcome: 'failed', statusCode: status, response: word || null, retryAfterMs: null });
    t.regex(result.channelProblem ?? '', meaning);
    t.regex(result.error ?? '', new RegExp(`^Slack responded with ${status}: `));
  });
}

for (const [status, word] of [
  [400, 'invalid_payload'],
  [400, 'too_many_attachments'],
  [302, ''],
  [413, ''],
] as const) {
  test.serial(`${status} "${word}" fails the message without a channel problem`, async (t) => {
    webhook().reply(status, word);
    t.like(await attempt(), {
      outcome: 'failed',
      statusCode: status,
      error: `Slack responded with ${status}`,
      channelProblem: null,
    });
  });
}

const WAITS: readonly [retryAfter: string | undefined, waitMs: number | null][] = [
  ['30', 30_000],
  ['0', 0],
  ['86400', 3_600_000],
  [undefined, null],
  ['soon', null],
  ['-1', null],
  ['Wed, 21 Oct 2026 07:28:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
];
for (const [retryAfter, retryAfterMs] of WAITS) {
  test.serial(
    `429 with Retry-After ${retryAfter ?? 'missing'} is retried after ${retryAfterMs ?? 'the usual'} ms`,
    async (t) => {
      webhook().reply(429, 'rate_limited', retryAfter === undefined ? {} : { 'Retry-After': retryAfter });
      t.like(await attempt(), { outcome: 'retry', statusCode: 429, retryAfterMs, channelProblem: null });
    },
  );
}

for (const status of [500, 502, 503]) {
  test.serial(`${status} is retried, regardless of its body`, async (t) => {
    webhook().reply(status, 'no_service');
    t.like(await attempt(), { outcome: 'retry', statusCode: status, retryAfterMs: null, channelProblem: null });
  });
}

test.serial('a connection that breaks is retried', async (t) => {
  webhook().replyWithError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
  t.like(await attempt(), { outcome: 'retry', statusCode: null, channelProblem: null });
});

test.serial('a webhook outside hooks.slack.com is not called', async (t) => {
  for (const url of [
    'http://127.0.0.1:6379/',
    'https://example.com/services/T/B/x',
    'http://hooks.slack.com/services/T/B/x',
  ]) {
    t.like(await attempt(url), {
      outcome: 'failed',
      statusCode: null,
      error: 'The webhook of the channel is not at hooks.slack.com',
      channelProblem: null,
    });
  }
});

test.serial('the webhook URL appears nowhere in a result, even if the response quotes it', async (t) => {
  webhook().reply(404, `nothing at ${URL_OF_CHANNEL} nor ${PATH}`);
  t.notRegex(JSON.stringify(await attempt()), /s3cr3t/);
});

test.serial('the URL and its token are redacted even across the end of a stored response', async (t) => {
  const url = `${URL_OF_CHANNEL}-and-more`;
  for (const quoted of [url, `${PATH}-and-more`, 's3cr3t-and-more']) {
    nock('https://hooks.slack.com')
      .post(`${PATH}-and-more`)
      .reply(500, 'x'.repeat(1015) + quoted);
    t.is((await attempt(url)).response?.slice(1000), `${'x'.repeat(15)}[secret]`);
  }
});
