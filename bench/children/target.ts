import { once } from 'node:events';
import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// The target of checks. Told to fail, it answers 503 on every nth path and keeps when it first did so, in Unix
// milliseconds.
type Settings = { addresses: number; bodyBytes: number };
type Message = { failEvery: number } | { read: 'failures' };

const { addresses, bodyBytes } = readSettings<Settings>();
const body = 'x'.repeat(bodyBytes);
const failures = new Map<string, number>();
let failEvery = 0;

const urls: string[] = [];
for (let host = 1; host <= addresses; host += 1) {
  const server = http.createServer(respond).listen(0, `127.0.0.${host}`);
  await once(server, 'listening');
  const address = server.address();
  if (address !== null && typeof address === 'object') urls.push(`http://${address.address}:${address.port}/m/`);
}
answer<Message>((message) => {
  if ('read' in message) return [...failures];
  failEvery = message.failEvery;
  return null;
});
ready(urls);

function respond(request: http.IncomingMessage, response: http.ServerResponse): void {
  const name = (request.url ?? '').slice('/m/'.length);
  const fails = failEvery > 0 && Number(name) % failEvery === 0;
  response.writeHead(fails ? 503 : 200, { 'Content-Type': 'text/html', 'Cache-Control': 'no-store' });
  response.end(body);
  if (fails && !failures.has(name)) failures.set(name, Date.now());
}
