import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { judgeTcp, type TcpObservation } from '../../core/checks/transport/observation.ts';
import type { Judgement } from '../../core/checks/verdict.ts';
import type { CheckTarget, TransportSpec } from '../../core/monitors/monitor.ts';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { createTcpProbe } from '../../probes/tcp.ts';
import { startRawServer } from '../helpers/http-server.ts';
import { transportTarget } from '../helpers/transport-target.ts';

const probe = createTcpProbe({ allowPrivateNetwork: true });
const search = createPatternSearch();

type Check = { observation: TcpObservation; judgement: Judgement };

async function check(target: CheckTarget): Promise<Check> {
  const observation = await probe(target);
  return { observation, judgement: judgeTcp({ target, observation, search }) };
}

/** Checks a server whose connections `onSocket` handles. */
async function checkServer(
  t: ExecutionContext,
  onSocket: (socket: Socket) => void,
  { timeoutMs = 60_000, ...transport }: TransportSpec & { timeoutMs?: number } = {},
): Promise<Check> {
  const { port } = await startRawServer(t, onSocket);
  return await check(transportTarget('tcp', { port, transport, timeoutMs }));
}

/** Writes pieces one by one, each in a separate packet. */
async function writePieces(socket: Socket, pieces: Iterable<string | Uint8Array>): Promise<void> {
  socket.setNoDelay(true);
  for (const piece of pieces) {
    if (socket.destroyed) return;
    await new Promise((resolve) => socket.write(piece, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('an open port is up once connected, and the latency is that of connecting', async (t) => {
  const { observation, judgement } = await checkServer(t, () => {});
  t.is(judgement.verdict, 'up');
  t.like(observation, { outcome: 'connected', answer: null, timings: { dnsMs: null, tlsMs: null, firstByteMs: null } });
  t.true(observation.latencyMs !== null && observation.latencyMs > 0);
  t.true(Math.abs(observation.startedAt - Date.now()) < 60_000);
});

test('a port that resets every connection counts as open', async (t) => {
  const { judgement } = await checkServer(t, (socket) => socket.resetAndDestroy());
  t.is(judgement.verdict, 'up');
});

test('a closed port is refused', async (t) => {
  const { observation, judgement } = await check(transportTarget('tcp', { port: 1 }));
  t.deepEqual(judgement, { verdict: 'down', cause: 'conn_refused', reason: 'Connection refused' });
  t.is(observation.latencyMs, null);
});

test('a name is resolved, and one reachable address is enough', async (t) => {
  const { port } = await startRawServer(t, () => {});
  const { observation, judgement } = await check(transportTarget('tcp', { target: `localhost:${port}` }));
  t.is(judgement.verdict, 'up');
  t.not(observation.timings.dnsMs, null);
});

test('a name that does not exist is a DNS failure, not a connection failure', async (t) => {
  const { judgement } = await check(transportTarget('tcp', { target: 'no-such-name.invalid:80' }));
  t.is(judgement.verdict, 'down');
  t.regex(String(judgement.cause), /^dns_/);
});

test('an IPv6 address is written in brackets', async (t) => {
  const server = net.createServer((socket) => socket.end('hello')).listen(0, '::1');
  await once(server, 'listening');
  t.teardown(() => void server.close());
  const { port } = server.address() as net.AddressInfo;
  const { judgement } = await check(
    transportTarget('tcp', { target: `[::1]:${port}`, checkSpec: { transport: { expect: 'hello' } } }),
  );
  t.is(judgement.verdict, 'up');
});

for (const target of [
  '',
  '127.0.0.1',
  '127.0.0.1:0',
  '127.0.0.1:65536',
  '::1:80',
  '[::1]',
  'a b:80',
  'http://127.0.0.1:80',
  '[::1%lo]:80',
]) {
  test(`the target ${JSON.stringify(target)} is no vote rather than an exception`, async (t) => {
    t.like((await check(transportTarget('tcp', { target }))).judgement, { verdict: 'none', cause: 'unsupported' });
  });
}

test('a stored payload that cannot be decoded is no vote and is not shown', async (t) => {
  const { judgement } = await checkServer(t, () => {}, { payload: 'hush\\', expect: 'x' });
  t.like(judgement, { verdict: 'none', cause: 'unsupported' });
  t.false(String(judgement.reason).includes('hush'));
});

test('a stored pattern that RE2 rejects makes the probe throw and close the connection', async (t) => {
  const closed = Promise.withResolvers<void>();
  const refused = checkServer(
    t,
    (socket) =>
      void socket
        .resume()
        .once('close', () => closed.resolve())
        .write('hello'),
    { expect: '(?=a)', expectMode: 'regex' },
  );
  await t.throwsAsync(refused, { name: 'RE2JSSyntaxException' });
  await closed.promise;
});

test('an expected banner is up, and the latency runs until it arrives', async (t) => {
  const { observation, judgement } = await checkServer(
    t,
    (socket) => void setTimeout(() => socket.end('220 mail.example ESMTP\r\n'), 60),
    { expect: '^220 .*ESMTP', expectMode: 'regex' },
  );
  t.is(judgement.verdict, 'up');
  t.true(Number(observation.latencyMs) >= 55);
  const { connectMs, firstByteMs, downloadMs } = observation.timings;
  t.true(Math.abs(Number(connectMs) + Number(firstByteMs) + Number(downloadMs) - Number(observation.latencyMs)) < 5);
});

test('a banner in single bytes is up as soon as it matches, though the connection stays open', async (t) => {
  const { observation, judgement } = await checkServer(
    t,
    (socket) => void writePieces(socket, 'SSH-2.0-OpenSSH_9.2p1\r\n'),
    { expect: 'OpenSSH_\\d', expectMode: 'regex' },
  );
  t.is(judgement.verdict, 'up');
  t.like(observation, { answer: { text: 'SSH-2.0-OpenSSH_9', end: 'enough' } });
});

test('characters that are split across packets are decoded correctly', async (t) => {
  const { observation, judgement } = await checkServer(
    t,
    (socket) =>
      void writePieces(
        socket,
        Array.from(Buffer.from('grüße 😀!'), (byte) => Uint8Array.of(byte)),
      ),
    { expect: 'grüße 😀' },
  );
  t.is(judgement.verdict, 'up');
  t.like(observation, { answer: { text: 'grüße 😀' } });
});

test('the payload is sent as raw bytes after connecting, and the response to it counts', async (t) => {
  const received: Buffer[] = [];
  const { judgement } = await checkServer(
    t,
    (socket) =>
      void socket.on('data', (piece) => {
        received.push(piece);
        if (Buffer.concat(received).includes('\r\n')) socket.write('+PONG\r\n');
      }),
    { payload: String.raw`PING é\xff\r\n`, expect: '+PONG' },
  );
  t.is(judgement.verdict, 'up');
  t.is(Buffer.concat(received).toString('hex'), '50494e4720c3a9ff0d0a');
});

test('a payload without an expected response still arrives in full', async (t) => {
  const arrived = Promise.withResolvers<string>();
  const { judgement } = await checkServer(
    t,
    (socket) => {
      const pieces: Buffer[] = [];
      socket
        .on('data', (piece) => pieces.push(piece))
        .once('end', () => arrived.resolve(Buffer.concat(pieces).toString()));
    },
    { payload: 'x'.repeat(60_000) },
  );
  t.is(judgement.verdict, 'up');
  t.is(await arrived.promise, 'x'.repeat(60_000));
});

test('an open port is up at the latest by the deadline, even if its payload is never read', async (t) => {
  const { judgement } = await checkServer(t, (socket) => void socket.pause(), {
    payload: 'x'.repeat(60_000),
    timeoutMs: 2000,
  });
  t.is(judgement.verdict, 'up');
});

test('a secret payload is sent from the stored secrets', async (t) => {
  const { port } = await startRawServer(t, (socket) => void socket.on('data', (piece) => socket.end(piece)));
  const target = transportTarget('tcp', {
    port,
    transport: { payloadSecret: true, expect: 'AUTH hush' },
    secrets: { payload: String.raw`AUTH hush\r\n` },
  });
  t.is((await check(target)).judgement.verdict, 'up');
});

const MISMATCHES: Record<string, (socket: Socket) => void> = {
  'and closes': (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n'),
  'and resets': (socket) =>
    void socket.write('HTTP/1.1 400 Bad Request\r\n', () => setTimeout(() => socket.resetAndDestroy(), 20)),
  // Only this one takes the whole timeout.
  'and stays connected': (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n'),
};
for (const [what, onSocket] of Object.entries(MISMATCHES)) {
  test(`a server that sends something else ${what} is a mismatch`, async (t) => {
    const { judgement } = await checkServer(t, onSocket, { expect: 'SSH-2.0', timeoutMs: 8000 });
    t.deepEqual(judgement, {
      verdict: 'down',
      cause: 'tcp_mismatch',
      reason: 'The response does not contain "SSH-2.0"',
    });
  });
}

const SILENCES: Record<string, { onSocket: (socket: Socket) => void; reason: RegExp; timeoutMs?: number }> = {
  'closes at once': { onSocket: (socket) => void socket.end(), reason: /closed before/ },
  'resets at once': { onSocket: (socket) => socket.resetAndDestroy(), reason: /closed before/ },
  'sends nothing': { onSocket: () => {}, reason: /in time/, timeoutMs: 400 },
};
for (const [what, { onSocket, reason, timeoutMs = 60_000 }] of Object.entries(SILENCES)) {
  test(`a server that ${what} has no banner`, async (t) => {
    const { judgement } = await checkServer(t, onSocket, { expect: 'x', timeoutMs });
    t.like(judgement, { verdict: 'down', cause: 'tcp_no_banner' });
    t.regex(String(judgement.reason), reason);
  });
}

test('the wait for a response ends at the deadline, and what arrived by then counts', async (t) => {
  const before = performance.now();
  const { observation } = await checkServer(t, (socket) => void socket.write('so far'), {
    expect: 'never',
    timeoutMs: 8000,
  });
  const tookMs = performance.now() - before;
  // Only the deadline ends the check: the server keeps the connection open.
  t.true(tookMs >= 7995, `${tookMs} ms`);
  t.like(observation, { answer: { text: 'so far', byteLength: 6, end: 'deadline' } });
});

test('the first 4096 bytes of a flood are kept, and the connection is closed before the deadline', async (t) => {
  const closed = Promise.withResolvers<void>();
  const { observation, judgement } = await checkServer(
    t,
    (socket) => {
      const flood = (): void => {
        while (!socket.destroyed && socket.write('y'.repeat(16_384))) {
          /* until the socket is full */
        }
      };
      socket.on('drain', flood).once('close', () => closed.resolve());
      flood();
    },
    { expect: 'needle', timeoutMs: 60_000 },
  );
  t.like(judgement, { cause: 'tcp_mismatch' });
  t.like(observation, { answer: { byteLength: 4096, text: 'y'.repeat(4096), end: 'enough' } });
  await closed.promise;
});

test('an expected text counts up to byte 4096 and not beyond it', async (t) => {
  const inside = await checkServer(t, (socket) => void socket.end(`${'y'.repeat(4090)}needle`), { expect: 'needle' });
  t.is(inside.judgement.verdict, 'up');
  const outside = await checkServer(t, (socket) => void socket.end(`${'y'.repeat(4091)}needle`), { expect: 'needle' });
  t.is(outside.judgement.cause, 'tcp_mismatch');
});

test('a response in 3,001 single bytes is searched once when judged, and a match at its end is found', async (t) => {
  let searched = 0;
  const text = `${'a'.repeat(3000)}b`;
  const { observation } = await checkServer(t, (socket) => void writePieces(socket, text).then(() => socket.end()), {
    expect: '(a?){40}b$',
    expectMode: 'regex',
    timeoutMs: 60_000,
  });
  t.like(observation, { answer: { text } });
  const judgement = judgeTcp({
    target: { checkSpec: { transport: { expect: '(a?){40}b$', expectMode: 'regex' } } },
    observation,
    search(pattern, answer) {
      searched += 1;
      return search(pattern, answer);
    },
  });
  t.is(judgement.verdict, 'up');
  t.is(searched, 1);
});

test('the peer sees every connection closed after the check', async (t) => {
  const open = new Set<Socket>();
  const allClosed = Promise.withResolvers<void>();
  let accepted = 0;
  const { port } = await startRawServer(t, (socket) => {
    accepted += 1;
    open.add(socket);
    socket.resume().once('close', () => {
      open.delete(socket);
      if (accepted === 300 && open.size === 0) allClosed.resolve();
    });
    socket.write('hello');
  });
  const targets = Array.from({ length: 300 }, (_, index) =>
    transportTarget('tcp', { port, transport: index % 2 === 0 ? {} : { expect: 'hello', payload: 'x' } }),
  );
  const checks = await Promise.all(targets.map(check));
  t.true(checks.every(({ judgement }) => judgement.verdict === 'up'));
  await allClosed.promise;
  t.is(open.size, 0);
});

const PRIVATE_HOSTS = [
  '127.0.0.1',
  'localhost',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '10.0.0.1',
  '169.254.169.254',
  '[fe80::1]',
];
for (const host of PRIVATE_HOSTS) {
  test(`with the guard on ${host} gets no connection and is no vote`, async (t) => {
    const server = await startRawServer(t, () => {});
    const target = transportTarget('tcp', { target: `${host}:${server.port}`, transport: { expect: 'x' } });
    const observation = await createTcpProbe({ allowPrivateNetwork: false })(target);
    t.like(judgeTcp({ target, observation, search }), { verdict: 'none', cause: 'blocked_target' });
    t.is(server.connections(), 0);
  });
}
