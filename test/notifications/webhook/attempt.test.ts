import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { verify } from '@octokit/webhooks-methods';
import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { HOUR_MS } from '../../../core/time.ts';
import { createHttpClient, type HttpClient } from '../../../net/http-client.ts';
import { attemptWebhook, type WebhookDelivery, type WebhookSending } from '../../../notifications/webhook/attempt.ts';
import { createWebhookAgent } from '../../../notifications/webhook/sending.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import { createTemplateRenderer } from '../../../notifications/webhook/template/renderer.ts';
import { TestAuthority, type KeyPair } from '../../helpers/certificates.ts';
import { startHttpServer, startRawServer } from '../../helpers/http-server.ts';
import { until } from '../../helpers/until.ts';

const SECRET = generateSigningSecret(randomBytes);
const MESSAGE = buildTestMessage({ nowMs: Date.now(), publicUrl: 'https://spotcheck.example' });
const OPEN = createHttpClient({ allowPrivateNetwork: true });

const renderer = createTemplateRenderer();

let authority: TestAuthority;
let keys: KeyPair;

test.before(async () => {
  authority = await TestAuthority.create();
  authority.trust();
  keys = await authority.issue({ hosts: ['127.0.0.1', 'localhost'] });
});

test('a delivery is a signed POST of its envelope that independent verifiers accept', async (t) => {
  const received: { request: IncomingMessage; body: string }[] = [];
  const { port } = await receive(t, async (request, response) => {
    received.push({ request, body: await text(request) });
    response.writeHead(202).end('thank you');
  });
  // Each reading of the clock is a second later, yet an attempt uses a single time.
  let nowMs = Date.now();
  const result = await attempt(t, port, { sending: { now: () => (nowMs += 1000) } });
  t.like(result, { outcome: 'delivered', statusCode: 202, error: null, response: 'thank you' });
  t.is(received.length, 1);
  const [{ request, body } = { request: undefined, body: '' }] = received;
  t.is(request?.method, 'POST');
  t.is(request?.url, '/hook?team=ops');
  t.like(request?.headers, {
    'content-type': 'application/json',
    'x-service-event': 'monitor.up',
    'x-service-delivery': 'dlv_1',
  });
  await assertVerified(t, { headers: request?.headers ?? {}, body });
  const envelope = JSON.parse(body);
  t.like(envelope, { ...MESSAGE, delivery_id: 'dlv_1' });
  t.is(envelope.sent_at, Number(request?.headers['x-service-timestamp']));
});

test('a retry has the same delivery id, and its own timestamp and signatures', async (t) => {
  const received: { headers: IncomingHttpHeaders; body: string }[] = [];
  const { port } = await receive(t, async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) });
    response.writeHead(500).end();
  });
  let nowMs = Date.now();
  const now = (): number => nowMs;
  await attempt(t, port, { sending: { now } });
  nowMs += 5000;
  await attempt(t, port, { delivery: { attempt: 2 }, sending: { now } });
  const [first, second] = received;
  t.is(first?.headers['x-service-delivery'], second?.headers['x-service-delivery']);
  t.is(Number(second?.headers['x-service-timestamp']) - Number(first?.headers['x-service-timestamp']), 5);
  t.not(first?.headers['x-service-signature'], second?.headers['x-service-signature']);
  for (const one of received) await assertVerified(t, one);
});

test('the second request of an attempt has the rest of the time even if the clock is set back meanwhile', async (t) => {
  const { port } = await receive(t, (_request, response) => void response.writeHead(202).end());
  let nowMs = Date.now();
  const deadlines: number[] = [];
  const http: HttpClient = async (request) => {
    deadlines.push(request.deadlineMs);
    nowMs -= HOUR_MS;
    return await OPEN(request);
  };
  const message = { ...MESSAGE, detail: { ...MESSAGE.detail, incident_id: 'inc_1' } };
  const delivery = { message, format: { preset: 'pagerduty' }, resolvesUnknown: true } as const;
  t.is((await attempt(t, port, { delivery, sending: { http, now: () => nowMs } })).outcome, 'delivered');
  const [first = 0, second = 0] = deadlines;
  t.true(second > 1 && second <= first, `${second} ms after ${first} ms`);
});

