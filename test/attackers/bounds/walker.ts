import type { ExecutionContext } from 'ava';
import type { ApiServer, Call } from '../../api/api-server.ts';

/** Tries to break one bound of SECURITY.md through the service, and says by assertions that it held. */
export type Walker = (t: ExecutionContext<{ api: ApiServer }>) => Promise<void>;

/** How many rows a query finds, or what number it gives. */
export async function numberOf({ database }: ApiServer, sql: string, values: readonly unknown[] = []): Promise<number> {
  const { rows } = await database.pool.query<{ number: number }>(`SELECT (${sql})::int AS number`, [...values]);
  return rows[0]?.number ?? Number.NaN;
}

/** Does something `times` times, one after the other, and returns the statuses of the answers. */
export async function statusesOf(times: number, ask: (no: number) => ReturnType<Call>): Promise<number[]> {
  const statuses: number[] = [];
  for (let no = 0; no < times; no += 1) statuses.push((await ask(no)).status);
  return statuses;
}

/** A number of answers of one status, and then one of another. */
export function thenRefused(times: number, good: number, refusal: number): number[] {
  return [...Array.from({ length: times }, () => good), refusal];
}

/** The id of what a call made; throws where it made nothing. */
export async function made(answer: ReturnType<Call>): Promise<string> {
  const { status, json, text } = await answer;
  if (status !== 201) throw new Error(text);
  return String(json['id']);
}
