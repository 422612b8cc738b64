import test from 'ava';
import { buildAlert } from '../../core/chat/alert.ts';
import { buildChannelMessage } from '../../core/channel-message.ts';
import { isChatOnly } from '../../core/envelope.ts';

const NOW_MS = 1_763_720_000_000;
const MESSAGE = buildChannelMessage({
  channel: { id: 'nch_1', name: 'On call', type: 'webhook' },
  failures: 7,
  failingSinceMs: NOW_MS - 3 * 86_400_000,
  lastError: 'The endpoint answered 500',
  nowMs: NOW_MS,
  publicUrl: 'https://spotcheck.example',
});

test('that a channel is failing names it, what failed and since when, and is for chats only', (t) => {
  t.true(isChatOnly(MESSAGE));
  t.like(MESSAGE, { event: 'channel.failing', event_at: 1_763_720_000, channel: { id: 'nch_1', name: 'On call', type: 'webhook' }, url: 'https://spotcheck.example/channels/nch_1' });
  t.is(MESSAGE.reason, 'Alerts do not reach the channel On call: its last 7 deliveries failed. It stays on');
  t.deepEqual(MESSAGE.detail, { failures: 7, failing_since: 1_763_460_800, last_error: 'The endpoint answered 500' });
});

test('a chat shows the channel in the title, the reason, since when and the last error', (t) => {
  const alert = buildAlert(MESSAGE, NOW_MS);
  t.is(alert.title, 'Channel failing: On call');
  t.is(alert.text, MESSAGE.reason);
  t.deepEqual(alert.facts.map(({ label }) => label), ['Since', 'Last error']);
  t.is(alert.link?.url, MESSAGE.url);
});
