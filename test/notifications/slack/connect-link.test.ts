import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { buildSlackLink } from '../../../notifications/slack/authorization.ts';

const box = createSecretBox([{ id: 'k1', key: randomBytes(32) }]);
const OPTIONS = {
  code: 'C0de',
  expiresAtSeconds: 1_700_003_600,
  clientId: '123.456',
  publicUrl: 'https://spotcheck.example',
  seal: box.seal,
};

test('the link requests an incoming webhook and a redirect back to the service', (t) => {
  const link = new URL(buildSlackLink(OPTIONS));
  t.is(link.origin + link.pathname, 'https://slack.com/oauth/v2/authorize');
  t.is(link.searchParams.get('client_id'), '123.456');
  t.is(link.searchParams.get('scope'), 'incoming-webhook');
  t.is(link.searchParams.get('redirect_uri'), 'https://spotcheck.example/connect/slack');
});

test("the state contains the code and its expiry, and only the service's keys can open it", (t) => {
  const state = new URL(buildSlackLink(OPTIONS)).searchParams.get('state') ?? '';
  t.notRegex(state, /C0de/);
  t.deepEqual(JSON.parse(box.open(state, 'slack:state')), { code: 'C0de', expires_at: 1_700_003_600 });
  t.throws(() => box.open(state, 'channel:nch_1:url'));
  const tampered = state.slice(0, -8) + (state.at(-8) === 'A' ? 'B' : 'A') + state.slice(-7);
  t.throws(() => box.open(tampered, 'slack:state'));
  t.throws(() => createSecretBox([{ id: 'k1', key: randomBytes(32) }]).open(state, 'slack:state'));
});

test('without a Slack app the link names a placeholder client', (t) => {
  t.is(new URL(buildSlackLink({ ...OPTIONS, clientId: null })).searchParams.get('client_id'), 'spotcheck');
});
