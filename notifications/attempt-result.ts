import { percentDecode } from '../core/foreign-text.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { FailureCause } from '../net/failure.ts';

/** `delivered`; `retry` if another attempt may succeed; `failed` if none will (D-50). */
export type AttemptOutcome = 'delivered' | 'retry' | 'failed';

/** Result of one attempt at one channel. */
export type AttemptResult = {
  outcome: AttemptOutcome;
  /** Null if no response arrived. */
  statusCode: number | null;
  durationMs: number;
  /** A sentence for people without secrets; null when delivered, unless a template could not be rendered. */
  error: string | null;
  /** Start of the response's body as printable text; null if there was none. */
  response: string | null;
};

/** Outcome of a failed exchange (D-50): only a refusal by this service's own rules is final. */
export const OUTCOME_OF_FAILURE = {
  timeout: 'retry',
  dns_nxdomain: 'retry',
  dns_error: 'retry',
  conn_refused: 'retry',
  conn_error: 'retry',
  tls_error: 'retry',
  cert_expired: 'retry',
  blocked_target: 'failed',
  unsupported: 'failed',
} as const satisfies Record<FailureCause, AttemptOutcome>;

/** The result of one attempt at any channel; for webhooks all additional fields but the wait are null. */
export type ChannelAttempt = AttemptResult & {
  /** Wait that the receiver requested, in milliseconds; null if it requested none. */
  retryAfterMs: number | null;
  /**
   * Why no message will reach the chat until it is reconnected, as a sentence for the channel's owner; null if there is
   * no such problem.
   */
  channelProblem: string | null;
  /**
   * The chat's new id if it was replaced by another chat, to which the attempt then went (Telegram only); null
   * otherwise.
   */
  movedTo: string | null;
  /** The message that the chat shows now and that may be edited (Telegram only); null if there is none. */
  chatMessageId: number | null;
};

/** The result of one attempt at a webhook, and the wait that its receiver requested, if any. */
export type WebhookAttempt = AttemptResult & { retryAfterMs?: number | null };

/** Maximum wait that a server may request, in milliseconds: a later alert is useless. */
export const MAX_RETRY_AFTER_MS = HOUR_MS;

/** Maximum pause of a webhook with a preset, in milliseconds: one that is always limited must fail visibly. */
export const MAX_WEBHOOK_PAUSE_MS = 5 * MINUTE_MS;

/** Fields of an attempt that has nothing to report beyond its result. */
export const NOTHING_MORE = {
  retryAfterMs: null,
  channelProblem: null,
  movedTo: null,
  chatMessageId: null,
} as const satisfies Omit<ChannelAttempt, keyof AttemptResult>;

/** Returns the result of an attempt that was not sent or not accepted, with the reason. */
export function unsuccessful(outcome: 'retry' | 'failed', error: string): ChannelAttempt {
  return { ...NOTHING_MORE, outcome, statusCode: null, durationMs: 0, error, response: null };
}

/** Reasons for not sending: the operator must fix the installation, or other messages are ahead. */
export const NO_TELEGRAM = 'Telegram is not configured on this installation';
export const NO_EMAIL = 'Email is not configured on this installation';
export const NO_CONNECTION = 'Too many messages wait for the mail server';
export const SEALED_WEBHOOK = 'The webhook of the channel cannot be decrypted with the current SECRET_KEYS';

/** Maximum bytes stored of a response's body. */
const STORED_BYTES = 1024;

/**
 * Maximum bytes read of it; the connection is then closed. They are more than is stored, so that the end of what is
 * stored cuts no secret.
 */
export const RESPONSE_LIMIT = 4096;

/** `isCut`: the body is not whole and may end within a secret; by default if it has the length that is read. */
type ExcerptOptions = { shortSecrets?: readonly ShortSecret[]; isCut?: boolean };

/**
 * Returns the start of a response's body, at most 1 kB, as it is stored with an attempt. It is safe to store and show:
 * control characters, NUL above all, and broken UTF-8 are replaced, the given secrets struck out. Null if it is empty.
 */
export function excerptResponse(
  body: Buffer,
  secrets: readonly string[] = [],
  { shortSecrets = [], isCut = body.length >= RESPONSE_LIMIT }: ExcerptOptions = {},
): string | null {
  const read = new TextDecoder().decode(body.subarray(0, RESPONSE_LIMIT), { stream: true });
  const struck = strikeOut(read, secrets, isCut);
  const text = strikeOutShort(struck, shortSecrets).replaceAll(/[^\P{Cc}\t\n]/gu, '\u{FFFD}');
  const excerpt = new TextDecoder().decode(Buffer.from(text).subarray(0, STORED_BYTES), { stream: true });
  return excerpt === '' ? null : excerpt;
}

