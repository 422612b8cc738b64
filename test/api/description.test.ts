import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import anyTest from 'ava';
import type { TestFn } from 'ava';
import { METHODS, readDescription } from '../../api/description.ts';
import { ROUTES } from '../../api/routes.ts';
import { descriptionJson } from '../../tools/description-json.ts';
import { withApiServer } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const EVENTS = ['monitor.down', 'monitor.degraded', 'monitor.up', 'monitor.unknown', 'agent.offline', 'agent.online', 'advisory.domain_expiry'];

test('the generated types were made from the description as it is now', async (t) => {
  const yaml = await readFile(new URL('../../api/openapi.yaml', import.meta.url));
  const types = await readFile(new URL('../../api/schema.generated.ts', import.meta.url), 'utf8');
  t.true(types.includes(`openapi.yaml sha256 ${createHash('sha256').update(yaml).digest('hex')}\n`), 'run npm run openapi:types');
});

test('what programs read is the description as it is now', async (t) => {
  const yaml = await readFile(new URL('../../api/openapi.yaml', import.meta.url), 'utf8');
  t.true((await readFile(new URL('../../api/openapi.generated.json', import.meta.url), 'utf8')) === descriptionJson(yaml), 'run node tools/description.ts');
});

test('every described operation below /v1 is routed where the description says', async (t) => {
  const { paths } = await readDescription();
  const described = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined && item.servers === undefined && path !== '/openapi.json').map((method) => `${method} ${path}`),
  );
  const routed = Object.values(ROUTES).map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  t.deepEqual(routed.toSorted(), described.toSorted());
});

test('an operation is for people alone just where a session is the only way to be let in', async (t) => {
  const { paths } = await readDescription();
  const operations = Object.values(paths).filter(({ servers }) => servers === undefined).flatMap((item) => METHODS.flatMap((method) => item[method] ?? []));
  const forPeople = operations.filter((operation) => operation['x-caller'] === 'session').map(({ operationId }) => operationId);
  const bySession = operations.filter(({ security = [{ token: [] }] }) => security.length > 0 && security.every((way) => 'session' in way)).map(({ operationId }) => operationId);
  t.true(forPeople.length > 10);
  t.deepEqual(forPeople.toSorted(), bySession.toSorted());
  t.deepEqual(operations.filter((operation) => operation['x-role'] !== undefined && operation['x-caller'] !== 'session').map(({ operationId }) => operationId), []);
});

test('it is served without a token at the root and below /v1, with the addresses of this installation', async (t) => {
  const { anonymous, url } = t.context.api;
  const root = await anonymous('GET', '/openapi.json');
  t.is(root.status, 200);
  t.deepEqual((await anonymous('GET', '/v1/openapi.json')).json, root.json);
  t.is(root.json['openapi'], '3.1.0');
  t.deepEqual((root.json['servers'] as { url: string }[]).map((server) => server.url), [`${url}/v1`]);
  t.deepEqual(Object.keys(root.json['webhooks'] as object), EVENTS);
  const { paths } = root.json as { paths: Record<string, { servers?: { url: string }[] }> };
  t.is(paths['/ping/{token}']?.servers?.[0]?.url, url);
});

test('every operation has an example of its success, where it has a body, and every write one of its request', async (t) => {
  const { paths } = await readDescription();
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS) {
      const body = item[method]?.requestBody?.content?.['application/json'] as { examples?: object } | undefined;
      if (body !== undefined) t.truthy(body.examples, `${method} ${path}`);
    }
  }
});
