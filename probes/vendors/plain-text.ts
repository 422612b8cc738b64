import { cleanText } from '../../core/clean-text.ts';

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
