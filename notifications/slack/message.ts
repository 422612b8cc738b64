import { CHAT_CAPS, CHAT_MARKS, type ChatFact, type ChatMessage } from '../../core/chat/message.ts';
import { escapeShown, shorten } from '../../core/chat/shown-text.ts';

/** What Slack refuses to exceed, in characters after escaping. */
const HEADER_LIMIT = 150;
const TEXT_LIMIT = 3000;

/** Words that call a whole channel where something looks for names in a text. */
const CALLS = /@(?=channel|here|everyone)/gi;
const WORD_JOINER = '\u2060';

type PlainText = { type: 'plain_text'; text: string; emoji: false };
type Mrkdwn = { type: 'mrkdwn'; text: string; verbatim: true };
type Block = { type: 'header'; text: PlainText } | { type: 'section'; text: Mrkdwn } | { type: 'context'; elements: [Mrkdwn] };

/** The body of one POST to an incoming webhook. */
export type SlackMessage = {
  /** What notifications and screen readers say. */
  text: string;
  blocks: readonly Block[];
  link_names: false;
  unfurl_links: false;
  unfurl_media: false;
};

/**
 * A chat message as Block Kit: header, reason, facts, link. Names and reasons are foreign text and can neither mention people nor make
 * links: control characters are escaped, Slack is told not to look for names, and those that call everybody are broken all the same.
 */
export function renderSlackMessage({ tone, title, text, facts, link }: ChatMessage): SlackMessage {
  const marked = `${CHAT_MARKS[tone]} ${title}`;
  return {
    text: [escaped(marked, CHAT_CAPS.title), ...(text ? [escaped(text, CHAT_CAPS.text)] : [])].join('\n'),
    blocks: [
      { type: 'header', text: headline(marked) },
      ...(text ? [section(escaped(text, CHAT_CAPS.text))] : []),
      ...(facts.length > 0 ? [context(facts)] : []),
      // No button: Slack puts a warning beside one whose app does not answer clicks, and has to reach the app for that.
      ...(link === null ? [] : [section(`<${escapeShown(link.url, TEXT_LIMIT / 2)}|${escaped(link.label, CHAT_CAPS.name)}>`)]),
    ],
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** Plain text knows no entities: angle quotes stand in for the characters that begin and end a mention elsewhere. */
function headline(text: string): PlainText {
  return { type: 'plain_text', text: shorten(withoutCalls(text), HEADER_LIMIT).replaceAll('<', '‹').replaceAll('>', '›'), emoji: false };
}

function escaped(text: string, maxLength: number): string {
  return escapeShown(withoutCalls(text), maxLength);
}

function withoutCalls(text: string): string {
  return text.replaceAll(CALLS, `@${WORD_JOINER}`);
}

function section(text: string): Block {
  return { type: 'section', text: mrkdwn(text) };
}

function context(facts: readonly ChatFact[]): Block {
  const lines = facts.map(({ label, value }) => `*${escaped(label, CHAT_CAPS.place)}:* ${escaped(value, CHAT_CAPS.fact)}`);
  return { type: 'context', elements: [mrkdwn(wholeLines(lines))] };
}

/** As many lines as Slack takes: one that was cut could end inside an entity. */
function wholeLines(lines: readonly string[]): string {
  return lines.reduce((text, line) => (text.length + 1 + line.length > TEXT_LIMIT ? text : `${text}\n${line}`));
}

function mrkdwn(text: string): Mrkdwn {
  return { type: 'mrkdwn', text, verbatim: true };
}
