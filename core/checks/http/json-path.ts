import { accepted, quote, refused, type Parsed } from '../../foreign-text.ts';

/** Steps from the root of a JSON document to one value: a string is an object's key, a number an array's index. */
export type JsonPath = readonly (string | number)[];

// Wildcards, quotes and blanks cannot be part of a bare key: `.*` or `.a b` would otherwise silently mean a key that
// hardly any document has.
const STEPS: readonly { form: RegExp; key: (text: string) => string | number }[] = [
  { form: /^\.([^\s.*[\]'"]+)/, key: (text) => text },
  { form: /^\[(0|[1-9]\d{0,14})\]/, key: Number },
  { form: /^\['((?:[^'\\]|\\['"\\])*)'\]/, key: unescapeQuoted },
  { form: /^\["((?:[^"\\]|\\['"\\])*)"\]/, key: unescapeQuoted },
];

/**
 * Parses a path of D-22's grammar: `$`, then any number of `.key`, `[0]`, `['key']`, `["key"]`; in quotes a backslash
 * escapes a quote or a backslash.
 */
export function parseJsonPath(text: string): Parsed<JsonPath> {
  if (!text.startsWith('$')) return refused(`path must start with $, got ${quote(text)}`);

  const path: (string | number)[] = [];
  let rest = text.slice(1);
  while (rest !== '') {
    const step = readStep(rest);
    if (step === null)
      return refused(
        `path must be $ followed by .key, [0], ['key'] or ["key"], got ${quote(rest)} after ` +
          `${quote(text.slice(0, -rest.length))}`,
      );
    path.push(step.key);
    rest = rest.slice(step.length);
  }
  return accepted(path);
}

/**
 * Returns the value at a path; undefined if there is none (JSON null is a value). Only an object's own keys and an
 * array's indexes are found, so `$.length` of an array is not.
 */
export function readJsonPath(document: unknown, path: JsonPath): unknown {
  let value = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) !== (typeof step === 'number') || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/**
 * Returns a found value as text for comparison: a string as it is, anything else as compact JSON, so that null is
 * `null` (D-22).
 */
export function jsonValueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function readStep(rest: string): { key: string | number; length: number } | null {
  for (const { form, key } of STEPS) {
    const found = form.exec(rest);
    if (found !== null) return { key: key(found[1] ?? ''), length: found[0].length };
  }
  return null;
}

function unescapeQuoted(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1');
}

/**
 * Finds the source text of the value at a path of a valid JSON document; null if there is none. Takes one pass over the
 * text: a number's digits are lost once it has been a double (D-67).
 */
export function findJsonSource(document: string, path: JsonPath): string | null {
  let at: number | null = skipBlanks(document, 0);
  for (const step of path) {
    at = typeof step === 'number' ? findItem(document, { at, index: step }) : findMember(document, { at, key: step });
    if (at === null) return null;
  }
  return document.slice(at, endOfValue(document, at));
}

function findItem(document: string, { at, index }: { at: number; index: number }): number | null {
  if (document[at] !== '[') return null;
  let next = skipBlanks(document, at + 1);
  for (let passed = 0; passed < index; passed += 1) {
    next = skipBlanks(document, endOfValue(document, next));
    if (document[next] !== ',') return null;
    next = skipBlanks(document, next + 1);
  }
  return document[next] === ']' ? null : next;
}

/** The last value of a duplicate key counts, as for `JSON.parse`. */
function findMember(document: string, { at, key }: { at: number; key: string }): number | null {
  if (document[at] !== '{') return null;
  let found: number | null = null;
  let next = skipBlanks(document, at + 1);
  while (document[next] === '"') {
    const endOfKey = endOfString(document, next);
    const value = skipBlanks(document, skipBlanks(document, endOfKey) + 1);
    if (isKey(document.slice(next, endOfKey), key)) found = value;
    next = skipBlanks(document, endOfValue(document, value));
    if (document[next] !== ',') break;
    next = skipBlanks(document, next + 1);
  }
  return found;
}

function isKey(source: string, key: string): boolean {
  return source.includes('\\')
    ? JSON.parse(source) === key
    : source.length === key.length + 2 && source.startsWith(key, 1);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BLANK = 0x20;

function endOfValue(document: string, at: number): number {
  const first = document.charCodeAt(at);
  if (first === QUOTE) return endOfString(document, at);
  if (!isOpening(first)) return endOfScalar(document, at);
  let depth = 0;
  let end = at;
  do {
    const code = document.charCodeAt(end);
    if (isOpening(code)) depth += 1;
    else if (isClosing(code)) depth -= 1;
    end = code === QUOTE ? endOfString(document, end) : end + 1;
  } while (depth > 0 && end < document.length);
  return end;
}

/** `{` and `[`. */
function isOpening(code: number): boolean {
  return code === 0x7b || code === 0x5b;
}

/** `}` and `]`. */
function isClosing(code: number): boolean {
  return code === 0x7d || code === 0x5d;
}

function endOfScalar(document: string, at: number): number {
  const isComma = (code: number) => code === 0x2c;
  let end = at;
  for (
    let code = document.charCodeAt(end);
    code > BLANK && !isComma(code) && !isClosing(code);
    code = document.charCodeAt(end)
  )
    end += 1;
  return end;
}

/** Finds the next quote not escaped by an odd number of backslashes. */
function endOfString(document: string, at: number): number {
  for (let end = document.indexOf('"', at + 1); end !== -1; end = document.indexOf('"', end + 1)) {
    let before = end - 1;
    while (document.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end + 1;
  }
  return document.length;
}

function skipBlanks(document: string, at: number): number {
  let next = at;
  while (document.charCodeAt(next) <= BLANK) next += 1;
  return next;
}
