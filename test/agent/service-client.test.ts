import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { backoffMs, openServiceClient } from '../../agent/service-client.ts';
import { startAgentServer, workItem, type AgentServer } from '../helpers/agent-server.ts';
import { TestAuthority } from '../helpers/certificates.ts';
import { startHttpServer } from '../helpers/http-server.ts';

function clientOf(t: ExecutionContext, serviceUrl: string) {
  const client = openServiceClient({ serviceUrl, token: 'spa_secret', version: '1.2.3', now: Date.now });
  t.teardown(() => client.close());
  return client;
}

async function connected(t: ExecutionContext) {
  const server = await startAgentServer(t);
  return { server, client: clientOf(t, server.url) };
}

test('a check-in sends the token, version and capabilities, and returns the work with its ETag', async (t) => {
  const { server, client } = await connected(t);
  server.state.work = [workItem()];
  const outcome = await client.pull({ capabilities: ['http'], version: '1.2.3', arch: 'x64', publicKey: 'abc=' }, null);
  t.like(outcome, { outcome: 'work', etag: '"1"', answer: { agentId: 'agt_1', work: [workItem()] } });
  t.like(server.pulls[0]?.headers, {
    authorization: 'Bearer spa_secret',
    'content-type': 'application/json',
    'user-agent': 'spotcheck-agent/1.2.3',
  });
  t.is(server.pulls[0]?.headers['if-none-match'], undefined);
  t.deepEqual(server.pulls[0]?.body, { capabilities: ['http'], version: '1.2.3', arch: 'x64', publicKey: 'abc=' });
});

test('a check-in with the current ETag returns no work', async (t) => {
  const { server, client } = await connected(t);
  t.like(await client.pull({}, '"1"'), { outcome: 'unchanged' });
  t.is(server.pulls[0]?.headers['if-none-match'], '"1"');
});

test("a check-in returns the service's time", async (t) => {
  const { server, client } = await connected(t);
  server.state.time = '1761991872';
  const time = { serverTimeMs: Date.UTC(2025, 10, 1, 10, 11, 12) };
  t.like(await client.pull({}, null), { outcome: 'work', ...time });
  t.like(await client.pull({}, '"1"'), { outcome: 'unchanged', ...time });
});

for (const time of ['', '-1', '1e99', 'Sat, 01 Nov 2025 10:11:12 GMT', '1761991872, 1761991872']) {
  test(`a check-in has no service time if the header is ${JSON.stringify(time)}`, async (t) => {
    const { server, client } = await connected(t);
    server.state.time = time;
    t.like(await client.pull({}, null), { outcome: 'work', serverTimeMs: null });
  });
}

/** Placeholder for a JSON number that parses as infinity. */
const INFINITE = 'INFINITE';
const jsonOf = (value: unknown): string => JSON.stringify(value).replaceAll(`"${INFINITE}"`, '1e999');

const NO_WORK: readonly [what: string, work: unknown][] = [
  ['is not a list', {}],
  ['has null as an item', [null]],
  ['has an interval of zero', [{ ...workItem(), intervalSeconds: 0 }]],
  ['has an interval that is not a number', [{ ...workItem(), intervalSeconds: 'often' }]],
  ['has an infinite interval', [{ ...workItem(), intervalSeconds: INFINITE }]],
  ['has a timeout beyond the limit of timers', [{ ...workItem(), timeoutMs: 2 ** 31 }]],
  ['has a target that is not a string', [{ ...workItem(), target: 7 }]],
  ['has no settings', [{ ...workItem(), checkSpec: null }]],
];
for (const [what, work] of NO_WORK) {
  test(`work that ${what} makes the check-in fail`, async (t) => {
    const { port } = await startHttpServer(t, (request, response) => {
      request.resume();
      response.end(jsonOf({ agentId: 'agt_1', work }));
    });
    t.is((await clientOf(t, `http://127.0.0.1:${port}`).pull({}, null)).outcome, 'failed');
  });
}

const NO_HINTS: readonly unknown[] = [
  {},
  'soon',
  [null],
  [{ monitorId: 'mon_1' }],
  [{ monitorId: 'mon_1', afterMs: INFINITE }],
  [{ monitorId: 'mon_1', afterMs: '5000' }],
];
for (const recheck of NO_HINTS) {
  test(`an ingest response with the recheck hints ${jsonOf(recheck)} is a failure`, async (t) => {
    const { port } = await startHttpServer(t, (request, response) => {
      request.resume();
      response.end(jsonOf({ accepted: 1, recheck }));
    });
    t.is((await clientOf(t, `http://127.0.0.1:${port}`).ingest('{"results":[]}')).outcome, 'failed');
  });
}

test('results are sent unchanged', async (t) => {
  const { server, client } = await connected(t);
  t.like(await client.ingest('{"results":[{"monitorId":"mon_1"}]}'), { outcome: 'accepted', answer: { accepted: 1 } });
  t.deepEqual(server.taken(), [{ monitorId: 'mon_1' }]);
});

