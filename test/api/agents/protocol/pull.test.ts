import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import sodium, { ready } from 'libsodium-wrappers';
import type { WorkItem } from '../../../../core/agents/wire.ts';
import { checkTargetOf } from '../../../../core/agents/work-item.ts';
import { closeDatabase, openDatabase } from '../../../../models/database.ts';
import { createSecretBox } from '../../../../models/secrets/secret-box.ts';
import { isError, withApiServer, type ApiServer } from '../../api-server.ts';
import { agentCaller, workOf } from '../agent-caller.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const ALL = ['http', 'cert', 'tcp', 'icmp', 'udp'];

test.before(() => ready);

function keyPair(): { publicKey: string; open: (sealed: unknown) => Record<string, unknown> } {
  const keys = sodium.crypto_box_keypair();
  return {
    publicKey: Buffer.from(keys.publicKey).toString('base64'),
    open: (sealed) =>
      JSON.parse(
        sodium.crypto_box_seal_open(Buffer.from(String(sealed), 'base64'), keys.publicKey, keys.privateKey, 'text'),
      ),
  };
}

test('a check-in is answered with who the agent is, what it may do and its work, and shows in the API', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const id = await agent.watch({
    expected_status: '200',
    body_match: 'ok',
    interval_seconds: 30,
    check_spec: {
      request: { headers: { Accept: 'text/html' } },
      assertions: [{ source: 'response_time', op: 'lt', value: '500' }],
    },
  });
  const before = Math.floor(Date.now() / 1000);
  const answer = await agent.post('pull', {
    capabilities: ['teleport', 'udp', 'x'.repeat(100), 'http', 'cert'],
    version: '1.2.3\u0007',
    arch: 'arm64',
    hostname: 'lab',
    load: [1, 2],
  });
  t.is(answer.status, 200, answer.text);
  t.deepEqual(answer.json, {
    agentId: agent.id,
    agentKind: 'tenant',
    capabilities: ['http', 'cert', 'udp'],
    work: [
      {
        monitorId: id,
        sourceKey: agent.id,
        type: 'http',
        target: 'https://shop.example',
        intervalSeconds: 30,
        timeoutMs: 10_000,
        method: 'GET',
        expectedStatus: '200',
        followRedirects: true,
        checkSpec: {
          request: { headers: { Accept: 'text/html' } },
          assertions: [
            { source: 'text_body', op: 'contains', value: 'ok' },
            { source: 'response_time', op: 'lt', value: '500' },
          ],
        },
      },
    ],
  });
  t.is(answer.headers.get('cache-control'), 'private, no-cache');
  const shown = (await account.reader('GET', `/v1/agents/${agent.id}`)).json;
  t.like(shown, { capabilities: ['http', 'cert', 'udp'], version: '1.2.3', arch: 'arm64' });
  t.true(Number(shown['last_seen_at']) >= before);
});

test('only enabled monitors with a target and the agent as a source are its work, and only what it can', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const other = await agentCaller(api, account, 'other');
  const shop = await agent.watch({});
  const gate = await agent.watch({ type: 'tcp', target: 'gate.example:22' });
  const paused = await agent.watch({});
  await account.owner('POST', `/v1/monitors/${paused}/pause`);
  await agent.watch({ target: undefined });
  await other.watch({});
  await account.owner('POST', '/v1/monitors', { name: 'Names', type: 'dns', target: 'shop.example' });
  const pulled = async (capabilities: unknown) =>
    workOf(await agent.post('pull', { capabilities })).map(({ monitorId }) => monitorId);

  t.deepEqual(await pulled(ALL), [shop, gate]);
  t.deepEqual(await pulled(['tcp']), [gate]);
  t.deepEqual(await pulled([]), []);
  t.deepEqual(await pulled(undefined), []);
  t.deepEqual(await pulled(null), []);
  await account.owner('DELETE', `/v1/monitors/${gate}`);
  await account.owner('POST', `/v1/monitors/${paused}/resume`);
  t.deepEqual(await pulled(ALL), [shop, paused]);
});

