import { createHash } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import type { FailedCheck } from '../../../../core/system/otlp.ts';
import { createEvaluator } from '../../../../workers/incidents/evaluate.ts';
import { isError, withApiServer, type ApiServer } from '../../api-server.ts';
import { agentCaller, workOf, type AgentCaller } from '../agent-caller.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const ALL = ['http', 'cert', 'tcp', 'icmp', 'udp'];
const NONE_DROPPED = { notAssigned: 0, future: 0, tooOld: 0, tooMany: 0 };

const nowSeconds = (): number => Date.now() / 1000;

function submittedBy({ submittedResults }: ApiServer, agent: AgentCaller) {
  return submittedResults.filter(({ agentNo }) => agentNo === agent.no);
}

/** Creates an agent that has pulled its work, so that its results match the current checks. */
async function workingAgent(api: ApiServer, monitor: object = {}) {
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const id = await agent.watch(monitor);
  workOf(await agent.post('pull', { capabilities: ALL }));
  return { account, agent, id };
}

test('the results of an agent reach the evaluator in the common form, with the version of the checks', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api);
  const [{ no }] = (await api.database.pool.query('SELECT no FROM monitors WHERE id = $1', [id])).rows;
  const ts = nowSeconds() + 5;
  const results = [
    {
      monitorId: id,
      ok: true,
      cause: 'ignored',
      latencyMs: 41.6,
      httpStatus: 200,
      ts,
      reason: 'ignored',
      vendorField: { x: 1 },
    },
    { monitorId: id, ok: true, cause: 'slow', latencyMs: 4100, httpStatus: 200, degraded: true, ts: ts + 1 },
    { monitorId: id, ok: false, cause: 'status_999', latencyMs: 9e12, httpStatus: 999, degraded: true, ts: ts + 2 },
    {
      monitorId: id,
      ok: false,
      cause: 'conn_refused',
      latencyMs: null,
      httpStatus: 0,
      ts: ts + 3,
      reason: 'Nobody\u0000listens',
    },
    { monitorId: id, ok: false, cause: 'the cat', ts: ts + 4 },
    { monitorId: id, ok: false, cause: null, ts: ts + 5 },
    { monitorId: id, ok: false, cause: 'unsupported_by_agent', ts: ts + 6 },
    { monitorId: id, ok: false, cause: 'icmp_unavailable', ts: ts + 7 },
    { monitorId: id, ok: true, ts: ts - 3600 },
  ];
  const answer = await agent.post('ingest', { results, flushed: true });
  t.is(answer.status, 200, answer.text);
  t.like(answer.json, { accepted: 9, dropped: 0, droppedBecause: NONE_DROPPED });
  const submitted = submittedBy(api, agent);
  t.deepEqual(
    submitted.map(({ verdict, cause, reason, latencyMs, httpStatus, checksVersion }) => [
      verdict,
      cause,
      reason,
      latencyMs,
      httpStatus,
      checksVersion,
    ]),
    [
      ['up', null, null, 42, 200, 1],
      ['degraded', 'slow', 'The response was too slow', 4100, 200, 1],
      ['down', 'status_999', 'HTTP 999 instead of the expected status', 21_000, 999, 1],
      ['down', 'conn_refused', 'Nobody listens', null, null, 1],
      ['down', 'the cat', 'The agent home-lab reported: the cat', null, null, 1],
      ['down', null, 'The agent home-lab reported a failure', null, null, 1],
      ['none', 'unsupported_by_agent', 'The agent home-lab cannot run this check', null, null, 1],
      ['none', 'icmp_unavailable', 'The agent cannot send echo requests', null, null, 1],
      ['up', null, null, null, null, 1],
    ],
  );
  t.true(submitted.every((result) => result.monitorNo === no && Math.abs(result.finishedAtMs - Date.now()) < 60_000));
  t.is(submitted[0]?.dueAtMs, Math.round(ts * 1000));
});

test('results count for the old checks until the agent pulls new ones, even with whole-second times', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const id = await agent.watch({});
  const versionOf = async (ts: number) => {
    await agent.post('ingest', { results: [{ monitorId: id, ok: true, ts }] });
    return submittedBy(api, agent).at(-1)?.checksVersion;
  };
  t.is(await versionOf(nowSeconds()), 1, 'there is only one version');
  await agent.post('pull', { capabilities: ALL });
  const ts = nowSeconds() + 1;
  t.is(await versionOf(ts), 1);
  await account.owner('PATCH', `/v1/monitors/${id}`, { target: 'https://other.example' });
  t.is(await versionOf(ts + 1), 1);
  await agent.post('pull', { capabilities: ALL });
  t.is(await versionOf(Math.floor(nowSeconds())), 2);
  t.is(await versionOf(nowSeconds() - 600), 1);
});

