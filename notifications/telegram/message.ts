import { CHAT_CAPS, CHAT_MARKS, type ChatMessage, escapeShown } from '../../core/alerts/chat/message.ts';

/** The parameters of one sendMessage. */
export type TelegramMessage = {
  chat_id: number;
  text: string;
  parse_mode: 'HTML';
  link_preview_options: { is_disabled: true };
};

/** More than any address of ours, escaped; a longer one is left out. */
const MAX_URL = 400;

/** What Telegram makes a mention or a command to tap on of, wherever it stands; not the slashes of an address. */
const LIVELY = /(?<=^|[^\w/<>])[@/](?=\w)/g;

/** Without width and without a break; behind such a sign it makes plain text of it. */
const WORD_JOINER = '\u2060';

/**
 * A chat message as Telegram's HTML: title, reason, facts, link, without a preview. Names and reasons are foreign text:
 * they are escaped, and can neither mention people nor offer commands to tap on.
 */
export function renderTelegramMessage(
  chatId: string,
  { tone, title, text, facts, link }: ChatMessage,
): TelegramMessage {
  const head = [
    `${CHAT_MARKS[tone]} <b>${shown(title, CHAT_CAPS.title)}</b>`,
    ...(text === null ? [] : [shown(text, CHAT_CAPS.text)]),
  ];
  const body = facts.map(({ label, value }) => `${shown(label, CHAT_CAPS.shortName)}: ${shown(value, CHAT_CAPS.fact)}`);
  const url = attribute(link?.url ?? '');
  const foot =
    link === null || url.length > MAX_URL ? [] : [`<a href="${url}">${shown(link.label, CHAT_CAPS.shortName)}</a>`];
  return {
    chat_id: Number(chatId),
    text: [head, body, foot]
      .filter((part) => part.length > 0)
      .map((part) => part.join('\n'))
      .join('\n\n'),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  };
}

function shown(text: string, maxLength: number): string {
  return escapeShown(text.replaceAll(LIVELY, `$&${WORD_JOINER}`), maxLength);
}

function attribute(url: string): string {
  return url.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
