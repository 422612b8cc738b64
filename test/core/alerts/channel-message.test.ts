import test from 'ava';
import { buildChannelMessage, buildLossMessage, isFailing } from '../../../core/alerts/channel-message.ts';
import { buildAlert } from '../../../core/alerts/chat/alert.ts';
import { isChatOnly } from '../../../core/alerts/envelope.ts';

const NOW_MS = 1_763_720_000_000;
const MESSAGE = buildChannelMessage({
  channel: { id: 'nch_1', name: 'On call', type: 'webhook' },
  failures: 7,
  failingSinceMs: NOW_MS - 3 * 86_400_000,
  lastError: 'The endpoint responded with 500',
  nowMs: NOW_MS,
  publicUrl: 'https://spotcheck.example',
});

test("a failing channel's message names it, the failures and their start, and is for chats only", (t) => {
  t.true(isChatOnly(MESSAGE));
  t.like(MESSAGE, {
    event: 'channel.failing',
    event_at: 1_763_720_000,
    channel: { id: 'nch_1', name: 'On call', type: 'webhook' },
    url: 'https://spotcheck.example/channels/nch_1',
  });
  t.is(MESSAGE.reason, 'Alerts are not reaching the channel On call: the last 7 deliveries failed. It stays enabled');
  t.deepEqual(MESSAGE.detail, {
    failures: 7,
    failing_since: 1_763_460_800,
    last_error: 'The endpoint responded with 500',
  });
});

test('a chat alert shows the channel in the title, the reason, the start and the last error', (t) => {
  const alert = buildAlert(MESSAGE, NOW_MS);
  t.is(alert.title, 'Channel failing: On call');
  t.is(alert.text, MESSAGE.reason);
  t.deepEqual(
    alert.facts.map(({ label }) => label),
    ['Since', 'Last error'],
  );
  t.is(alert.link?.url, MESSAGE.url);
});

for (const [loss, title, words, labels] of [
  [
    'lost',
    'Channel disconnected: On call',
    /its chat is unavailable\. Reconnect it to receive alerts again$/,
    ['At', 'Last error'],
  ],
  [
    'stopped',
    'Channel disabled: On call',
    /^A member sent \/stop in the chat of the channel On call\. It is disabled/,
    ['At'],
  ],
  [
    'removed',
    'Channel disconnected: On call',
    /^The bot was blocked in the chat of the channel On call, or removed from it/,
    ['At'],
  ],
] as const) {
  test(`the message about a chat that was ${loss} has its own wording, the time and a link to the channel`, (t) => {
    const message = buildLossMessage({
      channel: MESSAGE.channel,
      loss,
      lastError: 'Telegram responded with 403',
      nowMs: NOW_MS,
      publicUrl: 'https://spotcheck.example',
    });
    t.true(isChatOnly(message));
    const alert = buildAlert(message, NOW_MS + 60_000);
    t.like(alert, { title, tone: 'warning', link: { url: 'https://spotcheck.example/channels/nch_1' } });
    t.regex(alert.text ?? '', words);
    t.deepEqual(
      alert.facts.map(({ label }) => label),
      labels,
    );
    t.is(alert.facts[0]?.value, '2025-11-21 10:13:20 UTC');
  });
}

const DAY_MS = 86_400_000;

const CASES: [failures: number, forMs: number, expected: boolean][] = [
  [1, 0, false],
  [99, 3 * DAY_MS - 1, false],
  [100, 0, true],
  [101, 0, true],
  [2, 3 * DAY_MS, true],
  [2, 3 * DAY_MS - 1, false],
  [0, 30 * DAY_MS, false],
];

for (const [failures, forMs, expected] of CASES) {
  test(`${failures} failures in a row over ${forMs} ms are ${expected ? '' : 'not yet '}worth a message`, (t) => {
    t.is(isFailing({ failures, failingSinceMs: NOW_MS - forMs }, NOW_MS), expected);
  });
}
