import type { IncomingMessage } from 'node:http';
import zlib from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type { HttpObservation } from '../../core/checks/http/observation.ts';
import type { CheckTarget, RequestSpec } from '../../core/monitors/monitor.ts';
import { createHttpProbe } from '../../probes/http.ts';
import { TestAuthority } from '../helpers/certificates.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { startHttpServer } from '../helpers/http-server.ts';

const probe = createHttpProbe({ allowPrivateNetwork: true });

type ReceivedRequest = {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
};

/** Starts a server that records requests and answers 200 with a fixed body; it redirects the paths in `movedTo`. */
async function startRecorder(t: ExecutionContext, movedTo?: (ownPort: number) => Record<string, string>) {
  const requests: ReceivedRequest[] = [];
  const { port } = await startHttpServer(t, async (request, response) => {
    const location = movedTo?.(port)[request.url ?? ''];
    if (location !== undefined) return void response.writeHead(307, { Location: location }).end();
    const body = Buffer.concat(await request.toArray()).toString();
    requests.push({ method: request.method, url: request.url, headers: request.headers, body });
    response.end('recorded');
  });
  return { port, requests };
}

function startRedirect(t: ExecutionContext, status: number, locationOf: (url: string) => string) {
  return startHttpServer(t, (request, response) =>
    response.writeHead(status, { Location: locationOf(request.url ?? '') }).end('moved'),
  );
}

function failureOf(observation: HttpObservation): string {
  return observation.outcome === 'failed' ? observation.cause : `answered ${observation.status}`;
}

function withRequest(target: string, request: RequestSpec, overrides: Partial<CheckTarget> = {}): CheckTarget {
  return httpTarget({ target, checkSpec: { request }, ...overrides });
}

test('the request has its method, plain and secret headers, body and content type', async (t) => {
  const { port, requests } = await startRecorder(t);
  await probe(
    withRequest(
      `http://127.0.0.1:${port}/path?q=1#part`,
      {
        headers: { 'X-Plain': 'plain', 'user-agent': 'mine' },
        secretHeaderNames: ['X-Key'],
        body: '{"a":"ü"}',
        contentType: 'application/json',
      },
      { method: 'POST', secrets: { secretHeaders: { 'X-Key': 'hidden' } } },
    ),
  );
  t.like(requests[0], { method: 'POST', url: '/path?q=1', body: '{"a":"ü"}' });
  t.like(requests[0]?.headers, {
    'x-plain': 'plain',
    'x-key': 'hidden',
    'content-type': 'application/json',
    'content-length': '10',
    'user-agent': 'mine',
    connection: 'close',
    host: `127.0.0.1:${port}`,
  });
});

test('a request without settings names the service and the supported content codings', async (t) => {
  const { port, requests } = await startRecorder(t);
  await probe(httpTarget({ target: `http://127.0.0.1:${port}`, method: null }));
  t.like(requests[0], { method: 'GET', url: '/', body: '' });
  t.regex(requests[0]?.headers['user-agent'] ?? '', /^Spotcheck\/1\.0/);
  t.is(requests[0]?.headers['accept-encoding'], 'gzip, deflate');
  t.false('content-type' in (requests[0]?.headers ?? {}));
});

const CREDENTIALS: Record<string, { target: CheckTarget; authorization: string }> = {
  'a bearer token': {
    target: withRequest('http://127.0.0.1/', { auth: { type: 'bearer' } }, { secrets: { auth: { token: 'tkn' } } }),
    authorization: 'Bearer tkn',
  },
  'a user and password': {
    target: withRequest(
      'http://127.0.0.1/',
      { auth: { type: 'basic' } },
      { secrets: { auth: { username: 'jörg', password: 'a:b' } } },
    ),
    authorization: `Basic ${Buffer.from('jörg:a:b').toString('base64')}`,
  },
  'a user and password in the URL': {
    target: httpTarget({ target: 'http://me%40home:p%2Fw@127.0.0.1/' }),
    authorization: `Basic ${Buffer.from('me@home:p/w').toString('base64')}`,
  },
  'auth rather than the credentials in the URL': {
    target: withRequest('http://a:b@127.0.0.1/', { auth: { type: 'bearer' } }, { secrets: { auth: { token: 'tkn' } } }),
    authorization: 'Bearer tkn',
  },
};

