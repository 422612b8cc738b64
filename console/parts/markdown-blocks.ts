/** A block of Markdown. Its texts are single-line Markdown, except in code. */
export type Block =
  | { kind: 'paragraph' | 'heading' | 'quote' | 'code'; text: string }
  | { kind: 'list'; start: number | null; items: readonly string[] }
  | { kind: 'table'; rows: readonly (readonly string[])[] };

const FENCE = /^\s{0,3}```/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*)$/;
const QUOTE = /^\s{0,3}> ?(.*)$/;
const ITEM = /^\s{0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const TABLE_RULE = /^\|[-:| ]+\|?\s*$/;

/** Splits Markdown into its blocks, in one pass over its lines. Lists and quotes do not nest. */
export function splitBlocks(text: string): Block[] {
  const lines = text.split(/\r?\n/);
  const blocks: Block[] = [];
  let at = 0;
  const takeWhile = (isPart: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && isPart(lines[at] ?? '')) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const heading = HEADING.exec(line);
    if (line.trim() === '') {
      at += 1;
    } else if (FENCE.test(line)) {
      at += 1;
      blocks.push({ kind: 'code', text: takeWhile((each) => !FENCE.test(each)).join('\n') });
      at += 1;
    } else if (heading !== null) {
      blocks.push({ kind: 'heading', text: heading[1] ?? '' });
      at += 1;
    } else if (QUOTE.test(line)) {
      const quoted = takeWhile((each) => QUOTE.test(each)).map((each) => QUOTE.exec(each)?.[1] ?? '');
      blocks.push({ kind: 'quote', text: quoted.join('\n') });
    } else if (ITEM.test(line)) {
      blocks.push(listOf(takeWhile((each) => each.trim() !== '')));
    } else if (line.startsWith('|') && TABLE_RULE.test(lines[at + 1] ?? '')) {
      const rows = takeWhile((each) => each.startsWith('|')).filter((each) => !TABLE_RULE.test(each));
      blocks.push({ kind: 'table', rows: rows.map(cellsOf) });
    } else {
      at += 1;
      blocks.push({ kind: 'paragraph', text: [line, ...takeWhile(continues)].join('\n') });
    }
  }
  return blocks;
}

function listOf(lines: readonly string[]): Block {
  const items: string[] = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item === null) items.push(`${items.pop() ?? ''}\n${line.trim()}`);
    else items.push(item[2] ?? '');
  }
  const number = ITEM.exec(lines[0] ?? '')?.[1];
  return { kind: 'list', start: number === undefined ? null : Number(number), items };
}

function cellsOf(line: string): string[] {
  return line
    .replace(/\|\s*$/, '')
    .split('|')
    .slice(1)
    .map((cell) => cell.trim());
}

/** Reports whether a line continues the paragraph above it. */
function continues(line: string): boolean {
  return line.trim() !== '' && ![FENCE, HEADING, QUOTE, ITEM].some((start) => start.test(line));
}

/** A part of a line of Markdown. `href` is an http, https or mailto address without credentials. */
export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'emphasis'; parts: readonly Inline[] }
  | { kind: 'link'; text: string; href: string };

/** Deepest nested emphasis; deeper emphasis is shown as it was written. */
const MAX_NESTED = 3;

/** Longest address of a link, in characters; longer ones are shown as text. */
const LONGEST_ADDRESS = 2000;

const WORD = /[\p{L}\p{N}]/u;
const ADDRESS = /https?:\/\/[^\s<>"`]+/iy;

/** Splits a line into text, code, emphasis and links. Unclosed markup, and any other address, stays text. */
export function splitInline(line: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  let text = '';
  let at = 0;
  while (at < line.length) {
    const found = readInline(line, at, depth);
    if (found === null) {
      text += line[at] ?? '';
      at += 1;
      continue;
    }
    if (text !== '') parts.push({ kind: 'text', text });
    text = '';
    parts.push(found.part);
    at = found.end;
  }
  return text === '' ? parts : [...parts, { kind: 'text', text }];
}

type Found = { part: Inline; end: number } | null;

function readInline(line: string, at: number, depth: number): Found {
  const isInWord = WORD.test(line[at - 1] ?? '');
  switch (line[at]) {
    case '`':
      return readCode(line, at);
    case '[':
      return readLink(line, at);
    case '*':
    case '_':
      return isInWord || depth >= MAX_NESTED ? null : readEmphasis(line, at, depth);
    case 'h':
    case 'H':
      return isInWord ? null : readAddress(line, at);
    default:
      return null;
  }
}

function readCode(line: string, at: number): Found {
  const close = line.indexOf('`', at + 1);
  return close <= at + 1 ? null : { part: { kind: 'code', text: line.slice(at + 1, close) }, end: close + 1 };
}

function readEmphasis(line: string, at: number, depth: number): Found {
  const sign = line[at] ?? '';
  const mark = line[at + 1] === sign ? sign + sign : sign;
  const from = at + mark.length;
  const close = line.indexOf(mark, from + 1);
  const end = close + mark.length;
  if (close === -1 || /\s/.test(line[from] ?? '') || /\s/.test(line[close - 1] ?? '')) return null;
  if (WORD.test(line[end] ?? '')) return null;
  const parts = splitInline(line.slice(from, close), depth + 1);
  return { part: { kind: mark.length === 2 ? 'strong' : 'emphasis', parts }, end };
}

function readLink(line: string, at: number): Found {
  const middle = line.indexOf('](', at + 1);
  const close = middle === -1 ? -1 : line.indexOf(')', middle);
  if (close === -1) return null;
  const text = line.slice(at + 1, middle).trim();
  const href = readSafeAddress(line.slice(middle + 2, close));
  return text === '' || href === null ? null : { part: { kind: 'link', text, href }, end: close + 1 };
}

function readAddress(line: string, at: number): Found {
  ADDRESS.lastIndex = at;
  const whole = ADDRESS.exec(line)?.[0];
  if (whole === undefined) return null;
  let { length } = whole;
  // Punctuation that ends the sentence does not belong to the address.
  while (length > 0 && ".,;:!?)]'*_".includes(whole[length - 1] ?? '')) length -= 1;
  const text = whole.slice(0, length);
  const href = readSafeAddress(text);
  return href === null ? null : { part: { kind: 'link', text, href }, end: at + length };
}

/**
 * Parses an address as the browser does; null unless it is safe. Credentials before a host can disguise it as another.
 */
function readSafeAddress(address: string): string | null {
  if (address.length > LONGEST_ADDRESS || !URL.canParse(address)) return null;
  const { protocol, username, password, href } = new URL(address);
  return ['http:', 'https:', 'mailto:'].includes(protocol) && username === '' && password === '' ? href : null;
}
