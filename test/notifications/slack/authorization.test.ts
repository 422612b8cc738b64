import test from 'ava';
import nock from 'nock';
import { openSlackSending } from '../../../notifications/slack/attempt.ts';
import { authorizeSlack, type SlackApp } from '../../../notifications/slack/authorization.ts';

nock.disableNetConnect();
test.afterEach.always(() => nock.cleanAll());

const APP: SlackApp = {
  clientId: '1.2',
  clientSecret: 's3cret/+&',
  returnUrl: 'https://spotcheck.example/connect/slack',
};
const sending = openSlackSending({ allowPrivateNetwork: false, apiUrl: 'https://slack.com/api', deadlineMs: 60_000 });
const authorize = () => authorizeSlack('code.1', APP, sending);
const api = () => nock('https://slack.com').post('/api/oauth.v2.access');
const GRANT = {
  ok: true,
  access_token: 'xoxb-1',
  team: { id: 'T1', name: 'Acme' },
  enterprise: null,
  incoming_webhook: {
    channel: '#alerts',
    channel_id: 'C1',
    configuration_url: 'https://acme.slack.com/services/B1',
    url: 'https://hooks.slack.com/services/T1/B1/xyz',
  },
};

test.serial("the code is exchanged in a form with the app's credentials and the same redirect URI", async (t) => {
  const forms: unknown[] = [];
  nock('https://slack.com', { reqheaders: { 'content-type': 'application/x-www-form-urlencoded' } })
    .post('/api/oauth.v2.access', (form: unknown) => forms.push(form) > 0)
    .reply(200, GRANT);
  t.deepEqual(await authorize(), {
    outcome: 'granted',
    grant: { webhookUrl: 'https://hooks.slack.com/services/T1/B1/xyz', teamName: 'Acme', channelName: '#alerts' },
  });
  t.deepEqual(forms, [
    {
      client_id: '1.2',
      client_secret: 's3cret/+&',
      code: 'code.1',
      redirect_uri: 'https://spotcheck.example/connect/slack',
    },
  ]);
});

test.serial(
  'names are cleaned for storage, and an organization-wide app has the name of its organization',
  async (t) => {
    api().reply(200, {
      ...GRANT,
      team: null,
      enterprise: { id: 'E1', name: 'Acme\u0000Group' },
      incoming_webhook: { ...GRANT.incoming_webhook, channel: undefined },
    });
    t.like(await authorize(), { grant: { teamName: 'Acme Group', channelName: null } });
  },
);

const ERRORS: readonly [error: unknown, outcome: 'stale' | 'refused' | 'away', reason: string][] = [
  ['invalid_code', 'stale', 'Slack responded with invalid_code'],
  ['code_already_used', 'stale', 'Slack responded with code_already_used'],
  ['bad_client_secret', 'refused', 'Slack responded with bad_client_secret'],
  ['bad_redirect_uri', 'refused', 'Slack responded with bad_redirect_uri'],
  ['something_new', 'refused', 'Slack responded with something_new'],
  ['<script>', 'refused', 'Slack refused without giving a reason'],
  [undefined, 'refused', 'Slack refused without giving a reason'],
  ['ratelimited', 'away', 'Slack responded with ratelimited'],
  ['internal_error', 'away', 'Slack responded with internal_error'],
];
for (const [error, outcome, reason] of ERRORS) {
  test.serial(`a response with the error ${String(error)} is ${outcome}`, async (t) => {
    api().reply(200, { ok: false, error });
    t.deepEqual(await authorize(), { outcome, reason });
  });
}

const STRANGE: readonly [what: string, status: number, body: string][] = [
  ['a 500', 500, '{"ok":true}'],
  ['a 429', 429, ''],
  ['a body that is not JSON', 200, '<html>'],
  ['a list', 200, '[]'],
  ['null', 200, 'null'],
];
for (const [what, status, body] of STRANGE) {
  test.serial(`${what} instead of a valid response means that Slack is unavailable`, async (t) => {
    api().reply(status, body);
    t.is((await authorize()).outcome, 'away');
  });
}

test.serial('a broken connection means that Slack is unavailable', async (t) => {
  api().replyWithError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
  t.is((await authorize()).outcome, 'away');
});

for (const url of [
  'http://hooks.slack.com/services/T/B/x',
  'https://hooks.slack.com.evil.example/x',
  'https://evil.example/services/T/B/x',
  'https://user@hooks.slack.com/x',
  'not a url',
  'http://127.0.0.1:6379/',
  7,
  undefined,
]) {
  test.serial(`a grant with the webhook ${String(url)} is refused`, async (t) => {
    api().reply(200, { ...GRANT, incoming_webhook: { ...GRANT.incoming_webhook, url } });
    t.is((await authorize()).outcome, 'refused');
  });
}

test.serial('an error that echoes the secret or the code is not repeated', async (t) => {
  for (const body of [
    { ok: false, error: 's3cret/+&' },
    { ok: false, error: 's3cret' },
    { ok: false, error: 'code.1' },
  ]) {
    api().reply(200, body);
    t.notRegex(JSON.stringify(await authorize()), /s3cret|code\.1/);
  }
});
