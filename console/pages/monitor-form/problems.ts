import {
  DEFAULT_SOURCES,
  DEFAULT_WARN_DAYS,
  defaultDownMinSources,
  defaultGraceSeconds,
  defaultTimeoutMs,
  defaultsOf as defaultsOfType,
} from '../../../core/monitors/defaults.ts';
import { Failure, capitalize, sentenceOf } from '../../client/answer.ts';
import type { Schemas } from '../../client/api.ts';
import type { Draft } from './draft.ts';
import { headerField, recordField } from './judge-spec.ts';

/** Errors by the field that shows them, and those that belong to no field. */
export type Problems = { byField: Readonly<Record<string, string>>; rest: readonly string[] };

export const NO_PROBLEMS: Problems = { byField: {}, rest: [] };

/** Fields of the API that the form shows, without list items. */
const FIELDS = [
  'name',
  'target',
  'interval_seconds',
  'timeout_ms',
  'method',
  'expected_status',
  'body_match',
  'follow_redirects',
  'down_after_failures',
  'up_after_successes',
  'down_min_sources',
  'sla_target',
  'sla',
  'sla.target',
  'sla.timezone',
  'sla.hours',
  'reopen_seconds',
  'monthly_drill',
  'tags',
  'grace_seconds',
  'agent_sources',
  'warn_days',
  'components',
  'dependencies',
  'depends_on',
  'check_spec.request.headers',
  'check_spec.request.auth',
  'check_spec.request.auth.token',
  'check_spec.request.auth.username',
  'check_spec.request.auth.password',
  'check_spec.request.body',
  'check_spec.request.contentType',
  'check_spec.request.traceparent',
  'check_spec.assertions',
  'check_spec.transport.payload',
  'check_spec.transport.payloadEncoding',
  'check_spec.transport.expect',
  'check_spec.ping.count',
  'check_spec.ping.lossDegradedPct',
  'check_spec.ping.rttDegradedMs',
  'check_spec.heartbeat.maxDurationSeconds',
  'check_spec.heartbeat.schedule.cron',
  'check_spec.heartbeat.schedule.timezone',
  'check_spec.heartbeat.schedule.early_seconds',
  'check_spec.dns.records',
  'check_spec.dns.crossCheck',
] as const;

/** Words with which a sentence about a field begins. */
const ROOTS: ReadonlySet<string> = new Set([...FIELDS.map((name) => name.split('.')[0] ?? ''), 'type', 'check_spec']);

/** Fields whose errors are shown at another field. */
const SHOWN_AT: Readonly<Record<string, string>> = {
  'check_spec.request.secretHeaders': 'check_spec.request.headers',
  'check_spec.request.preserveSecretHeaders': 'check_spec.request.headers',
  'check_spec.request.preserveBody': 'check_spec.request.body',
  'check_spec.request.bodySecret': 'check_spec.request.body',
  'check_spec.transport.preservePayload': 'check_spec.transport.payload',
  'check_spec.domain.warnDays': 'warn_days',
};

/**
 * Splits an error of the API by field, in words without its field names. Its sentences are separated by `; `; one that
 * begins with no field continues the previous one.
 */
export function problemsOf(error: unknown, draft: Draft): Problems {
  if (error === null || error === undefined) return NO_PROBLEMS;
  if (error instanceof Failure && error.status === 404 && /^monitor /i.test(error.message))
    return { byField: {}, rest: ['This monitor was deleted meanwhile. Your changes can’t be saved'] };
  if (!(error instanceof Failure) || error.status !== 400) return { byField: {}, rest: [withRequest(error)] };
  const byField: Record<string, string> = {};
  const rest: string[] = [];
  for (const { subject, said } of sentencesOf(error.message)) {
    const field = subject === null ? null : fieldOf(subject, draft);
    if (field === null) rest.push(reword(said));
    else byField[field] = [...new Set([byField[field] ?? [], reword(said)].flat())].join('; ');
  }
  return { byField, rest };
}

type Sentence = { subject: string | null; said: string };

/** Returns the sentences of an error, each with the field that it begins with; null if it begins with none. */
function sentencesOf(message: string): Sentence[] {
  const sentences: Sentence[] = [];
  for (const piece of message.split('; ')) {
    const subject = subjectOf(piece);
    const before = sentences.at(-1);
    if (subject === null && before !== undefined) before.said += `; ${piece}`;
    else sentences.push({ subject, said: subject === null ? piece : piece.slice(subject.length).trim() });
  }
  return sentences;
}

