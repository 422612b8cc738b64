import type { HttpAnswered } from '../checks/http/observation.ts';
import type { Observation } from '../checks/observation.ts';
import type { Timings, Verdict, Vote } from '../checks/verdict.ts';
import { cleanText, isLatin1 } from '../foreign-text.ts';
import { isRecord } from '../input.ts';
import type { CheckTarget, MonitorSecrets } from '../monitors/monitor.ts';

/**
 * The response that made a check fail, as far as it may be stored. For http: its status, its headers by lower-case name
 * (few, cut, none with credentials) and the first kilobyte of its body as text. For tcp and udp: the first kilobyte,
 * with a null status and no headers. A null `body` was not read, unless `bodyWithheld` explains why it is not shown:
 * the check contains secrets, which servers echo, or the body is not text.
 */
export type AnswerEvidence = {
  status: number | null;
  headers: Record<string, string>;
  body: string | null;
  bodyWithheld?: 'secrets' | 'not_text';
};

/**
 * Evidence of one failing check beyond its verdict. Timings in whole milliseconds; each part is null if there was none.
 */
export type FailureEvidence = { phases: Timings | null; answer: AnswerEvidence | null };

/** Period in which a success stores its timings once, in milliseconds. */
const SAMPLED_EVERY_MS = 600_000;

/** Timings in chronological order. */
export const TIMING_NAMES = [
  'dnsMs',
  'connectMs',
  'tlsMs',
  'firstByteMs',
  'downloadMs',
] as const satisfies readonly (keyof Timings)[];

/** Collects the evidence of a failing result; null if there is none. */
export function toFailureEvidence({ phases, answer }: FailureEvidence): FailureEvidence | null {
  return phases === null && answer === null ? null : { phases, answer };
}

/** Returns the timings of an observation in whole milliseconds; null if it has none. */
export function timingsOf(observation: Observation | null): Timings | null {
  switch (observation?.type) {
    case 'http':
    case 'tcp':
      return roundTimings(observation.timings);
    case 'udp':
      return roundTimings({ dnsMs: observation.dnsMs });
    default:
      return null;
  }
}

/**
 * Rounds timings to whole milliseconds, at most `mostMs`. Missing and invalid ones become null, as does the whole if
 * none remains.
 */
export function roundTimings(measured: Readonly<Record<string, unknown>>, mostMs = MAX_TIMING_MS): Timings | null {
  const [dnsMs = null, connectMs = null, tlsMs = null, firstByteMs = null, downloadMs = null] = TIMING_NAMES.map(
    (name) => wholeMs(measured[name], mostMs),
  );
  const timings = { dnsMs, connectMs, tlsMs, firstByteMs, downloadMs };
  return TIMING_NAMES.every((name) => timings[name] === null) ? null : timings;
}

/**
 * Writes timings compactly, as they are stored with a result. They are whole milliseconds in order, `-` for a step that
 * did not happen, such as `4 11 - 22 2`.
 */
export function writeTimings(timings: Timings): string {
  return TIMING_NAMES.map((name) => timings[name] ?? '-').join(' ');
}

/** Parses timings that `writeTimings` wrote. */
export function readTimings(written: string): Timings {
  const [dnsMs = null, connectMs = null, tlsMs = null, firstByteMs = null, downloadMs = null] = written
    .split(' ')
    .map((ms) => (ms === '-' ? null : Number(ms)));
  return { dnsMs, connectMs, tlsMs, firstByteMs, downloadMs };
}

/**
 * Reports whether a result stores its timings. A bad one always does, a good one at its source's first due time in a
 * ten-minute window, so that a source stores about one per ten minutes regardless of its interval; all do at intervals
 * of ten minutes and more.
 */
export function storesTimings(
  { verdict, dueAtMs }: { verdict: Vote; dueAtMs: number },
  intervalSeconds: number,
): boolean {
  return verdict !== 'up' || dueAtMs % SAMPLED_EVERY_MS < intervalSeconds * 1000;
}

/** Maximum recorded timing, in milliseconds: more than any deadline. */
const MAX_TIMING_MS = 600_000;

function wholeMs(value: unknown, mostMs: number): number | null {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.round(value), mostMs) : null;
}

/** Stored part of a body, in bytes. */
export const STORED_BODY_BYTES = 1024;

/** Limits of stored headers: their number, and characters of a name, a value and all together. */
const MAX_HEADERS = 30;
const MAX_NAME = 64;
const MAX_VALUE = 200;
const MAX_ALL = 2048;

/** Part of a name that is a credential's; the short ones count only as whole words (`x-pin`, not `x-pinned`). */
const SECRET_WORD =
  'cookie|auth|token|secret|key|session|sessid|pass(?:w|code|phrase)|pwd|credential|bearer|csrf|xsrf|jwt|saml|' +
  String.raw`signature|nonce|(?<![a-z\d])(?:pass|sid|otp|pin|sig|hmac|ticket)(?![a-z\d])`;
/** Names of headers that contain credentials, which are never stored. */
const SECRET_NAME = new RegExp(SECRET_WORD, 'i');

