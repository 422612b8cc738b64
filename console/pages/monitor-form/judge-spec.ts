import { parseDnsRecord } from '../../../core/checks/dns/records.ts';
import { parseDecimal } from '../../../core/checks/http/assertions.ts';
import { parseJsonPath } from '../../../core/checks/http/json-path.ts';
import { measurePattern } from '../../../core/checks/pattern.ts';
import { MAX_PAYLOAD_BYTES, decodePayload } from '../../../core/checks/transport/payload.ts';
import { countCharacters } from '../../../core/input.ts';
import { MAX_HOURS_LENGTH } from '../../../core/statistics/service-hours.ts';
import { DAY_SECONDS } from '../../../core/time.ts';
import type { AssertionDraft, DnsRecordDraft, Draft, HeaderDraft, RequestDraft, SecretText } from './draft.ts';
import { RECORDS, SOURCES } from './words.ts';

/** Smallest and largest number that a field takes. */
type Limits = { min: number; max: number };

const MONTH_SECONDS = 30 * DAY_SECONDS;

/** Limits of the API for each number, by its field there; a test compares them with the description. */
export const LIMITS = {
  interval_seconds: { min: 1, max: DAY_SECONDS },
  timeout_ms: { min: 1, max: 10_000 },
  grace_seconds: { min: 0, max: MONTH_SECONDS },
  reopen_seconds: { min: 0, max: DAY_SECONDS },
  warn_days: { min: 0, max: 2_147_483_647 },
  'check_spec.ping.count': { min: 1, max: 10 },
  'check_spec.ping.lossDegradedPct': { min: 0, max: 100 },
  'check_spec.ping.rttDegradedMs': { min: 1, max: 10_000 },
  'check_spec.heartbeat.maxDurationSeconds': { min: 1, max: MONTH_SECONDS },
  'check_spec.heartbeat.schedule.early_seconds': { min: 0, max: DAY_SECONDS },
} as const satisfies Record<string, Limits>;

/** Longest texts that the API takes, in characters, by their field there. */
export const MAX_CHARACTERS = {
  target: 2048,
  expected_status: 128,
  body_match: 1024,
  hours: MAX_HOURS_LENGTH,
} as const;

/** Units of durations, the largest first; `value` is their length in seconds. */
export const UNITS = [
  { value: '86400', label: 'days', one: 'day' },
  { value: '3600', label: 'hours', one: 'hour' },
  { value: '60', label: 'minutes', one: 'minute' },
  { value: '1', label: 'seconds', one: 'second' },
] as const;

type Unit = (typeof UNITS)[number];

const SECONDS: Unit = UNITS[3];

/** Returns the largest unit that divides the seconds without a remainder. */
export function unitOf(seconds: number): Unit {
  return UNITS.find(({ value }) => seconds % Number(value) === 0) ?? SECONDS;
}

/** Returns an error if a text is too long. */
export function judgeLength(text: string, most: number): string | undefined {
  return countCharacters(text) > most ? `At most ${most} characters` : undefined;
}

/** Returns the error of a whole number; an empty one is the default. */
export function judgeNumber(text: string, { min, max }: Limits): string | undefined {
  if (text.trim() === '') return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) return 'Enter a number';
  if (number < min) return `At least ${min}`;
  if (number > max) return `At most ${max}`;
  return Number.isInteger(number) ? undefined : 'Enter a whole number';
}

/** Returns the error of whole seconds, in the unit in which they were typed; empty ones are the default. */
export function judgeDuration(text: string, { min, max }: Limits): string | undefined {
  if (text.trim() === '') return undefined;
  const seconds = Number(text);
  if (!Number.isFinite(seconds)) return 'Enter a number';
  if (seconds < min) return `At least ${formatIn(min, SECONDS)}`;
  if (seconds > max) return `At most ${formatLimit(max, seconds)}`;
  return Number.isInteger(seconds) ? undefined : 'Enter whole seconds';
}

