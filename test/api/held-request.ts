import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../helpers/until.ts';
import type { ApiServer } from './api-server.ts';

/** Longer than an authenticated caller stays cached, in milliseconds. */
const LONG_MS = 600;

type Held = { method: string; path: string; body: object; headers: Record<string, string> };

/**
 * Sends the headers of a request, and holds its body back until long after `callerId` was authenticated and counted.
 * Returns a function that sends the body and reads the response.
 */
export async function holdRequest(
  { url, database }: Pick<ApiServer, 'url' | 'database'>,
  callerId: string,
  { method, path, body, headers }: Held,
): Promise<() => Promise<{ status: number | undefined; text: string }>> {
  const countOf = async () => {
    const { rows } = await database.pool.query('SELECT sum(points) AS points FROM rate_limits WHERE key LIKE $1', [
      `%:${callerId}`,
    ]);
    return Number(rows[0].points);
  };
  const before = await countOf();
  const text = JSON.stringify(body);
  const held = request(`${url}${path}`, {
    method,
    headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) },
  });
  const answered = once(held, 'response') as Promise<[IncomingMessage]>;
  held.flushHeaders();
  await until(async () => (await countOf()) > before);
  await delay(LONG_MS);
  return async () => {
    held.end(text);
    const [answer] = await answered;
    return { status: answer.statusCode, text: (await answer.toArray()).join('') };
  };
}