for (const [what, { target, authorization }] of Object.entries(CREDENTIALS)) {
  test(`the request carries ${what}`, async (t) => {
    const { port, requests } = await startRecorder(t);
    const url = new URL(target.target);
    url.port = String(port);
    await probe({ ...target, target: url.href });
    t.is(requests[0]?.headers.authorization, authorization);
  });
}

test('a secret body is sent', async (t) => {
  const { port, requests } = await startRecorder(t);
  await probe(
    withRequest(`http://127.0.0.1:${port}/`, { bodySecret: true }, { method: 'PUT', secrets: { body: 'hidden' } }),
  );
  t.is(requests[0]?.body, 'hidden');
});

test('custom Content-Length and Transfer-Encoding headers do not make the server wait', async (t) => {
  const { port, requests } = await startRecorder(t);
  const headers = { 'content-length': '999', 'Transfer-Encoding': 'chunked' };
  const observation = await probe(
    withRequest(`http://127.0.0.1:${port}/`, { headers, body: 'four' }, { method: 'POST' }),
  );
  t.is(observation.outcome, 'answered');
  t.is(requests[0]?.body, 'four');
});

test('a non-ASCII header is sent as UTF-8', async (t) => {
  const { port, requests } = await startRecorder(t);
  await probe(withRequest(`http://127.0.0.1:${port}/`, { headers: { 'X-Name': 'Zoë €' } }));
  t.is(Buffer.from(String(requests[0]?.headers['x-name']), 'latin1').toString(), 'Zoë €');
});

test('the body is read only if a match or an assertion needs it', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => response.end('here'));
  const target = `http://127.0.0.1:${port}/`;
  t.like(await probe(httpTarget({ target })), { body: null, status: 200 });
  t.like(await probe(httpTarget({ target, bodyMatch: '' })), { body: null });
  t.like(await probe(httpTarget({ target, bodyMatch: 'x' })), { body: 'here', bodyTruncated: false });
  for (const source of ['text_body', 'json_body'] as const) {
    const assertions = [{ source, op: 'contains', value: 'x', path: '$' }];
    t.like(await probe(httpTarget({ target, checkSpec: { assertions } })), { body: 'here' });
  }
  const assertions = [{ source: 'header' as const, op: 'exists', name: 'date' }];
  t.like(await probe(httpTarget({ target, checkSpec: { assertions } })), { body: null });
});

const CHARSETS: Record<string, { type: string; bytes: Buffer; text: string }> = {
  'no charset as UTF-8': { type: 'text/html', bytes: Buffer.from('größe'), text: 'größe' },
  'UTF-8 if a byte-order mark contradicts the header': {
    type: 'application/json; charset=iso-8859-1',
    bytes: Buffer.from('\uFEFF{"a":"ü"}'),
    text: '{"a":"ü"}',
  },
  'UTF-8 without its byte-order mark': { type: 'text/html; charset=utf-8', bytes: Buffer.from('\uFEFF{}'), text: '{}' },
  'ISO-8859-1 as Latin-1': {
    type: 'text/html; charset="ISO-8859-1"',
    bytes: Buffer.from('größe', 'latin1'),
    text: 'größe',
  },
};

for (const [what, { type, bytes, text }] of Object.entries(CHARSETS)) {
  test(`a body is read with ${what}`, async (t) => {
    const { port } = await startHttpServer(t, (_, response) => response.setHeader('Content-Type', type).end(bytes));
    t.like(await probe(httpTarget({ target: `http://127.0.0.1:${port}/`, bodyMatch: 'x' })), { body: text });
  });
}

