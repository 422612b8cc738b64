import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import anyTest, { type TestFn } from 'ava';
import { pino } from 'pino';
import { UnstoredPings, publishPingAvailability } from '../../../api/heartbeats/ping-storage.ts';
import { PingsUnderWay } from '../../../api/heartbeats/pings.ts';
import { closeDatabase, openDatabase } from '../../../models/database.ts';
import { deleteOrphanedPings } from '../../../models/heartbeats/ping-record.ts';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { pingTokenOf } from '../../helpers/api-client.ts';
import { layLink } from '../../helpers/link.ts';
import { until } from '../../helpers/until.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

type Pinged = { id: string; token: string; pings: () => Promise<Record<string, unknown>[]> };

async function createHeartbeat(api: ApiServer, settings: object = {}, account?: Account): Promise<Pinged> {
  const { owner } = account ?? (await api.account());
  const created = await owner('POST', '/v1/monitors', { name: 'Backup', type: 'heartbeat', ...settings });
  if (created.status !== 201) throw new Error(`The heartbeat was not created: ${created.text}`);
  const id = String(created.json['id']);
  const shown = await owner('GET', `/v1/monitors/${id}`);
  if (shown.status !== 200) throw new Error(`The heartbeat was not shown: ${shown.text}`);
  const token = pingTokenOf(shown);
  const pings = async () => {
    const { rows } = await api.database.pool.query<Record<string, unknown>>(
      'SELECT p.kind, p.exit_status, p.duration_ms, p.body FROM heartbeat_pings p JOIN monitors m ON m.no = ' +
        'p.monitor_no WHERE m.id = $1 ORDER BY p.at',
      [id],
    );
    return rows;
  };
  return { id, token, pings };
}

test('the token names the monitor, is made by the server and stays, whatever is sent', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, token } = await createHeartbeat(api, { check_spec: { heartbeat: { token: 'mine' } } }, account);
  t.regex(token, new RegExp(`^${id}\\.[\\w-]{24}$`));
  await account.owner('PATCH', `/v1/monitors/${id}`, {
    interval_seconds: 90,
    check_spec: { heartbeat: { token: 'another', maxDurationSeconds: 5 } },
  });
  const { json } = await account.owner('GET', `/v1/monitors/${id}`);
  t.deepEqual(json['check_spec'], { heartbeat: { maxDurationSeconds: 5, token } });
});