test('results of an agent that was removed from a monitor and added again count for the old checks', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [agent, other] = [await agentCaller(api, account), await agentCaller(api, account, 'other')];
  const id = await agent.watch({ agent_sources: [agent.id, other.id] });
  await agent.post('pull', { capabilities: ALL });
  for (const change of [
    { agent_sources: [other.id] },
    { target: 'https://other.example' },
    { agent_sources: [agent.id, other.id] },
  ])
    t.is((await account.owner('PATCH', `/v1/monitors/${id}`, change)).status, 200);
  const versionOf = async (ts: number) => {
    await agent.post('ingest', { results: [{ monitorId: id, ok: false, ts }] });
    return submittedBy(api, agent).at(-1)?.checksVersion;
  };
  t.is(await versionOf(nowSeconds()), 1);
  await agent.post('pull', { capabilities: ALL });
  t.is(await versionOf(nowSeconds() + 1), 2);
  t.is(await versionOf(nowSeconds() - 30), 1, 'it waited in the buffer');
});

test('failed checks of an agent are recorded as spans under the trace ids that its requests carried', async (t) => {
  const { api } = t.context;
  const { agent, account, id } = await workingAgent(api, { target: 'https://example.com/a?b=c' });
  const failed: FailedCheck[] = [];
  const sending = await api.another({ recordFailedCheck: (check) => void failed.push(check) });
  const ts = Math.floor(nowSeconds()) + 5.123;
  const down = { monitorId: id, ok: false, cause: 'status_503', httpStatus: 503, latencyMs: 80, ts };
  const results = [
    { ...down, detail: { timing: { dnsMs: 4.4, connectMs: 9 } } },
    { monitorId: id, ok: true, cause: null, ts: ts + 1 },
    { monitorId: id, ok: false, cause: 'unsupported_by_agent', ts: ts + 2 },
    { ...down, monitorId: 'mon_of-a-stranger', ts: ts + 3 },
  ];
  t.is((await agent.post('ingest', { results }, {}, sending)).status, 200);
  t.is(failed.length, 1);
  const dueAtMs = Math.round(ts * 1000);
  t.is(failed[0]?.ids.traceId, createHash('sha256').update(`${id} ${agent.id} ${dueAtMs}`).digest('hex').slice(0, 32));
  t.like(failed[0], {
    tenantId: account.tenantId,
    monitor: { id, type: 'http', target: 'https://example.com/a?b=c' },
    source: { id: agent.id },
    startedAtMs: dueAtMs,
    endedAtMs: dueAtMs + 80,
    timings: { dnsMs: 4, connectMs: 9 },
    verdict: 'down',
    cause: 'status_503',
  });
});

test('results of unassigned monitors, older than a day or in the future are dropped and counted', async (t) => {
  const { api } = t.context;
  const { account, agent, id } = await workingAgent(api);
  const stranger = await api.account();
  const theirs = await (await agentCaller(api, stranger)).watch({});
  const others = await (await agentCaller(api, account, 'other')).watch({});
  const paused = await agent.watch({});
  await account.owner('POST', `/v1/monitors/${paused}/pause`);
  const deleted = await agent.watch({});
  await account.owner('DELETE', `/v1/monitors/${deleted}`);
  const nowMs = Date.now();
  const receiving = await api.another({ now: () => nowMs });
  const ts = nowMs / 1000;
  const foreign = [theirs, others, paused, deleted, 'mon_unknown', 'not an id!'].map((monitorId) => ({
    monitorId,
    ok: false,
    cause: 'timeout',
    ts,
  }));
  const timed = [ts + 60, ts - 86_400, ts + 61, ts * 1000, ts - 86_401, 1].map((moment) => ({
    monitorId: id,
    ok: true,
    ts: moment,
  }));
  const { json } = await agent.post('ingest', { results: [...foreign, ...timed] }, {}, receiving);
  t.deepEqual(json, {
    accepted: 2,
    dropped: 10,
    droppedBecause: { notAssigned: 6, future: 2, tooOld: 2, tooMany: 0 },
    recheck: [],
  });
  t.is(submittedBy(api, agent).length, 2);
});