/** Parts of values that contain credentials, whatever the name of their header. */
const SECRET_VALUES = [
  // A name and its value: `token=x`, `"token": "x"`; in `otp-credentials=()` there is none.
  new RegExp(String.raw`(?:${SECRET_WORD})[\w-]*(?:["']? *= *[^\s(*;,]|["'] *:)`, 'i'),
  /(?:authorization|cookie|bearer) *:/i,
  /(?<![a-z\d])bearer +(?!(?:token|auth\w*)\b)\S/i,
  // A JWT.
  /(?<![A-Za-z\d])eyJ[\w-]{8}/,
];
/** What precedes a credential in `Authorization`, or in a message; in prose a plain word follows instead. */
const INTRODUCTION =
  /(?<![a-z\d])(?:basic|digest|ntlm|negotiate|token|password|secret|key|session)(?: *:| ) *(?=(\S+))/gi;
const PLAIN_WORD = /^\(?[A-Za-z][a-z]{0,19}[.,;:!?)]*$/;

/** A parameter of a path with the name of a credential, such as `;jsessionid=x`. */
const PATH_PARAMETER = new RegExp(String.raw`;[\w.-]{0,30}(?:${SECRET_WORD})[\w.-]{0,30}=[^\s"'<>;,/\\?#]+`, 'gi');

const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const NUMBER = /^\d{1,12}$/;
const CONTENT_TYPE = new RegExp(
  String.raw`^(?:text/(?:html|plain|xml)|application/(?:json|problem\+json|xml))` +
    '(?: *; *charset=(?:utf-8|iso-8859-1|us-ascii))?$',
  'i',
);

/**
 * Headers that may be stored of a response to a check with secrets, by the required form of their values. None can
 * contain a part of the request. Servers repeat it in paths, in node names, in lists of allowed values, in various
 * encodings.
 */
const HARMLESS = new Map<string, RegExp>([
  ['date', DATE],
  ['expires', DATE],
  ['last-modified', DATE],
  ['age', NUMBER],
  ['content-length', NUMBER],
  ['retry-after', NUMBER],
  ['content-type', CONTENT_TYPE],
  ['content-encoding', /^(?:gzip|deflate|br|zstd|identity)$/i],
  ['transfer-encoding', /^chunked$/i],
  ['connection', /^(?:close|keep-alive)$/i],
]);

/** Headers with a URL as their value, of which nothing is kept after the first `?` or `#`. */
const URL_NAMES = new Set(['location', 'content-location', 'refresh', 'link', 'referer']);

const TEXT_TYPE =
  /^(?:text\/|application\/(?:[\w.+-]*[+-])?(?:json|xml|javascript|yaml|problem|graphql|x-www-form-urlencoded)\b)/i;

/**
 * Reports whether a response to a check with this verdict can be its source's first failure. `vote` is the source's
 * vote so far (null = no known trouble): a continuing failure needs no further response.
 */
export function isFirstFailure(verdict: Vote, vote: Verdict | null): boolean {
  if (verdict === 'down') return vote !== 'down';
  return verdict === 'degraded' && vote !== 'down' && vote !== 'degraded';
}

/** Returns the storable part of the response in a failing observation; null if none arrived, or none of it was read. */
export function extractAnswerEvidence({
  target,
  observation,
}: {
  target: CheckTarget;
  observation: Observation | null;
}): AnswerEvidence | null {
  switch (observation?.type) {
    case 'http':
      return observation.outcome === 'answered' ? httpAnswer(observation, target.secrets) : null;
    case 'tcp':
      return observation.outcome === 'connected' && observation.answer !== null
        ? bareAnswer(observation.answer.text, target)
        : null;
    case 'udp':
      return observation.outcome === 'replied' ? bareAnswer(observation.reply, target) : null;
    default:
      return null;
  }
}

/**
 * Cleans a response reported by an agent, to be stored like those of the service itself; null if none of it is valid.
 * Invalid parts are left out.
 */
export function cleanAnswer(
  reported: unknown,
  { status, hasSecrets }: { status: number | null; hasSecrets: boolean },
): AnswerEvidence | null {
  if (!isRecord(reported)) return null;
  const { headers, body, bodyWithheld } = reported;
  const stored = cleanHeaders(isRecord(headers) ? headers : {}, hasSecrets);
  if (hasSecrets) return { status, headers: stored, body: null, bodyWithheld: 'secrets' };
  if (bodyWithheld === 'secrets' || bodyWithheld === 'not_text')
    return { status, headers: stored, body: null, bodyWithheld };
  if (typeof body !== 'string') return { status, headers: stored, body: null };
  return { status, headers: stored, ...withheldIfNoText(shownText(body.slice(0, STORED_BODY_BYTES).toWellFormed())) };
}

