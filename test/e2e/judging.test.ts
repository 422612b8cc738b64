import test from 'ava';
import { startHttpServer } from '../helpers/http-server.ts';
import { HOSTILE_ASSERTIONS, HOSTILE_BODY } from '../helpers/long-judging.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

/**
 * Time limit for other checks meanwhile, in milliseconds. Without a budget the first of them took half a minute; a busy
 * machine is slow, too.
 */
const LONGEST_ANSWER_MS = 8000;

test('expensive patterns in a preview or a monitor delay no other check', async (t) => {
  const { port } = await startHttpServer(
    t,
    (request, response) => void response.end(request.url === '/hostile' ? HOSTILE_BODY : 'all good'),
  );
  const { program, url, call } = await startService(t, { DATA_DIR: await newPreparedDataDir(t) });
  const create = async (body: object) =>
    (await call('POST', '/monitors', { interval_seconds: 3, timeout_ms: 2900, down_after_failures: 1, ...body })).json[
      'id'
    ];
  const shop = await create({
    name: 'Shop',
    target: `http://127.0.0.1:${port}/`,
    check_spec: { assertions: [{ source: 'text_body', op: 'matches', value: '^all (?:good|well)$' }] },
  });
  const isIn = (id: string, status: string) =>
    until(async () => (await call('GET', `/monitors/${id}`)).json['status'] === status, { intervalMs: 50 });
  await isIn(shop, 'up');

  const progress = { isDone: false };
  const hostile = { target: `http://127.0.0.1:${port}/hostile`, check_spec: { assertions: HOSTILE_ASSERTIONS } };
  const preview = call('POST', '/trials', { monitor: hostile }).finally(() => (progress.isDone = true));
  let longestMs = 0;
  do {
    const startedAtMs = performance.now();
    t.is((await fetch(new URL('/healthz', url))).status, 200);
    longestMs = Math.max(longestMs, performance.now() - startedAtMs);
  } while (!progress.isDone);
  t.true(longestMs < LONGEST_ANSWER_MS, `an answer took ${longestMs} ms`);

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
  await until(async () => (await checksOf(stored)).length >= 3, { intervalMs: 100 });
  for (const { verdict, reason } of await checksOf(stored)) {
    t.is(verdict, 'none');
    t.regex(reason ?? '', /used up its 50 ms of CPU time at text_body matches/);
  }
  t.is((await call('GET', `/monitors/${stored}`)).json['status'], 'pending');
  t.is((await call('GET', `/monitors/${shop}`)).json['status'], 'up');
  for (const { verdict } of await checksOf(shop)) t.is(verdict, 'up');
  t.is(await program.stop(), 0);
});
