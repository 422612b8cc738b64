import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import sodium, { ready } from 'libsodium-wrappers';
import type { WorkItem } from '../../../../core/agents/wire.ts';
import { checkTargetOf } from '../../../../core/agents/work-item.ts';
import { closeDatabase } from '../../../../models/database.ts';
import { createSecretBox } from '../../../../models/secrets/secret-box.ts';
import { openTestDatabase } from '../../../helpers/database.ts';
import { until } from '../../../helpers/until.ts';
import { isError, withApiServer, type ApiServer } from '../../api-server.ts';
import { agentCaller, workOf, type AgentCaller } from '../agent-caller.ts';

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

test("a check-in has the service's time, not that of the machine", async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const ahead = await api.another({ now: () => 4_102_444_800_999 });
  const answer = await agent.post('pull', {}, {}, ahead);
  t.is(answer.headers.get('spotcheck-time'), '4102444800');
  const etag = { 'If-None-Match': String(answer.headers.get('etag')) };
  const unchanged = await agent.post('pull', {}, etag, ahead);
  t.is(unchanged.status, 304);
  t.is(unchanged.headers.get('spotcheck-time'), '4102444800');
});

test('a check-in returns the id, capabilities and work of the agent, and is visible in the API', async (t) => {
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

test('the work of an agent is its enabled monitors with a target and a type that it supports', async (t) => {
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
    'only unknown capabilities',
    { capabilities: ['smell'] },
    /capabilities must be a list with at least one of http, cert, tcp, icmp, udp, got others only/,
  ],
  ['capabilities that are not a list', { capabilities: 'http' }, /capabilities must be a list, got a string/],
  ['a capability that is not a string', { capabilities: ['http', 5] }, /capabilities\[1\] must be a string/],
  [
    'too many capabilities',
    { capabilities: Array.from({ length: 1001 }, () => 'http') },
    /at most 1000 items, got 1001/,
  ],
  ['a version that is not a string', { version: 7 }, /version must be a string, got a number/],
  [
    'a key that is too short',
    { publicKey: randomBytes(31).toString('base64') },
    /publicKey must be an X25519 public key, 32 bytes in base64/,
  ],
  ['a key that is not a string', { publicKey: { x: 1 } }, /publicKey must be .* got an object/],
  [
    'a key that cannot be used for encryption',
    { publicKey: Buffer.alloc(32).toString('base64') },
    /publicKey must be .* nothing can be encrypted/,
  ],
  ['a list as the body', [], /the body must be an object, got a list/],
];
for (const [what, body, error] of REFUSED) {
  test(`a check-in with ${what} is refused with a 400 and pins no key`, async (t) => {
    const { api } = t.context;
    const agent = await agentCaller(api, await api.account());
    isError(t, await agent.post('pull', body), { status: 400, error });
    const { rows } = await api.database.pool.query('SELECT public_key, last_seen_at FROM agents WHERE no = $1', [
      agent.no,
    ]);
    t.deepEqual(rows, [{ public_key: null, last_seen_at: null }]);
  });
}

test('secrets are sent sealed to the key that was pinned first, and never in plain text', async (t) => {
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

test('an agent without the pinned key gets items without secrets, and item and monitor say why', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agent = await agentCaller(api, account);
  const [first, second] = [keyPair(), keyPair()];
  const plain = await agent.watch({});
  const secret = await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'secret-token' } } } });
  const unable = async (id: string) => (await account.reader('GET', `/v1/monitors/${id}`)).json['agent_sources_unable'];
  const marks = async (publicKey?: string) =>
    workOf(await agent.post('pull', { capabilities: ALL, ...(publicKey !== undefined && { publicKey }) })).map(
      ({ sealedSecrets, secretsWithheld }) => [sealedSecrets !== undefined, secretsWithheld ?? null],
    );

  t.is(await unable(secret), undefined, 'before its first check-in its abilities are unknown');
  t.deepEqual(await marks(), [
    [false, null],
    [false, 'no_key'],
  ]);
  t.deepEqual(await unable(secret), [{ id: agent.id, reason: 'no_key' }]);
  const [, withheld] = workOf(await agent.post('pull', { capabilities: ALL }));
  t.deepEqual(withheld?.['checkSpec'], { request: {} }, 'nothing mentions credentials that it does not get');
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
    'the first key stays pinned',
  );
  t.is(await unable(plain), undefined);

  await agent.post('pull', { capabilities: ['tcp'], publicKey: first.publicKey });
  t.deepEqual(await unable(plain), [{ id: agent.id, reason: 'capability' }]);
  t.false('agent_sources_unable' in (await account.reader('GET', '/v1/monitors')).json['monitors'][0]!);
});