/** Formats the interval that a plan allows: `30 seconds to 24 hours`. */
export function formatIntervals(minInterval: number): string {
  return `${formatIn(minInterval, SECONDS)} to ${formatLimit(LIMITS.interval_seconds.max, 3600)}`;
}

/** Formats a duration in the largest unit that divides it: `5 minutes`. */
export function formatWhole(seconds: number): string {
  return formatIn(seconds, unitOf(seconds));
}

/** Formats a limit in the usual unit, and in the unit that was typed: `24 hours (1440 minutes)`. */
function formatLimit(limit: number, typed: number): string {
  const spoken = UNITS.find(({ value }) => limit % Number(value) === 0 && limit > Number(value)) ?? SECONDS;
  const own = unitOf(typed);
  return own === spoken ? formatIn(limit, spoken) : `${formatIn(limit, spoken)} (${formatIn(limit, own)})`;
}

function formatIn(seconds: number, { value, label, one }: Unit): string {
  const amount = seconds / Number(value);
  return `${amount} ${amount === 1 ? one : label}`;
}

/** Errors by the field that shows them; undefined where there is none. */
export type Found = Record<string, string | undefined>;

// Names (RFC 9110 tokens) and values of headers, as in the API description.
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]{1,256}$/;
const HEADER_VALUE = /^[\t\x20-\x7E\x80-\xFF]{0,8192}$/;
const BAD_VALUE = 'No line breaks, at most 8192 characters';

const MAX_HEADERS = 50;

const NO_SECRET = 'Enter a value, or clear the Secret box';

function isWithoutSecret({ kind, text }: SecretText): boolean {
  return kind === 'secret' && text === '';
}

/** Finds the errors of an http request: its headers, credentials, body and content type. */
export function judgeRequest({ headers, auth, body, contentType, traceparent }: RequestDraft): Found {
  const isThere = headers.some(({ name, kind }) => kind !== 'removed' && name.trim().toLowerCase() === 'traceparent');
  return {
    ...judgeHeaders(headers),
    ...judgeCredentials(auth),
    'check_spec.request.body': isWithoutSecret(body) ? NO_SECRET : undefined,
    'check_spec.request.contentType': HEADER_VALUE.test(contentType) ? undefined : BAD_VALUE,
    'check_spec.request.traceparent':
      traceparent && isThere ? 'Remove the header traceparent, or clear this box' : undefined,
  };
}

/** Finds headers without a name or value, and duplicate names. */
export function judgeHeaders(headers: readonly HeaderDraft[], most = MAX_HEADERS): Found {
  const found: Found = {};
  const known = new Set<string>();
  const kept = headers.filter(({ kind }) => kind !== 'removed').length;
  if (kept > most) found['check_spec.request.headers'] = `At most ${most} headers`;
  for (const [index, header] of headers.entries()) {
    if (header.kind === 'removed') continue;
    const name = header.name.trim().toLowerCase();
    found[headerField(index)] = known.has(name) ? `${header.name.trim()} is there twice` : judgeHeader(header);
    if (name !== '') known.add(name);
  }
  return found;
}

function judgeHeader({ name, value, kind }: HeaderDraft): string | undefined {
  if (name.trim() === '') return value === '' ? undefined : 'Enter a header name';
  if (!HEADER_NAME.test(name.trim())) return 'No spaces, colons or special characters';
  if (kind === 'secret' && value === '') return `Enter the value of ${name.trim()}`;
  return HEADER_VALUE.test(value) ? undefined : BAD_VALUE;
}

/** Returns the field name of a header's row. */
export function headerField(index: number): string {
  return `headers[${index}]`;
}

function judgeCredentials({ type, isKept, token, username }: Draft['request']['auth']): Found {
  if (isKept || type === '') return {};
  if (type === 'bearer')
    return {
      'check_spec.request.auth.token':
        token === '' ? 'Enter the token' : /^[\x21-\x7E]{1,8192}$/.test(token) ? undefined : 'No spaces or line breaks',
    };
  return {
    'check_spec.request.auth.username':
      username === '' ? 'Enter the user name' : username.includes(':') ? 'No colons' : undefined,
  };
}

