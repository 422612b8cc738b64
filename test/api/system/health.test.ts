import anyTest, { type TestFn } from 'ava';
import { until } from '../../helpers/until.ts';
import { withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const queue = { isReachable: true };
withApiServer(test, { findAwayQueues: async () => (queue.isReachable ? [] : ['deliver']) });

test('health, readiness and metrics need no token', async (t) => {
  const { anonymous } = t.context.api;
  t.like(await anonymous('GET', '/healthz'), { status: 200, json: { status: 'ok' } });
  // On a busy machine the first write that proves the database may take longer than an answer waits for it.
  const ready = await until(async () => {
    const answer = await anonymous('GET', '/readyz');
    return answer.status === 200 && answer;
  });
  t.like(ready, { json: { status: 'ready', database: true, queue: true } });
  const metrics = await anonymous('GET', '/metrics');
  t.is(metrics.status, 200);
  t.regex(metrics.headers.get('content-type') ?? '', /^text\/plain/);
});

test('what is only read answers other methods with 405', async (t) => {
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/v1/openapi.json']) {
    const answer = await t.context.api.anonymous('POST', path);
    t.is(answer.status, 405, path);
    t.is(answer.headers.get('allow'), 'GET, HEAD');
    t.is((await t.context.api.anonymous('HEAD', path)).status, 200, path);
  }
});

test('requests are counted by the route of the description, never by their path', async (t) => {
  const { anonymous, account } = t.context.api;
  const { owner } = await account();
  await owner('GET', '/v1/monitors/mon_secret');
  await anonymous('GET', '/some/secret/path');
  const { text } = await anonymous('GET', '/metrics');
  t.regex(
    text,
    /spotcheck_http_request_duration_seconds_count\{method="GET",route="\/v1\/monitors\/\{id\}",status="404"\} 1/,
  );
  t.regex(text, /route="unknown",status="404"/);
  t.false(text.includes('secret'));
});

test.serial('a queue that is away makes the process not ready, and it is still healthy', async (t) => {
  queue.isReachable = false;
  const { anonymous } = t.context.api;
  const answer = await until(async () => {
    const got = await anonymous('GET', '/readyz');
    return got.json['database'] === true && got;
  });
  t.like(answer, {
    status: 503,
    json: { status: 'not ready', database: true, queue: false, queues_away: ['deliver'] },
  });
  t.is((await anonymous('GET', '/healthz')).status, 200);
  queue.isReachable = true;
  t.true(await until(async () => (await anonymous('GET', '/readyz')).status === 200));
});
