import test from 'ava';
import { startHttpServer } from '../helpers/http-server.ts';
import { HOSTILE_ASSERTIONS, HOSTILE_BODY } from '../helpers/long-judging.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

/** Limit of the service's CPU time for a preview, in seconds. Without a budget it takes half a minute. */
const MOST_CPU_SECONDS = 8;

test('expensive patterns in a preview or a monitor use little CPU time, and spoil no other check', async (t) => {
  const { port } = await startHttpServer(
    t,
    (request, response) => void response.end(request.url === '/hostile' ? HOSTILE_BODY : 'all good'),
  );
  const { program, url, call } = await startService(t, { DATA_DIR: await newPreparedDataDir(t) });
  const create = async (body: object) =>
    (await call('POST', '/monitors', { interval_seconds: 86_400, timeout_ms: 10_000, ...body })).json['id'];
  const shop = await create({
    name: 'Shop',
    target: `http://127.0.0.1:${port}/`,
    check_spec: { assertions: [{ source: 'text_body', op: 'matches', value: '^all (?:good|well)$' }] },
  });
  const isIn = (id: string, status: string) =>
    until(async () => (await call('GET', `/monitors/${id}`)).json['status'] === status, { intervalMs: 50 });
  await isIn(shop, 'up');

  const cpuSeconds = async () => {
    const metrics = await (await fetch(new URL('/metrics', url))).text();
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
  };
  const before = await cpuSeconds();
  const progress = { isDone: false };
  const hostile = { target: `http://127.0.0.1:${port}/hostile`, check_spec: { assertions: HOSTILE_ASSERTIONS } };
  // A process that stalls answers that the preview is to be tried again.
  const preview = until(async () => {
    const answer = await call('POST', '/trials', { monitor: hostile });
    return answer.status !== 503 && answer;
  }).finally(() => (progress.isDone = true));
  await until(async () => {
    t.is((await fetch(new URL('/healthz', url))).status, 200);
    return progress.isDone;
  });
  const tookSeconds = (await cpuSeconds()) - before;
  t.true(tookSeconds < MOST_CPU_SECONDS, `${tookSeconds} s of CPU time`);

  const { status, json } = await preview;
  t.is(status, 200);
  t.like(json, { verdict: 'none', cause: null, http_status: 200 });
  t.regex(
    String(json['reason']),
    new RegExp(
      '^The check used up its 50 ms of CPU time at text_body matches ' +
        String.raw`"a\[ab\]\{300\}\[cd\]": simplify the pattern, or use fewer$`,
    ),
  );
  const conditions = json['conditions'];
  t.deepEqual(
    conditions.slice(0, 2).map(({ source, outcome }) => `${source} ${outcome}`),
    ['status holds', 'text_body not_reached'],
  );
  t.is(conditions[1]?.reason ?? '', String(json['reason']));

  const stored = await create({ name: 'Hostile', ...hostile });
  const checksOf = async (id: string) => (await call('GET', `/monitors/${id}/checks`)).json['checks'];
  // A day between ticks, and requests for the other checks, leave none that this process could delay by a stall.
  for (const count of [1, 2]) {
    await until(async () => (await checksOf(stored)).length >= count);
    for (const id of [stored, shop]) t.is((await call('POST', `/monitors/${id}/check`)).status, 202);
  }
  for (const id of [stored, shop]) await until(async () => (await checksOf(id)).length >= 3);
  for (const { verdict, reason } of await checksOf(stored)) {
    t.is(verdict, 'none');
    t.regex(reason ?? '', /used up its 50 ms of CPU time at text_body matches/);
  }
  t.is((await call('GET', `/monitors/${stored}`)).json['status'], 'pending');
  t.is((await call('GET', `/monitors/${shop}`)).json['status'], 'up');
  for (const { verdict } of await checksOf(shop)) t.is(verdict, 'up');
  t.is(await program.stop(), 0);
});
