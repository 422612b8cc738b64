import { once } from 'node:events';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { answer, readSettings, ready } from './settings.ts';

// A webhook's endpoint: keeps when the first `monitor.down` of each target came in, in Unix milliseconds, by the end of the target's path.
const arrivals = new Map<string, number>();

const server = https.createServer(readSettings<{ key: string; cert: string }>(), async (request, response) => {
  const atMs = Date.now();
  const message = JSON.parse(await text(request));
  response.writeHead(204).end();
  const name = String(message.monitor?.target).split('/').at(-1) ?? '';
  if (message.event === 'monitor.down' && !arrivals.has(name)) arrivals.set(name, atMs);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
answer(() => [...arrivals]);
ready(`https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook`);