const REFUSED: readonly (readonly [string, unknown, RegExp])[] = [
  [
    'capabilities of which it knows none',
    { capabilities: ['smell'] },
    /capabilities must be a list with at least one of http, cert, tcp, icmp, udp, got others only/,
  ],
  ['capabilities that are no list', { capabilities: 'http' }, /capabilities must be a list, got a string/],
  ['a capability that is no text', { capabilities: ['http', 5] }, /capabilities\[1\] must be a string/],
  [
    'too many capabilities',
    { capabilities: Array.from({ length: 1001 }, () => 'http') },
    /at most 1000 items, got 1001/,
  ],
  ['a version that is no text', { version: 7 }, /version must be a string, got a number/],
  [
    'a key that is too short',
    { publicKey: randomBytes(31).toString('base64') },
    /publicKey must be an X25519 public key, 32 bytes in base64/,
  ],
  ['a key that is no text', { publicKey: { x: 1 } }, /publicKey must be .* got an object/],
  [
    'a key that nothing can be sealed to',
    { publicKey: Buffer.alloc(32).toString('base64') },
    /publicKey must be .* nothing can be encrypted/,
  ],
  ['a list', [], /the body must be an object, got a list/],
];
for (const [what, body, error] of REFUSED) {
  test(`a check-in with ${what} is refused and pins nothing`, async (t) => {
    const { api } = t.context;
    const agent = await agentCaller(api, await api.account());
    isError(t, await agent.post('pull', body), { status: 400, error });
    const { rows } = await api.database.pool.query('SELECT public_key, last_seen_at FROM agents WHERE no = $1', [
      agent.no,
    ]);
    t.deepEqual(rows, [{ public_key: null, last_seen_at: null }]);
  });
}

test('secrets go sealed to the key that was pinned first, and nowhere in clear', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const keys = keyPair();
  await agent.watch({
    check_spec: {
      request: {
        secretHeaders: { 'X-Key': 'secret-header' },
        auth: { type: 'basic', username: 'u', password: 'secret-password' },
        body: 'secret-body',
        bodySecret: true,
      },
    },
    method: 'POST',
  });
  await agent.watch({
    type: 'udp',
    target: 'lab.example:53',
    check_spec: { transport: { payload: 'secret\\x00\\r\\n', payloadSecret: true, expect: 'ok' } },
  });
  const answer = await agent.post('pull', { capabilities: ALL, publicKey: keys.publicKey });
  t.notRegex(answer.text, /secret-|payloadEncoding/);
  const [http, udp] = workOf(answer);
  t.deepEqual(http?.['checkSpec'], {
    request: { secretHeaderNames: ['X-Key'], auth: { type: 'basic' }, bodySecret: true },
  });
  t.deepEqual(keys.open(http?.['sealedSecrets']), {
    secretHeaders: { 'X-Key': 'secret-header' },
    auth: { username: 'u', password: 'secret-password' },
    body: 'secret-body',
  });
  t.deepEqual(udp?.['checkSpec'], { transport: { expect: 'ok', payloadSecret: true } });
  t.deepEqual(keys.open(udp?.['sealedSecrets']), { payload: 'secret\u0000\r\n', payloadEncoding: 'utf8' });
  t.like(checkTargetOf(udp as unknown as WorkItem, keys.open(udp?.['sealedSecrets'])), {
    checkSpec: { transport: { payloadEncoding: 'utf8', expect: 'ok' } },
    secrets: { payload: 'secret\u0000\r\n' },
  });
  t.notRegex(JSON.stringify(api.logLines), /secret-/);
});

test(
  'an agent that shows no key, or another one than at first, gets its items without secrets and marked so, and the ' +
    'monitor says so',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const agent = await agentCaller(api, account);
    const [first, second] = [keyPair(), keyPair()];
    const plain = await agent.watch({});
    const secret = await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'secret-token' } } } });
    const unable = async (id: string) =>
      (await account.reader('GET', `/v1/monitors/${id}`)).json['agent_sources_unable'];
    const marks = async (publicKey?: string) =>
      workOf(await agent.post('pull', { capabilities: ALL, ...(publicKey !== undefined && { publicKey }) })).map(
        ({ sealedSecrets, secretsWithheld }) => [sealedSecrets !== undefined, secretsWithheld ?? null],
      );

    t.is(await unable(secret), undefined, 'before its first check-in nothing is known of it');
    t.deepEqual(await marks(), [
      [false, null],
      [false, 'no_key'],
    ]);
    t.deepEqual(await unable(secret), [{ id: agent.id, reason: 'no_key' }]);
    const [, withheld] = workOf(await agent.post('pull', { capabilities: ALL }));
    t.deepEqual(withheld?.['checkSpec'], { request: {} }, 'nothing speaks of credentials that it does not have');
    t.deepEqual(await marks(first.publicKey), [
      [false, null],
      [true, null],
    ]);
    t.is(await unable(secret), undefined);
    t.deepEqual(await marks(second.publicKey), [
      [false, null],
      [false, 'other_key'],
    ]);
    t.deepEqual(await unable(secret), [{ id: agent.id, reason: 'other_key' }]);
    t.deepEqual(await marks(), [
      [false, null],
      [false, 'no_key'],
    ]);
    t.deepEqual(
      await marks(first.publicKey),
      [
        [false, null],
        [true, null],
      ],
      'the first one stays pinned',
    );
    t.is(await unable(plain), undefined);

    await agent.post('pull', { capabilities: ['tcp'], publicKey: first.publicKey });
    t.deepEqual(await unable(plain), [{ id: agent.id, reason: 'capability' }]);
    t.false('agent_sources_unable' in (await account.reader('GET', '/v1/monitors')).json['monitors'][0]!);
  },
);

