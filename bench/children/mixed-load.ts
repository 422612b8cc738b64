import http from 'node:http';
import { percentile } from '../figures.ts';
import { answer, readSettings, ready } from './settings.ts';

// The API's customers: requests at a steady rate, 10 ms worth of them at a time, reads and writes mixed. Each account asks for its own monitors
// with its own tokens; what it creates it deletes again. While all of them wait for answers nothing more is sent: what is left unsent in the
// end is told, for it was not served.
type Account = { tokens: string[]; first: number; last: number };
type Settings = { url: string; accounts: Account[]; perSecond: number; target: string };
type Sent = { method: string; path: string; token: string; body?: object };
type Answered = { status: string; text: string };

const STEP_MS = 10;
/** Customers that ask at a time. */
const AT_ONCE = 256;
/** An answer that takes longer is an error, in milliseconds. */
const PATIENCE_MS = 30_000;

const { url, accounts, perSecond, target } = readSettings<Settings>();
const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
const created: { id: string; token: string }[] = [];
let sent = 0;

/** Twenty requests in a row: 17 reads, 3 writes. */
const MIX: readonly ((token: string, id: string) => Sent)[] = [
  ...Array.from({ length: 9 }, () => (token: string, id: string) => ({ method: 'GET', path: `/v1/monitors/${id}`, token })),
  ...Array.from({ length: 3 }, () => (token: string) => ({ method: 'GET', path: '/v1/monitors?limit=50', token })),
  (token, id) => ({ method: 'GET', path: `/v1/monitors/${id}/incidents?limit=20`, token }),
  (token) => ({ method: 'GET', path: '/v1/incidents?limit=20', token }),
  (token, id) => ({ method: 'GET', path: `/v1/monitors/${id}/checks?limit=50`, token }),
  (token, id) => ({ method: 'GET', path: `/v1/monitors/${id}/uptime`, token }),
  (token) => ({ method: 'GET', path: '/v1/channels', token }),
  ...Array.from({ length: 2 }, () => (token: string, id: string) => ({ method: 'PATCH', path: `/v1/monitors/${id}`, token, body: { sla_target: 90 + (sent % 10) } })),
  createOrDelete,
];

answer(async ({ seconds }: { seconds: number }) => {
  const statuses: Record<string, number> = {};
  const latencies = { reads: [] as number[], writes: [] as number[] };
  const underWay = new Set<Promise<void>>();
  const startedAt = performance.now();
  const from = sent;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsedMs = Math.min(seconds * 1000, performance.now() - startedAt);
      while (sent - from < (elapsedMs * perSecond) / 1000 && underWay.size < AT_ONCE) {
        const one = send(statuses, latencies).finally(() => underWay.delete(one));
        underWay.add(one);
      }
      if (elapsedMs < seconds * 1000) return;
      clearInterval(timer);
      resolve();
    }, STEP_MS);
  });
  const unsent = Math.round(seconds * perSecond) - (sent - from);
  await Promise.all(underWay);
  const figures = Object.entries(latencies).map(([kind, times]) => [kind, { count: times.length, p50: percentile(times, 0.5), p99: percentile(times, 0.99), slowest: percentile(times, 1) }]);
  return { statuses, unsent, latencies: Object.fromEntries(figures) };
});
ready(null);

async function send(statuses: Record<string, number>, latencies: { reads: number[]; writes: number[] }): Promise<void> {
  sent += 1;
  const { tokens, first, last } = accounts[sent % accounts.length] ?? { tokens: [], first: 1, last: 1 };
  const turn = Math.floor(sent / accounts.length);
  const id = `mon_${String(first + ((turn * 7919) % (last - first + 1))).padStart(26, '0')}`;
  const request = MIX[(sent + turn) % MIX.length]?.(tokens[turn % tokens.length] ?? '', id);
  if (request === undefined) return;
  const startedAt = performance.now();
  const { status, text } = await exchange(request);
  latencies[request.method === 'GET' ? 'reads' : 'writes'].push(performance.now() - startedAt);
  const key = status.startsWith('2') ? '2xx' : `${request.method} ${status}`;
  statuses[key] = (statuses[key] ?? 0) + 1;
  if (request.method === 'POST' && status === '201') created.push({ id: JSON.parse(text).id, token: request.token });
}

/** Creations and deletions in turns; nobody deletes before something is there. */
function createOrDelete(token: string): Sent {
  const gone = created.length > 0 && sent % 2 === 0 ? created.shift() : undefined;
  if (gone !== undefined) return { method: 'DELETE', path: `/v1/monitors/${gone.id}`, token: gone.token };
  return { method: 'POST', path: '/v1/monitors', token, body: { name: `Created ${sent}`, target, interval_seconds: 60, timeout_ms: 5000 } };
}

function exchange({ method, path, token, body }: Sent): Promise<Answered> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = { authorization: `Bearer ${token}`, ...(payload !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }) };
  return new Promise((resolve) => {
    const request = http.request(`${url}${path}`, { method, agent, headers, timeout: PATIENCE_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => resolve({ status: String(response.statusCode), text: Buffer.concat(chunks).toString() }));
    });
    request.once('timeout', () => request.destroy(new Error('no answer in time')));
    request.once('error', (error) => resolve({ status: error.message, text: '' }));
    request.end(payload);
  });
}
