import { once } from 'node:events';
import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// The service from an agent's point of view: the same work at every check-in, and results that are accepted and
// counted.
type Settings = { targets: string[]; monitors: number; intervalSeconds: number };

const ETAG = '"bench"';

const { targets, monitors, intervalSeconds } = readSettings<Settings>();
const work = Array.from({ length: monitors }, (_, index) => ({
  monitorId: `mon_${index}`,
  sourceKey: 'agt_bench',
  type: 'http',
  target: `${targets[index % targets.length]}${index}`,
  intervalSeconds,
  timeoutMs: 5000,
  method: 'GET',
  expectedStatus: '2xx',
  followRedirects: true,
  checkSpec: {},
}));
const workAnswer = JSON.stringify({ agentId: 'agt_bench', agentKind: 'tenant', capabilities: ['http'], work });
let results = 0;

const server = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request
    .on('data', (chunk: Buffer) => chunks.push(chunk))
    .on('end', () => {
      if (request.url !== '/agent/v1/pull') return takeIn(Buffer.concat(chunks), response);
      const isKnown = request.headers['if-none-match'] === ETAG;
      return response.writeHead(isKnown ? 304 : 200, { ETag: ETAG }).end(isKnown ? '' : workAnswer);
    });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
answer(() => results);
ready(`http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`);

function takeIn(body: Buffer, response: http.ServerResponse): void {
  const accepted = JSON.parse(body.toString()).results.length;
  results += accepted;
  response.end(
    JSON.stringify({
      accepted,
      dropped: 0,
      droppedBecause: { notAssigned: 0, future: 0, tooOld: 0, tooMany: 0 },
      recheck: [],
    }),
  );
}