const FORMS: readonly [path: string, kind: string, exitStatus: number | null][] = [
  ['', 'success', null],
  ['/', 'success', null],
  ['?run=1', 'success', null],
  ['/start', 'start', null],
  ['/fail', 'fail', null],
  ['/0', 'exit', 0],
  ['/7', 'exit', 7],
  ['/007', 'exit', 7],
  ['/255', 'exit', 255],
];
for (const [path, kind, exitStatus] of FORMS) {
  for (const method of ['GET', 'POST', 'HEAD']) {
    test(
      `${method} /ping/<token>${path} is taken as ${kind}${exitStatus === null ? '' : ` ${exitStatus}`}, without ` +
        'an API token',
      async (t) => {
        const { api } = t.context;
        const { token, pings } = await createHeartbeat(api);
        const answer = await api.anonymous(method, `/ping/${token}${path}`);
        t.like(answer, { status: 200, text: method === 'HEAD' ? '' : 'OK' });
        t.is(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
        t.is(answer.headers.get('content-length'), '2');
        t.is(answer.headers.get('cache-control'), 'no-store');
        t.deepEqual(await pings(), [{ kind, exit_status: exitStatus, duration_ms: null, body: null }]);
      },
    );
  }
}

test('a ping is never answered from an earlier answer, whatever tags the caller shows', async (t) => {
  const { api } = t.context;
  const { token } = await createHeartbeat(api);
  for (const tag of ['*', 'W/"2-nOO9QiTIwXgNtWtBJezz8kv3SLc"'])
    t.like(await api.anonymous('GET', `/ping/${token}`, undefined, { 'If-None-Match': tag }), {
      status: 200,
      text: 'OK',
    });
});

test('an unknown token is 404, whatever it looks like', async (t) => {
  const { api } = t.context;
  const { id, token } = await createHeartbeat(api);
  const bad = [
    `${token}x`,
    token.slice(0, -1),
    `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    token.toUpperCase(),
    id,
    `${id}.`,
    '.',
    'x.y',
    '%00.x',
    '%zz',
    'a%2Fb',
    `${'x'.repeat(65)}.y`,
    "x'--.y",
    '🙂.x',
  ];
  for (const path of bad) {
    isError(t, await api.anonymous('GET', `/ping/${path}`), {
      status: 404,
      error: 'no heartbeat monitor has this token',
    });
    isError(t, await api.anonymous('POST', `/ping/${path}/fail`, 'x'), {
      status: 404,
      error: 'no heartbeat monitor has this token',
    });
  }
  for (const path of ['/ping', '/ping/'])
    isError(t, await api.anonymous('GET', path), { status: 404, error: 'no heartbeat monitor has this token' });
  t.is((await api.anonymous('GET', `/PING/${token}`)).status, 404);
});

test('what follows the token must be a known word or an exit status', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  for (const part of ['256', '999', '1000', '-1', '+1', '1.5', '1e1', 'Start', 'failed', 'start%20', '%30', '٣']) {
    isError(t, await api.anonymous('GET', `/ping/${token}/${part}`), {
      status: 404,
      error:
        'there is no endpoint at this path: after the token, send /start, /fail, an exit status from 0 to 255, or ' +
        'nothing',
    });
  }
  isError(t, await api.anonymous('GET', `/ping/${token}/start/now`), {
    status: 404,
    error: 'no heartbeat monitor has this token',
  });
  t.deepEqual(await pings(), []);
});

test('other verbs are 405 and name the right ones', async (t) => {
  const { api } = t.context;
  const { token } = await createHeartbeat(api);
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const answer = await api.anonymous(method, `/ping/${token}/start`);
    isError(t, answer, { status: 405, error: `${method} is not allowed here, only GET, HEAD, POST` });
    t.is(answer.headers.get('allow'), 'GET, HEAD, POST');
  }
});

test('failures are refused with the remedy where the heartbeat takes none, and everything else is taken', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api, { check_spec: { heartbeat: { failEnabled: false } } });
  for (const path of ['/fail', '/1', '/255'])
    isError(t, await api.anonymous('POST', `/ping/${token}${path}`), {
      status: 400,
      error: /^this heartbeat does not accept failure reports: set check_spec\.heartbeat\.failEnabled to true/,
    });
  for (const path of ['', '/start', '/0']) t.is((await api.anonymous('POST', `/ping/${token}${path}`)).status, 200);
  t.is((await pings()).length, 3);
});

test('a body of any type and encoding is kept, and a bad one costs no ping', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const bodies: readonly [string, Record<string, string>][] = [
    ['plain', { 'Content-Type': 'text/plain' }],
    ['{"broken":', { 'Content-Type': 'application/json' }],
    ['a=b', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['no gzip', { 'Content-Encoding': 'gzip', 'Content-Type': 'nonsense' }],
    ['nul \u0000 and \u001b[0m', {}],
  ];
  for (const [index, [body, headers]] of bodies.entries())
    t.is((await api.anonymous('POST', `/ping/${token}/${index}`, body, headers)).status, 200);
  t.deepEqual(
    (await pings()).map(({ body }) => body),
    ['plain', '{"broken":', 'a=b', 'no gzip', 'nul  and [0m'],
  );
});

test('the first 10,000 bytes of a body are kept, whole characters only, and a long one is no 413', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const bodies = [
    'x'.repeat(9999),
    'x'.repeat(10_000),
    'x'.repeat(10_001),
    `${'x'.repeat(9999)}é`,
    `${'x'.repeat(9998)}é`,
    'y'.repeat(3_000_000),
  ];
  for (const [index, body] of bodies.entries())
    t.is((await api.anonymous('POST', `/ping/${token}/${index}`, body)).status, 200);
  t.deepEqual(
    (await pings()).map(({ body }) => String(body).length),
    [9999, 10_000, 10_000, 9999, 9999, 10_000],
  );
});

test('bytes that are no text are kept as far as they are', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const answer = await fetch(`${api.url}/ping/${token}`, {
    method: 'POST',
    body: new Uint8Array([0xff, 0x00, 0x41, 0xc3]),
  });
  t.is(answer.status, 200);
  t.deepEqual(
    (await pings()).map(({ body }) => body),
    ['\ufffdA'],
  );
});

test('a body that comes in pieces over one connection is kept as one', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  socket.write(
    `POST /ping/${token}/fail HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: ` +
      `chunked\r\n\r\n4\r\ndisk\r\n`,
  );
  socket.write('5\r\n full\r\n0\r\n\r\n');
  t.regex(await text(socket), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nOK$/);
  t.deepEqual(
    (await pings()).map(({ body }) => body),
    ['disk full'],
  );
});

// Serial, because other tests of this file make the database unavailable, which appears in the same log.
test.serial('a ping that is broken off half-way is none, and a fault of ours neither', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  socket.write(`POST /ping/${token} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf`);
  await once(socket, 'connect');
  socket.end();
  socket.destroy();
  t.is((await api.anonymous('GET', `/ping/${token}/start`)).status, 200);
  t.deepEqual(
    (await pings()).map(({ kind }) => kind),
    ['start'],
  );
  t.deepEqual(
    api.logLines.filter((line) => line['msg'] === 'request.failed' && line['level'] === 50),
    [],
  );
});

test('pings of one job keep their order, and its end measures the run', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  await Promise.all(['start', '0'].map((part) => api.anonymous('GET', `/ping/${token}/${part}`)));
  const [first, second] = await pings();
  t.deepEqual([first?.['kind'], second?.['kind']].toSorted(), ['exit', 'start']);
  for (const part of ['start', 'start', '1']) await api.anonymous('GET', `/ping/${token}/${part}`);
  t.is(typeof (await pings()).at(-1)?.['duration_ms'], 'number');
});

test('a job that pings in a loop is always answered OK and leaves few rows', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const startedAt = performance.now();
  const answers = await Promise.all(Array.from({ length: 300 }, () => api.anonymous('GET', `/ping/${token}`)));
  t.true(answers.every(({ status, text: body }) => status === 200 && body === 'OK'));
  t.true((await pings()).length <= 2 + (performance.now() - startedAt) / 200);
});

test('a burst of a thousand pings is answered whole, and each is stored', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const heartbeats = await Promise.all(Array.from({ length: 50 }, () => createHeartbeat(api, {}, account)));
  const paths = Array.from({ length: 20 }, (_, status) =>
    heartbeats.map(({ token }) => `/ping/${token}/${status}`),
  ).flat();
  // The kernel drops connections if too many wait for a busy process.
  const answers = [];
  for (let first = 0; first < paths.length; first += 250)
    answers.push(
      ...(await Promise.all(paths.slice(first, first + 250).map((path) => api.anonymous('POST', path, 'output')))),
    );
  t.is(answers.filter(({ status }) => status === 200).length, 1000);
  for (const { pings } of heartbeats) t.is((await pings()).length, 20);
});

test('a burst of pings of many heartbeats, good and bad tokens mixed, gives each its own answer', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const heartbeats = await Promise.all(Array.from({ length: 30 }, () => createHeartbeat(api, {}, account)));
  const paths = heartbeats.flatMap(({ token }) => [`/ping/${token}/start`, `/ping/${token}x`, `/ping/${token}/3`]);
  const answers = await Promise.all(paths.map((path) => api.anonymous('POST', path, 'output')));
  t.deepEqual(
    answers.map(({ status }) => status),
    heartbeats.flatMap(() => [200, 404, 200]),
  );
  for (const { pings } of heartbeats)
    t.deepEqual((await pings()).map(({ kind, body }) => [kind, body]).toSorted(), [
      ['exit', 'output'],
      ['start', 'output'],
    ]);
});

test('a paused heartbeat takes its pings', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, token, pings } = await createHeartbeat(api, {}, account);
  t.is((await account.owner('POST', `/v1/monitors/${id}/pause`)).status, 200);
  t.is((await api.anonymous('GET', `/ping/${token}`)).status, 200);
  t.is((await pings()).length, 1);
  t.is((await account.owner('GET', `/v1/monitors/${id}`)).json['status'], 'paused');
});

test('a deleted heartbeat, and a monitor of another type, have no token that pings', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, token } = await createHeartbeat(api, {}, account);
  t.is((await account.owner('DELETE', `/v1/monitors/${id}`)).status, 204);
  t.is((await api.anonymous('GET', `/ping/${token}`)).status, 404);
  const { json } = await account.owner('POST', '/v1/monitors', { name: 'Shop' });
  t.is((await api.anonymous('GET', `/ping/${json['id']}.undefined`)).status, 404);
});

test.serial('a day without a partition gets one and costs no ping', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const { rows } = await api.database.pool.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'heartbeat_pings'::regclass`,
  );
  for (const { name } of rows) await api.database.pool.query(`ALTER TABLE heartbeat_pings DETACH PARTITION ${name}`);
  for (const { name } of rows) await api.database.pool.query(`DROP TABLE ${name}`);
  t.is((await api.anonymous('GET', `/ping/${token}`)).status, 200);
  t.is((await pings()).length, 1);
});

test('while the database is away a ping is 503 with the time to come back, and taken again afterwards', async (t) => {
  const { api } = t.context;
  const { token, pings } = await createHeartbeat(api);
  const link = await layLink(t, api.databaseUrl);
  const database = openDatabase({
    databaseUrl: link.url,
    secrets: createSecretBox([{ id: 'test', key: Buffer.alloc(32) }]),
  });
  t.teardown(() => closeDatabase(database));
  const base = await api.another({ database });
  const ping = () => api.anonymous('GET', `/ping/${token}/start`, undefined, {}, base);
  t.is((await ping()).status, 200);
  await link.cut();
  const away = await ping();
  isError(t, away, { status: 503, error: 'the database is unavailable: try again in a few seconds' });
  t.is(away.headers.get('retry-after'), '5');
  await link.mend();
  t.is((await ping()).status, 200);
  t.true((await pings()).length >= 1);
});

test('a ping leaves a log line and a count without its token', async (t) => {
  const { api } = t.context;
  const { token } = await createHeartbeat(api);
  const answer = await api.anonymous('POST', `/ping/${token}/3`, 'do-not-log-this');
  const line = api.logLines.find((candidate) => candidate['request_id'] === answer.headers.get('x-request-id'));
  t.like(line, { msg: 'request.completed', method: 'POST', route: '/ping/{token}/{exit_status}', status: 200 });
  await api.anonymous('GET', `/ping/${token}xyz`);
  const all = JSON.stringify(api.logLines);
  t.false(all.includes(token));
  t.false(all.includes('do-not-log-this'));
  t.regex((await api.anonymous('GET', '/metrics')).text, /spotcheck_pings_total\{kind="exit",outcome="taken"\} [1-9]/);
});

/** Alternates two signals, one ping after the other, so that each changes the state. */
async function flap({ anonymous }: ApiServer, token: string, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let turn = 0; turn < times; turn += 1)
    statuses.push(
      (await anonymous('POST', `/ping/${token}${turn % 2 === 0 ? '/fail' : ''}`, 'x'.repeat(10_000))).status,
    );
  return statuses;
}

