import { DIRECTION_CONTROLS, cleanText } from '../../foreign-text.ts';

/** Severity of a chat message, shown by its symbol or color. */
export type ChatTone = 'bad' | 'warning' | 'good' | 'unclear' | 'neutral';

/**
 * Contents of a chat message for any chat: plain text, unescaped, on one line each, within `CHAT_CAPS`. Its renderers
 * escape every part.
 */
export type ChatMessage = {
  tone: ChatTone;
  /** State and name, without the tone's mark: a lock screen shows little else. */
  title: string;
  /** A sentence; null if the title is enough. */
  text: string | null;
  facts: readonly ChatFact[];
  /** Null if there is no page to open. */
  link: { label: string; url: string } | null;
};

export type ChatFact = { label: string; value: string };

/** Marks before titles: readable on a lock screen, and by people who cannot tell red from green. */
export const CHAT_MARKS = {
  bad: '\u{1F534}',
  warning: '\u{1F7E0}',
  good: '\u{1F7E2}',
  unclear: '\u{26AA}',
  neutral: '\u{1F514}',
} as const satisfies Record<ChatTone, string>;

/**
 * Maximum characters (UTF-16 units) of each part. Renderers apply them after escaping, so each part fits in a Slack
 * block; facts for which a message has no room are left out.
 */
export const CHAT_CAPS = { title: 300, name: 200, text: 500, fact: 400, shortName: 60 } as const;

/** Maximum text length that is processed at all, more than any chat shows. */
const LONGEST = 4096;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Shortens a foreign text to one clean line of at most `maxLength` characters, with an ellipsis if it was cut. */
export function shorten(text: string, maxLength: number): string {
  const line = cleanText(text, LONGEST).replaceAll(DIRECTION_CONTROLS, '').replaceAll(/\s+/gu, ' ').trim();
  return line.length <= maxLength
    ? line
    : `${line
        .slice(0, maxLength - 1)
        .toWellFormed()
        .replace(/\u{FFFD}$/u, '')
        .trimEnd()}…`;
}

/**
 * Escapes `&`, `<` and `>` as entities, as Telegram's HTML and Slack's mrkdwn require. Returns at most `maxLength`
 * characters, never cut inside an entity or a surrogate pair.
 */
export function escapeShown(text: string, maxLength: number): string {
  const characters = [...text].map((character) => ESCAPES[character] ?? character);
  const whole = characters.join('');
  if (whole.length <= maxLength) return whole;
  let cut = '';
  for (const character of characters) {
    if (cut.length + character.length >= maxLength) break;
    cut += character;
  }
  return `${cut.trimEnd()}…`;
}

/** A channel as service messages describe it. `publicUrl` is the base of links, without a trailing slash. */
type NamedChannel = { name: string; enabled: boolean; allMonitors: boolean; publicUrl: string };

/**
 * Builds the greeting of a newly connected chat (D-55). `howToStop` explains how to disconnect from within the chat;
 * null if that is impossible.
 */
export function buildGreeting(channel: NamedChannel, howToStop: string | null): ChatMessage {
  const name = shorten(channel.name, CHAT_CAPS.shortName);
  const which = channel.allMonitors ? 'all monitors' : 'the monitors chosen for it';
  return {
    tone: 'neutral',
    title: 'Connected to Spotcheck',
    text: channel.enabled
      ? `Alerts for ${which} arrive here, from the channel ${name}.${howToStop === null ? '' : ` ${howToStop}`}`
      : `The channel ${name} is disabled. Once enabled, alerts for ${which} arrive here.`,
    facts: [],
    link: { label: 'Open Spotcheck', url: channel.publicUrl },
  };
}
