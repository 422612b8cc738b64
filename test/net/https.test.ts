import { setTimeout } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import test from 'ava';
import { readCertificate } from '../../net/certificate.ts';
import { createDestinations } from '../../net/destination.ts';
import { FreshRequest, type IncomingResponse } from '../../net/fresh-request.ts';
import { createProbeClient } from '../../net/http-client.ts';
import { TestAuthority } from '../helpers/certificates.ts';
import { bodyOf, expectFailure, KILOBYTE, requestTo } from '../helpers/exchange.ts';
import { startHttpServer, startRawServer } from '../helpers/http-server.ts';

const HOSTS = ['localhost', '127.0.0.1'];

const authority = await TestAuthority.create();
authority.trust();
const rsaAuthority = await TestAuthority.create('rsa');
rsaAuthority.trust();
const stranger = await TestAuthority.create();
const send = createProbeClient({ allowPrivateNetwork: true });

test('a verified certificate is reported with its names and dates, for a host name and for an address', async (t) => {
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

test('at most 64 KiB of a paused response is read, and nothing is buffered', async (t) => {
  const size = 8 * 1024 * KILOBYTE;
  const keys = await authority.issue({ hosts: HOSTS });
  const { port } = await startHttpServer(t, (_, response) => response.end(Buffer.alloc(size)), keys);
  const destination = createDestinations({ allowPrivateNetwork: true })(new URL(`https://127.0.0.1:${port}/`));
  if (destination === null) return t.fail('refused');
  const { promise: begun, resolve: begin } = Promise.withResolvers<IncomingResponse>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let read = 0;
  const { url, method, headers } = requestTo(port, { href: `https://127.0.0.1:${port}/` });
  const request = new FreshRequest(
    destination,
    { url, method, headers },
    {
      onSocket: () => undefined,
      onInformational: () => undefined,
      onResponse: (response) => {
        response.on('data', (chunk: Buffer) => (read += chunk.length));
        response.on('end', end);
        response.pause();
        begin(response);
      },
      onError: (error) => t.fail(error.message),
    },
  );
  const response = await begun;
  await setTimeout(300);
  t.true(read <= 64 * KILOBYTE);
  t.is(request.socket.readableLength, 0);
  response.resume();
  await ended;
  t.is(read, size);
  request.destroy();
});

test('an expired certificate is reported with its age, and no request is sent', async (t) => {
  const keys = await authority.issue({ hosts: HOSTS, validFromDays: -30, validForDays: -3 });
  const { port, connections } = await startHttpServer(t, () => t.fail('a request was sent'), keys);
  const exchange = await send(
    requestTo(0, { href: `https://127.0.0.1:${port}/`, headers: { Authorization: 'secret' } }),
  );
  expectFailure(t, exchange, { cause: 'cert_expired', reason: /expired 3 days ago/ });
  t.is(connections(), 1, 'the chain is verified only once, because that may be slow');
  t.is(exchange.certificate?.subject, 'localhost');
});

test('other certificate problems are TLS errors, and no request is sent', async (t) => {
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
  expectFailure(t, exchange, { cause: 'tls_error', reason: /^The server does not respond with TLS on this port$/ });
});

test('a server that requires a client certificate, or an outdated TLS, is named as such', async (t) => {
  const keys = await authority.issue({ hosts: HOSTS });
  const servers = [
    { options: { requestCert: true }, reason: /^The server requires a client certificate$/ },
    { options: { requestCert: true, maxVersion: 'TLSv1.2' }, reason: /or a client certificate is required$/ },
    {
      options: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' },
      reason: /^The server supports neither TLS 1\.2 nor TLS 1\.3$/,
    },
  ] as const;
  for (const { options, reason } of servers) {
    const { port } = await startHttpServer(t, () => t.fail('a request was answered'), { ...keys, ...options });
    const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
    expectFailure(t, exchange, { cause: 'tls_error', reason });
  }
});

test('a connection closed during the TLS handshake is a TLS error', async (t) => {
  const { port } = await startRawServer(t, (socket) => socket.once('data', () => socket.end()));
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
  expectFailure(t, exchange, { cause: 'tls_error', reason: /closed during the TLS handshake/ });
});

test('a server that supports only DHE is refused, because its group may have any size', async (t) => {
  const { port } = await startHttpServer(t, () => t.fail('a request was sent'), {
    ...(await rsaAuthority.issue({ hosts: HOSTS })),
    maxVersion: 'TLSv1.2',
    ciphers: 'DHE-RSA-AES128-GCM-SHA256',
    dhparam: 'auto',
  });
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
  expectFailure(t, exchange, { cause: 'tls_error', reason: /no cipher in common/ });
});

test('TLS 1.3 and ECDHE work with both EC and RSA keys', async (t) => {
  for (const issuer of [authority, rsaAuthority]) {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const keys = await issuer.issue({ hosts: HOSTS });
      const { port } = await startHttpServer(
        t,
        ({ socket }, response) => {
          const { standardName } = (socket as TLSSocket).getCipher();
          response.end(`${(socket as TLSSocket).getProtocol()} ${standardName}`);
        },
        { ...keys, maxVersion },
      );
      const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
      t.regex(bodyOf(exchange), maxVersion === 'TLSv1.3' ? /^TLSv1\.3 TLS_AES/ : /^TLSv1\.2 TLS_ECDHE_(ECDSA|RSA)_/);
    }
  }
});

test('a server cannot renegotiate', async (t) => {
  const renegotiated = Promise.withResolvers<Error | null>();
  const keys = await authority.issue({ hosts: HOSTS });
  const { port } = await startHttpServer(
    t,
    ({ socket }, response) => {
      socket.on('error', renegotiated.resolve);
      (socket as TLSSocket).renegotiate({}, (error) => {
        renegotiated.resolve(error);
        response.end('again');
      });
    },
    { ...keys, maxVersion: 'TLSv1.2' },
  );
  const exchange = await send(requestTo(0, { href: `https://127.0.0.1:${port}/` }));
  t.like(await renegotiated.promise, { code: 'ERR_SSL_NO_RENEGOTIATION' });
  expectFailure(t, exchange, { cause: 'tls_error', reason: /handshake/ });
});

test('a certificate with unreadable dates is ignored', (t) => {
  const unreadable = new Date(Number.NaN);
  const certificate = { subject: 'CN=x', issuer: 'CN=y', validFromDate: unreadable, validToDate: unreadable };
  t.is(readCertificate({ getPeerX509Certificate: () => certificate } as unknown as TLSSocket), null);
});