test(
  'of pings that come far too often sixty rows and 64 KiB of bodies are kept; what changes nothing is answered OK, ' +
    'what does gets 429, and the next deadline moves',
  async (t) => {
    const { api } = t.context;
    const { id, token, pings } = await createHeartbeat(api, { interval_seconds: 3600 });
    const startedAt = performance.now();
    const statuses = await flap(api, token, 100);
    const most = 61 + (performance.now() - startedAt) / 60_000;
    t.true(statuses.slice(0, 60).every((status) => status === 200));
    t.true(
      statuses.slice(62).every((status, turn) => status === 429 || (turn % 2 === 1 && status === 200)),
      String(statuses),
    );
    const kept = await pings();
    t.true(kept.length >= 60 && kept.length <= most, String(kept.length));
    t.true(kept.reduce((sum, { body }) => sum + String(body).length, 0) <= 65_536 + 60 * 200 + 1000);
    const dueAt = async () =>
      (
        await api.database.pool.query<{ due_at: number }>(
          'SELECT h.due_at FROM heartbeats h JOIN monitors m ON m.no = h.monitor_no WHERE m.id = $1',
          [id],
        )
      ).rows[0]?.due_at ?? 0;
    const before = await dueAt();
    t.is((await api.anonymous('POST', `/ping/${token}/start`)).status, 200);
    const started = await dueAt();
    t.true(started > before);
    const limited = await api.anonymous('POST', `/ping/${token}/fail`);
    isError(t, limited, {
      status: 429,
      error: /^this heartbeat changes status too often: the ping counts only as a sign of life; wait 60 s$/,
    });
    t.is(limited.headers.get('retry-after'), '60');
    t.true((await dueAt()) >= started);
    t.is((await pings()).length, kept.length);
  },
);

