import { once } from 'node:events';
import { get, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import anyTest, { type TestFn } from 'ava';
import { METHODS, readDescription } from '../../api/description.ts';
import { ROUTES } from '../../api/routes.ts';
import { withApiServer, type Answer, type ApiServer } from './api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const EVENTS = [
  'monitor.down',
  'monitor.degraded',
  'monitor.up',
  'monitor.unknown',
  'agent.offline',
  'agent.online',
  'advisory.domain_expiry',
  'summary',
];

test('every described operation below /v1 is routed where the description says', async (t) => {
  const { paths } = await readDescription();
  const described = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter(
      (method) => item[method] !== undefined && item.servers === undefined && path !== '/openapi.json',
    ).map((method) => `${method} ${path}`),
  );
  const routed = Object.values(ROUTES).map(({ method, path }) => `${method} ${path}`);
  t.deepEqual(routed.toSorted(), described.toSorted());
});

test('an operation is for sessions only exactly where a session is the only way to authenticate', async (t) => {
  const { paths } = await readDescription();
  const operations = Object.values(paths)
    .filter(({ servers }) => servers === undefined)
    .flatMap((item) => METHODS.flatMap((method) => item[method] ?? []));
  const forPeople = operations
    .filter((operation) => operation['x-caller'] === 'session')
    .map(({ operationId }) => operationId);
  const bySession = operations
    .filter(({ security = [{ token: [] }] }) => security.length > 0 && security.every((way) => 'session' in way))
    .map(({ operationId }) => operationId);
  t.true(forPeople.length > 10);
  t.deepEqual(forPeople.toSorted(), bySession.toSorted());
  t.deepEqual(
    operations
      .filter((operation) => operation['x-role'] !== undefined && operation['x-caller'] !== 'session')
      .map(({ operationId }) => operationId),
    [],
  );
});

test('the description is public at the root and below /v1, and has the URLs of this installation', async (t) => {
  const { anonymous, url } = t.context.api;
  const root: Answer = await anonymous('GET', '/openapi.json');
  t.is(root.status, 200);
  t.deepEqual((await anonymous('GET', '/v1/openapi.json')).json, root.json);
  t.is(root.json['openapi'], '3.1.0');
  t.deepEqual(
    (root.json['servers'] as { url: string }[]).map((server) => server.url),
    [`${url}/v1`],
  );
  t.deepEqual(Object.keys(root.json['webhooks'] as object), EVENTS);
  const { paths } = root.json as { paths: Record<string, { servers?: { url: string }[] }> };
  t.is(paths['/ping/{token}']?.servers?.[0]?.url, url);
});

test('a request with the current ETag gets a 304 without a body', async (t) => {
  const { anonymous, url } = t.context.api;
  const tag = String((await anonymous('GET', '/openapi.json')).headers.get('etag'));
  // `fetch` adds `Cache-Control: no-cache` here, and so gets the whole document.
  const ask = async (path: string, named: string) => {
    const [answer] = await once(get(`${url}${path}`, { headers: { 'If-None-Match': named } }), 'response');
    return [answer.statusCode, (await text(answer)).length > 0];
  };
  t.deepEqual(await ask('/v1/openapi.json', tag), [304, false]);
  t.deepEqual(await ask('/openapi.json', '"other"'), [200, true]);
});

test('every JSON request body in the description has an example', async (t) => {
  const { paths } = await readDescription();
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS) {
      const body = item[method]?.requestBody?.content?.['application/json'] as { examples?: object } | undefined;
      if (body !== undefined) t.truthy(body.examples, `${method} ${path}`);
    }
  }
});

const CONSOLE_ALONE = 'Console sessions only: API tokens get a 403.';

