import net from 'node:net';
import type { TLSSocket } from 'node:tls';
import test from 'ava';
import { readCertificate } from '../../net/certificate.ts';
import { createProbeClient } from '../../net/http-client.ts';
import { TestAuthority } from '../helpers/certificates.ts';
import { bodyOf, expectFailure, requestTo } from '../helpers/exchange.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';

const HOSTS = ['localhost', '127.0.0.1'];

const authority = await TestAuthority.create();
authority.trust();
const stranger = await TestAuthority.create();
const send = createProbeClient({ allowPrivateNetwork: true });

test('a verified certificate is reported with its names and dates, over a name and over an address', async (t) => {
  const { port } = await startHttpServer(
    t,
    (_, response) => response.end('safe'),
    await authority.issue({ hosts: HOSTS, validForDays: 20 }),
  );
  for (const host of HOSTS) {
    const exchange = await send(requestTo(0, { href: `https://${host}:${port}/` }));
    t.is(bodyOf(exchange), 'safe');
    t.not(exchange.timings.tlsMs, null);
    t.like(exchange.certificate, { subject: 'localhost', issuer: 'Test Authority' });
    t.is(Math.round(((exchange.certificate?.validTo ?? 0) - Date.now() / 1000) / 86_400), 20);
  }
});

test('an expired certificate is reported with its age, and the server sees no request', async (t) => {
  const keys = await authority.issue({ hosts: HOSTS, validFromDays: -30, validForDays: -3 });
  const { port } = await startHttpServer(t, () => t.fail('a request was sent'), keys);
  const exchange = await send(
    requestTo(0, { href: `https://127.0.0.1:${port}/`, headers: { Authorization: 'secret' } }),
  );
  expectFailure(t, exchange, { cause: 'cert_expired', reason: /expired 3 days ago/ });
  t.is(exchange.certificate?.subject, 'localhost');
});

test('other faults of a certificate are TLS errors, and the server sees no request', async (t) => {
  const faults = [
    { keys: await stranger.issue({ hosts: HOSTS }), reason: /certificate/ },
    { keys: await authority.issue({ hosts: ['other.example'] }), reason: /does not match the host name/ },
    { keys: await authority.issue({ hosts: HOSTS, validFromDays: 2 }), reason: /not yet valid/ },
  ];
  for (const { keys, reason } of faults) {
    const { port } = await startHttpServer(t, () => t.fail('a request was sent'), keys);
    const exchange = await send(
      requestTo(0, { href: `https://127.0.0.1:${port}/`, headers: { Authorization: 'secret' } }),
    );
    expectFailure(t, exchange, { cause: 'tls_error', reason });
  }
});

test('plain http on a port that should speak TLS is a TLS error', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end());
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
  expectFailure(t, exchange, { cause: 'tls_error', reason: /handshake failed/ });
});

test('a connection closed during the TLS handshake is a TLS error', async (t) => {
  const { port } = await startRawServer(t, (socket) => socket.once('data', () => socket.end()));
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
  expectFailure(t, exchange, { cause: 'tls_error', reason: /closed during the TLS handshake/ });
});

test('a certificate that cannot be fetched again is explained without it, within the deadline', async (t) => {
  const keys = await authority.issue({ hosts: HOSTS, validFromDays: -30, validForDays: -3 });
  const tls = await startHttpServer(t, () => t.fail('a request was sent'), keys);
  let first = true;
  const { port } = await startRawServer(t, (socket) => {
    // Only the first connection gets through to the TLS server; the one that asks again is left waiting.
    if (!first) return;
    first = false;
    const upstream = net.connect({ host: '127.0.0.1', port: tls.port });
    upstream.on('error', () => {});
    socket.pipe(upstream).pipe(socket);
  });
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/`, deadlineMs: 1_000 }));
  expectFailure(t, exchange, { cause: 'cert_expired', reason: /has expired/ });
  t.true(exchange.durationMs < 30_000);
});

test('a certificate whose dates cannot be read is none', (t) => {
  const unreadable = new Date(Number.NaN);
  const certificate = { subject: 'CN=x', issuer: 'CN=y', validFromDate: unreadable, validToDate: unreadable };
  t.is(readCertificate({ getPeerX509Certificate: () => certificate } as unknown as TLSSocket), null);
});