test('what is no token, or was none a moment ago, costs no query', async (t) => {
  const { api } = t.context;
  const { token } = await createHeartbeat(api);
  const other = `${token.slice(0, -4)}AAAA`;
  const url = await api.another();
  const ask = async (path: string) => (await api.anonymous('GET', path, undefined, {}, url)).status;
  t.is(await ask(`/ping/${other}`), 404);
  const lock = await api.database.pool.connect();
  try {
    // Every query of the table waits from here on.
    await lock.query('BEGIN; LOCK TABLE heartbeats IN ACCESS EXCLUSIVE MODE');
    for (const path of [
      `/ping/${other}`,
      `/ping/${other}/fail`,
      '/ping/nothing',
      `/ping/mon_short.${'A'.repeat(24)}`,
      `/ping/${token.slice(0, 20)}`,
    ])
      t.is(await ask(path), 404, path);
  } finally {
    await lock.query('ROLLBACK');
    lock.release();
  }
  t.is(await ask(`/ping/${token}`), 200);
});

test(
  'an address that sends hundreds of tokens that are none is told to wait, and heartbeats that were pinged from ' +
    'there before go on',
  async (t) => {
    const { api } = t.context;
    const [first, second] = [await createHeartbeat(api), await createHeartbeat(api)];
    const unstoredPings = new UnstoredPings(Date.now);
    const url = await api.another({
      unstoredPings,
      config: {
        publicUrl: api.url,
        planCountLimits: true,
        telegramBotName: null,
        slackClientId: null,
        trustedProxies: ['loopback'],
      },
    });
    const from = (address: string, token: string) =>
      api.anonymous('GET', `/ping/${token}`, undefined, { 'X-Forwarded-For': address }, url);
    t.is((await from('2001:db8:1:2::5', first.token)).status, 200);
    const made = (no: number) => `${first.id}.${String(no).padStart(24, '0')}`;
    const statuses = await Promise.all(
      Array.from(
        { length: 600 },
        async (_, no) => (await from(`2001:db8:1:2::${(no + 1).toString(16)}`, made(no))).status,
      ),
    );
    t.true(statuses.every((status) => status === 404));
    const refused = await from('2001:db8:1:2:ffff::1', made(700));
    isError(t, refused, {
      status: 429,
      error: /^too many pings with unknown tokens from this address: wait before you try again$/,
    });
    t.true(Number(refused.headers.get('retry-after')) > 0);
    t.is(
      unstoredPings.takeLost(),
      null,
      'a refused ping is not a lost one: else a stranger could have all heartbeats forgiven',
    );
    t.is((await from('2001:db8:1:2::9', first.token)).status, 200);
    t.is((await from('2001:db8:1:3::9', second.token)).status, 200);
  },
);

