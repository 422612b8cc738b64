import type { ChatTone } from '../../../core/alerts/chat/message.ts';
import type { PresetRequests } from './alert.ts';

const COLORS = {
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
          color: COLORS[text.tone],
          title: quiet(text.title),
          title_link: message.url,
          text: quiet(text.text ?? ''),
          fields: text.facts.map(({ label, value }) => ({ short: true, title: label, value: quiet(value) })),
        },
      ],
    },
  },
];

/** Names must not mention people, nor turn into links and headings. */
function quiet(text: string): string {
  return text.replaceAll(/[\\*_~`|>[\]()#!]/g, String.raw`\$&`).replaceAll('@', '@\u{200B}');
}
