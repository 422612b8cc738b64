import { escapeShown, shorten, type ChatTone } from '../../../core/alerts/chat/message.ts';
import { toIso } from '../../../core/time.ts';
import { listFacts, type PresetRequests } from './alert.ts';

/** Maximum length of an embed's title in Discord, in characters; other texts are short enough. */
const LONGEST_TITLE = 256;

/** Colors in Discord's form: red, green and blue in one number. */
const DISCORD_COLORS = {
  bad: 0xd92d20,
  warning: 0xdc6803,
  good: 0x079455,
  unclear: 0x667085,
  neutral: 0x667085,
} as const satisfies Record<ChatTone, number>;

/**
 * A Discord webhook: one embed, in which a name mentions no members.
 * https://discord.com/developers/docs/resources/webhook#execute-webhook
 */
export const discord: PresetRequests = ([{ text, message }], { url }) => [
  {
    url,
    body: {
      username: 'Spotcheck',
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: escapeMarkdown(text.title, LONGEST_TITLE),
          url: message.url,
          color: DISCORD_COLORS[text.tone],
          timestamp: toIso(message.event_at),
          ...(text.text !== null && { description: escapeMarkdown(text.text) }),
          fields: text.facts.map(({ label, value }) => ({ name: label, value: escapeMarkdown(value), inline: true })),
        },
      ],
    },
  },
];

/** Escapes Markdown, so that names do not become links and headings; a text that is too long is cut before escaping. */
function escapeMarkdown(text: string, longest = Infinity): string {
  const escaped = text.replaceAll(/[\\*_~`|>[\]()#]/g, String.raw`\$&`);
  return escaped.length <= longest ? escaped : escapeMarkdown(shorten(text, text.length - 1), longest);
}

/** Maximum length of a text in Google Chat, in characters; longer than any alert. */
const LONGEST_TEXT = 4096;

/**
 * A Google Chat webhook: a card, whose texts allow a few HTML tags, and a line for notifications.
 * https://developers.google.com/workspace/chat/api/reference/rest/v1/cards
 */
export const googleChat: PresetRequests = ([{ dedupKey, subject, text, message }], { url }) => {
  const thread = new URL(url);
  thread.searchParams.set('messageReplyOption', 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD');
  const lines = [text.text, listFacts(text)].filter((line) => line !== null && line !== '').join('\n');
  return [
    {
      url: thread,
      body: {
        fallbackText: text.title,
        thread: { threadKey: dedupKey },
        cardsV2: [
          {
            cardId: dedupKey,
            card: {
              header: { title: text.title, subtitle: subject.target },
              sections: [
                {
                  widgets: [
                    ...(lines === '' ? [] : [{ textParagraph: { text: escapeShown(lines, LONGEST_TEXT) } }]),
                    {
                      buttonList: {
                        buttons: [
                          { text: text.link?.label ?? 'Open Spotcheck', onClick: { openLink: { url: message.url } } },
                        ],
                      },
                    },
                  ],
                },
              ],
            },
          },
        ],
      },
    },
  ];
};

const MATTERMOST_COLORS = {
  bad: '#d92d20',
  warning: '#dc6803',
  good: '#079455',
  unclear: '#667085',
  neutral: '#667085',
} as const satisfies Record<ChatTone, string>;

/**
 * A Mattermost incoming webhook: one attachment; Rocket.Chat takes the same.
 * https://developers.mattermost.com/integrate/reference/message-attachments/
 */
export const mattermost: PresetRequests = ([{ text, message }], { url }) => [
  {
    url,
    body: {
      username: 'Spotcheck',
      attachments: [
        {
          fallback: text.title,
          color: MATTERMOST_COLORS[text.tone],
          title: quiet(text.title),
          title_link: message.url,
          text: quiet(text.text ?? ''),
          fields: text.facts.map(({ label, value }) => ({ short: true, title: label, value: quiet(value) })),
        },
      ],
    },
  },
];

/** Escapes a text, so that names do not mention people or become links and headings. */
function quiet(text: string): string {
  return text.replaceAll(/[\\*_~`|>[\]()#!]/g, String.raw`\$&`).replaceAll('@', '@\u{200B}');
}

const TEAMS_COLORS = {
  bad: 'Attention',
  warning: 'Warning',
  good: 'Good',
  unclear: 'Default',
  neutral: 'Default',
} as const satisfies Record<ChatTone, string>;

/**
 * Microsoft Teams through a workflow that posts when a webhook request is received: one Adaptive Card.
 * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
 */
export const teams: PresetRequests = ([{ text, message }], { url }) => [
  {
    url,
    body: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            body: [
              // Runs of rich text are shown verbatim; a text block would parse names as Markdown.
              richText(text.title, { weight: 'Bolder', size: 'Medium', color: TEAMS_COLORS[text.tone] }),
              ...(text.text === null ? [] : [richText(text.text)]),
              ...text.facts.map(({ label, value }) => richText(`${label}: ${value}`)),
            ],
            actions: [{ type: 'Action.OpenUrl', title: text.link?.label ?? 'Open Spotcheck', url: message.url }],
          },
        },
      ],
    },
  },
];

function richText(text: string, style: object = {}): object {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style }] };
}