/** Returns a database that stores no ping in flight until the test lets it. */
function heldPings() {
  const underWay = new PingsUnderWay();
  const taken = Promise.withResolvers<void>();
  const counts = { storing: 0 };
  const take = async (heartbeat: string, tenantId: string | null, isMade = true) =>
    await underWay.take({ heartbeat, tenantId, isMade }, async () => {
      counts.storing += 1;
      await taken.promise;
      return { outcome: 'taken', tenantId };
    });
  return { take, counts, finish: () => taken.resolve() };
}

test('of a heartbeat twenty pings are stored at a time and 300 are under way, in their order', async (t) => {
  const { take, counts, finish } = heldPings();
  const taking = Array.from({ length: 300 }, () => take('a', 'ten_1'));
  t.is(counts.storing, 20);
  const refused = await t.throwsAsync(take('a', 'ten_1'), {
    message: '300 pings of this heartbeat are already under way: send fewer at once',
  });
  t.like(refused, { status: 429, headers: { 'Retry-After': '1' } });
  const other = take('b', 'ten_1');
  t.is(counts.storing, 21);
  finish();
  t.true((await Promise.all([...taking, other])).every(({ outcome }) => outcome === 'taken'));
  t.like(await take('a', 'ten_1'), { outcome: 'taken' });
});

test('of an account a thousand pings are under way, whatever heartbeats they are of, and others go on', async (t) => {
  const { take, finish } = heldPings();
  const taking = Array.from({ length: 1000 }, (_, no) => take(`a${no % 100}`, 'ten_1'));
  const refused = { message: "1000 pings of this account's heartbeats are already under way: send fewer at once" };
  await t.throwsAsync(take('a1', 'ten_1'), refused);
  await t.throwsAsync(take('a slug', 'ten_1', false), refused);
  // Each ping here is its heartbeat's first one in flight, which must not be refused.
  taking.push(take('one more', 'ten_1'), take('other', 'ten_2'), take('not met yet', null));
  await t.throwsAsync(take('one more', 'ten_1'), refused);
  finish();
  t.is((await Promise.all(taking)).length, 1003);
  t.like(await take('a1', 'ten_1'), { outcome: 'taken' });
});

