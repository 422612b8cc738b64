import { cleanText } from '../../core/foreign-text.ts';

const MAX_NAME = 200;
const MAX_TITLE = 300;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  '#39': "'",
};

/** A component's or a page's name or id, fit to be stored and shown. */
export function plainName(text: string): string {
  return cleanText(text, MAX_NAME);
}

/** The title of an incident: its first line without markup. */
export function plainTitle(text: string): string {
  const withoutTags = text
    .slice(0, 4 * MAX_TITLE)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('**', '')
    .replaceAll(/&([a-z]+|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole);
  const line =
    withoutTags
      .split('\n')
      .map((one) => one.trim())
      .find((one) => one !== '' && !/^(?:title|summary|description):?$/i.test(one)) ?? '';
  return cleanText(line.replaceAll(/\s+/g, ' '), MAX_TITLE);
}

/**
 * The text of a document. A byte-order mark decides, whatever the headers say: AWS sends UTF-16, big-endian, with one;
 * everything else is UTF-8. The mark is no part of the text.
 */
export function decodeText(body: Buffer): string {
  return new TextDecoder(encodingOf(body)).decode(body);
}

function encodingOf([first, second]: Buffer): string {
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : 'utf-8';
}