const STATUSES: readonly [number, 'delivered' | 'retry' | 'failed'][] = [
  [200, 'delivered'],
  [204, 'delivered'],
  [299, 'delivered'],
  [301, 'failed'],
  [304, 'failed'],
  [307, 'failed'],
  [400, 'failed'],
  [404, 'failed'],
  [410, 'failed'],
  [429, 'failed'],
  [500, 'retry'],
  [503, 'retry'],
  [599, 'retry'],
];
for (const [status, outcome] of STATUSES) {
  test(`a response with ${status} has the outcome ${outcome}`, async (t) => {
    const { port } = await receive(t, (_request, response) => void response.writeHead(status).end());
    const result = await attempt(t, port);
    t.is(result.outcome, outcome);
    t.is(result.statusCode, status);
    t.is(result.error === null, outcome === 'delivered');
  });
}

test('a redirect is not followed, even to the receiver itself', async (t) => {
  const paths: (string | undefined)[] = [];
  const { port } = await receive(t, (request, response) => {
    paths.push(request.url);
    response.writeHead(308, { Location: '/elsewhere' }).end();
  });
  const result = await attempt(t, port);
  t.is(result.error, 'The endpoint responded with 308; redirects are not followed');
  t.deepEqual(paths, ['/hook?team=ops']);
});

test('a receiver that never responds times out at the deadline and is retried', async (t) => {
  const { port } = await receive(t, () => undefined);
  const result = await attempt(t, port, { sending: { deadlineMs: 150 } });
  t.like(result, { outcome: 'retry', statusCode: null, response: null });
  t.true(result.durationMs >= 140 && result.durationMs < 100_000, `${result.durationMs} ms`);
});

test('the deadline covers the body: a 200 whose body never ends is retried', async (t) => {
  const { port } = await receive(t, (_request, response) => {
    response.writeHead(200);
    const dribble = setInterval(() => response.write('.'), 20);
    response.once('close', () => clearInterval(dribble));
  });
  const result = await attempt(t, port, { sending: { deadlineMs: 20_000 } });
  t.like(result, { outcome: 'retry', statusCode: 200 });
  t.regex(result.response ?? '', /^\.+$/);
  t.true(result.durationMs < 100_000, `${result.durationMs} ms`);
});

test('a 404 is final even if its body never ends', async (t) => {
  const { port } = await receive(t, (_request, response) => void response.writeHead(404).write('wait for it'));
  t.like(await attempt(t, port, { sending: { deadlineMs: 20_000 } }), {
    outcome: 'failed',
    statusCode: 404,
    error: 'The endpoint responded with 404',
    response: 'wait for it',
  });
});

test('if the body is cut off the status decides, and the received part is stored', async (t) => {
  for (const [status, outcome] of [
    [200, 'delivered'],
    [410, 'failed'],
    [503, 'retry'],
  ] as const) {
    const { port } = await receive(t, (_request, response) => {
      response.writeHead(status, { 'Content-Length': 100 });
      response.write('short', () => response.destroy());
    });
    t.like(await attempt(t, port), { outcome, statusCode: status, response: 'short' });
  }
});

test('the beginning of a key where a body is cut off is redacted', async (t) => {
  const { port } = await receive(t, (request, response) => {
    response.writeHead(502, { 'Content-Length': 100 });
    response.write(`No ${request.url?.slice(0, -1)}`, () => response.destroy());
  });
  const url = `https://127.0.0.1:${port}/in/s3cret-path`;
  t.is((await attempt(t, port, { delivery: { url } })).response, 'No [secret]');
});

