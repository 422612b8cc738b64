import { parseJson } from '../core/foreign-text.ts';
import { Refusal } from './output.ts';

/** A call of a service at any address; `token` is an API token, absent if none is needed. */
type ServiceCall = { method: string; url: string; token?: string; body?: object };

/** Timeout of a response, in milliseconds. */
const DEADLINE_MS = 30_000;

/** Calls a service by HTTP. Throws a `Refusal` with the service's error, or with the reason why it does not respond. */
export async function callService({ method, url, token, body }: ServiceCall): Promise<Record<string, unknown>> {
  const { origin } = new URL(url);
  const { response, json } = await fetch(url, {
    method,
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    // A redirect could lead the token elsewhere.
    redirect: 'manual',
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
    .then(async (received) => ({ response: received, json: await received.text() }))
    .catch((error: unknown) => {
      throw new Refusal(`${origin} does not answer: ${causeOf(error)}`);
    });
  const answer = parse(json);
  if (response.ok) return answer;
  throw new ServiceRefusal(
    typeof answer['error'] === 'string' ? answer['error'] : `${origin} answered with status ${response.status}`,
    response.status,
  );
}

/** An unsuccessful response, with its status. */
export class ServiceRefusal extends Refusal {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

function parse(json: string): Record<string, unknown> {
  const value = parseJson(json);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
