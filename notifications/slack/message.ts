import { CHAT_CAPS, CHAT_MARKS, type ChatFact, type ChatMessage } from '../../core/chat/message.ts';
import { escapeShown, shorten } from '../../core/chat/shown-text.ts';

/** What Slack refuses to exceed in a header, in characters. */
const HEADER_LIMIT = 150;

/** As many characters of facts as Slack takes of any text. */
const FACTS_LIMIT = 3000;

/** Words that call a whole channel where something looks for names in a text. */
const CALLS = /@(?=channel|here|everyone)/gi;
const WORD_JOINER = '\u2060';

type PlainText = { type: 'plain_text'; text: string; emoji: false };
type Run = { type: 'text'; text: string; style?: { bold: true } } | { type: 'link'; url: string; text: string };
type RichText = { type: 'rich_text'; elements: [{ type: 'rich_text_section'; elements: readonly Run[] }] };
type Block = { type: 'header'; text: PlainText } | RichText;

/** The body of one POST to an incoming webhook. */
export type SlackMessage = {
  /** What notifications and screen readers say. */
  text: string;
  blocks: readonly Block[];
  mrkdwn: false;
  link_names: false;
  unfurl_links: false;
  unfurl_media: false;
};

/**
 * A chat message as Block Kit: header, reason, facts, link. Names and reasons are foreign text, and stand in parts of
 * which Slack reads nothing but the text: a header is plain, and the elements of rich text say themselves what is bold
 * and what is a link. So no asterisk, backtick, emoji name or angle bracket of theirs means anything, and no member is
 * mentioned. Only the notification is text with entities, for which markup is switched off, Slack is told not to look
 * for names, and those that call everybody are broken all the same.
 */
export function renderSlackMessage({ tone, title, text, facts, link }: ChatMessage): SlackMessage {
  const marked = `${CHAT_MARKS[tone]} ${title}`;
  return {
    text: [escaped(marked, CHAT_CAPS.title), ...(text ? [escaped(text, CHAT_CAPS.text)] : [])].join('\n'),
    blocks: [
      { type: 'header', text: headline(marked) },
      ...richText(words(text ?? '', CHAT_CAPS.text)),
      ...richText(wholeFacts(facts)),
      // No button: Slack puts a warning beside one whose app does not answer clicks, and has to reach the app for that.
      ...(link === null
        ? []
        : richText([{ type: 'link', url: link.url, text: shorten(link.label, CHAT_CAPS.name) || link.url }])),
    ],
    mrkdwn: false,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  };
}

/**
 * Whether plain text knows entities Slack does not say: angle quotes stand in for the characters that begin and end a
 * mention elsewhere.
 */
function headline(text: string): PlainText {
  return {
    type: 'plain_text',
    text: shorten(withoutCalls(text), HEADER_LIMIT).replaceAll('<', '‹').replaceAll('>', '›'),
    emoji: false,
  };
}

function escaped(text: string, maxLength: number): string {
  return escapeShown(withoutCalls(text), maxLength);
}

function withoutCalls(text: string): string {
  return text.replaceAll(CALLS, `@${WORD_JOINER}`);
}

/** A block; none where there is nothing to say, for Slack refuses empty ones. */
function richText(elements: readonly Run[]): RichText[] {
  return elements.length === 0 ? [] : [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }];
}

/** Slack refuses an element without a character. */
function words(text: string, maxLength: number): Run[] {
  const shown = shorten(text, maxLength);
  return shown === '' ? [] : [{ type: 'text', text: shown }];
}

/** A line for each fact, its label bold; as many as Slack takes. */
function wholeFacts(facts: readonly ChatFact[]): Run[] {
  let length = 0;
  const lines: Run[] = [];
  for (const fact of facts) {
    const label = `${lines.length === 0 ? '' : '\n'}${shorten(fact.label, CHAT_CAPS.shortName)}: `;
    const value = words(fact.value, CHAT_CAPS.fact);
    length += label.length + value.reduce((sum, { text }) => sum + text.length, 0);
    if (length > FACTS_LIMIT) break;
    lines.push({ type: 'text', text: label, style: { bold: true } }, ...value);
  }
  return lines;
}