test('a 200 with a wrong Content-Encoding is delivered, and its body is stored as received', async (t) => {
  for (const coding of ['gzip', 'zstd', 'br', 'deflate']) {
    const { port } = await receive(
      t,
      (_request, response) => void response.writeHead(200, { 'Content-Encoding': coding }).end('plain'),
    );
    t.like(await attempt(t, port), { outcome: 'delivered', statusCode: 200, response: 'plain' });
  }
});

test('the first kilobyte of a huge response is stored, and the connection is closed', async (t) => {
  let closed = false;
  const { port } = await receive(t, (_request, response) => {
    response.writeHead(200);
    const pour = (): void => void (response.writable && response.write('x'.repeat(65_536), pour));
    pour();
    response.once('close', () => (closed = true));
  });
  const result = await attempt(t, port);
  t.is(result.outcome, 'delivered');
  t.is(result.response, 'x'.repeat(1024));
  await until(() => closed);
});

test('a stored response is printable', async (t) => {
  const { port } = await receive(
    t,
    (_request, response) => void response.end(Buffer.from([0x6f, 0x6b, 0x00, 0x1b, 0x0a, 0xff])),
  );
  t.is((await attempt(t, port)).response, 'ok\uFFFD\uFFFD\n\uFFFD');
});

test('the URL and secrets are redacted from a stored response, even across its end', async (t) => {
  const previousSecret = generateSigningSecret(randomBytes);
  const { port } = await receive(t, (request, response) => {
    const cut = 'x'.repeat(1024 - 10);
    response
      .writeHead(404)
      .end(
        `Cannot POST ${request.url}; token=k%C3%A9y-of-the-customer, kéy-of-the-customer; ${SECRET} ` +
          `${previousSecret} ${cut}${request.url}`,
      );
  });
  const { response } = await attempt(t, port, {
    delivery: { url: `https://127.0.0.1:${port}/in/s3cret-path?token=k%C3%A9y-of-the-customer`, previousSecret },
  });
  t.true(response?.startsWith('Cannot POST [secret]; token=[secret], [secret]; [secret] [secret] xxx'), response ?? '');
  for (const secret of ['s3cret', 'customer', SECRET.slice(6), previousSecret.slice(6)])
    t.false(response?.includes(secret));
});

test('keys are redacted as their receivers read the query or write it again', async (t) => {
  const { port } = await receive(t, ({ url = '', headers }, response) => {
    const { search, searchParams } = new URL(url, 'https://hook.example');
    const literal = encodeURIComponent(search.slice('?key='.length));
    const json = JSON.stringify({ search, bearer: headers.authorization }).replaceAll('/', String.raw`\/`);
    response.end([searchParams.get('key'), searchParams, literal, json].join('\n'));
  });
  const { response } = await attempt(t, port, {
    delivery: {
      url: `https://127.0.0.1:${port}/in?key=bm90LWE+c2VjcmV0/4`,
      headers: { Authorization: 'Bearer c2VjcmV0/bm90LWE=' },
    },
  });
  t.is(response, '[secret]\nkey=[secret]\n[secret]\n{"search":"[secret]","bearer":"[secret]"}');
});