/** Replacement for a secret. */
const STRUCK = '[secret]';

/**
 * Maximum secrets in one text, and characters of them; with more, none of it is kept, because each is searched for.
 * Long ones may agree with the text for half their length everywhere.
 */
const MAX_SECRETS = 500;
const MAX_SECRET_CHARACTERS = 20_000;

/** Minimum length of a secret's beginning that is struck out at the end of a text, in characters. */
const SHORTEST_BEGINNING = 8;

/** How often a text is decoded: it may be a JSON text in another one, with a percent-encoded URL. */
const DECODINGS = 3;

/**
 * Strikes secrets out of a text, because a server or a proxy may quote the request. They may be written with escapes of
 * URLs, JSON and HTML, in any mixture, and the end of a text that was cut may begin one (D-833).
 */
export function strikeOut(text: string, secrets: readonly string[], isCut = false): string {
  const texts = new Set(secrets.filter((secret) => secret !== ''));
  // Requests have them in Latin-1, which receivers may read as UTF-8.
  const readings = [...texts].flatMap((secret) => [secret, Buffer.from(secret, 'latin1').toString()]);
  const wanted = [...new Set(readings.map(unifySpaces))];
  if (wanted.length > MAX_SECRETS || wanted.join('').length > MAX_SECRET_CHARACTERS) return STRUCK;
  // What a secret contains, or what precedes it, may look like a part of an escape and mislead the decoding.
  const written = new Set([...texts].flatMap(writtenForms).map(unifySpaces));
  for (const secret of wanted) written.delete(secret);
  const ranges = [...findSecrets(unifySpaces(text), [...written])];
  let decoded: DecodedText = { text, starts: Array.from({ length: text.length + 1 }, (_, at) => at) };
  for (let round = 0; ; round += 1) {
    const { starts } = decoded;
    const unified = unifySpaces(decoded.text);
    for (const [from, to] of [...findSecrets(unified, wanted), ...(isCut ? findBeginnings(unified, wanted) : [])])
      ranges.push([starts[from] ?? 0, starts[to] ?? text.length]);
    const next = decodeEscapes(decoded);
    if (round === DECODINGS || next.text === decoded.text) break;
    decoded = next;
  }
  let [struck, end] = ['', 0];
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from >= end) struck += text.slice(end, from) + STRUCK;
    end = Math.max(end, to);
  }
  return struck + text.slice(end);
}

/** Makes a plus sign equal to a space, which it means in a form. */
function unifySpaces(text: string): string {
  return text.replaceAll('+', ' ');
}

/** What may remain of an escape at the end of a text. */
const CUT_ESCAPE = /(?:%[\dA-F]{0,2}){1,3}$|[\\&][#\w]{0,6}$/i;

/** Yields the limits of the secrets in a text. */
function* findSecrets(text: string, secrets: readonly string[]): Generator<[from: number, to: number]> {
  for (const secret of secrets)
    for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length))
      yield [at, at + secret.length];
}

/** Yields the limits of the beginnings of secrets at a text's end. A URL's origin is no secret. */
function* findBeginnings(text: string, secrets: readonly string[]): Generator<[from: number, to: number]> {
  const ends = new Set([CUT_ESCAPE.exec(text)?.index ?? text.length, text.length]);
  for (const secret of secrets) {
    const shortest = (/^https?:\/\/[^/]*/.exec(secret)?.[0].length ?? 0) + SHORTEST_BEGINNING;
    const head = secret.slice(0, shortest);
    if (head.length < shortest) continue;
    for (const end of ends)
      for (let at = text.indexOf(head, end - secret.length); at >= 0; at = text.indexOf(head, at + 1))
        if (at + shortest <= end && secret.startsWith(text.slice(at, end))) {
          yield [at, text.length];
          break;
        }
  }
}

