import { X509Certificate } from 'node:crypto';
import dns from 'node:dns';
import { once } from 'node:events';
import http, { request, type RequestListener } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import zlib from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { ProbeListener, type ListenerOptions } from '../../../agent/exporter/listener.ts';
import { readModules } from '../../../agent/exporter/modules.ts';
import { createLogger } from '../../../config/logger.ts';
import { TestAuthority } from '../../helpers/certificates.ts';
import { startHttpServer, startRawServer } from '../../helpers/http-server.ts';
import { HOSTILE_BODY } from '../../helpers/long-judging.ts';
import { startUdpServer } from '../../helpers/udp-server.ts';
import { until } from '../../helpers/until.ts';

const MODULES = {
  http_2xx: { prober: 'http' },
  secretive: {
    prober: 'http',
    http: {
      headers: { Authorization: 'Secret one', Cookie: 'two=secret', 'X-Api-Key': 'secret six' },
      body: 'secret three',
      fail_if_body_matches_regexp: ['found'],
    },
  },
  unpacking: { prober: 'http', timeout: '1s', http: { compression: 'br' } },
  trusting: { prober: 'http', http: { tls_config: { insecure_skip_verify: true } } },
  trusted_bearer: {
    prober: 'http',
    http: {
      bearer_token: 'secret seven',
      headers: { Cookie: 'eight=secret' },
      tls_config: { insecure_skip_verify: true },
    },
  },
  bearer: { prober: 'http', http: { authorization: { credentials: 'secret four' } } },
  slow_pattern: { prober: 'http', http: { fail_if_body_matches_regexp: ['a[ab]{300}[cd]'] } },
  mail: { prober: 'tcp', tcp: { query_response: [{ send: 'secret five' }] } },
  lines: { prober: 'tcp', tcp: { query_response: [{ expect: 'a[ab]{300}[cd]' }] } },
  named: { prober: 'http', http: { fail_if_header_not_matches: [{ header: 'X-Name', regexp: '^gr..e$' }] } },
  resolver: { prober: 'dns', dns: { query_name: 'example.com' } },
  remote: { prober: 'grpc' },
};

const log = createLogger({ process: 'agent', level: 'silent' });

async function start(t: ExecutionContext, options: Partial<ListenerOptions> = {}) {
  const listener = new ProbeListener({
    host: '127.0.0.1',
    port: 0,
    modules: readModules(JSON.stringify({ modules: MODULES }), () => null),
    allowPrivateNetwork: true,
    token: null,
    concurrency: 10,
    log,
    ...options,
  });
  const port = await listener.start();
  t.teardown(() => listener.stop(0));
  const url = `http://127.0.0.1:${port}`;
  return {
    listener,
    url,
    async probe(query: Record<string, string>, headers: Record<string, string> = {}) {
      const response = await fetch(`${url}/probe?${new URLSearchParams(query)}`, { headers });
      return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
    },
  };
}

// No other test of this file looks up names meanwhile.
test.serial('a probe whose lookup cannot begin because too many hang is refused, and no crash', async (t) => {
  const hanging: (() => void)[] = [];
  const original = dns.lookup;
  t.teardown(() => (dns.lookup = original));
  const hang = (name: string, ...rest: [object, (error: Error) => void]) => {
    if (!name.endsWith('.hangs.example')) return Reflect.apply(original, dns, [name, ...rest]);
    hanging.push(() => rest[1](Object.assign(new Error('not found'), { code: 'ENOTFOUND' })));
  };
  dns.lookup = hang as typeof dns.lookup;
  const { probe } = await start(t, { concurrency: 100 });
  const statuses: number[] = [];
  const probes = Array.from({ length: 40 }, async (_, index) => {
    const { status } = await probe({ target: `http://${index}.hangs.example/`, module: 'http_2xx' });
    statuses.push(status);
  });
  await until(() => statuses.length > 0);
  for (const end of hanging) end();
  await Promise.all(probes);
  t.deepEqual([...new Set(statuses)].toSorted(), [200, 503]);
});

