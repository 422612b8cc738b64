import type { ExecutionContext } from 'ava';
import type { ApiServer, Call } from '../../api/api-server.ts';

/** Tries to break one bound of SECURITY.md through the service, and asserts that it holds. */
export type Walker = (t: ExecutionContext<{ api: ApiServer }>) => Promise<void>;

/** Returns the number that a query yields. */
export async function numberOf({ database }: ApiServer, sql: string, values: readonly unknown[] = []): Promise<number> {
  const { rows } = await database.pool.query<{ number: number }>(`SELECT (${sql})::int AS number`, [...values]);
  return rows[0]?.number ?? Number.NaN;
}

/** Sends a request `times` times in sequence, and returns the statuses of the responses. */
export async function statusesOf(times: number, ask: (no: number) => ReturnType<Call>): Promise<number[]> {
  const statuses: number[] = [];
  for (let no = 0; no < times; no += 1) statuses.push((await ask(no)).status);
  return statuses;
}

/** Returns the given number of good statuses, followed by one refusal. */
export function thenRefused(times: number, good: number, refusal: number): number[] {
  return [...Array.from({ length: times }, () => good), refusal];
}

/** Returns the id of the created resource; throws unless the status is 201. */
export async function made(answer: ReturnType<Call>): Promise<string> {
  const { status, json, text } = await answer;
  if (status !== 201) throw new Error(text);
  return String(json['id']);
}
