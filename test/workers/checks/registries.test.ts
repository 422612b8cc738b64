import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { findRdapService } from '../../../models/checks/lookups.ts';
import { createHttpClient } from '../../../net/http-client.ts';
import { refreshRegistries } from '../../../workers/checks/registries.ts';
import { startMaintain } from '../../../workers/processes/maintain.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const DAY_MS = 86_400_000;
const DOCUMENT = JSON.stringify({ version: '1.0', services: [[['com'], ['https://rdap.example/com/']]] });

type Iana = {
  runtime: TestRuntime;
  url: string;
  requests: IncomingHttpHeaders[];
  refresh: (aheadMs?: number) => Promise<string>;
};

async function openIana(t: ExecutionContext, listener: RequestListener): Promise<Iana> {
  const runtime = await openTestRuntime(t);
  const requests: IncomingHttpHeaders[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    requests.push(request.headers);
    listener(request, response);
  });
  const url = `http://127.0.0.1:${port}/rdap/dns.json`;
  const source = { url, http: createHttpClient({ allowPrivateNetwork: true }) };
  return {
    runtime,
    url,
    requests,
    refresh: async (aheadMs = 0) =>
      (await refreshRegistries({ ...runtime, now: () => Date.now() + aheadMs }, source)).registries,
  };
}

test('the registry of RDAP services is requested once a day, with conditional requests', async (t) => {
  const { runtime, requests, refresh } = await openIana(t, (request, response) => {
    if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end();
    else response.writeHead(200, { ETag: '"v1"', 'Last-Modified': 'Sat, 21 Nov 2026 00:00:00 GMT' }).end(DOCUMENT);
  });
  t.is(await findRdapService(runtime.database, 'com'), undefined);
  t.is(await refresh(), 'stored');
  t.is(await findRdapService(runtime.database, 'com'), 'https://rdap.example/com/');
  t.is(await findRdapService(runtime.database, 'de'), null);
  t.is(await refresh(), 'recent');
  t.is(await refresh(DAY_MS), 'unchanged');
  t.is(await refresh(DAY_MS + 1000), 'recent');
  t.is(await findRdapService(runtime.database, 'com'), 'https://rdap.example/com/');
  t.deepEqual(
    requests.map((headers) => [headers['if-none-match'], headers['if-modified-since']]),
    [
      [undefined, undefined],
      ['"v1"', 'Sat, 21 Nov 2026 00:00:00 GMT'],
    ],
  );
});

test('a registry URL configured by the operator is requested despite the address guard', async (t) => {
  const { runtime, url } = await openIana(t, (_, response) => void response.end(DOCUMENT));
  const maintain = startMaintain(runtime, {
    allowPrivateNetwork: false,
    whoisServer: { host: '127.0.0.1', port: 9 },
    rdapBootstrapUrl: url,
  });
  t.teardown(maintain.stop);
  await runtime.queues.enqueueChore('registries');
  t.is(await until(() => findRdapService(runtime.database, 'com')), 'https://rdap.example/com/');
});

const FAILURES: readonly [what: string, listener: RequestListener, reason: string][] = [
  ['responds with 500', (_, response) => void response.writeHead(500).end(), 'HTTP 500'],
  ['redirects', (_, response) => void response.writeHead(302, { Location: '/elsewhere' }).end(), 'HTTP 302'],
  [
    'sends another document',
    (_, response) => void response.end('{"services":"none"}'),
    'The response is not a registry of RDAP services',
  ],
  ['closes the connection', (request) => void request.socket.destroy(), 'The connection was closed without a response'],
];
for (const [what, listener, reason] of FAILURES) {
  test(`when the registry server ${what}, the old registry is kept and one line is logged`, async (t) => {
    let isWell = true;
    const { runtime, refresh } = await openIana(t, (request, response) =>
      isWell ? void response.end(DOCUMENT) : listener(request, response),
    );
    t.is(await refresh(), 'stored');
    isWell = false;
    t.is(await refresh(DAY_MS), 'failed');
    t.is(await findRdapService(runtime.database, 'com'), 'https://rdap.example/com/');
    t.deepEqual(
      runtime.logLines.filter(({ msg }) => msg === 'registries.not_refreshed').map((line) => line['reason']),
      [reason],
    );
  });
}
