import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { createHttpClient } from '../../net/http-client.ts';
import { createTcpClient } from '../../net/tcp-exchange.ts';
import { startDeadline } from '../../net/timeline.ts';
import { createUdpClient } from '../../net/udp-exchange.ts';

const GUARD = { allowPrivateNetwork: true };
/** Long enough for a busy machine to send the request within it. */
const DEADLINE_MS = 4000;

/**
 * Answers over http, tcp and udp on a separate thread, once told to. `marks`: 0 = no request yet, 1 = answer now, 2 =
 * answered.
 */
const ANSWERER = `
  const { parentPort, workerData: marks } = require('node:worker_threads');
  const noteAnswered = () => {
    Atomics.store(marks, 0, 2);
    Atomics.notify(marks, 0);
  };
  const later = (answer) => {
    parentPort.postMessage({ asked: true });
    Atomics.wait(marks, 0, 0);
    answer(noteAnswered);
  };
  const http = require('node:http').createServer((request, response) => later((done) => response.end('here', done)));
  const tcp = require('node:net').createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => later((done) => socket.write('here', done)));
  });
  const udp = require('node:dgram').createSocket('udp4');
  udp.on('message', (_, { port, address }) => later((done) => udp.send('here', port, address, done)));
  const tellPorts = () => parentPort.postMessage({ ports: [http, tcp, udp].map((server) => server.address().port) });
  const bindUdp = () => udp.bind(0, '127.0.0.1', tellPorts);
  http.listen(0, '127.0.0.1', () => tcp.listen(0, '127.0.0.1', bindUdp));
`;

/** Starts the answerer; `standStill` lets it answer while this thread blocks until long after the current deadline. */
async function startAnswerer(t: ExecutionContext) {
  const marks = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(ANSWERER, { eval: true, workerData: marks });
  t.teardown(() => worker.terminate());
  const awaitMessage = async (name: string) =>
    await new Promise<Record<string, unknown>>(
      (resolve) => void worker.on('message', (message: Record<string, unknown>) => name in message && resolve(message)),
    );
  const { ports } = (await awaitMessage('ports')) as { ports: [number, number, number] };
  const standStill = async (beganMs: number) => {
    await awaitMessage('asked');
    Atomics.store(marks, 0, 1);
    Atomics.notify(marks, 0);
    Atomics.wait(marks, 0, 1);
    Atomics.wait(
      new Int32Array(new SharedArrayBuffer(4)),
      0,
      0,
      Math.max(0, beganMs + DEADLINE_MS + 100 - performance.now()),
    );
  };
  return { ports, standStill };
}

test.serial(
  'a response that arrived before the deadline counts even if our process stalls past it: over http',
  async (t) => {
    const {
      ports: [port],
      standStill,
    } = await startAnswerer(t);
    const stall = standStill(performance.now());
    const exchange = await createHttpClient(GUARD)({
      url: new URL(`http://127.0.0.1:${port}/`),
      method: 'GET',
      headers: {},
      deadlineMs: DEADLINE_MS,
      bodyLimit: () => 100,
    });
    await stall;
    t.is(exchange.outcome, 'answered');
  },
);

test.serial('over tcp', async (t) => {
  const {
    ports: [, port],
    standStill,
  } = await startAnswerer(t);
  const stall = standStill(performance.now());
  const exchange = await createTcpClient(GUARD)({
    host: '127.0.0.1',
    port,
    payload: Buffer.from('?'),
    receive: () => true,
    deadlineMs: DEADLINE_MS,
  });
  await stall;
  t.like(exchange, { outcome: 'connected', end: 'enough' });
});

test.serial('over udp', async (t) => {
  const {
    ports: [, , port],
    standStill,
  } = await startAnswerer(t);
  const stall = standStill(performance.now());
  const exchange = await createUdpClient(GUARD)({
    host: '127.0.0.1',
    port,
    payload: Buffer.from('?'),
    deadlineMs: DEADLINE_MS,
  });
  await stall;
  t.is(exchange.outcome, 'replied');
});

test.serial('a cancelled deadline never fires, not even between its timer and the sockets', async (t) => {
  let passed = 0;
  startDeadline(20, () => (passed += 1))();
  const callOff = startDeadline(20, () => (passed += 1));
  setTimeout(callOff, 20);
  const { promise: last, resolve } = Promise.withResolvers<void>();
  startDeadline(20, resolve);
  await last;
  t.is(passed, 0);
});
