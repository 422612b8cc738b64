import { HOUR_MS } from '../core/time.ts';
import type { FailureCause } from '../net/failure.ts';

/** `delivered`; `retry` where another attempt may do better; `failed` where none will (D-50). */
export type AttemptOutcome = 'delivered' | 'retry' | 'failed';

/** What came of one attempt at one channel. */
export type AttemptResult = {
  outcome: AttemptOutcome;
  /** Null where no answer came. */
  statusCode: number | null;
  durationMs: number;
  /** A sentence for people without secrets; null when delivered. */
  error: string | null;
  /** The start of the answer's body as printable text; null where there was none. */
  response: string | null;
};

/** What a failed exchange means (D-50): only what our own rules refuse will not go better another time. */
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

/** The result of one attempt at any channel; of webhooks what is added here is null. */
export type ChannelAttempt = AttemptResult & {
  /** How long the chat's server asked to be left alone, in milliseconds; null = it did not ask. */
  retryAfterMs: number | null;
  /**
   * Why nothing will reach the chat until it is connected again, as a sentence for the channel's owner; null = nothing
   * of the kind.
   */
  channelProblem: string | null;
  /**
   * The chat's new id where it has become another one, which the attempt then went to (Telegram only); null = it has
   * not.
   */
  movedTo: string | null;
  /** The message that the chat shows now (Telegram only), and so may be edited; null = there is none. */
  chatMessageId: number | null;
};

/** Longer requests to be left alone are cut to this, in milliseconds: later an alert is no alert. */
export const MAX_RETRY_AFTER_MS = HOUR_MS;

/** The fields of an attempt of which nothing but its result is to be reported. */
export const NOTHING_MORE = {
  retryAfterMs: null,
  channelProblem: null,
  movedTo: null,
  chatMessageId: null,
} as const satisfies Omit<ChannelAttempt, keyof AttemptResult>;

/** An attempt that could not be sent, and why. */
export function notSent(outcome: 'retry' | 'failed', error: string): ChannelAttempt {
  return { ...NOTHING_MORE, outcome, statusCode: null, durationMs: 0, error, response: null };
}

/** Why nothing is sent where the operator has something to put right, or others are first. */
export const NO_TELEGRAM = 'Telegram is not configured on this installation';
export const NO_EMAIL = 'Email is not configured on this installation';
export const NO_CONNECTION = 'Too many messages wait for the mail server';
export const SEALED_WEBHOOK = 'The webhook of the channel cannot be decrypted with the current SECRET_KEYS';

/** How much of an answer's body is stored, in bytes. */
const STORED_BYTES = 1024;

/** How much of it is looked at, in bytes: where every secret in it is struck out there is still enough to keep. */
const READ_BYTES = 16_384;

/**
 * The start of an answer's body, at most 1 kB, as it is stored with an attempt. It is safe to store and show: control
 * characters, NUL above all, and broken UTF-8 are replaced, the given secrets struck out. Null where there is none.
 */
export function excerptAnswer(
  body: Buffer,
  secrets: readonly string[] = [],
  shortSecrets: readonly ShortSecret[] = [],
): string | null {
  const read = new TextDecoder().decode(body.subarray(0, READ_BYTES));
  const text = strikeOutShort(strikeOut(read, secrets), shortSecrets).replaceAll(/[^\P{Cc}\t\n]/gu, '\u{FFFD}');
  const excerpt = new TextDecoder().decode(Buffer.from(text).subarray(0, STORED_BYTES), { stream: true });
  return excerpt === '' ? null : excerpt;
}

/**
 * The text without the secrets. A server or a proxy may quote the address that it was asked at, and the secret is a
 * part of it.
 */
export function strikeOut(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, STRUCK)), text);
}

/** What stands in the place of a secret. */
const STRUCK = '[secret]';

/** A header's value that is too short to be struck out wherever its characters stand. */
export type ShortSecret = { name: string; value: string };

/** Fewer characters than this are a number or a word too often: `1`, `on`, `dev`. */
const SHORTEST_WORD = 4;

/** With more of them in one text nothing of it is kept: a pattern of so many takes long to compile. */
const MAX_SHORT_SECRETS = 40;

const LETTER = String.raw`[\p{L}\p{N}]`;

/**
 * The text without short values (D-460). One of four characters or more, such as a PIN, is struck out where no letter
 * and no digit goes on before or after it; a shorter one only where it follows its header's name.
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
  // What is struck out already is taken first: a value may be the word `secret`.
  return patterns.length === 0
    ? text
    : text.replaceAll(new RegExp([escapeForPattern(STRUCK), ...patterns].join('|'), 'giu'), STRUCK);
}

/** As the flag `i` of patterns takes letters for equal. */
function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase();
}

function escapeForPattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
