/**
 * One `key: value` of a WHOIS answer; the key in lower case with single blanks for all dots, dashes and underscores.
 */
export type WhoisField = { key: string; value: string };

/** Longer lines are cut, in characters: none of them is a field, and a line of blanks must not keep a pattern busy. */
const MAX_LINE = 500;

const COMMENT = /^(?:[%#;]|>>>|--)/;
// `key: value`, `key......: value`, `** key: value`, `[key]   value`
const COLON = /^(?:\*\*\s*)?(?<key>[^:[\]]{1,50}?)[\s.]*:(?!\/\/)\s*(?<value>.*)$/;
const BRACKETS = /^(?:[a-z]\.\s*)?\[(?<key>[^\]]{1,50})\]\s*(?<value>.*)$/;
// Record expires on 2026-12-31 (YYYY-MM-DD)
const PROSE = /^(?<key>(?:record|domain)? ?(?:expires|expired|will expire) on)\s+(?<value>.*\d{4}.*)$/i;

type Line = { text: string; indent: number };

/**
 * The fields of a WHOIS answer in order, comments left out. A key that stands alone has the indented line below it for
 * its value.
 */
export function readWhoisFields(text: string): WhoisField[] {
  const lines = text
    .split(/\r?\n/)
    .map(readLine)
    .filter((line) => line.text !== '' && !COMMENT.test(line.text));
  return lines.flatMap((line, index) => {
    const field = PROSE.exec(line.text)?.groups ?? BRACKETS.exec(line.text)?.groups ?? COLON.exec(line.text)?.groups;
    if (field === undefined) return [];
    const value = field['value'] || valueBelow(line, lines[index + 1]);
    return value === '' ? [] : [{ key: normaliseKey(field['key'] ?? ''), value }];
  });
}

function readLine(line: string): Line {
  return { text: line.trim().slice(0, MAX_LINE), indent: line.length - line.trimStart().length };
}

function valueBelow({ indent }: Line, next: Line | undefined): string {
  return next === undefined || next.indent <= indent || COLON.test(next.text) ? '' : next.text;
}

function normaliseKey(key: string): string {
  return key
    .toLowerCase()
    .replaceAll(/[\s._-]+/g, ' ')
    .trim();
}
