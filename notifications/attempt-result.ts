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

/** Maximum bytes read of it: enough remains to store even if every secret in them is struck out. */
const READ_BYTES = 16_384;

/**
 * Returns the start of a response's body, at most 1 kB, as it is stored with an attempt. It is safe to store and show:
 * control characters, NUL above all, and broken UTF-8 are replaced, the given secrets struck out. Null if it is empty.
 */
export function excerptResponse(
  body: Buffer,
  secrets: readonly string[] = [],
  shortSecrets: readonly ShortSecret[] = [],
): string | null {
  const read = new TextDecoder().decode(body.subarray(0, READ_BYTES));
  const text = strikeOutShort(strikeOut(read, secrets), shortSecrets).replaceAll(/[^\P{Cc}\t\n]/gu, '\u{FFFD}');
  const excerpt = new TextDecoder().decode(Buffer.from(text).subarray(0, STORED_BYTES), { stream: true });
  return excerpt === '' ? null : excerpt;
}

/** Strikes secrets out of a text. A server or a proxy may quote the request's address, which contains the secret. */
export function strikeOut(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, STRUCK)), text);
}

/** Replacement for a secret. */
const STRUCK = '[secret]';

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
