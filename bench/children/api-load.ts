import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// Reads monitors one after the other over kept-alive connections for the given seconds, and replies with the rate of
// successful responses and with all responses by status.
type Settings = { tokens: string[]; connections: number; monitors: number };

const { tokens, connections, monitors } = readSettings<Settings>();
const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
let sent = 0;

answer(async ({ url, seconds }: { url: string; seconds: number }) => {
  const statuses: Record<string, number> = {};
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endsAt) {
        const status = await get(url);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }),
  );
  return { perSecond: ((statuses['200'] ?? 0) * 1000) / (performance.now() - startedAt), statuses };
});
ready(null);

function get(url: string): Promise<number> {
  sent += 1;
  const id = `mon_${String(1 + (sent % monitors)).padStart(26, '0')}`;
  return new Promise((resolve, reject) => {
    const request = http.get(
      `${url}${id}`,
      { agent, headers: { authorization: `Bearer ${tokens[sent % tokens.length]}` } },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      },
    );
    request.once('error', reject);
  });
}
