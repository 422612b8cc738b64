import { once } from 'node:events';
import https from 'node:https';
import { buffer } from 'node:stream/consumers';
import { answer, readSettings, ready } from './settings.ts';

// A receiver that costs as little as possible. It stores when each delivery first arrived, by path, and the number of
// connections. It answers below /hang as late as a sender waits at most.
const HANG_MS = 8000;
const arrivals: { path: string; id: string; atMs: number }[] = [];
const known = new Set<string>();
let connections = 0;

const server = https.createServer(
  { ...readSettings<{ key: string; cert: string }>(), keepAliveTimeout: 60_000 },
  async (request, response) => {
    const atMs = Date.now();
    const path = request.url ?? '';
    const id = String(request.headers['x-service-delivery']);
    if (!known.has(id)) arrivals.push({ path, id, atMs });
    known.add(id);
    await buffer(request);
    const respond = () => response.writeHead(204).end();
    if (path.startsWith('/hang')) setTimeout(respond, HANG_MS);
    else respond();
  },
);
server.on('secureConnection', () => (connections += 1));
// Senders that time out are part of the benchmark.
server.on('clientError', (_error, socket) => socket.destroy());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
answer(() => ({ arrivals, connections }));
ready(`https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`);