test('an empty list of results is accepted, and more than 1,000 results are refused with a 400', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api, { interval_seconds: 1 });
  t.deepEqual((await agent.post('ingest', { results: [] })).json, {
    accepted: 0,
    dropped: 0,
    droppedBecause: NONE_DROPPED,
    recheck: [],
  });
  const ts = nowSeconds();
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      monitorId: id,
      ok: true,
      cause: null,
      latencyMs: 12.345,
      httpStatus: 200,
      ts: ts - index,
      detail: { timing: { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4, downloadMs: 5 } },
    }));
  t.like((await agent.post('ingest', { results: many(1000) })).json, { accepted: 1000 });
  isError(t, await agent.post('ingest', { results: many(1001) }), {
    status: 400,
    error: 'results must be a list of at most 1000 results: send the rest in the next request, got 1001',
  });
  t.is(submittedBy(api, agent).length, 1000);
});

test('timings are stored for failures and a sample of successes, in whole milliseconds', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api, { interval_seconds: 60 });
  const window = Math.floor(nowSeconds() / 600) * 600 - 600;
  const timing = { dnsMs: 1.4, connectMs: null, firstByteMs: 12.6, total: 14 };
  const results = [
    { monitorId: id, ok: true, ts: window + 20, detail: { timing } },
    { monitorId: id, ok: true, ts: window + 80, detail: { timing } },
    { monitorId: id, ok: false, cause: 'timeout', ts: window + 140, detail: { timing } },
    { monitorId: id, ok: false, cause: 'timeout', ts: window + 200, detail: { timing: 'soon' } },
    { monitorId: id, ok: false, cause: 'timeout', ts: window + 260 },
  ];
  t.is((await agent.post('ingest', { results })).status, 200);
  const phases = { dnsMs: 1, connectMs: null, tlsMs: null, firstByteMs: 13, downloadMs: null };
  t.deepEqual(
    submittedBy(api, agent).map((result) => result.phases),
    [phases, null, phases, null, null],
  );
});

test('third-party agents may send waitMs instead of firstByteMs, and an empty notAfter', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api);
  const timings = [
    { connectMs: 2, waitMs: 12.6 },
    { waitMs: 5, firstByteMs: 7 },
    { waitMs: 5, firstByteMs: null },
  ];
  const results = timings.map((timing, index) => ({
    monitorId: id,
    ok: false,
    cause: 'timeout',
    ts: nowSeconds() + index,
    detail: { timing, notAfter: '' },
  }));
  t.is((await agent.post('ingest', { results })).status, 200);
  t.deepEqual(
    submittedBy(api, agent).map((result) => result.phases?.firstByteMs),
    [13, 7, 5],
  );
});

test('the response behind a failure is stored sanitized; that of a success or in another form is not', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api);
  const ts = nowSeconds();
  const detail = {
    answer: {
      headers: { Server: 'nginx', 'set-cookie': 'a=b', location: '/a?b=c' },
      body: `Down\u0000 ${'x'.repeat(5000)}`,
    },
  };
  const results = [
    {
      monitorId: id,
      ok: false,
      cause: 'status_503',
      httpStatus: 503,
      ts,
      detail: { answer: { ...detail.answer, body: `Down ${'x'.repeat(5000)}` } },
    },
    { monitorId: id, ok: false, cause: 'status_503', httpStatus: 503, ts: ts + 1, detail },
    { monitorId: id, ok: true, httpStatus: 200, ts: ts + 2, detail },
    { monitorId: id, ok: false, cause: 'status_503', ts: ts + 3, detail: { answer: [1] } },
    { monitorId: id, ok: false, cause: 'unsupported_by_agent', ts: ts + 4, detail },
  ];
  t.is((await agent.post('ingest', { results })).status, 200);
  const headers = { server: 'nginx', location: '/a' };
  t.deepEqual(
    submittedBy(api, agent).map(({ answer }) => answer),
    [
      { status: 503, headers, body: `Down ${'x'.repeat(1019)}` },
      { status: 503, headers, body: null, bodyWithheld: 'not_text' },
      null,
      null,
      null,
    ],
  );
});