test('of concurrent first keys only one is pinned, and only its holder gets secrets', async (t) => {
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

test('unchanged work keeps its ETag, and a pull with it gets a 304 until something changes', async (t) => {
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
  t.not((await pull()).text, first.text, 'sealed boxes differ each time');
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

test('a check-in records the version that it hands out only if it differs from the last one', async (t) => {
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
  const pull = (tag: unknown) => agent.post('pull', { capabilities: ALL }, { 'If-None-Match': String(tag) });
  const third = await pull(headers.get('etag'));
  t.is(third.status, 200);
  t.is((await given()).given_version, 3, 'even if it measures the same as the first one');
  t.is((await pull(third.headers.get('etag'))).status, 304);

  const other = await agentCaller(api, account, 'other');
  await account.owner('PATCH', `/v1/monitors/${id}`, { agent_sources: [other.id] });
  await account.owner('PATCH', `/v1/monitors/${id}`, { agent_sources: [agent.id] });
  t.is((await given()).given_version, null, 'a new source');
  const again = await pull(third.headers.get('etag'));
  t.is(again.headers.get('etag'), third.headers.get('etag'));
  t.is((await given()).given_version, 3, 'even if the agent may already have all of it');
});

test('a check-in that gets a 304 reads no monitor settings', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'one' } } } });
  const { base, readings } = await countingProcess(t, api);
  const pull = (tag?: string) =>
    agent.post('pull', { capabilities: ALL }, tag === undefined ? {} : { 'If-None-Match': tag }, base);
  const { headers } = await pull();
  t.is(readings(), 1);
  for (let count = 0; count < 3; count += 1) t.is((await pull(String(headers.get('etag')))).status, 304);
  t.is(readings(), 1);
});

test('secrets that a wrong key with the right id cannot decrypt are sent once the right key is back', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const { publicKey } = keyPair();
  const secret = await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'one' } } } });
  const [id] = api.database.secrets.keyIds;
  const database = openTestDatabase(api.databaseUrl, { secrets: createSecretBox([{ id, key: randomBytes(32) }]) });
  t.teardown(() => closeDatabase(database));
  const mistaken = await api.another({ database });
  const partly = await agent.post('pull', { capabilities: ALL, publicKey }, {}, mistaken);
  t.deepEqual(workOf(partly), []);
  const answer = await agent.post(
    'pull',
    { capabilities: ALL, publicKey },
    { 'If-None-Match': String(partly.headers.get('etag')) },
  );
  t.deepEqual(
    workOf(answer).map(({ monitorId }) => monitorId),
    [secret],
  );
});

/** Starts a process that counts its reads of settings of an agent's monitors. */
async function countingProcess(t: ExecutionContext, api: ApiServer) {
  const database = openTestDatabase(api.databaseUrl);
  t.teardown(() => closeDatabase(database));
  const { pool } = database;
  let count = 0;
  const query = pool.query.bind(pool) as (...given: unknown[]) => unknown;
  Object.assign(pool, {
    query(...given: unknown[]) {
      const [statement] = given;
      if (/check_spec/.test(JSON.stringify(statement))) count += 1;
      return query(...given);
    },
  });
  return { base: await api.another({ database }), readings: () => count };
}

/** Gives an agent monitors whose assertions have the given length, more than the API accepts. */
async function watchLarge({ database }: ApiServer, agent: AgentCaller, each: { monitors: number; characters: number }) {
  const ids: string[] = [];
  for (let made = 0; made < each.monitors; made += 1) ids.push(await agent.watch({}));
  await database.pool.query(
    `UPDATE monitors SET check_spec = jsonb_build_object('assertions', jsonb_build_array(jsonb_build_object(
       'source', 'text_body', 'op', 'contains', 'value', repeat('x', $2)))) WHERE id = ANY($1)`,
    [ids, each.characters],
  );
  return ids;
}