test('the description of each session-only operation says so', async (t) => {
  const { paths, ...rest } = await readDescription();
  const operations = Object.values(paths).flatMap((item) => METHODS.flatMap((method) => item[method] ?? [])) as {
    operationId: string;
    description?: string;
    'x-caller'?: string;
  }[];
  for (const operation of operations)
    t.is(
      operation.description?.includes(CONSOLE_ALONE) === true,
      operation['x-caller'] === 'session',
      operation.operationId,
    );
  t.regex(
    JSON.stringify(rest),
    // The sentence may wrap at any space.
    new RegExp(
      'sessions, two-factor authentication, the audit log and creating agents require a console session'.replaceAll(
        ' ',
        String.raw`(?: |\\n)`,
      ),
    ),
  );
});

/** Sends a request that `fetch` would not send, and returns the status. */
function statusOf(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string },
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = httpRequest(
    url,
    { method, headers: { ...headers, 'Content-Length': String(body.length) } },
    (response) => void response.resume().once('end', () => resolve(response.statusCode ?? 0)),
  );
  request.once('error', reject).end(body);
  return promise;
}

test('405, 413, 415 and 431 are described for every operation that returns them', async (t) => {
  const { api } = t.context;
  const { ownerToken } = await api.account('pro');
  const { paths } = await readDescription();
  const headers = { Authorization: `Bearer ${ownerToken}` };
  for (const [path, item] of Object.entries(paths)) {
    const isBelowV1 = item.servers === undefined && path !== '/openapi.json';
    const url = `${api.url}${item.servers === undefined ? '/v1' : ''}${path.replaceAll(/\{\w+\}/g, 'mon_x.y')}`;
    for (const method of METHODS.filter((candidate) => item[candidate] !== undefined)) {
      const described = Object.keys(item[method]?.responses ?? {});
      for (const status of ['405', '431', ...(isBelowV1 ? ['413', '415'] : [])])
        t.true(described.includes(status), `${method} ${path} ${status}`);
      if (isBelowV1)
        t.true(
          [415, 401, 403].includes(
            await statusOf(url, {
              method: method.toUpperCase(),
              headers: { ...headers, 'Content-Type': 'text/plain' },
              body: 'x',
            }),
          ),
          `${method} ${path}`,
        );
    }
    t.is(
      await statusOf(url, { method: 'GET', headers: { ...headers, 'X-Long': 'x'.repeat(20_000) }, body: '' }),
      431,
      path,
    );
  }
  t.is(
    await statusOf(`${api.url}/v1/monitors`, {
      method: 'GET',
      headers: { ...headers, 'Content-Type': 'text/plain' },
      body: 'x',
    }),
    415,
  );
  t.is(
    await statusOf(`${api.url}/v1/monitors`, {
      method: 'GET',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: ' '.repeat(262_145),
    }),
    413,
  );
});

test('every signal of a heartbeat is described for GET, HEAD and POST', async (t) => {
  const { paths } = await readDescription();
  const pings = Object.entries(paths).filter(([path]) => path.startsWith('/ping/'));
  t.is(pings.length, 4);
  for (const [path, item] of pings)
    for (const method of ['get', 'head', 'post']) t.true(Object.hasOwn(item, method), `${method} ${path}`);
});

const IN_ORDER = [
  'created_at',
  'started_at',
  'state_since',
  'event_at',
  'detected_at',
  'acknowledged_at',
  'updated_at',
  'last_seen_at',
  'last_used_at',
  'last_signed_in_at',
  'resolved_at',
  'ended_at',
  'finished_at',
  'revoked_at',
  'sent_at',
  'expires_at',
];

test('the times in each example are in chronological order', async (t) => {
  const { components } = await readDescription();
  const check = (value: unknown, pointer: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const times = IN_ORDER.filter(
      (name) => name !== 'updated_at' && typeof (value as Record<string, unknown>)[name] === 'number',
    ).map((name) => Number((value as Record<string, unknown>)[name]));
    t.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
      pointer,
    );
    for (const [name, inner] of Object.entries(value)) check(inner, `${pointer}.${name}`);
  };
  const examples = Object.entries(components['examples'] as unknown as Record<string, object>);
  t.true(examples.length > 20);
  for (const [name, example] of examples) check(example, name);
});
