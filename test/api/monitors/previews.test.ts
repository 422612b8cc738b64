import anyTest, { type TestFn } from 'ava';
import type { PreviewOutcome } from '../../../core/checks/preview.ts';
import type { CheckTarget } from '../../../core/monitors/monitor.ts';
import { agentCaller } from '../agents/agent-caller.ts';
import { isError, REGIONS, withApiServer, type ApiServer } from '../api-server.ts';
import { addPerson } from '../person.ts';
import { beginLongPeriod } from '../rate-limit.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const previews: { region: string; target: CheckTarget }[] = [];
const UP: PreviewOutcome = {
  verdict: 'up',
  cause: null,
  reason: null,
  latencyMs: 12,
  httpStatus: 200,
  phases: null,
  answer: null,
  certificate: null,
  conditions: [],
  facts: [],
};
withApiServer(test, {
  async runPreview(region, { target }) {
    previews.push({ region, target });
    if (target.target.includes('no-queue')) throw new Error('OOM command not allowed');
    return target.target.includes('silent') ? null : UP;
  },
});

/** Returns the previews of this target. */
const madeOf = (target: string) => previews.filter((preview) => preview.target.target === target);

test('a draft is previewed in the requested region with its secrets, and nothing is stored', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const target = 'https://draft.example/';
  const answer = await owner('POST', '/v1/trials', {
    region: 'hanoi',
    monitor: { target, timeout_ms: 3000, check_spec: { request: { secretHeaders: { 'X-Key': 'k' } } } },
  });
  t.is(answer.status, 200, answer.text);
  t.like(answer.json, { region: 'hanoi', verdict: 'up', http_status: 200 });
  t.like(madeOf(target)[0], {
    region: 'hanoi',
    target: { timeoutMs: 3000, expectedStatus: '2xx', secrets: { secretHeaders: { 'X-Key': 'k' } }, isShown: true },
  });
  t.deepEqual((await owner('GET', '/v1/monitors')).json, { monitors: [] });
  t.true(REGIONS.includes(String((await owner('POST', '/v1/trials', { monitor: { target } })).json['region'])));
  t.is(
    (
      await owner('POST', '/v1/trials', {
        monitor: {
          type: 'dns',
          target: 'draft.example',
          check_spec: { dns: { records: [{ type: 'A', mode: 'exists' }] } },
        },
      })
    ).json['region'],
    null,
  );
});

test('an edit is previewed with the secrets that it preserves, and a stored monitor as it is', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const target = 'https://stored.example/';
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', {
    name: 'Shop',
    target,
    check_spec: { request: { secretHeaders: { 'X-Key': 'k' }, auth: { type: 'bearer', token: 'tok' } } },
  });
  t.is((await owner('POST', '/v1/trials', { monitor_id: id })).status, 200);
  const edit = { expected_status: '204', check_spec: { request: { preserveSecretHeaders: true } } };
  t.is((await owner('POST', '/v1/trials', { monitor_id: id, monitor: edit })).status, 200);
  t.deepEqual(
    madeOf(target).map(({ target: { expectedStatus, secrets } }) => [expectedStatus, secrets]),
    [
      ['2xx', { secretHeaders: { 'X-Key': 'k' }, auth: { token: 'tok' } }],
      ['204', { secretHeaders: { 'X-Key': 'k' } }],
    ],
  );
  t.is((await owner('GET', `/v1/monitors/${String(id)}`)).json['expected_status'], '2xx');
});

test('neither a preview nor a PATCH sends stored secrets to another target', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const {
    json: { id },
  } = await owner('POST', '/v1/monitors', {
    name: 'Shop',
    target: 'https://own.example/',
    check_spec: { request: { auth: { type: 'bearer', token: 'tok' } } },
  });
  const monitor = { target: 'https://evil.example/', check_spec: { request: { auth: { type: 'bearer' } } } };
  const error =
    'check_spec.request.auth must be sent again in full: stored secrets are kept only while the scheme, host and ' +
    'port of target and the Host header stay the same';
  isError(t, await owner('POST', '/v1/trials', { monitor_id: id, monitor }), { status: 400, error });
  isError(t, await owner('PATCH', `/v1/monitors/${String(id)}`, monitor), { status: 400, error });
  t.deepEqual(madeOf('https://evil.example/'), []);
});