test('headers are read as UTF-8, as they are sent, and as Latin-1 if they are not valid UTF-8', async (t) => {
  const { port } = await startHttpServer(t, (request, response) => {
    // Node reads and writes one Latin-1 character for each byte.
    response.setHeader('X-Echo', request.headers['x-name'] ?? '');
    response.setHeader('Set-Cookie', ['a=größe', `b=${Buffer.from('größe').toString('latin1')}`]);
    response.setHeader('X-Latin', 'größe').end();
  });
  const observation = await probe(withRequest(`http://127.0.0.1:${port}/`, { headers: { 'X-Name': 'größe €' } }));
  t.like(observation, {
    outcome: 'answered',
    headers: { 'x-echo': 'größe €', 'x-latin': 'größe', 'set-cookie': ['a=größe', 'b=größe'] },
  });
});

test('one decoded MiB of a body is kept', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    response.setHeader('Content-Encoding', 'gzip');
    response.end(zlib.gzipSync('x'.repeat(3 * 1024 * 1024)));
  });
  const observation = await probe(httpTarget({ target: `http://127.0.0.1:${port}/`, bodyMatch: 'x' }));
  t.like(observation, { outcome: 'answered', bodyTruncated: true });
  t.is(observation.outcome === 'answered' ? observation.body?.length : 0, 1024 * 1024);
});

// No other test of this file decodes meanwhile.
test.serial('the body of a redirect that is followed is not decoded', async (t) => {
  const original = Object.getOwnPropertyDescriptor(zlib, 'createGunzip') ?? {};
  t.teardown(() => Object.defineProperty(zlib, 'createGunzip', original));
  const { createGunzip } = zlib;
  let decoders = 0;
  const value: typeof createGunzip = (options) => {
    decoders += 1;
    return createGunzip(options);
  };
  Object.defineProperty(zlib, 'createGunzip', { ...original, value });
  const { port } = await startHttpServer(t, (request, response) => {
    if (request.url === '/') response.writeHead(301, { Location: '/next', 'Content-Encoding': 'gzip' });
    response.end(zlib.gzipSync('moved'));
  });
  t.like(await probe(httpTarget({ target: `http://127.0.0.1:${port}/` })), { status: 200 });
  t.is(decoders, 0);
});

test('a redirect is the final response if the monitor does not follow redirects', async (t) => {
  const { port } = await startRedirect(t, 302, () => '/elsewhere');
  t.like(await probe(httpTarget({ target: `http://127.0.0.1:${port}/`, followRedirects: false, bodyMatch: 'moved' })), {
    status: 302,
    body: 'moved',
  });
});

const METHODS: [number, string, string, string][] = [
  [301, 'POST', 'GET', ''],
  [302, 'POST', 'GET', ''],
  [303, 'POST', 'GET', ''],
  [307, 'POST', 'POST', 'payload'],
  [308, 'POST', 'POST', 'payload'],
  [301, 'PUT', 'PUT', 'payload'],
  [303, 'PUT', 'GET', ''],
  [303, 'DELETE', 'GET', ''],
  [308, 'PATCH', 'PATCH', 'payload'],
];

for (const [status, method, followed, body] of METHODS) {
  test(`a ${status} after ${method} is followed with ${followed} and ${body === '' ? 'no' : 'its'} body`, async (t) => {
    const { port, requests } = await startRecorder(t);
    const first = await startRedirect(t, status, () => `http://127.0.0.1:${port}/next`);
    const request = { body: 'payload', contentType: 'text/plain' };
    const observation = await probe(
      withRequest(`http://127.0.0.1:${first.port}/`, request, { method: method as CheckTarget['method'] }),
    );
    t.like(observation, { outcome: 'answered', status: 200 });
    t.like(requests[0], { method: followed, body, url: '/next' });
    t.is(requests[0]?.headers['content-type'], body === '' ? undefined : 'text/plain');
  });
}

test('HEAD stays HEAD through a 303', async (t) => {
  const { port, requests } = await startRecorder(t);
  const first = await startRedirect(t, 303, () => `http://127.0.0.1:${port}/`);
  await probe(httpTarget({ target: `http://127.0.0.1:${first.port}/`, method: 'HEAD' }));
  t.is(requests[0]?.method, 'HEAD');
});

