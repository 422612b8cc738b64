import { once } from 'node:events';
import http, { type RequestListener, type Server } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import zlib from 'node:zlib';
import { TestAuthority, type KeyPair } from './certificates.ts';
import type { Harness } from './harness.ts';

/** Servers on loopback with all responses that the probes' targets need; they stop with the harness. */
export type BlackboxServers = {
  authority: TestAuthority;
  /** Ports by the name of the server. */
  ports: Readonly<Record<ServerName, number>>;
};

type ServerName =
  | 'http'
  | 'http6'
  | 'trusted'
  | 'expired'
  | 'early'
  | 'outlivesIssuer'
  | 'withAnother'
  | 'otherHost'
  | 'byAddress'
  | 'selfSigned'
  | 'old'
  | 'silent'
  | 'closing'
  | 'garbage'
  | 'http10'
  | 'partial'
  | 'banner'
  | 'irc'
  | 'tlsBanner'
  | 'starttls'
  | 'longLine'
  | 'closed';

const BODY = 'Hello, world\nsecond line: ünïcode\nversion=1.2.3\n';

/** Starts all servers. */
export async function startBlackboxServers(t: Harness): Promise<BlackboxServers> {
  const authority = await TestAuthority.create();
  const other = await TestAuthority.create();
  const trusted = await authority.issue({ hosts: ['localhost', '127.0.0.1'] });
  const another = await other.issue({ hosts: ['other.example'], validForDays: 3 });
  const banner = (socket: Socket): void => void socket.write('220 mail.example ESMTP ready\r\n250 second\r\n');
  const plain = (onSocket: (socket: Socket) => void): net.Server => net.createServer(onSocket);
  const answering = (text: string) => plain((socket) => void socket.on('data', () => socket.end(text)));
  const secure = (keys: KeyPair, options: https.ServerOptions = {}): Server =>
    https.createServer({ ...keys, ...options }, serve);
  const servers = {
    http: http.createServer(serve),
    http6: http.createServer(serve),
    trusted: secure(trusted),
    expired: secure(await authority.issue({ hosts: ['localhost'], validFromDays: -30, validForDays: -2 })),
    early: secure(await authority.issue({ hosts: ['localhost'], validFromDays: 2, validForDays: 20 })),
    outlivesIssuer: secure(await authority.issue({ hosts: ['localhost'], validForDays: 150 })),
    withAnother: secure({ ...trusted, cert: `${trusted.cert}\n${another.cert}` }),
    otherHost: secure(await authority.issue({ hosts: ['other.example'] })),
    byAddress: secure(await authority.issue({ hosts: ['127.0.0.1'] })),
    selfSigned: secure(await other.issue({ hosts: ['localhost', '127.0.0.1'] })),
    old: secure(trusted, { maxVersion: 'TLSv1.2' }),
    silent: plain(() => undefined),
    closing: plain((socket) => void socket.once('data', () => socket.destroy())),
    garbage: answering('this is no http\r\n\r\n'),
    http10: answering('HTTP/1.0 200 OK\r\nServer: old\r\n\r\nold body'),
    partial: answering('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this'),
    banner: plain(banner),
    irc: plain(chat),
    tlsBanner: tls.createServer(trusted, (socket) => void socket.write('+OK ready\r\n')),
    starttls: plain((socket) => negotiate(socket, trusted)),
    longLine: plain((socket) => void socket.write('x'.repeat(80 * 1024))),
    closed: plain(() => undefined),
  } satisfies Record<ServerName, net.Server>;
  const entries = await Promise.all(
    Object.entries(servers).map(async ([name, server]) => [name, await listen(t, name, server)] as const),
  );
  servers.closed.close();
  return { authority, ports: Object.fromEntries(entries) as Record<ServerName, number> };
}

