import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// Pings at a steady rate however long the responses take, 10 ms worth of pings at a time, and reports each response
// time and the responses by status. Heartbeats are numbered from 1; the benchmark assigned their tokens.
type Settings = { url: string; heartbeats: number; secret: string; perSecond: number };

const { url, heartbeats, secret, perSecond } = readSettings<Settings>();
const STEP_MS = 10;
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
let sent = 0;

answer(async ({ seconds }: { seconds: number }) => {
  const statuses: Record<string, number> = {};
  const latencies: number[] = [];
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  const from = sent;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsedMs = Math.min(seconds * 1000, performance.now() - startedAt);
      while (sent - from < (elapsedMs * perSecond) / 1000) pending.push(ping(statuses, latencies));
      if (elapsedMs < seconds * 1000) return;
      clearInterval(timer);
      resolve();
    }, STEP_MS);
  });
  await Promise.all(pending);
  return { statuses, latencies };
});
ready(null);

function ping(statuses: Record<string, number>, latencies: number[]): Promise<void> {
  sent += 1;
  const startedAt = performance.now();
  const token = `mon_${String(1 + (sent % heartbeats)).padStart(26, '0')}.${secret}`;
  return new Promise((resolve) => {
    const done = (status: string) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      latencies.push(performance.now() - startedAt);
      resolve();
    };
    const request = http.get(`${url}/ping/${token}`, { agent }, (response) => {
      response.resume();
      response.once('end', () => done(String(response.statusCode)));
    });
    request.once('error', (error) => done(error.message));
  });
}