const PULLS: readonly [refusal: AgentServer['state']['pull'], outcome: object][] = [
  [{ status: 401 }, { outcome: 'unauthorized' }],
  [
    { status: 429, headers: { 'Retry-After': '7' }, error: 'rate limit exceeded' },
    { outcome: 'failed', reason: 'HTTP 429: rate limit exceeded', requestedWaitMs: 7000 },
  ],
  [
    { status: 503, error: 'the database\u001b[31m is away' },
    { outcome: 'failed', reason: 'HTTP 503: the database [31m is away', requestedWaitMs: null },
  ],
  [
    { status: 400, error: 'capabilities: unknown' },
    { outcome: 'failed', reason: 'HTTP 400: capabilities: unknown', requestedWaitMs: null },
  ],
];
for (const [refusal, outcome] of PULLS) {
  test(`the outcome of a check-in with status ${refusal?.status} is ${JSON.stringify(outcome)}`, async (t) => {
    const { server, client } = await connected(t);
    server.state.pull = refusal;
    t.deepEqual(await client.pull({}, null), outcome as never);
  });
}

const INGESTS: readonly [status: number, outcome: string][] = [
  [400, 'refused'],
  [413, 'refused'],
  [401, 'unauthorized'],
  [403, 'failed'],
  [404, 'failed'],
  [429, 'failed'],
  [500, 'failed'],
  [503, 'failed'],
];
for (const [status, outcome] of INGESTS) {
  test(`results that get a ${status} are ${outcome}`, async (t) => {
    const { server, client } = await connected(t);
    server.state.ingest = { status };
    t.is((await client.ingest('{"results":[]}')).outcome, outcome as never);
  });
}

const REFUSALS_OF_PROXIES = [
  '<html><head><title>400 Bad Request</title></head></html>',
  '',
  '{"error":"bad request"}',
  '{"message":"bad request","request_id":"1"}',
  '{"error":{"code":400},"request_id":"1"}',
];
for (const text of REFUSALS_OF_PROXIES) {
  test(`a 400 or 413 with the body ${JSON.stringify(text)} is attributed to a proxy`, async (t) => {
    let status = 400;
    const { port } = await startHttpServer(t, (request, response) => {
      request.resume();
      response.writeHead(status, { 'X-Request-Id': '1' }).end(text);
    });
    const client = clientOf(t, `http://127.0.0.1:${port}`);
    for (status of [400, 413]) {
      t.deepEqual(await client.ingest('{"results":[]}'), {
        outcome: 'refused',
        reason: `HTTP ${status}: the response is a proxy's, not Spotcheck's`,
        isFromService: false,
      });
    }
  });
}

test('a refusal by the service carries its own error message', async (t) => {
  const { server, client } = await connected(t);
  for (const status of [400, 413]) {
    server.state.ingest = { status, error: 'results[0] is malformed' };
    t.deepEqual(await client.ingest('{"results":[]}'), {
      outcome: 'refused',
      reason: `HTTP ${status}: results[0] is malformed`,
      isFromService: true,
    });
  }
});

test('the token is not sent to the target of a redirect, and the error says what to correct', async (t) => {
  const elsewhere = await startAgentServer(t);
  const { port } = await startHttpServer(t, (request, response) => {
    request.resume();
    response.writeHead(308, { Location: `${elsewhere.url}/agent/v1/pull` }).end();
  });
  const outcome = await clientOf(t, `http://127.0.0.1:${port}`).pull({}, null);
  t.regex('reason' in outcome ? outcome.reason : '', /^HTTP 308: .* correct SPOTCHECK_URL$/);
  t.is(elsewhere.pulls.length, 0);
});

test('a response that is not from Spotcheck is a failure', async (t) => {
  const { port } = await startHttpServer(t, (request, response) => {
    request.resume();
    response.end('<h1>It works</h1>');
  });
  const client = clientOf(t, `http://127.0.0.1:${port}`);
  for (const outcome of [await client.pull({}, null), await client.ingest('{"results":[]}')])
    t.like(outcome, {
      outcome: 'failed',
      reason: 'The response is not from Spotcheck: another server responds at SPOTCHECK_URL',
    });
});

test('a closed connection and a refused one are ordinary failures', async (t) => {
  const { server, client } = await connected(t);
  server.state.isCut = true;
  t.like(await client.pull({}, null), {
    outcome: 'failed',
    reason: 'The connection was closed without a response',
    requestedWaitMs: null,
  });
  t.like(await clientOf(t, 'http://127.0.0.1:9').pull({}, null), { outcome: 'failed', reason: 'Connection refused' });
});

test('an untrusted certificate ends the connection before the token is sent', async (t) => {
  const authority = await TestAuthority.create();
  let requests = 0;
  const keys = await authority.issue({ hosts: ['127.0.0.1'] });
  const { port } = await startHttpServer(
    t,
    (_request, response) => {
      requests += 1;
      response.end();
    },
    keys,
  );
  t.like(await clientOf(t, `https://127.0.0.1:${port}`).pull({}, null), { outcome: 'failed' });
  t.is(requests, 0);
});

test('the backoff is between a second and a limit that doubles up to a minute', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (failures, random) => {
        const waitMs = backoffMs({ failures, requestedWaitMs: null, random: () => random });
        return waitMs >= 1000 && waitMs <= Math.min(60_000, 1000 * 2 ** failures);
      },
    ),
  );
  t.is(backoffMs({ failures: 1, requestedWaitMs: null, random: () => 0.999_999 }) > 1900, true);
  t.is(backoffMs({ failures: 20, requestedWaitMs: null, random: () => 0.5 }), 30_500);
});

test('a wait requested by the server is respected, clamped to between one second and ten minutes', (t) => {
  t.is(backoffMs({ failures: 1, requestedWaitMs: 90_000, random: () => 0 }), 90_000);
  t.is(backoffMs({ failures: 1, requestedWaitMs: 0, random: () => 0 }), 1000);
  t.is(backoffMs({ failures: 1, requestedWaitMs: 86_400_000, random: () => 0 }), 600_000);
});
