import type { ChatTone } from '../../../core/alerts/chat/message.ts';
import type { PresetRequests } from './alert.ts';

const COLORS = {
  bad: 'Attention',
  warning: 'Warning',
  good: 'Good',
  unclear: 'Default',
  neutral: 'Default',
} as const satisfies Record<ChatTone, string>;

/**
 * Microsoft Teams by a workflow that posts when a webhook request is received: one Adaptive Card.
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
              // Runs of rich text are shown as they are; a text block would read names as Markdown.
              richText(text.title, { weight: 'Bolder', size: 'Medium', color: COLORS[text.tone] }),
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