test('keys are redacted whichever characters a receiver escapes, in upper or lower case', async (t) => {
  const key = "n0t-a~s3cret!'(+/&é)";
  const { port } = await receive(t, (_request, response) => {
    const literal = encodeURIComponent(key);
    const escape = (unit: string) => String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0');
    const json = key.replaceAll(/['+&é]/g, escape);
    const lower = literal.replaceAll(/%../g, (escaped) => escaped.toLowerCase());
    const form = new URLSearchParams({ key }).toString().replaceAll(/%../g, (escaped) => escaped.toLowerCase());
    const upper = json.replaceAll(/00../g, (digits) => digits.toUpperCase());
    response.end([literal, lower, form, json, upper, key.replaceAll('&', escape)].join('\n'));
  });
  const { response } = await attempt(t, port, {
    delivery: { url: `https://127.0.0.1:${port}/in?key=${encodeURIComponent(key)}` },
  });
  t.is(response, ['[secret]', '[secret]', 'key=[secret]', '[secret]', '[secret]', '[secret]'].join('\n'));
});

test('a key is redacted without the words that precede it in its header', async (t) => {
  const { port } = await receive(t, (_request, response) => response.end('n0t-a-s3cret, n0ts3cret/== or "pa55w0rd"?'));
  const { response } = await attempt(t, port, {
    delivery: {
      headers: {
        Authorization: 'Token token="n0t-a-s3cret", nonce=1',
        Cookie: 'id=n0ts3cret/==;theme=dark',
        'X-Login': '"me":"you";"pa55w0rd"',
      },
    },
  });
  t.is(response, '[secret], [secret] or "[secret]"?');
});

test('a key with commas, quotes or semicolons is redacted, and media types stay readable', async (t) => {
  const { port } = await receive(t, (_request, response) =>
    response.end('invalid key s3cr3t,hunter2 or pa"55;w0rd sent; use application/json'),
  );
  const { response } = await attempt(t, port, {
    delivery: {
      headers: {
        Authorization: 'Bearer s3cr3t,hunter2',
        'X-Key': 'Key pa"55;w0rd',
        Accept: 'application/json, text/plain',
      },
    },
  });
  t.is(response, 'invalid key [secret] or [secret] sent; use application/json');
});

test('a part of the URL that is short once decoded is no key', async (t) => {
  const { port } = await receive(t, (_request, response) => response.end('✓ saved, utf8=✓, utf8=%E2%9C%93'));
  const { response } = await attempt(t, port, {
    delivery: { url: `https://127.0.0.1:${port}/in?utf8=%E2%9C%93` },
  });
  t.is(response, '✓ saved, utf8=[secret], utf8=[secret]');
});

test('a response that does not quote the URL is stored unchanged', async (t) => {
  const { port } = await receive(t, (_request, response) => void response.end('a/b and /'));
  t.is((await attempt(t, port)).response, 'a/b and /');
});

test("custom headers are sent, do not override the service's own, and are redacted from responses", async (t) => {
  const headers: IncomingHttpHeaders[] = [];
  const { port } = await receive(t, (request, response) => {
    headers.push(request.headers);
    response.end(`refused: ${request.headers.authorization}, 1 of ${request.headers['x-short']}`);
  });
  const own = { Authorization: 'Bearer s3cret-token', 'X-Short': '1', 'Content-Type': 'text/plain' };
  const { response } = await attempt(t, port, { delivery: { headers: own } });
  t.like(headers[0], { authorization: own.Authorization, 'x-short': '1', 'content-type': 'application/json' });
  t.notRegex(response ?? '', /s3cret-token/);
  t.regex(response ?? '', /1 of 1/);
});

test('a short header value is redacted as a whole word, and a very short one only after its name', async (t) => {
  const own = { Authorization: 'Bearer p.4s+', 'X-Pin': '4711', 'X-Word': 'secret', 'X-Code': '12', 'X-Empty': '' };
  const { port } = await receive(t, ({ headers }, response) => {
    const quoted = Object.keys(own).map((name) => [name, headers[name.toLowerCase()]]);
    const said = 'PIN 4711 is wrong, not 47110; key p.4s+, word secret; retry in 12 s, X-Code: 12 ';
    response.end(said + JSON.stringify(Object.fromEntries(quoted), null, 2));
  });
  const { response } = await attempt(t, port, { delivery: { headers: own } });
  t.is(
    response,
    'PIN [secret] is wrong, not 47110; key [secret], word [secret]; retry in 12 s, X-Code: [secret] {\n' +
      '  "Authorization": "[secret]",\n  "X-Pin": "[secret]",\n  "X-Word": "[secret]",\n' +
      '  "X-Code": "[secret]",\n  "X-Empty": ""\n}',
  );
});

test('a short query value is redacted as a whole word, and a very short one only after its name', async (t) => {
  const { port } = await receive(t, ({ url }, response) =>
    response.end(`key pw 1 is wrong, not 47110; pin=4711 and (4711) for ${url}`),
  );
  const { response } = await attempt(t, port, {
    delivery: { url: `https://127.0.0.1:${port}/in?pin=4711&key=p%C3%A91&n=1` },
  });
  t.is(response, 'key pw 1 is wrong, not 47110; pin=[secret] and ([secret]) for [secret]');
  const other = await receive(t, (_request, answer) => void answer.end('pin: 4711, key=pé1, n=1, 11 of 1'));
  const quoted = await attempt(t, other.port, {
    delivery: { url: `https://127.0.0.1:${other.port}/in?pin=4711&key=p%C3%A91&n=1` },
  });
  t.is(quoted.response, 'pin: [secret], key=[secret], n=[secret], 11 of 1');
});

test('with a previous secret, a receiver can verify with the old one as well as the new one', async (t) => {
  const previousSecret = generateSigningSecret(randomBytes);
  const verified: string[] = [];
  const { port } = await receive(t, async (request, response) => {
    const body = await text(request);
    for (const [name, secret] of Object.entries({ SECRET, previousSecret })) {
      new Webhook(secret).verify(body, request.headers as Record<string, string>);
      verified.push(name);
    }
    t.true(await verify(previousSecret, body, String(request.headers['x-service-signature-previous'])));
    response.end();
  });
  t.is((await attempt(t, port, { delivery: { previousSecret } })).outcome, 'delivered');
  t.deepEqual(verified, ['SECRET', 'previousSecret']);
});

test('a receiver that hangs up without a response is retried later, not immediately', async (t) => {
  const { port, connections } = await receive(t, (request) => request.socket.destroy());
  t.like(await attempt(t, port), { outcome: 'retry', statusCode: null });
  t.is(connections(), 1);
});

test('a refused connection is retried', async (t) => {
  t.like(await attempt(t, 1), { outcome: 'retry', statusCode: null, error: 'Connection refused' });
});

test('a receiver that hangs up during the TLS handshake is retried', async (t) => {
  const { port, connections } = await startRawServer(t, (socket) => socket.destroy());
  t.like(await attempt(t, port), { outcome: 'retry', statusCode: null });
  t.is(connections(), 1);
});

test('a host name that does not resolve is retried', async (t) => {
  t.like(await attempt(t, 443, { delivery: { url: 'https://nowhere.invalid/hook' } }), {
    outcome: 'retry',
    statusCode: null,
  });
});

const BAD_CERTIFICATES = {
  'of an unknown authority': async () => (await TestAuthority.create()).issue({ hosts: ['127.0.0.1'] }),
  'that has expired': () => authority.issue({ hosts: ['127.0.0.1'], validFromDays: -30, validForDays: -1 }),
  'for another host': () => authority.issue({ hosts: ['hooks.example'] }),
};
for (const [flaw, issue] of Object.entries(BAD_CERTIFICATES)) {
  test(`a receiver with a certificate ${flaw} gets no request, and the delivery is retried`, async (t) => {
    let requests = 0;
    const { port } = await startHttpServer(t, () => (requests += 1), await issue());
    t.like(await attempt(t, port), { outcome: 'retry', statusCode: null });
    t.is(requests, 0);
  });
}

test('a server that does not speak TLS is retried', async (t) => {
  const { port } = await startRawServer(t, (socket) => void socket.end('220 mail.example ESMTP\r\n'));
  t.is((await attempt(t, port)).outcome, 'retry');
});

test('the guard blocks a private address, without a retry and before any connection', async (t) => {
  const { port, connections } = await receive(t, (_request, response) => void response.end());
  const http = createHttpClient({ allowPrivateNetwork: false });
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
    t.is(
      (await attempt(t, port, { delivery: { url: `https://${host}:${port}/` }, sending: { http } })).outcome,
      'failed',
      host,
    );
  }
  t.is(connections(), 0);
});

test('a URL that is not https gets no request', async (t) => {
  const { port, connections } = await startHttpServer(t, (_request, response) => void response.end());
  t.like(await attempt(t, port, { delivery: { url: `http://127.0.0.1:${port}/` } }), {
    outcome: 'failed',
    error: 'The URL must be an https URL, not http',
  });
  t.is(connections(), 0);
});

test('first attempts share a connection, and a retry opens its own', async (t) => {
  const { port, connections } = await receive(t, (_request, response) => void response.end());
  // Connections are kept for a second: a busy machine may miss it once, but not every time.
  const isShared = async () => {
    const [sending, before] = [sendingOf(t), connections()];
    await attempt(t, port, { sending });
    if (!(await isKept(sending))) return false;
    await attempt(t, port, { sending });
    if (connections() !== before + 1 || !(await isKept(sending))) return false;
    await attempt(t, port, { delivery: { attempt: 2 }, sending });
    return connections() === before + 2;
  };
  t.true(await until(isShared));
});

test('a request that fails on a reused connection is not resent, since it may have been processed', async (t) => {
  const sockets = new WeakSet<object>();
  const { port, connections } = await receive(t, (request, response) => {
    if (sockets.has(request.socket)) request.socket.destroy();
    else response.end();
    sockets.add(request.socket);
  });
  const breakOne = async () => {
    const [sending, before] = [sendingOf(t), connections()];
    await attempt(t, port, { sending });
    if (!(await isKept(sending))) return null;
    const broken = await attempt(t, port, { sending });
    return connections() === before + 1 ? broken : null;
  };
  t.like(await until(breakOne), { outcome: 'retry', statusCode: null });
});

test('an idle connection is closed soon', async (t) => {
  const { port } = await receive(t, (_request, response) => void response.end());
  const sending = sendingOf(t);
  await until(async () => {
    await attempt(t, port, { sending });
    return await isKept(sending);
  });
  await until(() => Object.keys(sending.agent.freeSockets).length === 0);
  t.pass();
});

type Overrides = { delivery?: Partial<WebhookDelivery>; sending?: Partial<WebhookSending> };

async function attempt(t: ExecutionContext, port: number, { delivery, sending }: Overrides = {}) {
  const url = `https://127.0.0.1:${port}/hook?team=ops`;
  return await attemptWebhook(
    { url, signingSecret: SECRET, account: 'ten_1', deliveryId: 'dlv_1', attempt: 1, message: MESSAGE, ...delivery },
    { ...sendingOf(t), ...sending },
  );
}

function sendingOf(t: ExecutionContext): WebhookSending {
  const agent = createWebhookAgent();
  t.teardown(() => agent.destroy());
  return { http: OPEN, agent, deadlineMs: 60_000, now: Date.now, renderer };
}

function receive(t: ExecutionContext, listener: RequestListener) {
  return startHttpServer(t, listener, keys);
}

async function assertVerified(
  t: ExecutionContext,
  { headers, body }: { headers: IncomingHttpHeaders; body: string },
): Promise<void> {
  t.true(await verify(SECRET, body, String(headers['x-service-signature'])));
  t.notThrows(() => new Webhook(SECRET).verify(body, headers as Record<string, string>));
}

/** Reports whether the connection of a completed attempt is kept, as it should be for a second. */
async function isKept({ agent }: WebhookSending): Promise<boolean> {
  const isFree = () => Object.values(agent.freeSockets).flat().length;
  return await until(isFree, { timeoutMs: 900 }).then(
    () => true,
    () => false,
  );
}
