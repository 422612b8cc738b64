import type { JsonPath } from './json-path.ts';

/**
 * Finds the source text of the value at a path of a JSON document, which `JSON.parse` has read before; null where there
 * is none. Takes one pass over the text: a number's digits are lost once it has been a double (D-67).
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

/** Of a key that occurs twice the last value counts, as for `JSON.parse`. */
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

/** The next quote that no odd number of backslashes escapes. */
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