/** Sends a pull whose response stays unread until `read` is called. */
function stalledPull(base: string, { token }: AgentCaller) {
  const { hostname, port } = new URL(base);
  const body = JSON.stringify({ capabilities: ALL });
  const socket = connect(Number(port), hostname).pause();
  socket.write(
    `POST /agent/v1/pull HTTP/1.1\r\nHost: spotcheck\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return {
    hasBegun: async () => void (await once(socket, 'readable')),
    close: () => void socket.destroy(),
    read: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    },
  };
}

test('large work is generated as it is read, two at a time per account, and blocks no other requests', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const agents = [await agentCaller(api, account), await agentCaller(api, account, 'other')] as const;
  for (const agent of agents) await watchLarge(api, agent, { monitors: 70, characters: 400_000 });
  const stranger = await agentCaller(api, await api.account());
  await watchLarge(api, stranger, { monitors: 3, characters: 500_000 });
  const { base, readings } = await countingProcess(t, api);
  const [first, second] = agents.map((agent) => stalledPull(base, agent));
  await Promise.all([first!.hasBegun(), second!.hasBegun()]);
  isError(t, await agents[1].post('pull', { capabilities: ALL }, {}, base), {
    status: 429,
    error: /2 large answers of this account are being read already: read them, or close their connections/,
  });
  t.is((await agents[0].post('pull', { capabilities: [] }, {}, base)).status, 200, 'a small response is sent');
  t.is((await account.reader('GET', '/v1/agents', undefined, {}, base)).status, 200);
  const scrape = async () => await account.reader('GET', '/v1/metrics', undefined, {}, base);
  isError(t, await scrape(), { status: 429, error: /^2 large answers of this account/ });
  t.is(workOf(await stranger.post('pull', { capabilities: ALL }, {}, base)).length, 3);
  const before = readings();
  const text = await first!.read();
  t.true(readings() > before, 'unread work was not generated yet');
  t.regex(text, /^HTTP\/1\.1 200 [^]*\r\nTransfer-Encoding: chunked\r\n/);
  t.is(text.match(/"monitorId"/g)?.length, 70);
  const whole = await agents[0].post('pull', { capabilities: ALL }, {}, base);
  t.is(workOf(whole).length, 70);
  t.regex(String(whole.headers.get('etag')), /^"[\w-]{43}"$/);
  second!.close();
  await until(async () => (await agents[1].post('pull', { capabilities: ALL }, {}, base)).status === 200);
  for (let count = 0; count < 3; count += 1) t.is((await scrape()).status, 200);
});

test('work is not recorded as handed out if the agent closes its connection before the end', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  await watchLarge(api, agent, { monitors: 40, characters: 400_000 });
  const countGiven = async () =>
    (
      await api.database.pool.query<{ count: number }>(
        'SELECT count(given_version)::int AS count FROM monitor_sources WHERE agent_no = $1',
        [agent.no],
      )
    ).rows[0]?.count;
  const pull = stalledPull(api.url, agent);
  await pull.hasBegun();
  pull.close();
  await until(() => api.logLines.some((line) => line['agent_id'] === agent.id));
  t.like(
    api.logLines.find((line) => line['agent_id'] === agent.id),
    { msg: 'request.completed', outcome: 'aborted' },
  );
  t.is(await countGiven(), 0);
  t.is(workOf(await agent.post('pull', { capabilities: ALL })).length, 40);
  t.is(await countGiven(), 40);
});

test('work beyond 48 MiB is left out with a warning, the newest monitors first', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const ids = await watchLarge(api, agent, { monitors: 8, characters: 8_000_000 });
  const answer = await agent.post('pull', { capabilities: ALL });
  t.deepEqual(
    workOf(answer).map(({ monitorId }) => monitorId),
    ids.slice(0, 6),
  );
  t.like(
    api.logLines.find((line) => line['msg'] === 'agent.work_too_large'),
    { agent_id: agent.id, monitors: 2 },
  );
  const unchanged = await agent.post(
    'pull',
    { capabilities: ALL },
    { 'If-None-Match': String(answer.headers.get('etag')) },
  );
  t.is(unchanged.status, 304);
});

test('an agent gets the work of at most 15,000 monitors a minute; a pull that gets a 304 is not limited', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const { headers } = await agent.post('pull', {});
  const limited = await agent.post('pull', {});
  t.is(limited.headers.get('ratelimit-limit'), '300');
  await api.database.pool.query('UPDATE rate_limits SET points = 15000 WHERE key = $1', [`spotcheck-work:${agent.id}`]);
  const refused = await agent.post('pull', {}, {}, await api.another());
  isError(t, refused, {
    status: 429,
    error: /^at most 15000 monitors in answers with the work of this agent per minute: wait \d+ s$/,
  });
  t.true(Number(refused.headers.get('retry-after')) >= 1);
  t.is((await agent.post('pull', {}, { 'If-None-Match': String(headers.get('etag')) })).status, 304);
});

test('work whose secrets cannot be decrypted is left out with a warning, and sent once they can be', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const { publicKey } = keyPair();
  const plain = await agent.watch({});
  const secret = await agent.watch({ check_spec: { request: { auth: { type: 'bearer', token: 'one' } } } });
  const database = openTestDatabase(api.databaseUrl, {
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

test('the metrics count check-ins by outcome', async (t) => {
  const { api } = t.context;
  const agent = await agentCaller(api, await api.account());
  const process = await api.another();
  const { headers } = await agent.post('pull', {}, {}, process);
  await agent.post('pull', {}, { 'If-None-Match': String(headers.get('etag')) }, process);
  const metrics = await (await fetch(`${process}/metrics`)).text();
  t.regex(metrics, /spotcheck_agent_pulls_total\{outcome="answered"\} 1\n/);
  t.regex(metrics, /spotcheck_agent_pulls_total\{outcome="unchanged"\} 1\n/);
});
