import { DIRECTION_CONTROLS, cleanText } from '../../foreign-text.ts';

/** How a chat message shall look at first sight. */
export type ChatTone = 'bad' | 'warning' | 'good' | 'unclear' | 'neutral';

/**
 * What people read in a chat, whatever the chat: plain text, unescaped, on one line each, within `CHAT_CAPS`. Its
 * renderers escape every part.
 */
export type ChatMessage = {
  tone: ChatTone;
  /** State and name, without the tone's mark: a look at the lock screen tells the rest of it. */
  title: string;
  /** A sentence; null where the title says it all. */
  text: string | null;
  facts: readonly ChatFact[];
  /** Null where there is nothing to open. */
  link: { label: string; url: string } | null;
};

export type ChatFact = { label: string; value: string };

/** The mark before a title: readable on a lock screen, and by those who do not tell red from green. */
export const CHAT_MARKS = {
  bad: '\u{1F534}',
  warning: '\u{1F7E0}',
  good: '\u{1F7E2}',
  unclear: '\u{26AA}',
  neutral: '\u{1F514}',
} as const satisfies Record<ChatTone, string>;

/**
 * The most characters (UTF-16 units) of each part. Renderers hold them against what they send, so after escaping. Each
 * part is then within what Slack takes of one block, and facts for which a message has no room are left out.
 */
export const CHAT_CAPS = { title: 300, name: 200, text: 500, fact: 400, shortName: 60 } as const;

/** More of a text than any chat shows; what is beyond is not even looked at. */
const LONGEST = 4096;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A foreign text as one clean line of at most `maxLength` characters, an ellipsis at its end where it was cut. */
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
 * A text with `&`, `<` and `>` as entities, which is what Telegram's HTML and Slack's mrkdwn ask for. At most
 * `maxLength` characters after escaping, never cut inside an entity or a pair of surrogates.
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

/** A channel as a service message names it. `publicUrl` is the base of links, without a slash at its end. */
export type NamedChannel = { name: string; enabled: boolean; allMonitors: boolean; publicUrl: string };

/**
 * Greets a chat that was just connected (D-55). `howToStop` says how people end it from the chat itself; null where
 * they cannot.
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
