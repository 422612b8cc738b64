import { BASE_PATH } from './base-path.ts';
import { Failure } from './failure.ts';
import { nextCursor, type Page } from './pages.ts';
import { csrfToken, loseSession } from './session-state.ts';

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * `answersOwn401`: the caller handles a 401 itself, as the sign-in form does. `token` is sent instead of the session,
 * as by the wallboard. `idempotencyKey`: the same request can be sent again, and is carried out once.
 */
export type RequestOptions = {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  answersOwn401?: boolean;
  token?: string;
  idempotencyKey?: string;
};

/** The timeout of a request, longer than any documented operation takes. */
const PATIENCE_MS = 30_000;

const UNREACHABLE = 'can’t reach the server. Try again';

/** Statuses of a proxy that does not reach the service; the service itself sends an error beside them. */
const PROXY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

/** Sends a request below `/v1` with the user's session. Rejects with a `Failure` unless the response is a success. */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  return (await requestPage<T>(method, path, options)).answer;
}

/** Sends a request, and returns the response with the cursor of the next page if it is a list. */
export async function requestPage<T>(
  method: string,
  path: string,
  { query, body, signal, answersOwn401 = false, token, idempotencyKey }: RequestOptions = {},
): Promise<Page<T>> {
  const { response, text } = await reach(`/v1${path}${queryText(query)}`, {
    method,
    headers: {
      Accept: 'application/json',
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(method !== 'GET' && csrfToken() !== null && { 'X-CSRF-Token': csrfToken() ?? '' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), ...(signal === undefined ? [] : [signal])]),
  });
  const json =
    response.headers.get('content-type')?.includes('json') === true && text !== '' ? JSON.parse(text) : undefined;
  if (response.ok) return { answer: json, next: nextCursor(response.headers.get('link')) };
  if (response.status === 401 && !answersOwn401) loseSession();
  throw failureOf(response, json ?? {});
}

/** Returns a response with its whole body, because the connection can break in between. */
async function reach(url: string, init: RequestInit): Promise<{ response: Response; text: string }> {
  try {
    const response = await ((init.method === 'GET' ? takeEarlyAnswer(url) : undefined) ?? fetch(BASE_PATH + url, init));
    return { response, text: await response.text() };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Failure(navigator.onLine ? UNREACHABLE : 'you’re offline. Check your connection', { status: 0 });
  }
}

function failureOf(response: Response, body: Record<string, unknown>): Failure {
  if (typeof body['error'] !== 'string' && PROXY_STATUSES.has(response.status))
    return new Failure(UNREACHABLE, { status: 0 });
  const message =
    typeof body['error'] === 'string' ? body['error'] : `the server responded with ${response.status}. Try again`;
  const requestId = response.headers.get('x-request-id');
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new Failure(
    response.status === 429 && !Number.isNaN(retryAfter) && !message.includes(': wait ')
      ? `${message}: wait ${retryAfter} s`
      : message,
    {
      status: response.status,
      requestId,
      retryAfter: Number.isNaN(retryAfter) ? null : retryAfter,
      body,
    },
  );
}

function queryText(query: Query = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) pairs.append(name, String(each));
  }
  const text = pairs.toString();
  return text === '' ? '' : `?${text}`;
}

declare global {
  /** Responses that `early.js` requested before the console was loaded, by URL. */
  var spotcheckEarlyAnswers: Map<string, Promise<Response>> | undefined;
}

/** Takes the response that `early.js` requested for a URL; undefined if there is none or it is taken. */
function takeEarlyAnswer(url: string): Promise<Response> | undefined {
  const answer = globalThis.spotcheckEarlyAnswers?.get(url);
  globalThis.spotcheckEarlyAnswers?.delete(url);
  return answer;
}

/** Drops all early responses, which soon become stale. */
export function forgetEarlyAnswers(): void {
  globalThis.spotcheckEarlyAnswers = undefined;
}
