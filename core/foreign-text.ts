/**
 * What comes of reading foreign text: the value, or a sentence that says what is wrong with it (shown to customers in a
 * 400).
 */
export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

/** Wraps a value that was read without complaint. */
export function accepted<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** Wraps the complaint about a text that cannot be read. */
export function refused(message: string): { ok: false; message: string } {
  return { ok: false, message };
}

/** Direction overrides, which would let a text rearrange what stands around it. */
export const DIRECTION_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/gu;

/**
 * Text from outside made fit to be stored and shown. At most `maxLength` characters, no control characters (PostgreSQL
 * takes no NUL, logs and terminals no escape sequences), no halves of surrogate pairs.
 */
export function cleanText(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim();
}

const LATIN_1 = /charset\s*=\s*"?(?:iso-8859-1|latin1|windows-1252)\b/i;

/** True where a `Content-Type` says that a text is Latin-1 rather than UTF-8. */
export function isLatin1(contentType: string | undefined): boolean {
  return contentType !== undefined && LATIN_1.test(contentType);
}

/** The value of a JSON text; undefined for a text that is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undoes the escapes of a URL's part; a text with an invalid one stays as it is. */
export function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const MAX_SHOWN = 60;
const UNPRINTABLE = /[\s\p{Cc}]+/gu;

/**
 * A foreign text between quotes, fit for a sentence that people read and a database stores. One line, at most 60
 * characters, no control characters and no halves of a pair.
 */
export function quote(text: string): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  const mark = shown.includes('"') && !shown.includes("'") ? "'" : '"';
  return `${mark}${shown.replaceAll(UNPRINTABLE, ' ').toWellFormed()}${mark}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A foreign text as it may stand in a page, in an attribute too. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
