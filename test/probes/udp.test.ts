import dgram from 'node:dgram';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { judgeUdp, type UdpObservation } from '../../core/checks/transport/observation.ts';
import type { Judgement } from '../../core/checks/verdict.ts';
import type { CheckTarget, TransportSpec } from '../../core/monitors/monitor.ts';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { createUdpProbe } from '../../probes/udp.ts';
import { transportTarget } from '../helpers/transport-target.ts';
import { startUdpServer, type Reply, type UdpServer } from '../helpers/udp-server.ts';
import { until } from '../helpers/until.ts';

const probe = createUdpProbe({ allowPrivateNetwork: true });
const search = createPatternSearch();

type Check = { observation: UdpObservation; judgement: Judgement };

async function check(target: CheckTarget): Promise<Check> {
  const observation = await probe(target);
  return { observation, judgement: judgeUdp({ target, observation, search }) };
}

const echo = (datagram: Buffer, reply: Reply): void => reply(datagram);

/** A port without a listener: it is no temporary one, so that other tests do not get it. */
const CLOSED_PORT = 9;

async function checkEcho(t: ExecutionContext, transport: TransportSpec): Promise<Check & { received: Buffer[] }> {
  const { port, received } = await startUdpServer(t, echo);
  return { ...(await check(transportTarget('udp', { port, transport }))), received };
}

test('a reply is up, and the latency is its round-trip time', async (t) => {
  const { port } = await startUdpServer(t, (_, reply) => void setTimeout(() => reply('pong'), 60));
  const { observation, judgement } = await check(transportTarget('udp', { port }));
  t.deepEqual(judgement, { verdict: 'up', cause: null, reason: null });
  t.like(observation, { outcome: 'replied', reply: 'pong', dnsMs: null });
  t.true(Number(observation.latencyMs) >= 55);
});

test('without a payload an empty datagram is sent, and an empty one back is a reply', async (t) => {
  const { observation, judgement, received } = await checkEcho(t, {});
  t.is(judgement.verdict, 'up');
  t.like(observation, { reply: '' });
  t.deepEqual(
    received.map(({ length }) => length),
    [0],
  );
});

test('a payload is sent as raw bytes in one datagram', async (t) => {
  const { received } = await checkEcho(t, { payload: String.raw`é\x00\xff\r\n` });
  t.deepEqual(
    received.map((datagram) => datagram.toString('hex')),
    ['c3a900ff0d0a'],
  );
  const hex = await checkEcho(t, { payload: '00FFfe', payloadEncoding: 'hex' });
  t.deepEqual(
    hex.received.map((datagram) => datagram.toString('hex')),
    ['00fffe'],
  );
});

test('the largest possible payload, 65,507 bytes, is sent and echoed', async (t) => {
  const { judgement } = await checkEcho(t, { payload: `${'x'.repeat(65_506)}!`, expect: '!' });
  t.is(judgement.verdict, 'up');
});

test('a secret payload is sent from the stored secrets', async (t) => {
  const { port, received } = await startUdpServer(t, echo);
  await check(
    transportTarget('udp', {
      port,
      transport: { payloadSecret: true, payloadEncoding: 'hex' },
      secrets: { payload: 'c0ffee' },
    }),
  );
  t.deepEqual(
    received.map((datagram) => datagram.toString('hex')),
    ['c0ffee'],
  );
});

test('a reply is compared with the expected text or pattern', async (t) => {
  t.is((await checkEcho(t, { payload: 'grüße', expect: 'üß' })).judgement.verdict, 'up');
  t.is((await checkEcho(t, { payload: 'id=42;', expect: '^id=\\d+;$', expectMode: 'regex' })).judgement.verdict, 'up');
  t.deepEqual((await checkEcho(t, { payload: 'ping', expect: 'pong' })).judgement, {
    verdict: 'down',
    cause: 'udp_mismatch',
    reason: 'The reply does not contain "pong"',
  });
});

test('only the first reply counts, even if a second one would match', async (t) => {
  const { port } = await startUdpServer(t, (_, reply) => {
    reply('busy');
    reply('ready');
  });
  t.is((await check(transportTarget('udp', { port, transport: { expect: 'ready' } }))).judgement.cause, 'udp_mismatch');
});

test('a silent server has no reply at the deadline', async (t) => {
  const { port, received } = await startUdpServer(t);
  const before = performance.now();
  const { observation, judgement } = await check(transportTarget('udp', { port, timeoutMs: 300 }));
  const tookMs = performance.now() - before;
  t.deepEqual(judgement, { verdict: 'down', cause: 'udp_no_reply', reason: 'No reply came in time' });
  // Only the deadline ends the check: nothing arrives.
  t.true(tookMs >= 295, `${tookMs} ms`);
  t.is(observation.latencyMs, null);
  t.true(await until(() => received.length === 1));
});

