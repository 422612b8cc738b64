import { addProblem, type Problem } from '../../input.ts';
import type { MonitorSecrets, RequestSpec } from '../monitor.ts';
import type { AuthInput, RequestInput } from './fields.ts';
import { preserveOrReplace, refuseMoved } from './stored-secrets.ts';

/** Maximum number of headers of a request, plain and secret together (D-15). */
const MAX_HEADERS = 50;

/** Returns the first name that occurs twice, ignoring case, in the order given; null if all differ. */
function findRepeatedName(names: readonly string[]): string | null {
  const known = new Set<string>();
  for (const name of names) {
    const lower = name.toLowerCase();
    if (known.has(lower)) return name;
    known.add(lower);
  }
  return null;
}

const FIELD = 'check_spec.request';

/** Stored form of a request: the visible part, and the sealed one. */
type StoredRequest = { request: RequestSpec; secrets: MonitorSecrets };

/**
 * The stored request of which parts may be kept. `isMoved`: the target has another origin than the one for which it was
 * stored.
 */
type PreservableRequest = StoredRequest & { isMoved: boolean };

/**
 * Splits a request into visible and sealed parts (D-17). Kept from the stored one: secret headers under
 * `preserveSecretHeaders` (those sent are added or replaced, those in `removeSecretHeaders` removed), credentials if
 * `auth` has only its type, the secret body under `preserveBody`.
 */
export function completeRequest(input: RequestInput, stored: PreservableRequest, problems: Problem[]): StoredRequest {
  const secretHeaders = completeSecretHeaders(input, stored, problems);
  const secretHeaderNames = Object.keys(secretHeaders).toSorted();
  const auth = completeAuth(input.auth, stored, problems);
  const secretBody = completeSecretBody(input, stored, problems);
  const { request, secrets, isMoved } = stored;
  // Many servers share an address: the Host header decides which of them gets the request.
  if (isMoved || hostOf(input.headers, secretHeaders) !== hostOf(request.headers, secrets.secretHeaders)) {
    const isKept = Object.keys(secretHeaders).some((name) => !Object.hasOwn(input.secretHeaders ?? {}, name));
    if (isKept) refuseMoved(`${FIELD}.secretHeaders`, problems);
    if (auth !== undefined && auth === secrets.auth) refuseMoved(`${FIELD}.auth`, problems);
    if (input.body === undefined && secretBody !== undefined) refuseMoved(`${FIELD}.body`, problems);
  }
  return {
    request: {
      ...(input.headers && { headers: input.headers }),
      ...(secretHeaderNames.length > 0 && { secretHeaderNames }),
      ...(input.auth && { auth: { type: input.auth.type } }),
      ...(input.bodySecret ? { bodySecret: true } : input.body !== undefined && { body: input.body }),
      ...(input.contentType !== undefined && { contentType: input.contentType }),
      ...(input.traceparent === true && { traceparent: true }),
    },
    secrets: {
      ...(secretHeaderNames.length > 0 && { secretHeaders }),
      ...(auth && { auth }),
      ...(secretBody !== undefined && { body: secretBody }),
    },
  };
}

/** Returns the value of a Host header that replaces the target's own; undefined if there is none. */
function hostOf(...headers: (Readonly<Record<string, string>> | undefined)[]): string | undefined {
  return headers.flatMap((map) => Object.entries(map ?? {})).find(([name]) => name.toLowerCase() === 'host')?.[1];
}

function completeSecretHeaders(
  input: RequestInput,
  stored: StoredRequest,
  problems: Problem[],
): Record<string, string> {
  const sent = input.secretHeaders ?? {};
  const replaced = new Set(
    [...Object.keys(sent), ...(input.removeSecretHeaders ?? [])].map((name) => name.toLowerCase()),
  );
  const preserved = input.preserveSecretHeaders ? Object.entries(stored.secrets.secretHeaders ?? {}) : [];
  const secretHeaders = {
    ...Object.fromEntries(preserved.filter(([name]) => !replaced.has(name.toLowerCase()))),
    ...sent,
  };

  const names = [...Object.keys(input.headers ?? {}), ...Object.keys(secretHeaders)];
  if (names.length > MAX_HEADERS) {
    addProblem(problems, `${FIELD}.headers`, {
      expected: `at most ${MAX_HEADERS} headers, plain and secret together`,
      got: String(names.length),
    });
  }
  if (input.traceparent === true && names.some((name) => name.toLowerCase() === 'traceparent')) {
    problems.push({
      field: `${FIELD}.traceparent`,
      message: `${FIELD}.traceparent must not be true beside a header named traceparent: leave out one of the two`,
    });
  }
  const repeated = findRepeatedName(names);
  if (repeated !== null) {
    problems.push({
      field: `${FIELD}.headers`,
      message:
        `${FIELD}.headers and ${FIELD}.secretHeaders must name each header once, ignoring case, got ${repeated} ` +
        'twice',
    });
  }
  return secretHeaders;
}

function completeAuth(
  input: AuthInput | undefined,
  stored: StoredRequest,
  problems: Problem[],
): MonitorSecrets['auth'] | undefined {
  if (input === undefined) return undefined;
  const { type, ...sent } = input;
  const wanted: readonly Credential[] = CREDENTIALS[type];
  if (Object.keys(sent).length === 0 && stored.request.auth?.type === type && stored.secrets.auth)
    return stored.secrets.auth;
  for (const key of ['token', 'username', 'password'] as const) {
    const field = `${FIELD}.auth.${key}`;
    const isSent = sent[key] !== undefined;
    if (isSent && !wanted.includes(key))
      problems.push({ field, message: `${field} does not apply to ${type}, only ${wanted.join(' and ')}` });
    if (!isSent && wanted.includes(key))
      problems.push({
        field,
        message: `${field} is required for ${type}: there are no stored credentials of this type to keep`,
      });
  }
  if (sent.username?.includes(':'))
    return addProblem(problems, `${FIELD}.auth.username`, {
      expected: 'a string without a colon (RFC 7617)',
      got: 'one with a colon',
    });
  return sent;
}

type Credential = 'token' | 'username' | 'password';

const CREDENTIALS = {
  bearer: ['token'],
  basic: ['username', 'password'],
} as const satisfies Record<'bearer' | 'basic', readonly Credential[]>;

function completeSecretBody(input: RequestInput, stored: StoredRequest, problems: Problem[]): string | undefined {
  return preserveOrReplace(
    {
      field: FIELD,
      keys: BODY_KEYS,
      value: input.body,
      isSecret: input.bodySecret,
      preserves: input.preserveBody,
      stored: stored.secrets.body,
    },
    problems,
  );
}

const BODY_KEYS = { value: 'body', secret: 'bodySecret', preserve: 'preserveBody' };
