import { shorten, type ChatTone } from '../../../core/alerts/chat/message.ts';
import { toIso } from '../../../core/time.ts';
import type { PresetRequests } from './alert.ts';

/** Longest title of an embed that Discord takes, in characters; other texts are short enough. */
const TITLE = 256;

/** Colors as Discord takes them, red, green and blue in one number. */
const COLORS = {
  bad: 0xd92d20,
  warning: 0xdc6803,
  good: 0x079455,
  unclear: 0x667085,
  neutral: 0x667085,
} as const satisfies Record<ChatTone, number>;

/**
 * A Discord webhook: one embed, in which a name mentions nobody.
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
          title: escapeMarkdown(text.title, TITLE),
          url: message.url,
          color: COLORS[text.tone],
          timestamp: toIso(message.event_at),
          ...(text.text !== null && { description: escapeMarkdown(text.text) }),
          fields: text.facts.map(({ label, value }) => ({ name: label, value: escapeMarkdown(value), inline: true })),
        },
      ],
    },
  },
];

/** Names must not turn into links and headings; what is too long is cut before it is escaped. */
function escapeMarkdown(text: string, longest = Infinity): string {
  const escaped = text.replaceAll(/[\\*_~`|>[\]()#]/g, String.raw`\$&`);
  return escaped.length <= longest ? escaped : escapeMarkdown(shorten(text, text.length - 1), longest);
}
