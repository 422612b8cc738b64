import { z } from 'zod';
import type { VendorState } from '../../core/checks/vendor/snapshot.ts';
import { accepted, cleanText, refused, type Parsed } from '../../core/foreign-text.ts';

/**
 * Maximum nesting. No vendor nests more than a dozen deep, and each deeper level takes hundreds of bytes of memory for
 * each byte of its own.
 */
const MAX_DEPTH = 1000;

/** Parses the JSON of a document by a schema; the error is a sentence that names where it does not fit. */
export function readJson<Schema extends z.ZodType>(body: Buffer, schema: Schema): Parsed<z.output<Schema>> {
  let value: unknown;
  const text = decodeText(body);
  if (isNestedDeeper(text, MAX_DEPTH)) return refused(`it is nested more than ${MAX_DEPTH} deep`);
  try {
    value = JSON.parse(text);
  } catch {
    return refused('it is not JSON');
  }
  const result = schema.safeParse(value);
  if (result.success) return accepted(result.data);
  const path = result.error.issues[0]?.path.map(String).join('.') ?? '';
  return refused(`its JSON is of another form${path === '' ? '' : ` (at ${path.slice(0, 60)})`}`);
}

/**
 * Parses a list whose items must all fit. It stops at the first one that does not: a plain zod schema would describe
 * each of them, and a stranger's page of 32 KiB would take a tenth of a second.
 */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(z.unknown()).transform((list, context): z.output<Item>[] => {
    const items: z.output<Item>[] = [];
    for (const [index, each] of list.entries()) {
      const { success, data, error } = item.safeParse(each);
      if (!success) {
        context.addIssue({ code: 'custom', message: 'does not fit', path: [index, ...(error.issues[0]?.path ?? [])] });
        return z.NEVER;
      }
      items.push(data);
    }
    return items;
  });
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = ['"', '\\', '[', ']', '{', '}'].map(
  (sign) => sign.charCodeAt(0),
);

/** Reports whether a text nests lists and objects deeper than `most`, whether it is JSON or not. */
function isNestedDeeper(text: string, most: number): boolean {
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length && depth <= most; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isQuoted = !isQuoted;
    else if (isQuoted) at += code === BACKSLASH ? 1 : 0;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) depth += 1;
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
  }
  return depth > most;
}

/**
 * Maps a page's own word for a state to the common one. A word that is not in the table does not fit, because its
 * meaning cannot be guessed.
 */
export function stateWord(states: Readonly<Record<string, VendorState>>) {
  return z.string().transform((word, context): VendorState => {
    const state = Object.hasOwn(states, word) ? states[word] : undefined;
    if (state !== undefined) return state;
    context.addIssue({ code: 'custom', message: 'is no known state' });
    return z.NEVER;
  });
}

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

/** Cleans the name or id of a component or page for storage and display. */
export function plainName(text: string): string {
  return cleanText(text, MAX_NAME);
}

/** Returns the title of an incident: its first line without markup. */
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
 * Decodes a document. A byte-order mark decides, whatever the headers say: AWS sends UTF-16, big-endian, with one;
 * everything else is UTF-8. The mark is not part of the text.
 */
export function decodeText(body: Buffer): string {
  return new TextDecoder(encodingOf(body)).decode(body);
}

function encodingOf([first, second]: Buffer): string {
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : 'utf-8';
}