test('stored secrets of a private monitor go to a shared agent only if its region is named', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const target = 'https://private.example/';
  const id = await agent.watch({ target, check_spec: { request: { auth: { type: 'bearer', token: 'tok' } } } });
  t.is(
    (
      await account.owner('PATCH', `/v1/monitors/${id}`, {
        agent_sources: [],
        check_spec: { request: { auth: { type: 'bearer' } } },
      })
    ).status,
    200,
  );
  t.deepEqual((await account.owner('GET', `/v1/monitors/${id}`)).json['agent_sources'], [agent.id]);
  isError(
    t,
    await account.owner('POST', '/v1/trials', {
      monitor_id: id,
      monitor: { agent_sources: [], check_spec: { request: { auth: { type: 'bearer' } } } },
    }),
    { status: 400, error: /^region is required: no shared agent checks this monitor/ },
  );
  t.is((await account.owner('POST', '/v1/trials', { monitor_id: id, region: 'hanoi' })).status, 200);
  t.is((await account.owner('POST', '/v1/trials', { monitor_id: id, monitor: { check_spec: {} } })).status, 200);
  t.deepEqual(
    madeOf(target).map(({ target: { secrets } }) => secrets),
    [{ auth: { token: 'tok' } }, {}],
  );
});

test('an invalid or impossible preview is refused, with the errors of creation where these apply', async (t) => {
  const { api } = t.context;
  const [{ owner, reader }, stranger] = [await api.account(), await api.account()];
  const {
    json: { id },
  } = await stranger.owner('POST', '/v1/monitors', { name: 'Theirs', target: 'https://x.example/' });
  const cases: [object, number, RegExp][] = [
    [{}, 400, /^monitor is required/],
    [{ monitor: {} }, 400, /^target is required/],
    [{ monitor: { target: 'ftp://x.example' } }, 400, /^target must/],
    [{ monitor: { type: 'heartbeat' } }, 409, /wait for pings/],
    [{ monitor: { target: 'https://x.example' }, region: 'atlantis' }, 400, /^region must be one of .*hanoi/],
    [{ monitor: { type: 'domain', target: 'example.org' }, region: 'hanoi' }, 400, /^region must be omitted/],
    [{ monitor_id: id }, 400, /^monitor_id must be/],
  ];
  for (const [body, status, error] of cases) isError(t, await owner('POST', '/v1/trials', body), { status, error });
  isError(t, await reader('POST', '/v1/trials', { monitor: { target: 'https://x.example' } }), {
    status: 403,
    error: /write/,
  });
  const created = await owner('POST', '/v1/monitors', { name: 'x', target: 'https://x.example', timeout_ms: 99_000 });
  isError(t, await owner('POST', '/v1/trials', { monitor: { target: 'https://x.example', timeout_ms: 99_000 } }), {
    status: 400,
    error: String(created.json['error']).replace('timeout_ms', 'monitor.timeout_ms'),
  });
});

test('an account has ten previews a minute over users and tokens, and a silent agent is named', async (t) => {
  const { api } = t.context;
  const [{ tenantId, owner }, stranger] = [await api.account(), await api.account()];
  const editor = await addPerson(api, tenantId, { role: 'editor' });
  await beginLongPeriod(api, 'read', tenantId);
  isError(t, await owner('POST', '/v1/trials', { monitor: { target: 'https://silent.example/' } }), {
    status: 503,
    error: /^the shared agent of \w+ did not respond in time/,
  });
  for (let turn = 1; turn < 10; turn += 1)
    t.is((await editor.call('POST', '/v1/trials', { monitor: { target: 'https://ten.example/' } })).status, 200);
  const refusal = {
    status: 429,
    error: new RegExp(
      String.raw`^at most 10 previews and lookups of status pages outside the catalog in this account per minute: ` +
        String.raw`wait \d+ s$`,
    ),
  };
  for (const call of [editor.call, owner])
    isError(t, await call('POST', '/v1/trials', { monitor: { target: 'https://ten.example/' } }), refusal);
  t.is((await stranger.owner('POST', '/v1/trials', { monitor: { target: 'https://ten.example/' } })).status, 200);
});

test('while the queue rejects previews the response is a 503 with Retry-After', async (t) => {
  const { owner } = await t.context.api.account();
  const answer = await owner('POST', '/v1/trials', { monitor: { target: 'https://no-queue.example/' } });
  isError(t, answer, { status: 503, error: 'the queue is unavailable: try again' });
  t.is(answer.headers.get('retry-after'), '5');
});