/** Returns the field that a sentence begins with; null if it continues the previous one. */
function subjectOf(piece: string): string | null {
  const subject = /^[a-z_]+(?=[.[\s])\S*/.exec(piece)?.[0] ?? '';
  return ROOTS.has(/^[a-z_]*/.exec(subject)?.[0] ?? '') ? subject : null;
}

/**
 * Returns the field that shows an error. A header's row is found by the header's name, and a record's by its index
 * among the filled-in ones, which are sent.
 */
function fieldOf(subject: string, { request, dns }: Draft): string | null {
  const header = /^check_spec\.request\.(?:headers|secretHeaders)\.(.+)$/.exec(subject)?.[1];
  const row = header === undefined ? -1 : request.headers.findIndex(({ name }) => name.trim() === header);
  if (row >= 0) return headerField(row);
  const record = /^check_spec\.dns\.records\[(\d+)\]\.expected\[(\d+)\]/.exec(subject);
  if (record !== null) {
    const filled = [...(dns.records[Number(record[1])]?.expected.entries() ?? [])].filter(([, text]) => text !== '');
    return `${recordField(Number(record[1]))}.expected[${filled[Number(record[2])]?.[0] ?? 0}]`;
  }
  const assertion = /^check_spec\.assertions\[\d+\](?:\.(?:value|path|name)\b)?/.exec(subject)?.[0];
  const item = assertion ?? /^check_spec\.dns\.records\[\d+\]/.exec(subject)?.[0];
  if (item !== undefined) return item;
  const moved = Object.keys(SHOWN_AT).find((name) => isPartOf(subject, name));
  return (
    SHOWN_AT[moved ?? ''] ??
    FIELDS.filter((name) => isPartOf(subject, name)).toSorted((a, b) => b.length - a.length)[0] ??
    null
  );
}

function isPartOf(subject: string, name: string): boolean {
  return subject === name || subject.startsWith(`${name}.`) || subject.startsWith(`${name}[`);
}

/** Replacements for sentences that only programs understand. */
const REWORDED: readonly [said: RegExp, shown: string][] = [
  [/^must be sent again in full.*$/, 'Enter it again: the scheme, host or port has changed'],
  [/^must be ids of your agents.*$/, 'A selected location no longer exists: reload the page'],
  [/^must be at most \d+ bytes of JSON.*$/, 'The settings are too large: at most 128 KiB'],
  [/^must be a regular expression in RE2 syntax.*$/, 'Not a valid RE2 pattern'],
  [/^must (?:be a|have) regular expressions? of at most.*$/, 'The patterns are too large'],
  [/^.* a public suffix: .*$/, 'A public suffix: enter a domain under it, like example.co.uk'],
  [/^must be the id of a vendor[^;]*?(; did you mean .*)?$/, 'Unknown vendor: enter the URL of its status page$1'],
];

/** Pattern of a name of the API: `interval_seconds`, `check_spec.ping`, `payloadSecret`. */
const API_NAME = /\b[a-z]+_[a-z]|\b(?:body|content|expect|loss|max|payload|preserve|rtt|secret|warn)[A-Z]/;
const QUOTED = /"(?:[^"\\]|\\.)*"(?:\.\.\.)?/g;

/** Rewords a sentence of the API without its field and the received value: the form shows both already. */
function reword(said: string): string {
  const known = REWORDED.find(([pattern]) => pattern.test(said));
  if (known !== undefined) return said.replace(...known);
  const plain = capitalize(said.replace(/, got (?:"(?:[^"\\]|\\.)*"(?:\.\.\.)?|[^;,]*)/, ''));
  return API_NAME.test(plain.replaceAll(QUOTED, '')) ? 'The service does not accept this value' : plain;
}

function withRequest(error: unknown): string {
  const id = error instanceof Failure ? error.requestId : null;
  return id === null ? sentenceOf(error) : `${sentenceOf(error)} (request ${id})`;
}

/** Values that the service chooses for empty fields. */
type Defaults = {
  interval: number;
  timeout: number;
  method: string;
  expectedStatus: string;
  failures: number;
  successes: number;
  quorum: number;
  /** Null for types other than heartbeat. */
  grace: number | null;
  warnDays: number;
};

/** The plan's shortest interval in seconds, and the number of shared locations. */
export type Surroundings = { minInterval: number; sharedLocations: number };

/** Returns the defaults of a draft's empty fields. Some depend on others: a shorter interval has a shorter timeout. */
export function defaultsOf(draft: Draft, { minInterval, sharedLocations }: Surroundings): Defaults {
  const { type } = draft;
  const ofType = defaultsOfType(type, minInterval);
  const seconds = positive(draft.interval) ?? ofType.intervalSeconds;
  return {
    interval: ofType.intervalSeconds,
    timeout: defaultTimeoutMs(seconds),
    method: ofType.method ?? '',
    expectedStatus: ofType.expectedStatus ?? '',
    failures: ofType.downAfterFailures,
    successes: ofType.upAfterSuccesses,
    quorum: defaultDownMinSources(type, countLocations(draft, sharedLocations)),
    grace: defaultGraceSeconds(type, seconds),
    warnDays: type === 'domain' ? DEFAULT_WARN_DAYS : 0,
  };
}

/** Returns the number of locations that check: the chosen ones, or the shared ones that the service chooses. */
export function countLocations({ sources }: Pick<Draft, 'sources'>, sharedLocations: number): number {
  return sources.length === 0 ? Math.min(DEFAULT_SOURCES, sharedLocations) : sources.length;
}

/** Parses a number above 0; null for everything else. */
export function positive(text: string): number | null {
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) && number > 0 ? number : null;
}

/** Clears fields that equal their default, so that they keep following the fields that the default depends on. */
export function withFollowing(draft: Draft, surroundings: Surroundings): Draft {
  const { timeout, quorum, grace } = defaultsOf(draft, surroundings);
  const unlessDefault = (text: string, standard: number | null) => (text === String(standard) ? '' : text);
  return {
    ...draft,
    timeout: unlessDefault(draft.timeout, timeout),
    quorum: unlessDefault(draft.quorum, quorum),
    grace: unlessDefault(draft.grace, grace),
  };
}

/** State that the parts of the form share: the draft, the defaults of its empty fields, and the errors. */
export type FormState = {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  defaults: Defaults;
  surroundings: Surroundings;
  /** Returns the error of a field, by the field's name in the API. */
  problem: (field: string) => string | undefined;
  problems: Problems;
  agents: readonly Schemas['Agent'][];
  /** The vendors that have an id, by name. */
  vendors: readonly Schemas['Vendor'][];
  /** The channels of the account. */
  channels: readonly Schemas['Channel'][];
  /** Returns all errors of the draft, by field. */
  judge: () => Readonly<Record<string, string>>;
  /** The monitor as it was loaded; null for a new one. */
  monitor: Schemas['MonitorDetail'] | null;
};
