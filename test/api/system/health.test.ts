import anyTest, { type TestFn } from 'ava';
import { Gauge, Registry } from 'prom-client';
import { until } from '../../helpers/until.ts';
import { withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const queue = { isReachable: true };
const metrics = new Registry();
withApiServer(test, { metrics, findAwayQueues: async () => (queue.isReachable ? [] : ['deliver']) });

test('health, readiness and metrics need no token', async (t) => {
  const { anonymous } = t.context.api;
  t.like(await anonymous('GET', '/healthz'), { status: 200, json: { status: 'ok' } });
  // On a busy machine the first write that proves the database may exceed the response's time limit.
  const ready = await until(async () => {
    const answer = await anonymous('GET', '/readyz');
    return answer.status === 200 && answer;
  });
  t.like(ready, { json: { status: 'ready', database: true, queue: true } });
  const scrape = await anonymous('GET', '/metrics');
  t.is(scrape.status, 200);
  t.regex(scrape.headers.get('content-type') ?? '', /^text\/plain/);
});

test.serial('concurrent scrapes are rendered once', async (t) => {
  const { anonymous, server } = t.context.api;
  const { promise: allCame, resolve } = Promise.withResolvers<void>();
  let [came, rendered] = [0, 0];
  const count = () => {
    came += 1;
    if (came === 10) resolve();
  };
  const slow = new Gauge({
    name: 'slow',
    help: 'Waits for all scrapes',
    registers: [],
    async collect() {
      rendered += 1;
      await allCame;
    },
  });
  metrics.registerMetric(slow);
  server.on('request', count);
  t.teardown(() => {
    server.off('request', count);
    metrics.removeSingleMetric('slow');
  });
  const scrapes = await Promise.all(Array.from({ length: 10 }, () => anonymous('GET', '/metrics')));
  t.deepEqual([...new Set(scrapes.map(({ status, text }) => status === 200 && text.includes('slow 0')))], [true]);
  t.is(rendered, 1);
});

test('read-only endpoints respond to other methods with a 405', async (t) => {
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/v1/openapi.json']) {
    const answer = await t.context.api.anonymous('POST', path);
    t.is(answer.status, 405, path);
    t.is(answer.headers.get('allow'), 'GET, HEAD');
    t.is((await t.context.api.anonymous('HEAD', path)).status, 200, path);
  }
});

test('request metrics use the described route, never the path', async (t) => {
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

test.serial('an unavailable queue makes the process not ready, but it stays healthy', async (t) => {
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