test('requests that cannot be probed get a status and a message, and methods other than GET a 405', async (t) => {
  const { url, probe } = await start(t);
  t.like(await probe({ module: 'http_3xx', target: 'x' }), { status: 400, text: 'Unknown module "http_3xx"' });
  t.like(await probe({ module: 'http_2xx' }), { status: 400, text: 'Target parameter is missing' });
  t.like(await probe({ target: 'x'.repeat(2049) }), { status: 400 });
  t.like(await probe({ target: `127.0.0.1:9/${'😀'.repeat(1100)}` }), { status: 200 }, 'an emoji is one character');
  t.regex((await probe({ module: 'remote', target: 'x' })).text, /does not support the prober grpc/);
  t.like(await probe({ target: 'x', hostname: 'a\r\nb' }), {
    status: 400,
    text: 'hostname must be the name of a host',
  });
  t.like(await probe({ target: 'x' }, { 'X-Prometheus-Scrape-Timeout-Seconds': 'soon' }), { status: 400 });
  t.is((await fetch(`${url}/metrics`)).status, 404);
  t.is((await fetch(`${url}/-/healthy`)).status, 200);
  const posted = await fetch(`${url}/probe?target=x`, { method: 'POST', body: 'x' });
  t.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
});

test('with a token set, requests without it get a 401 and probe nothing', async (t) => {
  const target = await startHttpServer(t, (_request, response) => response.end());
  const { probe } = await start(t, { token: 'a-token-of-a-scrape' });
  const query = { target: `127.0.0.1:${target.port}` };
  t.is((await probe(query)).status, 401);
  t.is((await probe(query, { Authorization: 'Bearer another' })).status, 401);
  t.is(target.connections(), 0);
  const admitted = await probe(query, { Authorization: 'Bearer a-token-of-a-scrape' });
  t.like(admitted, { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
  t.regex(admitted.text, /^probe_success 1$/m);
});

test('the timeout is the scrape timeout less half a second', async (t) => {
  const { probe } = await start(t);
  const { text } = await probe({ target: '127.0.0.1:9' }, { 'X-Prometheus-Scrape-Timeout-Seconds': '3' });
  t.regex(text, /^probe_timeout_seconds 2\.5$/m);
});

test('forbidden addresses are not probed, directly, by name or after a redirect', async (t) => {
  const target = await startHttpServer(t, (_request, response) => response.end());
  const { probe } = await start(t, { allowPrivateNetwork: false });
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0177.0.0.1'])
    for (const module of ['http_2xx', 'mail'])
      t.regex((await probe({ module, target: `${host}:${target.port}` })).text, /^probe_success 0$/m);
  t.is(target.connections(), 0);

  const redirecting = await startHttpServer(t, (_request, response) =>
    response.writeHead(302, { Location: 'http://169.254.169.254/latest' }).end(),
  );
  const trusting = await start(t);
  const { text } = await trusting.probe({ target: `127.0.0.1:${redirecting.port}`, debug: 'true' });
  t.regex(text, /Probe failed: The address may not be contacted/);
});

test('the earliest expiry covers all certificates sent; the chain expiry is reported only if verified', async (t) => {
  const authority = await TestAuthority.create();
  const keys = await authority.issue({ hosts: ['localhost'], validForDays: 150 });
  const another = await (await TestAuthority.create()).issue({ hosts: ['other.example'], validForDays: 3 });
  const [leafAt, authorityAt, anotherAt] = [keys.cert, authority.pem, another.cert].map(
    (pem) => new X509Certificate(pem).validToDate.getTime() / 1000,
  );
  const tls = (tls_config: object) => ({ prober: 'http', http: { tls_config } });
  const modules = {
    verifying: tls({ ca: authority.pem }),
    insecure: tls({ ca: authority.pem, insecure_skip_verify: true }),
  };
  const { probe } = await start(t, { modules: readModules(JSON.stringify({ modules }), () => null) });
  const NEVER = -62_135_596_800;
  for (const [cert, module, earliest, chain] of [
    [keys.cert, 'verifying', leafAt, authorityAt],
    [keys.cert, 'insecure', leafAt, NEVER],
    [`${keys.cert}\n${another.cert}`, 'verifying', anotherAt, authorityAt],
    [`${keys.cert}\n${another.cert}`, 'insecure', anotherAt, NEVER],
  ] as const) {
    const target = await startHttpServer(t, (_request, response) => response.end(), { ...keys, cert });
    const { text } = await probe({ module, target: `https://localhost:${target.port}` });
    const shown = ['earliest_cert_expiry', 'last_chain_expiry_timestamp_seconds'].map((name) =>
      Number(new RegExp(`^probe_ssl_${name} (\\S+)$`, 'm').exec(text)?.[1]),
    );
    t.deepEqual(shown, [earliest, chain], module);
  }
});

test('DHE, whose group size the server chooses, is not offered', async (t) => {
  const keys = await (await TestAuthority.create('rsa')).issue({ hosts: ['localhost'] });
  const { probe } = await start(t);
  for (const [ciphers, success] of [
    ['DHE-RSA-AES128-GCM-SHA256', 0],
    ['ECDHE-RSA-AES128-GCM-SHA256', 1],
  ]) {
    const secured = { ...keys, ciphers: String(ciphers), maxVersion: 'TLSv1.2', dhparam: 'auto' } as const;
    const target = await startHttpServer(t, (_request, response) => response.end(), secured);
    const { text } = await probe({ module: 'trusting', target: `https://127.0.0.1:${target.port}` });
    t.regex(text, new RegExp(`^probe_success ${success}$`, 'm'));
  }
});

test('credentials do not follow a redirect from https to http at the same host', async (t) => {
  const seen: unknown[] = [];
  const answer: RequestListener = ({ url, socket, headers: { host, authorization, cookie } }, response) => {
    const isSecure = 'encrypted' in socket;
    seen.push([url, isSecure, authorization, cookie]);
    if (url !== '/') response.end();
    else response.writeHead(302, { Location: `${isSecure ? 'http' : 'https'}://${host}/next` }).end();
  };
  const keys = await (await TestAuthority.create()).issue({ hosts: ['localhost'] });
  const [plain, secure] = [http.createServer(answer), https.createServer(keys, answer)];
  // Both servers share one port: a TLS handshake begins with the byte 22.
  const target = await startRawServer(t, (socket) => {
    socket.once('data', (piece: Buffer) => {
      socket.pause().unshift(piece);
      (piece[0] === 22 ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  const { probe } = await start(t);
  for (const scheme of ['https', 'http']) {
    const { text } = await probe({ module: 'trusted_bearer', target: `${scheme}://localhost:${target.port}/` });
    t.regex(text, /^probe_success 1$/m);
  }
  const both = ['Bearer secret seven', 'eight=secret'];
  t.deepEqual(seen, [
    ['/', true, ...both],
    ['/next', false, undefined, undefined],
    ['/', false, ...both],
    ['/next', true, ...both],
  ]);
});

test('debug=true shows why a probe failed, but no secret', async (t) => {
  const target = await startHttpServer(t, (_request, response) => response.end('found'));
  const { probe } = await start(t);
  const at = `127.0.0.1:${target.port}`;
  const { text } = await probe({ module: 'secretive', target: `http://ann:secret@${at}/?key=secret`, debug: 'true' });
  t.regex(text, /Probe failed: The body matches found/);
  t.regex(text, /Metrics that would have been returned:[^]*probe_failed_due_to_regex 1/);
  const texts = [text];
  for (const module of ['bearer', 'mail']) texts.push((await probe({ module, target: at, debug: 'true' })).text);
  for (const shown of texts) t.notRegex(shown.replaceAll('<secret>', ''), /secret (?:one|two|six)?|two=|Secret one/);
});

test('probes beyond the concurrency limit get a 503, and a client that disconnects ends its probe', async (t) => {
  const arrived = Promise.withResolvers<Socket>();
  const target = await startRawServer(t, (socket) => arrived.resolve(socket.resume()));
  const { url, probe } = await start(t, { concurrency: 1 });
  const asked = request(`${url}/probe?target=127.0.0.1:${target.port}`).on('error', () => undefined);
  asked.end();
  const socket = await arrived.promise;
  t.is((await probe({ target: '127.0.0.1:9' })).status, 503);
  const closed = once(socket, 'close');
  asked.destroy();
  await closed;
  t.pass();
});

test('a client that disconnects ends its UDP probe', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const target = await startUdpServer(t, () => arrived.resolve());
  const { url, probe } = await start(t, { concurrency: 1 });
  const headers = { 'X-Prometheus-Scrape-Timeout-Seconds': '3600' };
  const asked = request(`${url}/probe?module=resolver&target=127.0.0.1:${target.port}`, { headers });
  asked.on('error', () => undefined).end();
  await arrived.promise;
  asked.destroy();
  await until(async () => (await probe({ target: '127.0.0.1:9' })).status === 200, { timeoutMs: 20_000 });
  t.pass();
});

test('stopping ends probes that do not end by themselves', async (t) => {
  const arrived = Promise.withResolvers<Socket>();
  const target = await startRawServer(t, (socket) => arrived.resolve(socket.resume()));
  const { listener, url, probe } = await start(t);
  const asked = probe({ target: `127.0.0.1:${target.port}` }).catch(() => null);
  const socket = await arrived.promise;
  const closed = once(socket, 'close');
  await listener.stop(0);
  await Promise.all([closed, asked]);
  await t.throwsAsync(fetch(`${url}/-/healthy`));
});

const BOMB_PARTS = 200;
const BOMB_PART_BYTES = 16 * 1024 * 1024;

/** Returns a few kilobytes of br that decompress to gigabytes of zeros: the same part repeated. */
async function writeBomb(): Promise<Buffer> {
  const encoder = zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 2 } });
  const written: Buffer[] = [];
  encoder.on('data', (piece: Buffer) => written.push(piece));
  const writePart = async (): Promise<Buffer> => {
    encoder.write(Buffer.alloc(BOMB_PART_BYTES));
    await new Promise<void>((resolve) => encoder.flush(resolve));
    return Buffer.concat(written.splice(0));
  };
  const [first, next] = [await writePart(), await writePart()];
  encoder.end();
  await once(encoder, 'end');
  return Buffer.concat([first, ...Array<Buffer>(BOMB_PARTS - 1).fill(next), ...written]);
}

test('patterns see the characters of a header that is sent as UTF-8', async (t) => {
  const { port } = await startHttpServer(t, (_request, response) => {
    response.setHeader('X-Name', Buffer.from('größe').toString('latin1')).end();
  });
  const { probe } = await start(t);
  const { text } = await probe({ target: `http://127.0.0.1:${port}/`, module: 'named' });
  t.regex(text, /^probe_success 1$/m);
});

test.serial('decompression of a complete body stops at the timeout', async (t) => {
  const bomb = await writeBomb();
  const target = await startHttpServer(t, (_request, response) => response.end(bomb));
  const { probe } = await start(t, { concurrency: 1 });
  const { text } = await probe({ module: 'unpacking', target: `127.0.0.1:${target.port}`, debug: 'true' });
  t.regex(text, /Probe failed: The timeout passed/);
  const unpacked = Number(/^probe_http_uncompressed_body_length (\d+)$/m.exec(text)?.[1]);
  t.true(unpacked < BOMB_PARTS * BOMB_PART_BYTES, `${unpacked} bytes were unpacked`);
  t.is((await probe({ target: '127.0.0.1:9' })).status, 200);
});

test('a probe that fails before the response is complete closes its connection', async (t) => {
  const closed = Promise.withResolvers<void>();
  const target = await startRawServer(t, (socket) => {
    socket.once('close', () => closed.resolve()).resume();
    socket.write('HTTP/1.1 302 Found\r\nLocation: ftp://elsewhere/\r\n\r\nstill coming');
  });
  const { probe } = await start(t);
  const { text } = await probe({ target: `127.0.0.1:${target.port}`, debug: 'true' });
  t.regex(text, /Probe failed: A redirect leads to no URL of http/);
  await closed.promise;
});

test('a pattern that takes more than 50 ms fails the probe and says so', async (t) => {
  const target = await startHttpServer(t, (_request, response) => response.end(HOSTILE_BODY));
  const talking = await startRawServer(t, (socket) => void socket.write(`${'ab'.repeat(25_000)}\n`));
  const { probe } = await start(t);
  const long = await probe({ module: 'slow_pattern', target: `127.0.0.1:${target.port}`, debug: 'true' });
  t.regex(long.text, /Probe failed: .*50 ms of CPU time/);
  const line = await probe({ module: 'lines', target: `127.0.0.1:${talking.port}`, debug: 'true' });
  t.regex(line.text, /Probe failed: .*more than 50 ms: use simpler patterns/);
});
