import anyTest, { type TestFn } from 'ava';
import { createEvaluator } from '../../../../workers/incidents/evaluate.ts';
import { until } from '../../../helpers/until.ts';
import { withApiServer, type ApiServer } from '../../api-server.ts';
import { agentCaller, workOf } from '../agent-caller.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

/** Returns a full hour, long enough ago that no check was requested at that time. */
const longAgo = (): number => Math.floor(Date.now() / 3_600_000) * 3600 - 7200;

/** Creates an agent that has pulled its work, on a process that stores results before it responds. */
async function storingAgent(api: ApiServer, monitor: object) {
  const { database, makeId } = api;
  const evaluate = createEvaluator({ database, now: Date.now, newId: makeId, publicUrl: 'https://spotcheck.example' });
  const storing = () => api.another({ submitResults: async (results) => void (await evaluate(results)) });
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const id = await agent.watch(monitor);
  workOf(await agent.post('pull', { capabilities: ['http'] }));
  const { rows } = await database.pool.query<{ no: number }>('SELECT no FROM monitors WHERE id = $1', [id]);
  const stored = async () =>
    (
      await database.pool.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM check_results WHERE monitor_no = $1',
        [rows[0]?.no],
      )
    ).rows[0]?.count;
  return { agent, account, id, storing, stored };
}

const resultsOf = (monitorId: string, moments: readonly number[]) =>
  moments.map((ts) => ({ monitorId, ok: true, cause: null, latencyMs: 12, httpStatus: 200, ts }));

test('results are accepted up to the rate of interval and rechecks, over all requests and processes', async (t) => {
  const { agent, id, storing, stored } = await storingAgent(t.context.api, {
    interval_seconds: 60,
    down_after_failures: 2,
  });
  const [one, other] = [await storing(), await storing()];
  const hour = Array.from({ length: 1000 }, (_, index) => longAgo() + index * 3.6);
  const first = (await agent.post('ingest', { results: resultsOf(id, hour) }, {}, one)).json;
  t.like(first, {
    accepted: 240,
    dropped: 760,
    droppedBecause: { notAssigned: 0, future: 0, tooOld: 0, tooMany: 760 },
  });
  for (const [process, shift] of [
    [one, 0.5],
    [other, 1],
    [other, 1.5],
  ] as const) {
    const more = (
      await agent.post(
        'ingest',
        {
          results: resultsOf(
            id,
            hour.map((ts) => ts + shift),
          ),
        },
        {},
        process,
      )
    ).json;
    t.like(more, { accepted: 0, dropped: 1000 }, `${shift} s later`);
  }
  t.is(await stored(), 240);
  const metrics = await (await fetch(`${other}/metrics`)).text();
  t.true(metrics.includes('spotcheck_agent_results_total{outcome="too_many"} 2000\n'));
});

test('concurrent requests get no more results accepted than sequential ones', async (t) => {
  const { api } = t.context;
  const { agent, id } = await storingAgent(api, { interval_seconds: 60 });
  const fromMs = longAgo();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      agent.post('ingest', {
        results: resultsOf(
          id,
          [0, 1, 2].map((second) => fromMs + index * 4 + second),
        ),
      }),
    ),
  );
  t.is(
    answers.reduce((sum, { json }) => sum + Number(json['accepted']), 0),
    4,
  );
});

for (const { interval, failures } of [
  { interval: 1, failures: 2 },
  { interval: 60, failures: 1 },
  { interval: 60, failures: 5 },
  { interval: 300, failures: 5 },
]) {
  test(
    `the backlog of a day at ${interval} s with ${failures} failures to be down is accepted whole, in any order, and ` +
      'again when repeated',
    async (t) => {
      const { agent, id, stored } = await storingAgent(t.context.api, {
        interval_seconds: interval,
        timeout_ms: 500,
        down_after_failures: failures,
      });
      const nowSeconds = Math.floor(Date.now() / 1000);
      // Limited to 900 ticks, because a whole day at a short interval would take many requests.
      const ticks = Array.from(
        { length: Math.min(900, Math.floor(84_000 / interval)) },
        (_, index) => nowSeconds - 85_000 + index * interval + (index % 7) / 10,
      );
      const waitSeconds = Math.max(1, Math.min(interval / 2, 20));
      const rechecks = ticks
        .filter((_, index) => index % 3 === 0)
        .flatMap((ts) =>
          Array.from({ length: failures - 1 }, (_, index) => (index + 1) * waitSeconds)
            .filter((after) => after < interval)
            .map((after) => ts + after),
        );
      const all = [...ticks, ...rechecks].toReversed();
      for (const round of ['first', 'again']) {
        for (let start = 0; start < all.length; start += 1000) {
          const results = resultsOf(id, all.slice(start, start + 1000));
          t.like((await agent.post('ingest', { results })).json, { accepted: results.length, dropped: 0 }, round);
        }
      }
      t.is(await stored(), 0, 'nothing was evaluated here');
    },
  );
}

