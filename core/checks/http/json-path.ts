import { accepted, refused, type Parsed, quote } from '../../foreign-text.ts';

/** The steps from the root of a JSON document to one value: a string is an object's key, a number an array's index. */
export type JsonPath = readonly (string | number)[];

// Wildcards, quotes and blanks are no part of a bare key: `.*` or `.a b` would otherwise silently ask for a key that
// hardly any document has.
const STEPS: readonly { form: RegExp; key: (text: string) => string | number }[] = [
  { form: /^\.([^\s.*[\]'"]+)/, key: (text) => text },
  { form: /^\[(0|[1-9]\d{0,14})\]/, key: Number },
  { form: /^\['((?:[^'\\]|\\['"\\])*)'\]/, key: unescapeQuoted },
  { form: /^\["((?:[^"\\]|\\['"\\])*)"\]/, key: unescapeQuoted },
];

/**
 * Reads a path of D-22's grammar: `$`, then any number of `.key`, `[0]`, `['key']`, `["key"]`; in quotes a backslash
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
 * The value at a path; undefined where there is none (JSON null is a value). Only an object's own keys and an array's
 * indexes are found, so `$.length` of an array is not.
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
 * What a found value compares as: a string as it is, anything else as its compact JSON text, so that null is `null`
 * (D-22).
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
