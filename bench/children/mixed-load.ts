import { percentile } from '../figures.ts';
import { openHttpLine } from './http-line.ts';
import { answer, readSettings, ready } from './settings.ts';

// The API's customers: requests at a steady rate, 10 ms worth of them at a time, reads and writes mixed. Each account
// requests its own monitors with its own tokens, and deletes what it creates. While all customers wait for responses
// nothing more is sent: requests left unsent at the end are reported, because they were not served.
type Account = { tokens: string[]; first: number; last: number };
type Settings = { url: string; accounts: Account[]; perSecond: number; target: string };
type Sent = { method: string; path: string; token: string; body?: object };
type Kind = { of20: number; make: (token: string, monitorId: string) => Sent };

const STEP_MS = 10;
/** Number of concurrent customers. */
const AT_ONCE = 256;

const { url, accounts, perSecond: usualRate, target } = readSettings<Settings>();
const { hostname, port, host } = new URL(url);
const idle = Array.from({ length: AT_ONCE }, () => openHttpLine({ host: hostname, port: Number(port) }));
const created: { id: string; token: string }[] = [];
let sent = 0;

/** The mix of requests in parts of twenty: 17 reads, 3 writes. */
const KINDS: Readonly<Record<string, Kind>> = {
  'a monitor': { of20: 9, make: (token, id) => ({ method: 'GET', path: `/v1/monitors/${id}`, token }) },
  'fifty monitors': { of20: 3, make: (token) => ({ method: 'GET', path: '/v1/monitors?limit=50', token }) },
  'incidents of one': {
    of20: 1,
    make: (token, id) => ({ method: 'GET', path: `/v1/monitors/${id}/incidents?limit=20`, token }),
  },
  incidents: { of20: 1, make: (token) => ({ method: 'GET', path: '/v1/incidents?limit=20', token }) },
  checks: { of20: 1, make: (token, id) => ({ method: 'GET', path: `/v1/monitors/${id}/checks?limit=50`, token }) },
  uptime: { of20: 1, make: (token, id) => ({ method: 'GET', path: `/v1/monitors/${id}/uptime`, token }) },
  channels: { of20: 1, make: (token) => ({ method: 'GET', path: '/v1/channels', token }) },
  change: {
    of20: 2,
    make: (token, id) => ({
      method: 'PATCH',
      path: `/v1/monitors/${id}`,
      token,
      body: { sla_target: 90 + (sent % 10) },
    }),
  },
  'creation or deletion': { of20: 1, make: createOrDelete },
};
const MIX = Object.values(KINDS).flatMap((kind) => Array.from({ length: kind.of20 }, () => kind));

/** Sends requests for the given seconds, at the given rate and of the given kind if there is one. */
answer(async ({ seconds, only, perSecond = usualRate }: { seconds: number; only?: string; perSecond?: number }) => {
  const mix = only === undefined ? MIX : [KINDS[only] ?? fail(only)];
  const statuses: Record<string, number> = {};
  const latencies = { reads: [] as number[], writes: [] as number[] };
  const underWay = new Set<Promise<void>>();
  const startedAt = performance.now();
  const from = sent;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsedMs = Math.min(seconds * 1000, performance.now() - startedAt);
      while (sent - from < (elapsedMs * perSecond) / 1000 && idle.length > 0) {
        const one = send({ mix, statuses, latencies }).finally(() => underWay.delete(one));
        underWay.add(one);
      }
      if (elapsedMs < seconds * 1000) return;
      clearInterval(timer);
      resolve();
    }, STEP_MS);
  });
  const unsent = Math.round(seconds * perSecond) - (sent - from);
  await Promise.all(underWay);
  const figures = Object.entries(latencies).map(([kind, times]) => [
    kind,
    { count: times.length, p50: percentile(times, 0.5), p99: percentile(times, 0.99), slowest: percentile(times, 1) },
  ]);
  return { statuses, unsent, latencies: Object.fromEntries(figures), kinds: Object.keys(KINDS) };
});
ready(null);

async function send({
  mix,
  statuses,
  latencies,
}: {
  mix: readonly Kind[];
  statuses: Record<string, number>;
  latencies: { reads: number[]; writes: number[] };
}): Promise<void> {
  sent += 1;
  const { tokens, first, last } = accounts[sent % accounts.length] ?? { tokens: [], first: 1, last: 1 };
  const turn = Math.floor(sent / accounts.length);
  const id = `mon_${String(first + ((turn * 7919) % (last - first + 1))).padStart(26, '0')}`;
  const request = mix[(sent + turn) % mix.length]?.make(tokens[turn % tokens.length] ?? '', id);
  const line = idle.pop();
  if (request === undefined || line === undefined) return;
  const startedAt = performance.now();
  const { status, text } = await line.exchange(write(request));
  idle.push(line);
  latencies[request.method === 'GET' ? 'reads' : 'writes'].push(performance.now() - startedAt);
  const key = status.startsWith('2') ? '2xx' : `${request.method} ${status}`;
  statuses[key] = (statuses[key] ?? 0) + 1;
  if (request.method === 'POST' && status === '201') created.push({ id: JSON.parse(text).id, token: request.token });
}

/** Returns a creation or a deletion: they alternate, and the first is a creation. */
function createOrDelete(token: string): Sent {
  const gone = created.length > 0 && sent % 2 === 0 ? created.shift() : undefined;
  if (gone !== undefined) return { method: 'DELETE', path: `/v1/monitors/${gone.id}`, token: gone.token };
  return {
    method: 'POST',
    path: '/v1/monitors',
    token,
    body: { name: `Created ${sent}`, target, interval_seconds: 60, timeout_ms: 5000 },
  };
}

function write({ method, path, token, body }: Sent): string {
  const payload = body === undefined ? '' : JSON.stringify(body);
  const ofBody =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(payload)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n${ofBody}\r\n${payload}`;
}

function fail(kind: string): never {
  throw new Error(`There is no kind of requests named ${kind}`);
}