test('a result sent repeatedly, in one request or several, is accepted each time and submitted once', async (t) => {
  const { api } = t.context;
  const submitted: number[][] = [];
  const gate = Promise.withResolvers<void>();
  const { agent, id } = await storingAgent(api, { interval_seconds: 60 });
  const base = await api.another({
    async submitResults(results) {
      submitted.push(results.map(({ dueAtMs }) => dueAtMs));
      await gate.promise;
    },
  });
  const fromMs = longAgo();
  const post = async (...moments: number[]) =>
    (await agent.post('ingest', { results: resultsOf(id, moments) }, {}, base)).json['accepted'];
  const first = post(fromMs, fromMs, fromMs);
  await until(() => submitted.length > 0);
  let isAnswered = false;
  const again = post(fromMs).finally(() => (isAnswered = true));
  const other = post(fromMs, fromMs + 1);
  await (
    await agent.post('ingest', { results: [] }, {}, base)
  ).json;
  t.false(isAnswered, 'its outcome is not known yet');
  gate.resolve();
  t.deepEqual(await Promise.all([first, again, other]), [3, 1, 2]);
  t.is(await post(fromMs, fromMs + 1), 2);
  t.deepEqual(submitted, [[fromMs * 1000], [(fromMs + 1) * 1000]]);
});

test('a stored result is accepted again, but not submitted again by another process', async (t) => {
  const { api } = t.context;
  const { agent, id, storing, stored } = await storingAgent(api, { interval_seconds: 60 });
  const results = resultsOf(id, [longAgo(), longAgo() + 1]);
  t.like((await agent.post('ingest', { results }, {}, await storing())).json, { accepted: 2 });
  t.is(await stored(), 2);
  t.like((await agent.post('ingest', { results })).json, { accepted: 2, dropped: 0 });
  t.false(api.submittedResults.some(({ agentNo }) => agentNo === agent.no));
});

test('a result that could not be submitted is submitted when sent again', async (t) => {
  const { api } = t.context;
  const submitted: number[] = [];
  const { agent, id } = await storingAgent(api, { interval_seconds: 60 });
  let jobs = 0;
  const base = await api.another({
    async submitResults(results) {
      jobs += 1;
      if (jobs === 1) throw new Error('away');
      submitted.push(...results.map(({ dueAtMs }) => dueAtMs));
    },
  });
  const ts = longAgo();
  const post = () => agent.post('ingest', { results: resultsOf(id, [ts]) }, {}, base);
  t.is((await post()).status, 503);
  t.deepEqual(submitted, []);
  t.like((await post()).json, { accepted: 1 });
  t.deepEqual(submitted, [ts * 1000]);
});

test('results of requested checks are accepted on top, and a shorter interval allows more at once', async (t) => {
  const { agent, account, id } = await storingAgent(t.context.api, { interval_seconds: 300 });
  const minute = Math.floor(Date.now() / 60_000) * 60 - 60;
  const requested = Array.from({ length: 12 }, (_, index) => minute + index * 5);
  t.like((await agent.post('ingest', { results: resultsOf(id, requested) })).json, { accepted: 12 });
  await account.owner('PATCH', `/v1/monitors/${id}`, { interval_seconds: 1, timeout_ms: 500 });
  const everySecond = Array.from({ length: 60 }, (_, index) => minute + index + 0.25);
  t.like((await agent.post('ingest', { results: resultsOf(id, everySecond) })).json, { accepted: 60 });
});

test('durations are capped a little above the timeout, and certificate dates at the year 9999', async (t) => {
  const { api } = t.context;
  const { agent, id } = await storingAgent(api, { interval_seconds: 60, timeout_ms: 4000 });
  const ts = Date.now() / 1000;
  const timing = { dnsMs: 600_000, connectMs: 1e308, tlsMs: 8999.6, firstByteMs: 4000, downloadMs: -1 };
  const results = [
    {
      monitorId: id,
      ok: false,
      cause: 'timeout',
      latencyMs: 1e300,
      ts,
      detail: { timing, notAfter: '9999-12-31T23:59:59Z' },
    },
    { monitorId: id, ok: false, cause: 'timeout', latencyMs: 8123.4, ts: ts - 30 },
  ];
  t.like((await agent.post('ingest', { results })).json, { accepted: 2 });
  const [long, late] = api.submittedResults.filter(({ agentNo }) => agentNo === agent.no);
  t.like(long, {
    latencyMs: 9000,
    phases: { dnsMs: 9000, connectMs: 9000, tlsMs: 9000, firstByteMs: 4000, downloadMs: null },
  });
  t.is(late?.latencyMs, 8123);
  const expiryAfter = async (detail: object) => {
    await agent.post('ingest', { results: [{ monitorId: id, ok: true, ts: Date.now() / 1000, detail }] });
    return (
      await api.database.pool.query<{ expires_at: number }>('SELECT expires_at FROM certificates WHERE agent_no = $1', [
        agent.no,
      ])
    ).rows[0]?.expires_at;
  };
  const end = 253_402_300_799;
  t.is(await expiryAfter({ notAfter: end }), end);
  t.is(await expiryAfter({ notAfter: -1e9 }), 0);
  t.is(await expiryAfter({ notAfter: 1_795_256_050_000 }), 1_795_256_050);
  t.is(await expiryAfter({ daysRemaining: 2_932_000 }), end);
});