test('locations are resolved against the URL that they came from, even non-ASCII ones', async (t) => {
  const paths: (string | undefined)[] = [];
  const locations: Record<string, string> = {
    '/a/start': 'next?x=1',
    '/a/next?x=1': '../up',
    '/up': Buffer.from('/größe').toString('latin1'),
  };
  const { port } = await startHttpServer(t, (request, response) => {
    paths.push(request.url);
    const location = locations[request.url ?? ''];
    response.writeHead(location === undefined ? 200 : 302, location === undefined ? {} : { Location: location }).end();
  });
  t.like(await probe(httpTarget({ target: `http://127.0.0.1:${port}/a/start` })), { status: 200 });
  t.deepEqual(paths, ['/a/start', '/a/next?x=1', '/up', '/gr%C3%B6%C3%9Fe']);
});

for (const location of ['ftp://127.0.0.1/', 'javascript:alert(1)', 'http://', 'file:///etc/passwd']) {
  test(`a redirect to ${location} cannot be followed and is the final response`, async (t) => {
    const { port } = await startRedirect(t, 302, () => location);
    t.like(await probe(httpTarget({ target: `http://127.0.0.1:${port}/`, bodyMatch: 'moved' })), {
      status: 302,
      body: 'moved',
    });
  });
}

for (const [status, what] of [
  [302, 'without a location'],
  [300, 'a list of choices'],
  [304, 'not modified'],
] as const) {
  test(`a ${status}, ${what}, is a final response`, async (t) => {
    const { port } = await startHttpServer(t, (_, response) =>
      response.writeHead(status, status === 302 ? {} : { Location: '/x' }).end(),
    );
    t.like(await probe(httpTarget({ target: `http://127.0.0.1:${port}/` })), { status });
  });
}

test('ten redirects are followed and the eleventh is one too many', async (t) => {
  const { port } = await startHttpServer(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    response.writeHead(left === 0 ? 200 : 302, left === 0 ? {} : { Location: `/${left - 1}` }).end();
  });
  t.like(await probe(httpTarget({ target: `http://127.0.0.1:${port}/10` })), { outcome: 'answered', status: 200 });
  t.is(failureOf(await probe(httpTarget({ target: `http://127.0.0.1:${port}/11` }))), 'too_many_redirects');
});

test('a redirect loop ends after eleven requests', async (t) => {
  const server = await startRedirect(t, 301, () => '/');
  t.is(failureOf(await probe(httpTarget({ target: `http://127.0.0.1:${server.port}/` }))), 'too_many_redirects');
  t.is(server.connections(), 11);
});

test('one deadline covers all hops together', async (t) => {
  const { port } = await startHttpServer(t, (_, response) => {
    setTimeout(() => response.writeHead(302, { Location: '/' }).end(), 60);
  });
  const observation = await probe(httpTarget({ target: `http://127.0.0.1:${port}/`, timeoutMs: 200 }));
  t.is(failureOf(observation), 'timeout');
  t.true(observation.latencyMs >= 195 && observation.latencyMs < 30_000);
});

test('each timing is summed over the hops', async (t) => {
  const { port } = await startHttpServer(t, (request, response) => {
    setTimeout(() => response.writeHead(request.url === '/' ? 302 : 200, { Location: '/end' }).end(), 50);
  });
  const { timings, latencyMs } = await probe(httpTarget({ target: `http://127.0.0.1:${port}/` }));
  t.true((timings.firstByteMs ?? 0) >= 98);
  t.true(latencyMs >= (timings.firstByteMs ?? 0));
});

const SECRET_REQUEST: Partial<CheckTarget> = {
  method: 'POST',
  checkSpec: {
    request: {
      headers: { 'X-Plain': 'plain', Cookie: 'session=1', Host: 'chosen.example' },
      secretHeaderNames: ['X-Key'],
      auth: { type: 'bearer' },
      bodySecret: true,
      contentType: 'text/plain',
    },
  },
  secrets: { secretHeaders: { 'X-Key': 'hidden' }, auth: { token: 'tkn' }, body: 'hidden body' },
};