test('of two first keys at once one is pinned, and only its holder gets secrets', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'secret-token' } } } });
  const other = await api.another();
  const pairs = Array.from({ length: 6 }, keyPair);
  const answers = await Promise.all(
    pairs.map(({ publicKey }, index) =>
      agent.post('pull', { capabilities: ALL, publicKey }, {}, index % 2 === 0 ? api.url : other),
    ),
  );
  const sealed = answers.map((answer) => workOf(answer)[0]?.['sealedSecrets']);
  const winners = pairs.filter((_, index) => sealed[index] !== undefined);
  t.is(winners.length, 1);
  t.deepEqual(winners[0]?.open(sealed.find((box) => box !== undefined)), { auth: { token: 'secret-token' } });
});

test('the same work has the same tag, whose bearer is told nothing new, until something changes', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const { publicKey } = keyPair();
  const id = await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'one' } } } });
  const pull = (ifNoneMatch?: string, body: object = {}) =>
    agent.post(
      'pull',
      { capabilities: ALL, publicKey, ...body },
      ifNoneMatch === undefined ? {} : { 'If-None-Match': ifNoneMatch },
    );
  const first = await pull();
  const tag = String(first.headers.get('etag'));
  t.regex(tag, /^"[\w-]{43}"$/);
  t.not((await pull()).text, first.text, 'boxes differ each time');
  for (const named of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const answer = await pull(named);
    t.deepEqual([answer.status, answer.text, answer.headers.get('etag')], [304, '', tag], named);
  }
  t.is((await pull('"other"')).status, 200);

  const changes = [
    () => pull(tag, { capabilities: ['http'] }),
    () => pull(tag, { publicKey: undefined }),
    async () => {
      await account.owner('PATCH', `/v1/monitors/${id}`, {
        check_spec: { request: { auth: { type: 'bearer', token: 'two' } } },
      });
      return await pull(tag);
    },
    async () => {
      await account.owner('POST', `/v1/monitors/${id}/pause`);
      return await pull(tag);
    },
  ];
  for (const change of changes) {
    const answer = await change();
    t.is(answer.status, 200);
    t.not(answer.headers.get('etag'), tag);
  }
});

test('a check-in records the version that it gives only where that is another one', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const id = await agent.watch({});
  const given = async () =>
    (
      await api.database.pool.query(
        'SELECT s.xmin, s.given_version, s.given_at FROM monitor_sources s WHERE s.agent_no = $1',
        [agent.no],
      )
    ).rows[0];
  t.like(await given(), { given_version: null, given_at: null });
  const { headers } = await agent.post('pull', { capabilities: ALL });
  const first = await given();
  t.is(first.given_version, 1);
  t.true(Math.abs(Date.now() - first.given_at) < 60_000);
  await agent.post('pull', { capabilities: ALL });
  t.deepEqual(await given(), first);
  await account.owner('PATCH', `/v1/monitors/${id}`, { target: 'https://other.example' });
  await account.owner('PATCH', `/v1/monitors/${id}`, { target: 'https://shop.example', expected_status: '2xx' });
  t.is((await agent.post('pull', { capabilities: ALL }, { 'If-None-Match': String(headers.get('etag')) })).status, 304);
  t.is((await given()).given_version, 3, 'also where the agent has it all already');
});

test('work whose secrets cannot be opened is left out with a warning, and offered again once they can', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const { publicKey } = keyPair();
  const plain = await agent.watch({});
  const secret = await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'one' } } } });
  const database = openDatabase({
    databaseUrl: api.databaseUrl,
    secrets: createSecretBox([{ id: 'new', key: randomBytes(32) }]),
  });
  t.teardown(() => closeDatabase(database));
  const forgetful = await api.another({ database });
  const pull = (base: string) => agent.post('pull', { capabilities: ALL, publicKey }, {}, base);
  const partly = await pull(forgetful);
  t.deepEqual(
    workOf(partly).map(({ monitorId }) => monitorId),
    [plain],
  );
  t.is(partly.headers.get('etag'), null);
  t.true(api.logLines.some((line) => line['msg'] === 'agent.work_left_out' && line['monitor_id'] === secret));
  t.deepEqual(
    workOf(await pull(api.url)).map(({ monitorId }) => monitorId),
    [plain, secret],
  );
});

test('check-ins are counted by what came of them', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const process = await api.another();
  const { headers } = await agent.post('pull', {}, {}, process);
  await agent.post('pull', {}, { 'If-None-Match': String(headers.get('etag')) }, process);
  const metrics = await (await fetch(`${process}/metrics`)).text();
  t.regex(metrics, /spotcheck_agent_pulls_total\{outcome="answered"\} 1\n/);
  t.regex(metrics, /spotcheck_agent_pulls_total\{outcome="unchanged"\} 1\n/);
});