/** Finds empty and impossible parts of assertions; stored ones that are unchanged may compare with an empty value. */
export function judgeAssertions(assertions: readonly AssertionDraft[], stored: Draft | null): Found {
  return Object.assign(
    {},
    ...assertions.map((assertion, index) => judgeAssertion(assertion, { field: assertionField(index), stored })),
  );
}

// An empty value in the form is a mistake, unless it was stored through the API, where it is valid to compare with.
function judgeAssertion(assertion: AssertionDraft, { field, stored }: { field: string; stored: Draft | null }): Found {
  const { source, op, path, name } = assertion;
  const isComparison = op === 'equals' || op === 'not_equals';
  const isKept = isComparison && stored?.assertions.some((each) => JSON.stringify(each) === JSON.stringify(assertion));
  return {
    ...(source === 'json_body' && {
      [`${field}.path`]: parseJsonPath(path).ok ? undefined : 'Enter a JSON path, like $.status',
    }),
    ...(source === 'header' && {
      [`${field}.name`]: HEADER_NAME.test(name) ? undefined : 'Enter a header name',
    }),
    ...(op !== 'exists' && { [`${field}.value`]: isKept ? undefined : judgeValue(assertion) }),
  };
}

const MAX_PATTERN = 10_000;

function judgeValue({ source, op, value }: AssertionDraft): string | undefined {
  if (value === '') return SOURCES[source].unit === null ? 'Enter a value' : 'Enter a number';
  if (SOURCES[source].unit !== null) return parseDecimal(value) === null ? 'Enter a number' : undefined;
  if (op === 'matches' && measurePattern(value) > MAX_PATTERN) return 'The pattern is too large';
  return judgeLength(value, 8192);
}

/** Returns the field name of an assertion's row. */
export function assertionField(index: number): string {
  return `check_spec.assertions[${index}]`;
}

/** Finds rules without records, and records that are invalid for their type. */
export function judgeRecords(records: readonly DnsRecordDraft[]): Found {
  return Object.assign({}, ...records.map((record, index) => judgeRecord(record, recordField(index))));
}

function judgeRecord({ type, mode, expected }: DnsRecordDraft, field: string): Found {
  if (mode === 'exists' || mode === 'absent') return {};
  const isEmpty = expected.every((text) => text.trim() === '');
  const missing = 'Add at least one expected record';
  if (isEmpty) return { [expected.length === 0 ? field : `${field}.expected[0]`]: missing };
  return Object.fromEntries(
    expected.map((text, index) => [
      `${field}.expected[${index}]`,
      text.trim() === '' || parseDnsRecord(type, text).ok
        ? undefined
        : `Not a valid ${type} record. Example: ${RECORDS[type]}`,
    ]),
  );
}

/** Returns the field name of a rule's row. */
export function recordField(index: number): string {
  return `check_spec.dns.records[${index}]`;
}

/** Finds the errors of a payload and the expected reply. */
export function judgeTransport({ payload, encoding, expect, expectMode }: Draft['transport']): Found {
  const isHex = encoding === 'hex';
  return {
    'check_spec.transport.payload': isWithoutSecret(payload) ? NO_SECRET : judgePayload(payload.text, isHex),
    'check_spec.transport.expect':
      isHex && expectMode !== 'regex' && !decodePayload(expect, 'hex').ok ? BAD_HEX : judgeLength(expect, 8192),
  };
}

const BAD_HEX = 'Enter pairs of hex digits, like 0d0a';

function judgePayload(text: string, isHex: boolean): string | undefined {
  if (decodePayload(text, isHex ? 'hex' : 'utf8').ok) return undefined;
  if (text.length > MAX_PAYLOAD_BYTES) return `At most ${MAX_PAYLOAD_BYTES} bytes`;
  return isHex ? BAD_HEX : 'Write a backslash as \\\\; other escapes are \\r, \\n, \\t and \\xHH';
}