test('for a monitor with secrets the reported response is stored without body and most headers', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api, { check_spec: { request: { secretHeaders: { 'X-Key': 'canary' } } } });
  await agent.post('pull', { capabilities: ALL, publicKey: Buffer.alloc(32, 9).toString('base64') });
  const answer = { headers: { 'retry-after': '5', server: 'can', 'x-echo': 'canary' }, body: 'canary' };
  await agent.post('ingest', {
    results: [{ monitorId: id, ok: false, cause: 'status_500', httpStatus: 500, ts: nowSeconds(), detail: { answer } }],
  });
  t.like(submittedBy(api, agent)[0], {
    verdict: 'down',
    answer: { status: 500, headers: { 'retry-after': '5' }, body: null, bodyWithheld: 'secrets' },
  });
});

const GOOD = { monitorId: 'mon_x', ok: true, ts: 1 };
const BAD: readonly (readonly [string, unknown, RegExp])[] = [
  ['a list as the body', [], /^the body must be an object, got a list$/],
  ['no results', {}, /^results is required$/],
  ['results that are not a list', { results: { 0: GOOD } }, /^results must be a list, got an object$/],
  ['a result that is not an object', { results: [GOOD, 5] }, /^results\[1\] must be an object, got a number$/],
  [
    'a result without its time',
    { results: [GOOD, GOOD, GOOD, { monitorId: 'mon_x', ok: true }] },
    /^results\[3\]\.ts is required$/,
  ],
  [
    'an empty result',
    { results: [{}] },
    /^results\[0\]\.monitorId is required; results\[0\]\.ok is required; results\[0\]\.ts is required$/,
  ],
  [
    'a string as the time',
    { results: [{ ...GOOD, ts: '1' }] },
    /^results\[0\]\.ts must be the start of the probe in Unix seconds, got "1"$/,
  ],
  ['a negative time', { results: [{ ...GOOD, ts: -1 }] }, /^results\[0\]\.ts must be .* got -1$/],
  ['a number as ok', { results: [{ ...GOOD, ok: 1 }] }, /^results\[0\]\.ok must be true or false, got 1$/],
  [
    'an empty monitor id',
    { results: [{ ...GOOD, monitorId: '' }] },
    /^results\[0\]\.monitorId must be a string of 1 to 64 characters, got 0 characters$/,
  ],
  ['NUL in an id', { results: [{ ...GOOD, monitorId: 'mon\u0000' }] }, /^results\[0\]\.monitorId must be/],
  [
    'a cause that is not a string',
    { results: [{ ...GOOD, cause: 5 }] },
    /^results\[0\]\.cause must be a string, got a number$/,
  ],
  [
    'a negative latency',
    { results: [{ ...GOOD, latencyMs: -1 }] },
    /^results\[0\]\.latencyMs must be milliseconds of 0 or more, or null, got -1$/,
  ],
  [
    'a status of four digits',
    { results: [{ ...GOOD, httpStatus: 1000 }] },
    /^results\[0\]\.httpStatus must be a status code of three digits, or null, got 1000$/,
  ],
  ['a fractional status', { results: [{ ...GOOD, httpStatus: 200.5 }] }, /^results\[0\]\.httpStatus must be/],
  [
    'a string as degraded',
    { results: [{ ...GOOD, degraded: 'no' }] },
    /^results\[0\]\.degraded must be true or false, got "no"$/,
  ],
  [
    'a list as the reason',
    { results: [{ ...GOOD, reason: ['x'] }] },
    /^results\[0\]\.reason must be a string, got a list$/,
  ],
  [
    'a string as the detail',
    { results: [{ ...GOOD, detail: 'x' }] },
    /^results\[0\]\.detail must be an object, got a string$/,
  ],
  [
    'an invalid certificate expiry',
    { results: [{ ...GOOD, detail: { notAfter: 'never' } }] },
    /^results\[0\]\.detail\.notAfter must be Unix seconds or an ISO date, got "never"$/,
  ],
];
for (const [what, body, error] of BAD) {
  test(`results with ${what} are refused with a 400`, async (t) => {
    const { api } = t.context;
    const agent = await agentCaller(api, await api.account());
    isError(t, await agent.post('ingest', body), { status: 400, error });
  });
}

test('one malformed result rejects the whole batch, and the error lists at most ten problems', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api);
  const good = { monitorId: id, ok: true, ts: nowSeconds() };
  isError(t, await agent.post('ingest', { results: [good, { ...good, ts: null }] }), {
    status: 400,
    error: 'results[1].ts is required',
  });
  t.deepEqual(submittedBy(api, agent), []);
  const { json } = await agent.post('ingest', {
    results: Array.from({ length: 1000 }, () => ({ ...good, ok: 'yes' })),
  });
  t.is(String(json['error']).split('; ').length, 10);
});