test('secrets follow a redirect to the same host and port', async (t) => {
  const { port, requests } = await startRecorder(t, (ownPort) => ({ '/': `http://127.0.0.1:${ownPort}/end` }));
  await probe(httpTarget({ target: `http://127.0.0.1:${port}/`, ...SECRET_REQUEST }));
  t.like(requests[0]?.headers, {
    'x-plain': 'plain',
    'x-key': 'hidden',
    authorization: 'Bearer tkn',
    cookie: 'session=1',
  });
  t.is(requests[0]?.body, 'hidden body');
});

test('secrets follow a redirect to a subdomain of the first host', async (t) => {
  const { port, requests } = await startRecorder(t, (ownPort) => ({ '/': `http://sub.localhost:${ownPort}/end` }));
  const observation = await probe(httpTarget({ target: `http://localhost:${port}/`, ...SECRET_REQUEST }));
  // Not every resolver finds names below localhost; if one does, the secrets must have arrived.
  if (observation.outcome === 'failed') t.regex(observation.cause, /^dns_/);
  else t.like(requests[0]?.headers, { 'x-key': 'hidden', authorization: 'Bearer tkn', host: `sub.localhost:${port}` });
});

test('a redirect to another host drops secrets and keeps plain headers', async (t) => {
  const { port, requests } = await startRecorder(t);
  const first = await startRedirect(t, 307, () => `http://localhost:${port}/`);
  const observation = await probe(httpTarget({ target: `http://127.0.0.1:${first.port}/`, ...SECRET_REQUEST }));
  t.like(observation, { outcome: 'answered', status: 200 });
  t.like(requests[0], { method: 'POST', body: '' });
  const headers = requests[0]?.headers ?? {};
  for (const name of ['x-key', 'authorization', 'cookie', 'content-type']) t.false(name in headers, name);
  t.like(headers, { 'x-plain': 'plain', host: `localhost:${port}` });
});

test('dropped secrets are not sent again after a redirect back to the first host', async (t) => {
  // All on one port: for another one secrets are dropped anyway.
  const { port, requests } = await startRecorder(t, (ownPort) => ({
    '/': `http://localhost:${ownPort}/abroad`,
    '/abroad': `http://127.0.0.1:${ownPort}/end`,
  }));
  await probe(httpTarget({ target: `http://127.0.0.1:${port}/`, ...SECRET_REQUEST }));
  t.is(requests[0]?.headers.host, `127.0.0.1:${port}`);
  t.false('x-key' in (requests[0]?.headers ?? {}));
  t.false('authorization' in (requests[0]?.headers ?? {}));
  t.is(requests[0]?.body, '');
});

test("credentials in the target's URL are dropped for another host, and those in a location ignored", async (t) => {
  const { port, requests } = await startRecorder(t);
  const first = await startRedirect(t, 302, () => `http://evil:twin@localhost:${port}/`);
  await probe(httpTarget({ target: `http://me:secret@127.0.0.1:${first.port}/` }));
  t.is(requests[0]?.headers.authorization, undefined);
});

for (const target of [
  '',
  'example.com',
  'ftp://example.com/',
  'http://',
  'http://exa mple.com/',
  'http://[::1%25lo]/',
]) {
  test(`the target "${target}" is unsupported rather than an exception`, async (t) => {
    t.is(failureOf(await probe(httpTarget({ target }))), 'unsupported');
  });
}

test('a certificate without a subject gets the name of its host, even after a redirect', async (t) => {
  const authority = await TestAuthority.create();
  authority.trust();
  const hosts = ['localhost', '127.0.0.1'];
  const { port } = await startHttpServer(
    t,
    (_request, response) => response.end('ok'),
    await authority.issue({ hosts, hasSubject: false }),
  );
  const redirect = await startRedirect(t, 302, () => `https://localhost:${port}/`);
  const { certificate } = await probe(withRequest(`http://127.0.0.1:${redirect.port}/`, {}));
  t.is(certificate?.subject, 'localhost');
});
