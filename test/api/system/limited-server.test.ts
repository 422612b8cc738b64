import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import {
  createLimitedServer,
  type ConnectionLimits,
  answerUnreadable,
} from '../../../api/system/unreadable-request.ts';

const PATIENT: ConnectionLimits = {
  headersMs: 60_000,
  requestMs: 60_000,
  silenceMs: 60_000,
  idleMs: 60_000,
  connectionCheckMs: 50,
};

/** What fills every buffer on the way. */
const LONG = Buffer.alloc(32 * 1024 * 1024);

/** With the given limits and none besides; with those of the service where there are none. */
async function open(t: ExecutionContext, limits?: Partial<ConnectionLimits>): Promise<Socket> {
  const server = createLimitedServer(
    (request, response) => {
      request.resume().once('end', () => response.end(request.url === '/long' ? LONG : 'ok'));
    },
    limits && { ...PATIENT, ...limits },
  );
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

/** Not by `once`, which an error on the way would reject: that is how the end shows here. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

const SLOW: Record<string, { sent: string; limits: Partial<ConnectionLimits> }> = {
  'says nothing': { sent: '', limits: { headersMs: 100, requestMs: 200 } },
  'does not come to the end of its headers': {
    sent: 'GET / HTTP/1.1\r\nHost: a\r\n',
    limits: { headersMs: 100, requestMs: 200 },
  },
  'does not come to the end of its body': {
    sent: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc',
    limits: { headersMs: 100, requestMs: 200 },
  },
};

for (const [what, { sent, limits }] of Object.entries(SLOW)) {
  test(`a client that ${what} is answered that it took too long, and cut off even then`, async (t) => {
    const socket = await open(t, limits);
    socket.write(sent);
    t.regex(
      await text(socket.iterator({ destroyOnReturn: false })),
      /^HTTP\/1\.1 408 Request Timeout\r\n[^]*"error":"the request took too long to arrive"/,
    );
    // The end of the answer does not end our side: only the server's cut does, which the next byte meets.
    const knock = setInterval(() => socket.write('x'), 50);
    await closing(socket);
    clearInterval(knock);
  });
}

test('a client that does not read its answer is cut off', async (t) => {
  const socket = await open(t, { silenceMs: 300 });
  socket.pause();
  socket.write('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
  const closed = closing(socket);
  const knock = setInterval(() => socket.write('x'), 50);
  await closed;
  clearInterval(knock);
  t.true(socket.bytesRead < LONG.length);
});

test('a client in good order keeps its connection for the next request', async (t) => {
  const socket = await open(t, {});
  for (let times = 0; times < 2; times += 1) {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [answer]: Buffer[] = await once(socket, 'data');
    t.regex(String(answer), /^HTTP\/1\.1 200 OK[^]*ok$/);
  }
});

test('a connection that is idle for longer than between two requests is closed', async (t) => {
  const socket = await open(t, { idleMs: 100 });
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex(await text(socket), /^HTTP\/1\.1 200 OK[^]*ok$/);
});

test('idle connections are kept for longer than load balancers keep theirs', async (t) => {
  const socket = await open(t);
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer]: Buffer[] = await once(socket, 'data');
  const [, seconds] = /^Keep-Alive: timeout=(\d+)\r$/m.exec(String(answer)) ?? [];
  t.true(Number(seconds) > 60, String(answer));
});
