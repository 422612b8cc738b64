import type { paths } from '../../api/schema.generated.ts';
import type { Page } from './pages.ts';
import { request, requestPage, type Query, type RequestOptions } from './request.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
type Operation<M extends Method, P extends PathsWith<M>> = paths[P][M];

type JsonOf<R> = R extends { content: { 'application/json': infer Json } } ? Json : undefined;
type Good = 200 | 201 | 202 | 204;
/** The body of an operation's successful response; undefined if it is empty. */
export type Answer<O> = O extends { responses: infer R }
  ? { [S in keyof R & Good]: JsonOf<R[S]> }[keyof R & Good]
  : never;
/** The body of an operation's request. */
export type Body<O> = O extends { requestBody?: { content: { 'application/json': infer Json } } } ? Json : never;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? (Q extends object ? Q : never) : never;

/** `path` has the values of the parameters in the path. */
export type Options<O> = {
  path?: Readonly<Record<string, string>>;
  query?: QueryOf<O>;
  body?: Body<O>;
  signal?: AbortSignal;
  idempotencyKey?: string;
};

/**
 * The API below `/v1`, typed by its description: `api.get('/monitors/{id}', { path: { id } })`. Rejects with a
 * `Failure` for every response that is no success; a 401 of an ended session leads to the sign-in page as well.
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

type Sent = {
  path?: Readonly<Record<string, string>>;
  query?: object;
  body?: unknown;
  signal?: AbortSignal;
  idempotencyKey?: string;
};

function send<T>(method: string, path: string, options: Sent = {}): Promise<T> {
  return request<T>(method, fill(path, options.path), sentOf(options));
}

function fill(path: string, params: Readonly<Record<string, string>> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

function sentOf({ query, body, signal, idempotencyKey }: Sent): RequestOptions {
  // Queries in the description are objects of strings, numbers and booleans.
  return {
    ...(query !== undefined && { query: query as Query }),
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}
