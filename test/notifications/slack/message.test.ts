import * as fc from 'fast-check';
import test from 'ava';
import type { ChatMessage, ChatTone } from '../../../core/chat/message.ts';
import { renderSlackMessage, type SlackMessage } from '../../../notifications/slack/message.ts';

const MESSAGE: ChatMessage = {
  tone: 'bad',
  title: 'Down: Shop',
  text: 'HTTP 503 instead of 2xx',
  facts: [{ label: 'Seen from', value: 'frankfurt, hanoi (2 of 3)' }, { label: 'Since', value: '2026-03-14 09:26:53 UTC, for 2 minutes' }],
  link: { label: 'Open the monitor', url: 'https://spotcheck.example/monitors/mon_1' },
};

/** Every text of the blocks that Slack reads as mrkdwn, and the one of the notification, which it reads so as well. */
const mrkdwnOf = ({ text, blocks }: SlackMessage): string[] => [
  text,
  ...blocks.flatMap((block) => (block.type === 'section' ? [block.text.text] : block.type === 'context' ? block.elements.map((element) => element.text) : [])),
];

test('state and name are the header, then reason, facts and link', (t) => {
  t.deepEqual(renderSlackMessage(MESSAGE), {
    text: '\u{1F534} Down: Shop\nHTTP 503 instead of 2xx',
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: '\u{1F534} Down: Shop', emoji: false } },
      { type: 'section', text: { type: 'mrkdwn', text: 'HTTP 503 instead of 2xx', verbatim: true } },
      { type: 'context', elements: [{ type: 'mrkdwn', text: '*Seen from:* frankfurt, hanoi (2 of 3)\n*Since:* 2026-03-14 09:26:53 UTC, for 2 minutes', verbatim: true }] },
      { type: 'section', text: { type: 'mrkdwn', text: '<https://spotcheck.example/monitors/mon_1|Open the monitor>', verbatim: true } },
    ],
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  });
});

test('what is not there takes no block: Slack refuses empty ones', (t) => {
  const { blocks, text } = renderSlackMessage({ ...MESSAGE, text: '', facts: [], link: null });
  t.deepEqual(blocks.map(({ type }) => type), ['header']);
  t.is(text, '\u{1F534} Down: Shop');
});

const INJECTIONS = ['<!channel>', '<!here|here>', '<@U123>', '<https://evil.example|Spotcheck>', '@channel', '@here', '@Everyone', '&lt;!channel&gt;', '*bold* _it_ `code` ~x~', '|', '>'];

test('no name, reason, fact or label mentions anybody or makes a link', (t) => {
  for (const text of INJECTIONS) {
    const message = renderSlackMessage({ ...MESSAGE, title: text, text, facts: [{ label: text, value: text }], link: { label: text, url: `https://spotcheck.example/${text}` } });
    const [header, , , link] = message.blocks;
    t.true(header?.type === 'header' && !/[<>]|@(channel|here|everyone)/i.test(header.text.text), JSON.stringify(header));
    // The one link is ours: its first `<`, its last `>`, and nothing between.
    t.true(link?.type === 'section' && /^<https:\/\/spotcheck\.example\/[^<>]*>$/.test(link.text.text), JSON.stringify(link));
    for (const shown of mrkdwnOf(message).filter((one) => !one.startsWith('<https://spotcheck.example/'))) {
      t.notRegex(shown, /[<>]|&(?!amp;|lt;|gt;)|@(channel|here|everyone)/i);
    }
  }
});

const TONES: readonly ChatTone[] = ['bad', 'warning', 'good', 'unclear', 'neutral'];
const foreign = fc.oneof(fc.string({ unit: 'binary', maxLength: 5000 }).map((text) => text.toWellFormed()), fc.string({ unit: fc.constantFrom('&', '<', '>', '@here', '\u{1F600}', 'é', '\n'), maxLength: 3000 }));

test('whatever the texts, each part stays within what Slack takes, is no half of an entity, and is not empty', (t) => {
  const arbitrary = fc.record({
    tone: fc.constantFrom(...TONES),
    title: foreign,
    text: fc.option(foreign),
    facts: fc.array(fc.record({ label: foreign, value: foreign }), { maxLength: 12 }),
    link: fc.option(fc.record({ label: foreign, url: fc.webUrl() })),
  });
  fc.assert(
    fc.property(arbitrary, (message) => {
      const rendered = renderSlackMessage(message);
      const texts = mrkdwnOf(rendered);
      const [header] = rendered.blocks;
      const headline = header?.type === 'header' ? header.text.text : '';
      return (
        headline.length > 0 &&
        headline.length <= 150 &&
        [headline, ...texts].every((text) => text.isWellFormed()) &&
        texts.every((text) => text.length > 0 && text.length <= 3000 && !/&(?!amp;|lt;|gt;)/.test(text))
      );
    }),
    { numRuns: 300 },
  );
  t.pass();
});