test.serial(
  'of 400 pings of one token at once those beyond 300 are told to wait, and none counts as lost',
  async (t) => {
    const { api } = t.context;
    const { token } = await createHeartbeat(api);
    const unstoredPings = new UnstoredPings(Date.now);
    const url = await api.another({ unstoredPings });
    t.is((await api.anonymous('GET', `/ping/${token}`, undefined, {}, url)).status, 200);
    const lock = await api.database.pool.connect();
    const statuses: number[] = [];
    const ping = async () => statuses.push((await api.anonymous('GET', `/ping/${token}`, undefined, {}, url)).status);
    const pinging: Promise<unknown>[] = [];
    try {
      await lock.query('BEGIN');
      await lock.query('SELECT FROM heartbeats FOR UPDATE');
      pinging.push(...Array.from({ length: 400 }, ping));
      await until(() => statuses.length === 100);
      t.true(statuses.every((status) => status === 429));
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
    }
    await Promise.all(pinging);
    t.is(statuses.filter((status) => status === 200).length, 300);
    t.is(unstoredPings.takeLost(), null);
  },
);

test.serial(
  'a ping that waits for seconds holds the deadlines of all processes, and once it is stored nobody is forgiven',
  async (t) => {
    const { api } = t.context;
    const { pool } = api.database;
    const { token } = await createHeartbeat(api, { interval_seconds: 3600, grace_seconds: 3600 });
    t.is((await api.anonymous('GET', `/ping/${token}`)).status, 200);
    const dueTimes = async () =>
      (await pool.query<{ due_at: number }>('SELECT due_at FROM heartbeats ORDER BY monitor_no')).rows;
    const marks = async () =>
      (
        await pool.query<{ name: string; at: number }>(
          `SELECT name, at, lost_from FROM service_marks WHERE name LIKE 'pings%' ORDER BY name`,
        )
      ).rows;
    const unstored = new UnstoredPings(Date.now);
    const before = await dueTimes();
    const record = () =>
      publishPingAvailability({ database: api.database, log: pino({ level: 'silent' }), now: Date.now, unstored });
    const [first, second] = [record(), record()];
    const ping = Promise.withResolvers<void>();
    const cameAtMs = Date.now();
    const following = unstored.follow(ping.promise);
    const followedAtMs = Date.now();
    await until(async () => (await marks()).length === 3);
    await until(async () => Number((await marks()).at(0)?.at) > cameAtMs + 3000);
    for (const { at } of (await marks()).slice(1)) t.true(at >= cameAtMs && at <= followedAtMs);
    ping.resolve();
    await following;
    await until(async () => (await marks()).length === 1);
    // One ping is still being stored while its process stops.
    const late = Promise.withResolvers<void>();
    const followed = unstored.follow(late.promise);
    await until(async () => (await marks()).length === 3);
    const drain = async () => {
      late.resolve();
      await followed;
    };
    await Promise.all([first.stop(drain), second.stop(drain)]);
    t.like(await marks(), [{ name: 'pings', lost_from: null }]);
    t.deepEqual(await dueTimes(), before);
  },
);

test('the pings of a deleted heartbeat go with the next round of retention', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const [gone, stays] = [await createHeartbeat(api, {}, account), await createHeartbeat(api, {}, account)];
  for (const { token } of [gone, stays]) await flap(api, token, 3);
  const count = async () =>
    (
      await api.database.pool.query<{ no: number; pings: number }>(
        'SELECT monitor_no AS no, count(*)::int AS pings FROM heartbeat_pings WHERE monitor_no = ANY ($1) GROUP ' +
          'BY 1 ORDER BY 1',
        [numbers],
      )
    ).rows;
  const numbers = (
    await api.database.pool.query<{ no: number }>('SELECT no FROM monitors WHERE id = ANY ($1) ORDER BY no', [
      [gone.id, stays.id],
    ])
  ).rows.map(({ no }) => no);
  t.is((await count()).length, 2);
  await account.owner('DELETE', `/v1/monitors/${gone.id}`);
  t.is(await deleteOrphanedPings(api.database, 100), 3);
  t.deepEqual(await count(), [{ no: numbers[1], pings: 3 }]);
  t.is(await deleteOrphanedPings(api.database, 100), 0);
});
