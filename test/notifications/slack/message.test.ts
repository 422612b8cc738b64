import test from 'ava';
import * as fc from 'fast-check';
import type { ChatMessage, ChatTone } from '../../../core/alerts/chat/message.ts';
import { renderSlackMessage, type SlackMessage } from '../../../notifications/slack/attempt.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

const MESSAGE: ChatMessage = {
  tone: 'bad',
  title: 'Down: Shop',
  text: 'HTTP 503 instead of 2xx',
  facts: [
    { label: 'Failing from', value: 'frankfurt, hanoi (2 of 3)' },
    { label: 'Since', value: '2026-03-14 09:26:53 UTC, for 2 minutes' },
  ],
  link: { label: 'View monitor', url: 'https://spotcheck.example/monitors/mon_1' },
};

type Run = { type: 'text' | 'link'; text: string; url?: string; style?: object };

/** Returns the elements of all rich text; Slack interprets nothing but the type of each. */
const runsOf = ({ blocks }: SlackMessage): Run[] =>
  blocks.flatMap((block) =>
    block.type === 'rich_text' ? block.elements.flatMap(({ elements }): readonly Run[] => elements) : [],
  );

test('a message has state and name as its header, then reason, facts and link, styled without markup', (t) => {
  const section = (...elements: object[]) => ({
    type: 'rich_text',
    elements: [{ type: 'rich_text_section', elements }],
  });
  t.deepEqual(renderSlackMessage(MESSAGE) as unknown, {
    text: '\u{1F534} Down: Shop\nHTTP 503 instead of 2xx',
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: '\u{1F534} Down: Shop', emoji: false } },
      section({ type: 'text', text: 'HTTP 503 instead of 2xx' }),
      section(
        { type: 'text', text: 'Failing from: ', style: { bold: true } },
        { type: 'text', text: 'frankfurt, hanoi (2 of 3)' },
        { type: 'text', text: '\nSince: ', style: { bold: true } },
        { type: 'text', text: '2026-03-14 09:26:53 UTC, for 2 minutes' },
      ),
      section({ type: 'link', url: 'https://spotcheck.example/monitors/mon_1', text: 'View monitor' }),
    ],
    mrkdwn: false,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  });
});

test('missing parts have no block, since Slack rejects empty ones', (t) => {
  const { blocks, text } = renderSlackMessage({ ...MESSAGE, text: '', facts: [], link: null });
  t.deepEqual(
    blocks.map(({ type }) => type),
    ['header'],
  );
  t.is(text, '\u{1F534} Down: Shop');
});

const INJECTIONS = [
  '<!channel>',
  '<!here|here>',
  '<@U123>',
  '<https://evil.example|Spotcheck>',
  '@channel',
  '@here',
  '@Everyone',
  '&lt;!channel&gt;',
  '*bold* _it_ `code` ~x~',
  '|',
  '>',
];

test('names, reasons, facts and labels appear literally, without mentions, links or markup', (t) => {
  for (const text of INJECTIONS) {
    const message = renderSlackMessage({
      ...MESSAGE,
      title: text,
      text,
      facts: [{ label: text, value: text }],
      link: { label: text, url: 'https://spotcheck.example/monitors/mon_1' },
    });
    const [header] = message.blocks;
    t.true(
      header?.type === 'header' &&
        header.text.type === 'plain_text' &&
        !/[<>]|@(channel|here|everyone)/i.test(header.text.text),
      JSON.stringify(header),
    );
    t.deepEqual(runsOf(message) as unknown, [
      { type: 'text', text },
      { type: 'text', text: `${text}: `, style: { bold: true } },
      { type: 'text', text },
      { type: 'link', url: 'https://spotcheck.example/monitors/mon_1', text },
    ]);
    // The notification contains no markup, and nothing that starts a mention or a link.
    t.false(message.mrkdwn);
    t.notRegex(message.text, /[<>]|&(?!amp;|lt;|gt;)|@(channel|here|everyone)/i);
    t.is(
      message.text
        .replaceAll('\u2060', '')
        .split('\n')[1]
        ?.replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&'),
      text,
    );
  }
});

test('only blocks without markup are used', (t) => {
  const { blocks } = renderSlackMessage({ ...MESSAGE, title: '*x* _y_ ~z~ `c` > q', text: '> quoted' });
  t.deepEqual([...new Set(blocks.map(({ type }) => type))], ['header', 'rich_text']);
  t.false(JSON.stringify(blocks).includes('mrkdwn'));
});

const TONES: readonly ChatTone[] = ['bad', 'warning', 'good', 'unclear', 'neutral'];
const foreign = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 5000 }).map((text) => text.toWellFormed()),
  fc.string({ unit: fc.constantFrom('&', '<', '>', '@here', '\u{1F600}', 'é', '\n'), maxLength: 3000 }),
);

test("with any texts each part is within Slack's limits, not empty, and splits no entity", (t) => {
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
      const runs = runsOf(rendered).map(({ text }) => text);
      const [header] = rendered.blocks;
      const headline = header?.type === 'header' ? header.text.text : '';
      return (
        headline.length > 0 &&
        headline.length <= 150 &&
        [headline, rendered.text, ...runs].every((text) => text.isWellFormed() && text.length > 0) &&
        !/&(?!amp;|lt;|gt;)/.test(rendered.text) &&
        rendered.text.length <= 3000 &&
        runs.join('').length <= 4500 &&
        rendered.blocks.every(
          (block) =>
            block.type === 'header' ||
            block.elements.every(
              ({ elements }) => elements.length > 0 && elements.reduce((sum, { text }) => sum + text.length, 0) <= 3000,
            ),
        )
      );
    }),
    { numRuns: 300 },
  );
  t.pass();
});