/** Returns a text as most receivers write it: as it is, percent-encoded in two ways, or in JSON with escapes. */
function writtenForms(text: string): string[] {
  const escape = (characters: RegExp) =>
    text.replaceAll(
      characters,
      (unit) => String.raw`\u` + unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0'),
    );
  const escaped = [
    new URLSearchParams([['', text]]).toString().slice(1),
    // It throws at a lone surrogate.
    encodeURIComponent(text.toWellFormed()),
    // Some escape what has a meaning in HTML, others also the plus sign and all beyond ASCII.
    escape(/[&<>]/g),
    escape(/["&'+<>`]|[^ -~]/g),
  ];
  const inLowerCase = escaped.map((form) =>
    form.replaceAll(/%[0-9A-F]{2}|\\u[0-9A-F]{4}/g, (unit) => unit.toLowerCase()),
  );
  return [text, text.replaceAll('/', String.raw`\/`), ...escaped, ...inLowerCase];
}

/** A text without some of its escapes, and where each of its units, and its end, is in the original. */
type DecodedText = { text: string; starts: number[] };

const ESCAPE = new RegExp(
  [
    '%[0-7][0-9A-F]|%[C-F][0-9A-F](?:%[89AB][0-9A-F]){1,3}',
    String.raw`\\(?:u[0-9A-F]{4}|x[0-9A-F]{2}|[^0-9A-Z])`,
    '&(?:amp|lt|gt|quot|apos|#[0-9]{1,6}|#x[0-9A-F]{1,5});',
  ].join('|'),
  'gi',
);

const ENTITIES = new Map([
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
]);

/** Decodes each escape in a text once: percent-encoding in UTF-8, backslash escapes of JSON, and HTML's entities. */
function decodeEscapes({ text, starts }: DecodedText): DecodedText {
  const texts: string[] = [];
  const positions: number[][] = [];
  let at = 0;
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    const units = decodeEscape(escape);
    texts.push(text.slice(at, index), units);
    positions.push(
      starts.slice(at, index),
      Array.from({ length: units.length }, () => starts[index] ?? 0),
    );
    at = index + escape.length;
  }
  return { text: texts.join('') + text.slice(at), starts: [...positions.flat(), ...starts.slice(at)] };
}

function decodeEscape(escape: string): string {
  if (escape.startsWith('%')) return percentDecode(escape);
  const code = /^(?:\\[ux]|&#x)(?<hex>[\dA-F]+)|^&#(?<decimal>\d+)/i.exec(escape)?.groups;
  if (code === undefined) return ENTITIES.get(escape.toLowerCase()) ?? escape.slice(1);
  return String.fromCodePoint(code.hex === undefined ? Number(code.decimal) : Number.parseInt(code.hex, 16));
}

/** A header's value that is too short to be struck out everywhere. */
export type ShortSecret = { name: string; value: string };

/**
 * Minimum length of a value that is struck out as a word, in characters. Shorter ones are too often a number or a word
 * (`1`, `on`, `dev`).
 */
const SHORTEST_WORD = 4;

/** Maximum short values in one text; with more, none of it is kept, because such a long pattern is slow to compile. */
const MAX_SHORT_SECRETS = 40;

const LETTER = String.raw`[\p{L}\p{N}]`;

/**
 * Strikes short values out of a text (D-460). One of four characters or more, such as a PIN, is struck out if no letter
 * or digit precedes or follows it; a shorter one only after its header's name.
 */
function strikeOutShort(text: string, secrets: readonly ShortSecret[]): string {
  const folded = foldCase(text);
  const quoted = new Map(
    secrets
      .filter(({ value }) => value !== '' && folded.includes(foldCase(value)))
      .filter(({ name, value }) => value.length >= SHORTEST_WORD || folded.includes(foldCase(name)))
      .map((secret) => [`${secret.name}=${secret.value}`, secret]),
  );
  if (quoted.size > MAX_SHORT_SECRETS) return STRUCK;
  const patterns = [...quoted.values()]
    .toSorted((a, b) => b.value.length - a.value.length)
    .map(({ name, value }) => {
      const isWord = value.length >= SHORTEST_WORD;
      const before = isWord
        ? `(?<!${LETTER})`
        : String.raw`(?<=${escapeForPattern(name)}["'\]]?\s{0,4}(?::|=>?)[\s"'[]{0,12})`;
      return `${before}${escapeForPattern(value)}(?!${LETTER})`;
    });
  // Existing replacements match first, because a value may be the word `secret`.
  return patterns.length === 0
    ? text
    : text.replaceAll(new RegExp([escapeForPattern(STRUCK), ...patterns].join('|'), 'giu'), STRUCK);
}

/** Folds case as the flag `i` of patterns does. */
function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase();
}

function escapeForPattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
