import test from 'ava';
import * as fc from 'fast-check';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import { renderTelegramMessage } from '../../../notifications/telegram/sending.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { stripHtml } from '../../helpers/telegram-server.ts';

const PLAIN: ChatMessage = {
  tone: 'bad',
  title: 'Down: Shop',
  text: 'Connection refused',
  facts: [{ label: 'Failing from', value: 'hanoi' }],
  link: { label: 'View monitor', url: 'https://spotcheck.example/monitors/mon_1' },
};

test('a message is HTML with title, reason, facts and link, without a link preview', (t) => {
  t.deepEqual(renderTelegramMessage('-1001234567890', PLAIN), {
    chat_id: -1_001_234_567_890,
    text:
      '🔴 <b>Down: Shop</b>\nConnection refused\n\nFailing from: hanoi\n\n<a ' +
      'href="https://spotcheck.example/monitors/mon_1">View monitor</a>',
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  });
});

test('missing parts leave no empty lines', (t) => {
  t.is(
    renderTelegramMessage('1', { tone: 'good', title: 'Up', text: null, facts: [], link: null }).text,
    '🟢 <b>Up</b>',
  );
});

test('markup in names and reasons is escaped', (t) => {
  const { text } = renderTelegramMessage('1', {
    ...PLAIN,
    title: 'Down: <b>R&D</b>',
    text: '<a href="https://evil.example">click</a>',
  });
  const shown = '🔴 <b>Down: &lt;b&gt;R&amp;D&lt;/b&gt;</b>\n&lt;a href="https://evil.example"&gt;click&lt;/a&gt;';
  t.true(text.startsWith(shown));
  t.true(stripHtml(text)?.includes('Down: <b>R&D</b>'));
});

test('untrusted text cannot mention members or offer commands', (t) => {
  const { text } = renderTelegramMessage('1', {
    ...PLAIN,
    title: '@channel (/stop) a@b.example https://x.example/a',
    text: null,
    facts: [],
    link: null,
  });
  t.is(text, '🔴 <b>@\u2060channel (/\u2060stop) a@b.example https://x.example/a</b>');
});

test('a link cannot break out of its attribute', (t) => {
  const { text } = renderTelegramMessage('1', {
    ...PLAIN,
    link: { label: 'Open', url: 'https://x.example/?a="><b>&b=1' },
  });
  t.true(text.endsWith('<a href="https://x.example/?a=&quot;&gt;&lt;b&gt;&amp;b=1">Open</a>'));
});

test("any message is well-formed and within Telegram's 4,096 characters, including tags and entities", (t) => {
  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 3000 }),
    fc.string({ unit: fc.constantFrom('&', '<', '"', '\u{1F600}', '@', 'x'), minLength: 400, maxLength: 3000 }),
  );
  const message = fc.record({
    tone: fc.constantFrom('bad', 'warning', 'good', 'unclear', 'neutral'),
    title: anyText,
    text: fc.option(anyText),
    facts: fc.array(fc.record({ label: fc.constant('x'.repeat(60)), value: anyText }), { maxLength: 12 }),
    link: fc.option(
      fc.record({
        label: fc.constant('Open'),
        url: fc.oneof(
          fc.webUrl({ withQueryParameters: true }),
          fc.string({ unit: fc.constantFrom('&', '"', '<'), maxLength: 2000 }),
        ),
      }),
    ),
  });
  fc.assert(
    fc.property(message, (one) => {
      const { text } = renderTelegramMessage('1', one);
      return text.length <= 4096 && stripHtml(text) !== null;
    }),
    { numRuns: 300 },
  );
  t.pass();
});
