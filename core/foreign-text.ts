/** Result of parsing foreign text: the value, or a sentence about the fault (shown to customers in a 400). */
export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

/** Wraps a valid value. */
export function accepted<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** Wraps the complaint about an invalid text. */
export function refused(message: string): { ok: false; message: string } {
  return { ok: false, message };
}

/** Direction overrides, with which a text could rearrange its surroundings. */
export const DIRECTION_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/gu;

/**
 * Makes text from outside fit to store and show. At most `maxLength` characters, no control characters (PostgreSQL
 * rejects NUL, logs and terminals must get no escape sequences), no lone surrogates.
 */
export function cleanText(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim();
}

const LATIN_1 = /charset\s*=\s*"?(?:iso-8859-1|latin1|windows-1252)\b/i;

/** Reports whether a `Content-Type` declares Latin-1 rather than UTF-8. */
export function isLatin1(contentType: string | undefined): boolean {
  return contentType !== undefined && LATIN_1.test(contentType);
}

const BEYOND_ASCII = /[\u0080-\u00FF]/;

/** Reports whether a text of one Latin-1 character for each byte has bytes that are not ASCII. */
export function isBeyondAscii(text: string): boolean {
  return BEYOND_ASCII.test(text);
}

/**
 * Decodes the value of a header, which has one Latin-1 character for each byte, as UTF-8. One that is not valid UTF-8
 * stays Latin-1.
 */
export function decodeHeader(value: string): string {
  if (!isBeyondAscii(value)) return value;
  const bytes = Uint8Array.from(value, (character) => character.charCodeAt(0));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return value;
  }
}

/** Parses a JSON text; undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Decodes the percent escapes in a part of a URL; returns a text with an invalid escape unchanged. */
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
 * Quotes a foreign text for a sentence that people read and a database stores. One line, cut to 60 characters, no
 * control characters and no lone surrogates.
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

/** Escapes a foreign text for a page, attributes included. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