test('a result for a monitor whose secrets the agent lacks is no vote, and its reason says why', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const id = await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'one' } } } });
  const readStored = async () => {
    await agent.post('ingest', { results: [{ monitorId: id, ok: false, cause: 'status_401', ts: nowSeconds() }] });
    const { verdict, reason } = submittedBy(api, agent).at(-1)!;
    return [verdict, reason];
  };
  await agent.post('pull', { capabilities: ALL });
  t.deepEqual(await readStored(), [
    'none',
    "The agent home-lab has sent no key to encrypt this monitor's secrets with",
  ]);
  const key = (fill: number) => Buffer.alloc(32, fill).toString('base64');
  await agent.post('pull', { capabilities: ALL, publicKey: key(9) });
  t.deepEqual(await readStored(), ['down', 'HTTP 401 instead of the expected status']);
  await agent.post('pull', { capabilities: ALL, publicKey: key(8) });
  t.like(await readStored(), {
    0: 'none',
    1:
      "The agent home-lab sends a different key than its first one, so it does not get this monitor's secrets: " +
      'rotate its token to accept the new key',
  });
  await agent.post('pull', { capabilities: ['tcp'], publicKey: key(9) });
  t.deepEqual(await readStored(), ['none', 'The agent home-lab does not support this type of monitor']);
});

test('a first bad result gets a recheck hint; a good one or a second bad one does not', async (t) => {
  const { api } = t.context;
  const { account, agent, id } = await workingAgent(api, { interval_seconds: 60, down_after_failures: 2 });
  const good = await agent.watch({});
  await agent.post('pull', { capabilities: ALL });
  const ts = nowSeconds() + 1;
  const hint = async (...results: object[]) => (await agent.post('ingest', { results })).json['recheck'];
  const bad = (moment: number) => ({ monitorId: id, ok: false, cause: 'timeout', ts: moment });
  t.deepEqual(await hint(bad(ts), { monitorId: good, ok: true, ts }), [{ monitorId: id, afterMs: 20_000 }]);
  t.deepEqual(await hint(bad(ts + 1), bad(ts)), [], 'the second one makes the source bad');
  t.deepEqual(await hint({ ...bad(ts), ok: true }, bad(ts + 1)), [{ monitorId: id, afterMs: 20_000 }]);
  t.deepEqual(await hint({ ...bad(ts), cause: 'unsupported_by_agent' }), []);
  await account.owner('PATCH', `/v1/monitors/${id}`, { target: 'https://other.example' });
  await agent.post('pull', { capabilities: ALL });
  t.deepEqual(await hint(bad(ts - 600)), [], 'a result of older checks');
});

test('the recheck hint is returned once, however fast the result is evaluated', async (t) => {
  const { api } = t.context;
  const { database, makeId } = api;
  const { agent, id } = await workingAgent(api);
  const evaluate = createEvaluator({ database, now: Date.now, newId: makeId, publicUrl: 'https://spotcheck.example' });
  const fast = await api.another({ submitResults: async (results) => void (await evaluate(results)) });
  const results = [{ monitorId: id, ok: false, cause: 'timeout', ts: nowSeconds() }];
  t.deepEqual((await agent.post('ingest', { results }, {}, fast)).json['recheck'], [
    { monitorId: id, afterMs: 20_000 },
  ]);
  t.deepEqual((await agent.post('ingest', { results }, {}, fast)).json['recheck'], []);
});

test('the metrics count results by outcome', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api);
  const process = await api.another();
  const ts = nowSeconds();
  const results = [ts, ts - 1, ts + 600, 5].map((moment) => ({ monitorId: id, ok: true, ts: moment }));
  await agent.post('ingest', { results: [...results, { monitorId: 'mon_other', ok: true, ts }] }, {}, process);
  const metrics = await (await fetch(`${process}/metrics`)).text();
  for (const [outcome, count] of Object.entries({ accepted: 2, not_assigned: 1, future: 1, too_old: 1, too_many: 0 })) {
    t.true(metrics.includes(`spotcheck_agent_results_total{outcome="${outcome}"} ${count}\n`), outcome);
  }
});

