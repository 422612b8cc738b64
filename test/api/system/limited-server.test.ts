import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import {
  createLimitedServer,
  type ConnectionLimits,
  answerUnreadable,
} from '../../../api/system/unreadable-request.ts';
import { until } from '../../helpers/until.ts';

const PATIENT: ConnectionLimits = {
  headersMs: 60_000,
  requestMs: 60_000,
  silenceMs: 60_000,
  idleMs: 60_000,
  connectionCheckMs: 50,
};

/** A body that fills every buffer on its way. */
const LONG = Buffer.alloc(32 * 1024 * 1024);

const answerAll: RequestListener = (request, response) => {
  request.resume().once('end', () => response.end(request.url === '/long' ? LONG : 'ok'));
};

/** Opens a connection to a server with only the given limits, or with those of the service if none are given. */
async function open(
  t: ExecutionContext,
  limits?: Partial<ConnectionLimits>,
  listener: RequestListener = answerAll,
): Promise<Socket> {
  const server = createLimitedServer(listener, limits && { ...PATIENT, ...limits });
  answerUnreadable(server, (prefix) => `${prefix}_1`);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true }).on(
    'error',
    () => undefined,
  );
  t.teardown(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return socket;
}

/** Waits for 'close'. `once` would reject on the error with which the connection ends here. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

const SLOW: Record<string, { sent: string; limits: Partial<ConnectionLimits> }> = {
  'sends nothing': { sent: '', limits: { headersMs: 100, requestMs: 200 } },
  'does not finish its headers': {
    sent: 'GET / HTTP/1.1\r\nHost: a\r\n',
    limits: { headersMs: 100, requestMs: 200 },
  },
  'does not finish its body': {
    sent: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc',
    limits: { headersMs: 100, requestMs: 200 },
  },
};

for (const [what, { sent, limits }] of Object.entries(SLOW)) {
  test(`a client that ${what} gets a 408 and is then disconnected`, async (t) => {
    const socket = await open(t, limits);
    socket.write(sent);
    t.regex(
      await text(socket.iterator({ destroyOnReturn: false })),
      /^HTTP\/1\.1 408 Request Timeout\r\n[^]*"error":"the request took too long to arrive"/,
    );
    // The end of the response leaves this side open; only the next byte meets the server's reset.
    const knock = setInterval(() => socket.write('x'), 50);
    await closing(socket);
    clearInterval(knock);
  });
}

test('a client that does not read its response is disconnected', async (t) => {
  const socket = await open(t, { silenceMs: 300 });
  socket.pause();
  socket.write('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
  const closed = closing(socket);
  const knock = setInterval(() => socket.write('x'), 50);
  await closed;
  clearInterval(knock);
  t.true(socket.bytesRead < LONG.length);
});

test('a well-behaved client keeps its connection for the next request', async (t) => {
  const socket = await open(t, {});
  for (let times = 0; times < 2; times += 1) {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [answer]: Buffer[] = await once(socket, 'data');
    t.regex(String(answer), /^HTTP\/1\.1 200 OK[^]*ok$/);
  }
});

test('an idle connection is closed after the idle timeout', async (t) => {
  const socket = await open(t, { idleMs: 100 });
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex(await text(socket), /^HTTP\/1\.1 200 OK[^]*ok$/);
});

test('the idle timeout is longer than that of load balancers', async (t) => {
  const socket = await open(t);
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer]: Buffer[] = await once(socket, 'data');
  const [, seconds] = /^Keep-Alive: timeout=(\d+)\r$/m.exec(String(answer)) ?? [];
  t.true(Number(seconds) > 60, String(answer));
});

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;

/** Holds the responses to `/held` and sends others at once; `begun` lists the paths of started requests. */
async function openHolding(t: ExecutionContext, limits: Partial<ConnectionLimits> = {}) {
  const begun: string[] = [];
  const held: ServerResponse[] = [];
  const socket = await open(t, limits, async (request, response) => {
    begun.push(String(request.url));
    if (request.url === '/held') held.push(response);
    else response.end(`${request.url} ${(await text(request)).length};`);
  });
  return { socket, begun, held };
}

test('a pipelined request starts once the responses before it are sent', async (t) => {
  const { socket, begun, held } = await openHolding(t);
  // Larger than the part that is read of a waiting body.
  const body = 'x'.repeat(2 ** 20);
  const long = `POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const expecting = 'POST /expecting HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc';
  const answers = text(socket);
  socket.write(get('/held') + get('/short').repeat(3) + long + expecting + get('/last', 'Connection: close\r\n'));
  await until(() => held.length === 1);
  const other = connect(socket.remotePort ?? 0, '127.0.0.1');
  const [answer]: Buffer[] = await once(other.end(get('/other')), 'data');
  t.regex(String(answer), /\/other 0;/);
  t.deepEqual(begun, ['/held', '/other']);
  held[0]?.end('held;');
  const bodies = [...(await answers).matchAll(/(\S+ ?\d*);/g)].map(([, one]) => one);
  t.deepEqual(bodies, ['held', ...Array(3).fill('/short 0'), `/body ${body.length}`, '/expecting 3', '/last 0']);
  t.is(begun.length, 1 + bodies.length);
});

test('a connection with more than 16 pipelined requests is closed, and none of them starts', async (t) => {
  const { socket, begun } = await openHolding(t);
  socket.write(get('/held') + get('/x', 'Expect: nothing\r\n').repeat(8) + get('/x').repeat(8));
  await until(() => begun.length === 1);
  const closed = closing(socket.resume().once('end', () => socket.end()));
  socket.write(get('/x').repeat(1000));
  await closed;
  t.deepEqual(begun, ['/held']);
});

test('pipelined requests of a disconnected client never start', async (t) => {
  const { socket, begun, held } = await openHolding(t);
  socket.write(get('/held') + get('/x').repeat(3));
  await until(() => held.length === 1);
  const port = socket.remotePort ?? 0;
  const gone = once(held[0] ?? socket, 'close');
  socket.destroy();
  await gone;
  held[0]?.end();
  const other = connect(port, '127.0.0.1');
  await once(other.end(get('/other')), 'data');
  t.deepEqual(begun, ['/held', '/other']);
});

test('time spent waiting in the pipeline counts toward the request timeout', async (t) => {
  const { socket, begun } = await openHolding(t, { headersMs: 5000, requestMs: 5000 });
  socket.write(`${get('/held')}POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc`);
  t.regex(await text(socket), /^HTTP\/1\.1 408 /);
  t.deepEqual(begun, ['/held']);
});