async function listen(t: Harness, name: string, server: net.Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined).on('secureConnection', (socket: Socket) => socket.on('error', () => {}));
  server.listen(0, name === 'http6' ? '::1' : '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Handlers by the first part of a path; the last part is their argument. */
const PATHS: Readonly<Record<string, RequestListener>> = {
  status(request, response) {
    response.writeHead(Number(lastOf(request.url))).end(BODY);
  },
  redirect(request, response) {
    const left = Number(lastOf(request.url));
    if (left === 0) response.end(BODY);
    else response.writeHead(302, { Location: `/redirect/${left - 1}` }).end('moved');
  },
  to(request, response) {
    const [, , status = '302'] = (request.url ?? '').split('/');
    const to = new URL(request.url ?? '', 'http://localhost').searchParams.get('url');
    response.writeHead(Number(status.split('?')[0]), to === null ? {} : { Location: to }).end();
  },
  method(request, response) {
    response.writeHead(request.method === lastOf(request.url) ? 200 : 405).end();
  },
  echo(request, response) {
    response.write(`${request.method} ${request.url}\n`);
    for (const name of ['host', 'x-probe', 'authorization', 'content-type', 'accept'])
      response.write(`${name}=${String(request.headers[name] ?? 'none')}\n`);
    request.on('data', (piece) => response.write(`body=${piece}`)).on('end', () => response.end());
  },
  auth(request, response) {
    const expected = decodeURIComponent(lastOf(request.url));
    response.writeHead(request.headers.authorization === expected ? 200 : 401).end();
  },
  cookie(request, response) {
    if (request.headers.cookie?.includes('seen=1')) response.end(BODY);
    else response.writeHead(302, { 'Set-Cookie': 'seen=1; Path=/', Location: '/cookie/back' }).end();
  },
  set(request, response) {
    const query = new URL(request.url ?? '', 'http://localhost').searchParams;
    response.writeHead(302, { 'Set-Cookie': query.get('cookie') ?? '', Location: '/carries/cookie' }).end();
  },
  carries(request, response) {
    response.writeHead(request.headers.cookie === 'a=1' ? 200 : 412).end();
  },
  headers(_request, response) {
    const lastModified = 'Wed, 21 Oct 2015 07:28:00 GMT';
    response.writeHead(200, { 'X-Version': 'v12', 'Set-Cookie': ['a=1', 'b=2'], 'Last-Modified': lastModified });
    response.end(BODY);
  },
  gzip(_request, response) {
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(zlib.gzipSync(BODY));
  },
  br(_request, response) {
    response.writeHead(200, { 'Content-Encoding': 'br' }).end(zlib.brotliCompressSync(BODY));
  },
  deflate(_request, response) {
    response.writeHead(200, { 'Content-Encoding': 'deflate' }).end(zlib.deflateRawSync(BODY));
  },
  big(request, response) {
    response.end('a'.repeat(Number(lastOf(request.url))));
  },
  empty(_request, response) {
    response.writeHead(200, { 'Content-Length': 0 }).end();
  },
  stalled(_request, response) {
    response.writeHead(200, { 'Content-Length': 100 }).write('begun');
  },
};

function serve(request: http.IncomingMessage, response: http.ServerResponse): void {
  const [, first = ''] = (request.url ?? '').split(/[/?]/);
  const path = PATHS[first];
  if (path !== undefined) path(request, response);
  else response.end(BODY);
}

function lastOf(url: string | undefined): string {
  return (url ?? '').split('?')[0]?.split('/').at(-1) ?? '';
}

/** Sends a word and expects it back. */
function chat(socket: Socket): void {
  socket.write('hello\r\nPING :word-42\r\n');
  socket.on('data', (piece) => {
    if (String(piece).includes('PONG word-42')) socket.write(':server 001 welcome\r\n');
  });
}

function negotiate(socket: Socket, keys: KeyPair): void {
  socket.write('220 ready\r\n');
  socket.once('data', () => {
    socket.write('220 go ahead\r\n');
    const secured = new tls.TLSSocket(socket, { isServer: true, secureContext: tls.createSecureContext(keys) });
    secured.on('error', () => undefined);
    secured.on('data', () => secured.write('250 secured\r\n'));
  });
}
