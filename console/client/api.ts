import type { components, paths } from '../../api/schema.generated.ts';
import { Failure, compareClocks, nextCursor, type Page } from './answer.ts';
import { BASE_PATH } from './base-path.ts';
import { liveState } from './live-stream.ts';
import { adoptSession, csrfToken, loseSession, loseSessionAfter, type Session } from './session-state.ts';

/** Resources of the API, by its description. */
export type Schemas = components['schemas'];

export type Monitor = Schemas['Monitor'];
export type Incident = Schemas['Incident'];

type Method = 'get' | 'post' | 'patch' | 'delete';
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
type Operation<M extends Method, P extends PathsWith<M>> = paths[P][M];

type JsonOf<R> = R extends { content: { 'application/json': infer Json } } ? Json : undefined;
type Good = 200 | 201 | 202 | 204;
/** Body of an operation's successful response; undefined if it is empty. */
type Answer<O> = O extends { responses: infer R } ? { [S in keyof R & Good]: JsonOf<R[S]> }[keyof R & Good] : never;
/** Body of an operation's request. */
type Body<O> = O extends { requestBody?: { content: { 'application/json': infer Json } } } ? Json : never;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? (Q extends object ? Q : never) : never;

/** Options of a call; `path` contains the values of the parameters in the path. */
type Options<O> = {
  path?: Readonly<Record<string, string>>;
  query?: QueryOf<O>;
  body?: Body<O>;
  signal?: AbortSignal;
  idempotencyKey?: string;
  creates?: string;
};

/**
 * The API below `/v1`, typed by its description: `api.get('/monitors/{id}', { path: { id } })`. Rejects with a
 * `Failure` for every unsuccessful response; a 401 of an ended session also leads to the sign-in page.
 */
export const api = {
  get: <P extends PathsWith<'get'>>(path: P, options?: Options<Operation<'get', P>>) =>
    send<Answer<Operation<'get', P>>>('GET', path, options),
  /** Requests one page of a list, and returns it with the cursor of the next one. */
  page: <P extends PathsWith<'get'>>(
    path: P,
    options: Options<Operation<'get', P>> = {},
  ): Promise<Page<Answer<Operation<'get', P>>>> => requestPage('GET', fill(path, options.path), sentOf(options)),
  post: <P extends PathsWith<'post'>>(path: P, options?: Options<Operation<'post', P>>) =>
    send<Answer<Operation<'post', P>>>('POST', path, options),
  patch: <P extends PathsWith<'patch'>>(path: P, options?: Options<Operation<'patch', P>>) =>
    send<Answer<Operation<'patch', P>>>('PATCH', path, options),
  delete: <P extends PathsWith<'delete'>>(path: P, options?: Options<Operation<'delete', P>>) =>
    send<Answer<Operation<'delete', P>>>('DELETE', path, options),
};

type Sent = Omit<RequestOptions, 'query'> & { path?: Readonly<Record<string, string>>; query?: object };

function send<T>(method: string, path: string, options: Sent = {}): Promise<T> {
  return request<T>(method, fill(path, options.path), sentOf(options));
}

function fill(path: string, params: Readonly<Record<string, string>> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

function sentOf({ query = {}, ...sent }: Sent): RequestOptions {
  // Queries in the description are objects of strings, numbers and booleans.
  return { ...sent, query: query as Query };
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * Options of a request. `answersOwn401`: the caller handles a 401 itself, as the sign-in form does. `token` is sent
 * instead of the session, as by the wallboard. `idempotencyKey`: the same request can be sent again, and is carried out
 * once. `creates` names the object that a second request would duplicate, such as `monitor`.
 */
export type RequestOptions = {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  answersOwn401?: boolean;
  token?: string;
  idempotencyKey?: string;
  creates?: string;
};

/** Timeout of a request, longer than any documented operation takes. */
const PATIENCE_MS = 30_000;

/** Time that an open stream has to report why a session ended, after a request was refused for it, in milliseconds. */
export const REASON_MS = 2000;

const UNREACHABLE = 'can’t reach the server. Try again';

/** Statuses of a proxy that does not reach the service; the service itself adds an error to them. */
const PROXY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

/** Sends a request below `/v1` with the user's session. Rejects with a `Failure` unless the response is a success. */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  return (await requestPage<T>(method, path, options)).answer;
}

/** Sends a request, and returns the response with the cursor of the next page if it is a list. */
export async function requestPage<T>(method: string, path: string, options: RequestOptions = {}): Promise<Page<T>> {
  const { query, body, signal, answersOwn401 = false, token, idempotencyKey, creates } = options;
  const unanswered = unansweredText(creates);
  const csrf = csrfToken();
  const sent: RequestInit = {
    method,
    headers: {
      Accept: 'application/json',
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(method !== 'GET' && csrf !== null && { 'X-CSRF-Token': csrf }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), ...(signal === undefined ? [] : [signal])]),
  };
  const { response, text } = await reach(`/v1${path}${queryText(query)}`, sent, unanswered);
  const json =
    response.headers.get('content-type')?.includes('json') === true && text !== '' ? JSON.parse(text) : undefined;
  // A proxy may answer with a page of its own.
  if (response.ok && (text === '' || json !== undefined))
    return { answer: json, next: nextCursor(response.headers.get('link')) };
  // A session that was renewed meanwhile was not refused.
  if (response.status === 401 && !answersOwn401 && csrf === csrfToken()) {
    if (liveState.peek() === 'live') loseSessionAfter(REASON_MS);
    else loseSession();
  }
  const failure = failureOf(response, json ?? {}, unanswered);
  if (csrf !== null && failure.status === 403 && failure.message.includes('X-CSRF-Token')) {
    // Another tab has signed in again. This request was not carried out.
    const isSameUser = adoptSession(await request<Session>('GET', '/session'));
    if (!isSameUser) throw new Failure('someone else signed in in this browser. Nothing was changed', { status: 403 });
    if (csrfToken() !== csrf) return await requestPage(method, path, options);
  }
  throw failure;
}

/** Returns a response with its whole body, because the connection can break in between. */
async function reach(
  url: string,
  init: RequestInit,
  unanswered: string,
): Promise<{ response: Response; text: string }> {
  const isOnline = navigator.onLine;
  try {
    const early = init.method === 'GET' ? takeEarlyAnswer(url) : undefined;
    const sentAtMs = Date.now();
    const response = await (early ?? fetch(BASE_PATH + url, init));
    if (early === undefined) compareClocks(response, sentAtMs);
    return { response, text: await response.text() };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    const mayBeDone = isOnline && unanswered !== UNREACHABLE;
    const message = navigator.onLine || mayBeDone ? unanswered : 'you’re offline. Check your connection';
    throw new Failure(message, { status: 0 });
  }
}

/** Returns an error text for a request without a response, which may have been carried out (D-673). */
function unansweredText(created: string | undefined): string {
  if (created === undefined) return UNREACHABLE;
  return `the connection was lost. The ${created} may have been created: check the list before you try again`;
}

function failureOf(response: Response, body: Record<string, unknown>, unanswered: string): Failure {
  if (typeof body['error'] !== 'string' && PROXY_STATUSES.has(response.status))
    return new Failure(unanswered, { status: 0 });
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

/** Discards all early responses, which soon become stale. */
export function forgetEarlyAnswers(): void {
  globalThis.spotcheckEarlyAnswers = undefined;
}
