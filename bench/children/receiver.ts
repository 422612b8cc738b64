import { once } from 'node:events';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { answer, readSettings, ready } from './settings.ts';

// A webhook's endpoint. It stores when the first `monitor.down` of each target arrived at each path, in Unix
// milliseconds. Below /hang it answers test deliveries only.
const arrivals = new Map<string, { path: string; target: string; atMs: number }>();

const server = https.createServer(readSettings<{ key: string; cert: string }>(), async (request, response) => {
  const atMs = Date.now();
  const path = request.url ?? '';
  const message = JSON.parse(await text(request));
  if (!path.startsWith('/hang') || message.test === true) response.writeHead(204).end();
  const target = String(message.monitor?.target).split('/').at(-1) ?? '';
  const key = `${path} ${target}`;
  if (message.event === 'monitor.down' && !arrivals.has(key)) arrivals.set(key, { path, target, atMs });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
answer(() => [...arrivals.values()]);
ready(`https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`);
