import { once } from 'node:events';
import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// The target of checks. With `failEvery` it answers 503 on every nth path and stores when it first did so, in Unix
// milliseconds. With `watch` it counts requests, and measures the gaps between those of each path, in milliseconds.
type Settings = { addresses: number; bodyBytes: number };
type Message = { failEvery: number } | { read: 'failures' } | { watch: boolean };

const { addresses, bodyBytes } = readSettings<Settings>();
const body = 'x'.repeat(bodyBytes);
const failures = new Map<string, number>();
let failEvery = 0;
let isWatching = false;
let requests = 0;
let gapsMs: number[] = [];
const cameAtMs = new Map<string, number>();

const urls: string[] = [];
for (let host = 1; host <= addresses; host += 1) {
  const server = http.createServer(respond).listen(0, `127.0.0.${host}`);
  await once(server, 'listening');
  const address = server.address();
  if (address !== null && typeof address === 'object') urls.push(`http://${address.address}:${address.port}/m/`);
}
answer<Message>((message) => {
  if ('read' in message) return [...failures];
  if ('watch' in message) return watch(message.watch);
  failEvery = message.failEvery;
  return null;
});
ready(urls);

function respond(request: http.IncomingMessage, response: http.ServerResponse): void {
  const name = (request.url ?? '').slice('/m/'.length);
  if (isWatching) record(name);
  const fails = failEvery > 0 && Number(name) % failEvery === 0;
  response.writeHead(fails ? 503 : 200, { 'Content-Type': 'text/html', 'Cache-Control': 'no-store' });
  response.end(body);
  if (fails && !failures.has(name)) failures.set(name, Date.now());
}

/** Starts or stops watching; returns the figures since it started. */
function watch(begins: boolean): { requests: number; gapsMs: number[] } {
  const seen = { requests, gapsMs };
  isWatching = begins;
  requests = 0;
  gapsMs = [];
  cameAtMs.clear();
  return seen;
}

function record(name: string): void {
  const nowMs = performance.now();
  const beforeMs = cameAtMs.get(name);
  requests += 1;
  if (beforeMs !== undefined) gapsMs.push(nowMs - beforeMs);
  cameAtMs.set(name, nowMs);
}
