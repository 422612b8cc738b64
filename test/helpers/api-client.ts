/** An answer of the API; `ms` is how long it took. */
export type Answer = { status: number; json: Record<string, unknown>; ms: number };

/** Calls the API below `/v1` with one token. */
export type ApiClient = (method: string, path: string, body?: object) => Promise<Answer>;

/** An answer that takes longer than this is none, in milliseconds. */
const DEADLINE_MS = 15_000;

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

/** The list that an answer carries under its one name. */
export function listOf(answer: Answer): Record<string, unknown>[] {
  const [list] = Object.values(answer.json);
  if (!Array.isArray(list)) throw new Error(`no list in ${JSON.stringify(answer.json)}`);
  return list;
}
