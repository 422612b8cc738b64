import { cleanText } from '../../clean-text.ts';

/** Direction overrides would let a name rearrange the message around it. */
const DIRECTION_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/gu;

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
 * A text with `&`, `<` and `>` as entities, which is what Telegram's HTML and Slack's mrkdwn ask for: at most
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