test('while the queue is unavailable results are refused with a 503 and Retry-After', async (t) => {
  const { api } = t.context;
  const { agent, id } = await workingAgent(api);
  const away = await api.another({
    submitResults: async () => {
      throw new Error('Connection is closed.');
    },
  });
  const results = [{ monitorId: id, ok: true, ts: nowSeconds() }];
  const refused = await agent.post('ingest', { results }, {}, away);
  isError(t, refused, { status: 503, error: 'the queue is unavailable: send these results again' });
  t.is(refused.headers.get('retry-after'), '5');
  t.is((await agent.post('ingest', { results: [] }, {}, away)).status, 200);
  const metrics = await (await fetch(`${away}/metrics`)).text();
  t.regex(metrics, /spotcheck_agent_results_total\{outcome="accepted"\} 0\n/);
  t.is((await agent.post('ingest', { results })).status, 200);
});

test('a reported certificate of an https monitor is stored once, and again only if it changes', async (t) => {
  const { api } = t.context;
  const { account, agent, id } = await workingAgent(api, { warn_days: 30 });
  const plain = await agent.watch({ target: 'http://shop.example' });
  await agent.post('pull', { capabilities: ALL });
  const stored = async () =>
    (
      await api.database.pool.query(
        'SELECT c.xmin, m.id, c.target, c.name, c.expires_at FROM certificates c JOIN monitors m ON m.no = ' +
          'c.monitor_no WHERE c.agent_no = $1',
        [agent.no],
      )
    ).rows;
  const ts = nowSeconds() + 1;
  const resultWith = (monitorId: string, moment: number, notAfter: unknown) => ({
    monitorId,
    ok: true,
    ts: moment,
    detail: { notAfter, daysRemaining: 20, timing: null },
  });
  await agent.post('ingest', {
    results: [
      resultWith(id, ts - 600, 1),
      resultWith(id, ts + 1, 1_800_000_000),
      resultWith(id, ts, 1_700_000_000),
      resultWith(plain, ts, 1_800_000_000),
    ],
  });
  const [first, ...more] = await stored();
  t.deepEqual(more, []);
  t.like(first, { id, target: 'https://shop.example', name: 'shop.example', expires_at: 1_800_000_000 });
  await agent.post('ingest', { results: [resultWith(id, ts + 2, '2027-01-15T08:00:00Z')] });
  t.deepEqual(await stored(), [first], 'the same moment, written as a date');
  await agent.post('ingest', { results: [resultWith(id, ts + 3, 1_900_000_000)] });
  t.like((await stored())[0], { expires_at: 1_900_000_000 });
  await agent.post('ingest', { results: [resultWith(id, ts + 3.2, 1_850_000_000_000)] });
  t.like((await stored())[0], { expires_at: 1_850_000_000 }, 'given in milliseconds');
  const days = (moment: number) => ({ monitorId: id, ok: true, ts: moment, detail: { daysRemaining: 20 } });
  await agent.post('ingest', { results: [days(ts + 3.4)] });
  t.like((await stored())[0], { expires_at: (Math.floor((ts + 3.4) / 86_400) + 20) * 86_400 }, 'given in days');
  await account.owner('PATCH', `/v1/monitors/${id}`, { target: 'https://other.example', warn_days: 30 });
  await agent.post('ingest', { results: [resultWith(id, ts + 4, 1_700_000_000)] });
  t.like((await stored())[0], { target: 'https://shop.example' }, 'the result was for the old target');
});

test('results from more than a minute before their monitor was created are dropped as too old', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const made = await account.owner('POST', '/v1/monitors', {
    name: 'New',
    target: 'https://shop.example',
    agent_sources: [agent.id],
  });
  const monitorId = made.json['id'];
  const { json: monitor } = await account.owner('GET', `/v1/monitors/${monitorId}`);
  const createdAt = Number(monitor['created_at']);
  const day = Array.from({ length: 500 }, (_, no) => createdAt - 61 - no * 170);
  const results = [...day, createdAt - 59, createdAt].map((ts) => ({ monitorId, ok: true, ts }));
  t.like((await agent.post('ingest', { results })).json, {
    accepted: 2,
    dropped: 500,
    droppedBecause: { notAssigned: 0, future: 0, tooOld: 500, tooMany: 0 },
  });
  t.is(submittedBy(api, agent).length, 2);
  // The service's clock was ahead when the monitor was created.
  await api.database.pool.query('UPDATE monitors SET created_at = created_at + 86400 WHERE id = $1', [monitorId]);
  const fresh = { monitorId, ok: true, ts: Math.floor(Date.now() / 1000) };
  t.like((await agent.post('ingest', { results: [fresh] })).json, { accepted: 1 });
});