test('a closed port is no reply, and is detected without waiting for the deadline', async (t) => {
  // A deadline would give another reason.
  const { judgement } = await check(transportTarget('udp', { port: CLOSED_PORT, timeoutMs: 60_000 }));
  t.deepEqual(judgement, {
    verdict: 'down',
    cause: 'udp_no_reply',
    reason: 'Port unreachable: no service listens there',
  });
});

test('a byte-order mark is part of the reply', async (t) => {
  const { observation, judgement } = await checkEcho(t, { payload: String.raw`\xEF\xBB\xBFok`, expect: '\uFEFFok' });
  t.like(observation, { reply: '\uFEFFok' });
  t.is(judgement.verdict, 'up');
});

test('a reply from another port of the same host does not count', async (t) => {
  const other = dgram.createSocket('udp4').bind(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => void other.close());
  const sent = Promise.withResolvers<void>();
  const server = await startUdpServer(t, () =>
    other.send('pong', server.from[0] ?? 0, '127.0.0.1', () => sent.resolve()),
  );
  const { judgement } = await check(transportTarget('udp', { port: server.port, timeoutMs: 400 }));
  await sent.promise;
  t.is(judgement.cause, 'udp_no_reply');
});

/** Binds a port; null if another socket has it, perhaps on all addresses. */
async function bindIfFree(t: ExecutionContext, port: number, host: string): Promise<dgram.Socket | null> {
  const socket = dgram.createSocket('udp4').bind(port, host);
  try {
    await once(socket, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return null;
    throw error;
  }
  t.teardown(() => void socket.close());
  return socket;
}

test('a reply from another address with the same port does not count', async (t) => {
  const sent = Promise.withResolvers<void>();
  let other: dgram.Socket | null = null;
  let server: UdpServer;
  do {
    server = await startUdpServer(t, () => other?.send('pong', server.from[0] ?? 0, '127.0.0.1', () => sent.resolve()));
    other = await bindIfFree(t, server.port, '127.0.0.2');
  } while (other === null);
  const { judgement } = await check(transportTarget('udp', { port: server.port, timeoutMs: 400 }));
  await sent.promise;
  t.is(judgement.cause, 'udp_no_reply');
});

test('a name is resolved, and its address with a listener replies', async (t) => {
  const { port } = await startUdpServer(t, echo);
  const { observation, judgement } = await check(transportTarget('udp', { target: `localhost:${port}` }));
  t.is(judgement.verdict, 'up');
  t.true(observation.dnsMs !== null);
});

test('an IPv6 address is written in brackets', async (t) => {
  const { port } = await startUdpServer(t, echo, '::1');
  t.is(
    (
      await check(
        transportTarget('udp', { target: `[::1]:${port}`, checkSpec: { transport: { payload: 'x', expect: 'x' } } }),
      )
    ).judgement.verdict,
    'up',
  );
});

test('a name that does not exist is distinguished from a silent host', async (t) => {
  const { judgement } = await check(transportTarget('udp', { target: 'no-such-name.invalid:53' }));
  t.is(judgement.verdict, 'down');
  t.regex(String(judgement.cause), /^dns_/);
});

for (const target of ['', 'localhost', '127.0.0.1:0', '127.0.0.1:65536', '::1:53', 'udp://127.0.0.1:53']) {
  test(`the target ${JSON.stringify(target)} is no vote rather than an exception`, async (t) => {
    t.like((await check(transportTarget('udp', { target }))).judgement, { verdict: 'none', cause: 'unsupported' });
  });
}

test('a stored payload that cannot be decoded is no vote and is not shown', async (t) => {
  const { judgement } = await checkEcho(t, { payload: 'hush', payloadEncoding: 'hex' });
  t.like(judgement, { verdict: 'none', cause: 'unsupported' });
  t.false(String(judgement.reason).includes('hush'));
});

test('a hundred concurrent checks each get the reply to their own datagram', async (t) => {
  const { port } = await startUdpServer(t, echo);
  const checks = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      check(transportTarget('udp', { port, transport: { payload: `<${index}>`, expect: `<${index}>` } })),
    ),
  );
  t.deepEqual(
    checks.filter(({ judgement }) => judgement.verdict !== 'up'),
    [],
  );
});

for (const host of [
  '127.0.0.1',
  'localhost',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '10.0.0.1',
  '255.255.255.255',
  '224.0.0.1',
  '[ff02::1]',
]) {
  test(`with the guard on ${host} gets no datagram and is no vote`, async (t) => {
    const { port, received } = await startUdpServer(t, echo);
    const target = transportTarget('udp', { target: `${host}:${port}` });
    const observation = await createUdpProbe({ allowPrivateNetwork: false })(target);
    t.like(judgeUdp({ target, observation, search }), { verdict: 'none', cause: 'blocked_target' });
    t.is(received.length, 0);
  });
}
