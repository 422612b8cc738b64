import type { AnswerJson, Untyped } from './answer-types.ts';

/** An answer of the API; `ms` is how long it took. */
export type Answer<Json = Untyped> = { status: number; json: Json; ms: number };

/** Calls the API below `/v1` with one token: `call('GET', `/monitors/${id}`)` is answered with a monitor's type. */
export type ApiClient = <M extends string, P extends string>(
  method: M,
  path: P,
  body?: object,
) => Promise<Answer<AnswerJson<M, P>>>;

/** An answer that takes longer than this is none, in milliseconds. */
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

/** The token that a heartbeat is pinged with; only those who can write are shown it. */
export function pingTokenOf({ json }: { json: { check_spec?: { heartbeat?: { token?: string } } } }): string {
  const token = json.check_spec?.heartbeat?.token;
  if (token === undefined) throw new Error(`no token in ${JSON.stringify(json)}`);
  return token;
}

/** The list that an answer carries under its one name. */
export function listOf(answer: Answer<object>): Record<string, unknown>[] {
  const [list] = Object.values(answer.json);
  if (!Array.isArray(list)) throw new Error(`no list in ${JSON.stringify(answer.json)}`);
  return list;
}
