import { capitalize, Failure, sentenceOf } from '../../client/failure.ts';
import type { Draft, HeaderDraft } from './draft.ts';

/** Errors by the field that shows them, and those that belong to no field. */
export type Problems = { byField: Readonly<Record<string, string>>; rest: readonly string[] };

export const NO_PROBLEMS: Problems = { byField: {}, rest: [] };

/** The API's fields that the form shows, without list items. */
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
  'grace_seconds',
  'agent_sources',
  'warn_days',
  'components',
  'dependencies',
  'check_spec.request.headers',
  'check_spec.request.auth',
  'check_spec.request.auth.token',
  'check_spec.request.auth.username',
  'check_spec.request.auth.password',
  'check_spec.request.body',
  'check_spec.request.contentType',
  'check_spec.assertions',
  'check_spec.transport.payload',
  'check_spec.transport.payloadEncoding',
  'check_spec.transport.expect',
  'check_spec.ping.count',
  'check_spec.ping.lossDegradedPct',
  'check_spec.ping.rttDegradedMs',
  'check_spec.heartbeat.maxDurationSeconds',
  'check_spec.dns.records',
  'check_spec.dns.crossCheck',
] as const;

/** The words with which a sentence about a field begins. */
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
 * Splits an error of the API by field. Its sentences are divided by `; `; one that begins with no field continues the
 * one before.
 */
export function problemsOf(error: unknown, draft: Draft): Problems {
  if (error === null || error === undefined) return NO_PROBLEMS;
  if (!(error instanceof Failure) || error.status !== 400) return { byField: {}, rest: [withRequest(error)] };
  const byField: Record<string, string> = {};
  const rest: string[] = [];
  let last: string | null = null;
  for (const piece of error.message.split('; ')) {
    const subject = subjectOf(piece);
    const found = subject === null ? null : fieldOf(subject, draft);
    if (subject === null && last !== null) byField[last] = `${byField[last]}; ${piece}`;
    else if (subject === null && rest.length > 0) rest.push(`${rest.pop()}; ${piece}`);
    else if (found === null) {
      rest.push(capitalize(piece));
      last = null;
    } else {
      const said = piece
        .slice(found.strip.length)
        .replace(/^[.\s]+/, '')
        .replace(/^expected\[(\d+)\]/, (_, index: string) => `record ${Number(index) + 1}`);
      byField[found.field] = byField[found.field] === undefined ? capitalize(said) : `${byField[found.field]}; ${said}`;
      last = found.field;
    }
  }
  return { byField, rest };
}

/** The field that a sentence begins with; null if it continues the one before. */
function subjectOf(piece: string): string | null {
  const subject = /^[a-z_]+(?=[.[\s])\S*/.exec(piece)?.[0] ?? '';
  return ROOTS.has(/^[a-z_]*/.exec(subject)?.[0] ?? '') ? subject : null;
}

/**
 * The field that shows an error, and the part of the sentence that its label already says. A header's row is found by
 * the header's name.
 */
function fieldOf(subject: string, { request }: Draft): { field: string; strip: string } | null {
  const header = /^check_spec\.request\.(?:headers|secretHeaders)\.(.+)$/.exec(subject)?.[1];
  const row = header === undefined ? -1 : request.headers.findIndex(({ name }) => name.trim() === header);
  if (row >= 0) return { field: headerField(row), strip: subject };
  const item = /^check_spec\.(?:assertions|dns\.records)\[\d+\]/.exec(subject)?.[0];
  if (item !== undefined) return { field: item, strip: item };
  const moved = Object.keys(SHOWN_AT).find((name) => isPartOf(subject, name));
  const field =
    SHOWN_AT[moved ?? ''] ??
    FIELDS.filter((name) => isPartOf(subject, name)).toSorted((a, b) => b.length - a.length)[0];
  return field === undefined ? null : { field, strip: subject === field || moved !== undefined ? subject : field };
}

function isPartOf(subject: string, name: string): boolean {
  return subject === name || subject.startsWith(`${name}.`) || subject.startsWith(`${name}[`);
}

function withRequest(error: unknown): string {
  const id = error instanceof Failure ? error.requestId : null;
  return id === null ? sentenceOf(error) : `${sentenceOf(error)} (request ${id})`;
}

/**
 * Errors that only the form can find: headers with the same name, without a name, or without a secret value. Keys are
 * the fields of the rows.
 */
export function findHeaderProblems(headers: readonly HeaderDraft[]): Record<string, string> {
  const problems: Record<string, string> = {};
  const known = new Set<string>();
  for (const [index, { name, value, kind }] of headers.entries()) {
    if (kind === 'removed') continue;
    const lower = name.trim().toLowerCase();
    if (lower === '' && value !== '') problems[headerField(index)] = 'A header needs a name';
    else if (lower !== '' && known.has(lower))
      problems[headerField(index)] = `There is another header ${name.trim()}: one of them has to go`;
    else if (lower !== '' && kind === 'secret' && value === '')
      problems[headerField(index)] = `${name.trim()} needs its value: a stored one can be kept, but not read`;
    known.add(lower);
  }
  return problems;
}

/** The field name of a header's row. */
export function headerField(index: number): string {
  return `headers[${index}]`;
}
