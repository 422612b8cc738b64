import type { AnswerJson, Untyped } from './answer-types.ts';
import { until } from './until.ts';

/** A response of the API; `ms` is the time that it took. */
export type Answer<Json = Untyped> = { status: number; json: Json; ms: number };

/** Calls the API below `/v1` with one token; the body's type depends on method and path. */
export type ApiClient = <M extends string, P extends string>(
  method: M,
  path: P,
  body?: object,
) => Promise<Answer<AnswerJson<M, P>>>;

/** Time limit for a response, in milliseconds. */
const DEADLINE_MS = 60_000;

export function apiClient(url: string, token: string): ApiClient {
  return async (method, path, body) => {
    const startedAt = performance.now();
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      signal: AbortSignal.timeout(DEADLINE_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error: Error) => {
      throw new Error(`${method} ${path} got no answer: ${error.message}`, { cause: error });
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? {} : JSON.parse(text), ms: performance.now() - startedAt };
  };
}

/** Returns a client that repeats requests that get a 503. A service on a machine that stalls for long sends those. */
export function retrying(call: ApiClient): ApiClient {
  return (method, path, body) =>
    until(async () => {
      const answer = await call(method, path, body);
      return answer.status !== 503 && answer;
    }) as ReturnType<typeof call<typeof method, typeof path>>;
}

/** Returns a heartbeat's ping token, which only callers with write access see. */
export function pingTokenOf({ json }: { json: { check_spec?: { heartbeat?: { token?: string } } } }): string {
  const token = json.check_spec?.heartbeat?.token;
  if (token === undefined) throw new Error(`no token in ${JSON.stringify(json)}`);
  return token;
}

/** Returns the list in a response, which is its only field. */
export function listOf(answer: Answer<object>): Record<string, unknown>[] {
  const [list] = Object.values(answer.json);
  if (!Array.isArray(list)) throw new Error(`no list in ${JSON.stringify(answer.json)}`);
  return list;
}