function httpAnswer({ status, headers, bodyStart, hadSecrets }: HttpAnswered, secrets: MonitorSecrets): AnswerEvidence {
  const stored = cleanHeaders(headers, hadSecrets);
  if (hadSecrets) return { status, headers: withoutEchoes(stored, secrets), body: null, bodyWithheld: 'secrets' };
  if (bodyStart === null) return { status, headers: stored, body: null };
  return { status, headers: stored, ...withheldIfNoText(readText(bodyStart, oneValue(headers['content-type']))) };
}

function bareAnswer(text: string, { checkSpec }: CheckTarget): AnswerEvidence {
  if (checkSpec.transport?.payloadSecret) return { status: null, headers: {}, body: null, bodyWithheld: 'secrets' };
  // Bytes that are not UTF-8 are detected by their replacement character.
  const shown = text.includes('\uFFFD') ? null : shownText(text.slice(0, STORED_BODY_BYTES).toWellFormed());
  return { status: null, headers: {}, ...withheldIfNoText(shown) };
}

function withheldIfNoText(body: string | null): Pick<AnswerEvidence, 'body' | 'bodyWithheld'> {
  return body === null ? { body, bodyWithheld: 'not_text' } : { body };
}

function cleanHeaders(headers: Readonly<Record<string, unknown>>, hasSecrets: boolean): Record<string, string> {
  const stored: [string, string][] = [];
  let size = 0;
  for (const [name, value] of Object.entries(headers)) {
    const key = cleanText(name, MAX_NAME).toLowerCase();
    const whole = oneValue(value) ?? '';
    if (key === '' || SECRET_NAME.test(name) || (hasSecrets && !isHarmless(key, whole))) continue;
    const text = headerText(key, whole);
    if (containsCredential(text)) continue;
    size += key.length + text.length;
    if (stored.length === MAX_HEADERS || size > MAX_ALL) break;
    stored.push([key, text]);
  }
  return Object.fromEntries(stored);
}

function isHarmless(name: string, value: string): boolean {
  return HARMLESS.get(name)?.test(value) === true;
}

function headerText(name: string, value: string): string {
  return cleanText(URL_NAMES.has(name) ? withoutQuery(value) : withoutQueries(value), MAX_VALUE);
}

function containsCredential(text: string): boolean {
  return (
    SECRET_VALUES.some((part) => part.test(text)) ||
    [...text.matchAll(INTRODUCTION)].some(([, word = '']) => !PLAIN_WORD.test(word))
  );
}

function oneValue(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string').join(', ');
  return typeof value === 'string' ? value : undefined;
}

/** Returns a URL up to the end of its path, without credentials. */
export function withoutQuery(url: string): string {
  return withoutUsers(url)
    .replace(/[?#].*$/s, '')
    .replaceAll(PATH_PARAMETER, '');
}

/**
 * Returns a text whose URLs end with their path and have no credentials. A `?` or `#` is part of a URL if a slash
 * precedes it or a `=` follows it in the same word.
 */
function withoutQueries(text: string): string {
  return withoutUsers(text)
    .replaceAll(/[^\s"'<>]+/g, (word) => {
      const end = word.search(/[?#]/);
      return /[/\\]/.test(word.slice(0, Math.max(0, end))) || (end !== -1 && word.includes('=', end))
        ? word.slice(0, end)
        : word;
    })
    .replaceAll(PATH_PARAMETER, '');
}

/**
 * Returns a text whose URLs have no username and password; these extend to the last `@` before the path. After a `?` or
 * `#` the `@` may belong to a password or to a query: then the host becomes part of the query, to be removed with it.
 */
function withoutUsers(text: string): string {
  return text.replaceAll(/[/\\]{2}([^/\\\s]*)@/g, (_, user: string) => (/[?#]/.test(user) ? '//?=' : '//'));
}

/** Even a number may be a secret from the request. */
function withoutEchoes(
  headers: Readonly<Record<string, string>>,
  { secretHeaders, auth, body }: MonitorSecrets,
): Record<string, string> {
  const secrets = [...Object.values(secretHeaders ?? {}), auth?.token, auth?.username, auth?.password, body];
  const isEcho = (text: string) => secrets.some((secret) => secret && text.includes(secret));
  return Object.fromEntries(Object.entries(headers).filter(([, text]) => !isEcho(text)));
}

/**
 * Decodes the start of a body; null if it is not text: by its type, by its bytes, or by a NUL in it. Half a character
 * at the end is left out.
 */
function readText(bytes: Uint8Array, contentType: string | undefined): string | null {
  if (bytes.length === 0) return '';
  if (contentType !== undefined && contentType !== '' && !TEXT_TYPE.test(contentType.trim())) return null;
  try {
    const decoder = isLatin1(contentType) ? new TextDecoder('latin1') : new TextDecoder('utf-8', { fatal: true });
    return shownText(decoder.decode(bytes.subarray(0, STORED_BODY_BYTES), { stream: true }));
  } catch {
    return null;
  }
}

/**
 * Returns null for a string with NUL, which no text contains; replaces control characters other than tabs and line
 * breaks.
 */
function shownText(text: string): string | null {
  return text.includes('\0') ? null : text.replaceAll(/[^\P{Cc}\t\n\r]/gu, '\uFFFD');
}
