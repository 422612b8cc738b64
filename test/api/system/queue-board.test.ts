import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import { createThrottle } from '../../../api/accounts/session/throttle.ts';
import { clientAddress } from '../../../api/client-address.ts';
import { errorResponse } from '../../../api/middleware/error-response.ts';
import { assignRequestId } from '../../../api/middleware/request-log.ts';
import { loadQueueBoard, QUEUE_BOARD_PATH, queueBoardLogin } from '../../../api/system/queue-board-login.ts';
import { listAuditLog } from '../../../models/accounts/audit-log.ts';
import { endSession } from '../../../models/accounts/sessions.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { recordStatements } from '../../helpers/database.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { listQueueBackends, type QueueBackend } from '../../helpers/queue-backend.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';
import { addPerson } from '../person.ts';

const PUBLIC_URL = 'http://spotcheck.example';

type Board = { runtime: TestRuntime; url: string; get: (path: string, credentials?: string) => Promise<Response> };

type BoardOptions = { backend?: QueueBackend; password?: string | null };

async function openBoard(
  t: ExecutionContext,
  { backend, password = 'board-password' }: BoardOptions = {},
): Promise<Board> {
  const runtime = await openTestRuntime(t, backend);
  const { database, queues, now, newId, log } = runtime;
  const throttle = createThrottle(
    { database, store: { kind: 'postgres', pool: database.pool }, publicUrl: PUBLIC_URL },
    async () => undefined,
  );
  const app = express();
  app.use(assignRequestId({ makeId: newId }), clientAddress({ trustedProxies: ['loopback'] }));
  app.use(
    QUEUE_BOARD_PATH,
    queueBoardLogin({ database, throttle, password, publicUrl: PUBLIC_URL, now, makeId: newId }),
    loadQueueBoard({ basePath: '', database, queues, now }),
  );
  app.use(errorResponse({ logger: log }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const get: Board['get'] = (path, credentials) =>
    fetch(
      `http://127.0.0.1:${port}${QUEUE_BOARD_PATH}${path}`,
      credentials === undefined
        ? {}
        : { headers: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } },
    );
  return { runtime, get, url: `http://127.0.0.1:${port}` };
}

for (const backend of listQueueBackends()) {
  test(`${backend.name}: the board shows for each check job its monitors and their latest results`, async (t) => {
    const { runtime, get } = await openBoard(t, { backend });
    const target = await startHttpServer(t, (_request, response) => void response.end('ok'));
    const processes = [
      await startEvaluate(runtime),
      await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true }),
    ];
    t.teardown(async () => {
      for (const process of processes) await process.stop();
    });
    const agent = await runtime.addAgent('local');
    await runtime.addMonitor([agent], {
      name: 'Front page',
      target: `http://127.0.0.1:${target.port}/`,
      intervalSeconds: 1,
      timeoutMs: 500,
    });
    for (const change of runtime.scheduleChanges)
      await runtime.queues.applyScheduleChange(change, await runtime.listRegions());

    const jobsOf = async (
      status: string,
    ): Promise<{ data: { monitors: string[] }; returnValue: { monitors: string[] } | null }[]> => {
      const answer = await get(
        `/api/queues?activeQueue=check-local&status=${status}&page=1&jobsPerPage=5`,
        'anyone:board-password',
      );
      t.is(answer.status, 200);
      const { queues } = (await answer.json()) as {
        queues: {
          name: string;
          jobs: { data: { monitors: string[] }; returnValue: { monitors: string[] } | null }[];
        }[];
      };
      return queues.find(({ name }) => name === 'check-local')?.jobs ?? [];
    };
    // A check that a busy machine delayed past its timeout is down, or missing from the results of its tick.
    const done = await until(async () =>
      (await jobsOf('completed')).find(({ returnValue }) => returnValue?.monitors.includes('Front page: up')),
    );
    t.deepEqual(done.data.monitors, ['Front page']);
    t.deepEqual(done.returnValue?.monitors, ['Front page: up']);
  });
}

test('without a valid password the board returns a 401 that requests one', async (t) => {
  const { get } = await openBoard(t);
  const answer = await get('/');
  t.is(answer.status, 401);
  t.regex(answer.headers.get('www-authenticate') ?? '', /^Basic realm=/);
  t.is((await get('/', 'anyone:wrong')).status, 401);
});

test('without a session a browser gets a page that links to the console, and programs get an error', async (t) => {
  for (const password of [null, 'board-password']) {
    const { url } = await openBoard(t, { password });
    const ask = (accept: string) => fetch(`${url}${QUEUE_BOARD_PATH}`, { headers: { Accept: accept } });
    const page = await ask('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    t.is(page.status, 401);
    t.is(page.headers.get('www-authenticate') !== null, password !== null);
    t.regex(page.headers.get('content-type') ?? '', /^text\/html/);
    t.regex(await page.text(), /operator[^]*<a href="http:\/\/spotcheck\.example">Open Spotcheck<\/a>/);
    for (const accept of ['*/*', 'application/json, text/plain, */*'])
      t.regex(((await (await ask(accept)).json()) as { error: string }).error, /operator/);
  }
});

test('user passwords give no access to the board and are never checked', async (t) => {
  const { runtime, get, url } = await openBoard(t);
  const operator = await addPerson({ database: runtime.database, makeId: runtime.newId, url }, runtime.tenantId, {
    isOperator: true,
  });
  const statements = recordStatements(t, runtime.database);
  for (const credentials of [
    `${operator.email}:${operator.password}`,
    `${operator.email}:wrong`,
    'nobody@example.org:wrong',
  ])
    t.is((await get('/', credentials)).status, 401);
  t.true(statements.length > 0);
  t.false(JSON.stringify(statements).includes('FROM users'), 'the response time cannot reveal which users exist');
});

test('without a board password only signed-in operators have access, and none is requested', async (t) => {
  const { runtime, get, url } = await openBoard(t, { password: null });
  const refused = await get('/', 'anyone:');
  t.is(refused.status, 401);
  t.is(refused.headers.get('www-authenticate'), null);
  const operator = await addPerson({ database: runtime.database, makeId: runtime.newId, url }, runtime.tenantId, {
    isOperator: true,
  });
  t.is(
    (await fetch(`${url}${QUEUE_BOARD_PATH}/`, { headers: { Cookie: operator.headers['Cookie'] ?? '' } })).status,
    200,
  );
});

test('signed-in operators can use the board, from its own pages only, and other users cannot', async (t) => {
  const { runtime, url } = await openBoard(t);
  const access = { database: runtime.database, makeId: runtime.newId, url };
  const [operator, member] = [
    await addPerson(access, runtime.tenantId, { mark: 'operator', isOperator: true }),
    await addPerson(access, runtime.tenantId, { mark: 'member' }),
  ];
  const ask = async (method: string, headers: Record<string, string>) =>
    (await fetch(`${url}${QUEUE_BOARD_PATH}/api/queues`, { method, headers })).status;
  const [cookie, others] = [{ Cookie: operator.headers['Cookie'] ?? '' }, { Cookie: member.headers['Cookie'] ?? '' }];
  t.is(await ask('GET', cookie), 200);
  t.is(await ask('GET', { ...cookie, Authorization: `Basic ${btoa('anyone:wrong')}` }), 200);
  t.is(await ask('GET', others), 401);
  // The path accepts no POST, and only an authorized caller gets this 404.
  t.is(await ask('POST', { ...cookie, Origin: url }), 404);
  t.is(await ask('POST', cookie), 401);
  for (const Origin of ['https://evil.example', 'null'])
    for (const method of ['GET', 'POST']) t.is(await ask(method, { ...cookie, Origin }), 403);
  await endSession(runtime.database, { userId: operator.user.id, id: operator.sessionId, author: null });
  t.is(await ask('GET', cookie), 401);
});

const BASIC = { Authorization: `Basic ${btoa('anyone:board-password')}` };

test('a cross-site request with the password that the browser remembers is refused', async (t) => {
  const { runtime, url } = await openBoard(t);
  const [queue] = runtime.queues.all();
  const pause = async (headers: Record<string, string>) =>
    (
      await fetch(`${url}${QUEUE_BOARD_PATH}/api/queues/${queue?.name}/pause`, {
        method: 'PUT',
        headers: { ...BASIC, ...headers },
      })
    ).status;
  await fetch(`${url}${QUEUE_BOARD_PATH}/`, { headers: BASIC });
  for (const Origin of ['https://evil.example', 'null', `${url}.evil.example`])
    t.is(await pause({ Origin }), 403, Origin);
  t.false(await queue?.isPaused());
  t.is(await pause({ Origin: url }), 200);
  t.true(await queue?.isPaused());
});

test('a queue action is audited before it runs: for its operator, or for all operators if by password', async (t) => {
  const { runtime, url } = await openBoard(t);
  const { database, newId, tenantId } = runtime;
  const elsewhere = newId('ten');
  await createTenant(database, { id: elsewhere, name: 'elsewhere', plan: 'pro', nowMs: Date.now(), author: null });
  const operator = await addPerson({ database, makeId: newId, url }, tenantId, { mark: 'Olga', isOperator: true });
  await addPerson({ database, makeId: newId, url }, elsewhere);
  const [queue] = runtime.queues.all();
  const act = async (method: string, path: string, headers: Record<string, string>) =>
    (await fetch(`${url}${QUEUE_BOARD_PATH}${path}`, { method, headers: { Origin: url, ...headers } })).status;
  const cookie = { Cookie: operator.headers['Cookie'] ?? '' };
  t.is(await act('PUT', `/api/queues/${queue?.name}/pause`, cookie), 200);
  t.is(await act('PUT', '/api/queues/resume', BASIC), 200);
  t.is(await act('GET', '/api/queues', cookie), 200);
  t.is(await act('PUT', `/api/queues/${queue?.name}/%E0%A4%A/retry`, cookie), 400);
  t.deepEqual(await listAuditLog(database, { tenantId: elsewhere, filter: {}, limit: 10 }), []);
  const readEntries = async () =>
    (await listAuditLog(database, { tenantId, filter: {}, limit: 10 })).map(
      ({ actor, action, object, changes, address }) => ({
        actor: [actor.kind, actor.id],
        action,
        object,
        changes,
        address,
      }),
    );
  const expected = [
    {
      actor: ['operator', null],
      action: 'queue.changed',
      object: { kind: 'queue', id: 'all', name: 'All queues' },
      changes: { action: [null, 'resume'] },
      address: '127.0.0.1',
    },
    {
      actor: ['user', operator.user.id],
      action: 'queue.changed',
      object: { kind: 'queue', id: queue?.name, name: queue?.name },
      changes: { action: [null, 'PUT pause'] },
      address: '127.0.0.1',
    },
  ];
  t.deepEqual<unknown, unknown>(await readEntries(), expected);

  await database.pool.query('ALTER TABLE audit_log RENAME TO gone');
  t.is(await act('PUT', `/api/queues/${queue?.name}/pause`, cookie), 500);
  await database.pool.query('ALTER TABLE gone RENAME TO audit_log');
  t.false(await queue?.isPaused(), 'an action that cannot be recorded is not done');
});

test('an action is audited in every spelling of its path that the board accepts', async (t) => {
  const { runtime, url } = await openBoard(t);
  const { database, newId, tenantId } = runtime;
  await addPerson({ database, makeId: newId, url }, tenantId, { isOperator: true });
  const [queue] = runtime.queues.all();
  const paths = [
    `/API/queues/${queue?.name}/pause`,
    `/api/Queues/${queue?.name}/resume`,
    `/api/queues/${queue?.name}/pause/`,
    `/api/queues/${queue?.name}/RESUME`,
    '/api/queues/pause/',
    '/api/queues/Resume',
  ];
  for (const path of paths)
    t.is(
      (await fetch(`${url}${QUEUE_BOARD_PATH}${path}`, { method: 'PUT', headers: { Origin: url, ...BASIC } })).status,
      200,
      path,
    );
  const readEntries = (await listAuditLog(database, { tenantId, filter: {}, limit: 10 })).map(({ object, changes }) => [
    object.id,
    changes['action']?.[1],
  ]);
  const expected = [
    [queue?.name, 'PUT pause'],
    [queue?.name, 'PUT resume'],
    [queue?.name, 'PUT pause'],
    [queue?.name, 'PUT RESUME'],
    ['all', 'pause'],
    ['all', 'Resume'],
  ];
  t.deepEqual<unknown, unknown>(readEntries, expected.toReversed());
});

test('of 40 concurrent guesses from one IPv6 /64 ten are checked, then the right password gets a 429', async (t) => {
  const { url } = await openBoard(t);
  const ask = async (from: string, password: string) =>
    await fetch(`${url}${QUEUE_BOARD_PATH}/`, {
      headers: { Authorization: `Basic ${btoa(`anyone:${password}`)}`, 'X-Forwarded-For': from },
    });
  const statuses = await Promise.all(
    Array.from(
      { length: 40 },
      async (_, index) => (await ask(`2001:db8:0:1::${index.toString(16)}`, `guess ${index}`)).status,
    ),
  );
  t.is(statuses.filter((status) => status === 401).length, 10);
  t.is(statuses.filter((status) => status === 429).length, 30);
  const refused = await ask('2001:db8:0:1::ffff', 'board-password');
  t.is(refused.status, 429);
  t.true(Number(refused.headers.get('retry-after')) > 60);
});

test('guesses from many networks are refused too, except from a known network or browser', async (t) => {
  const { url } = await openBoard(t);
  const ask = async (from: string, headers: Record<string, string>) =>
    await fetch(`${url}${QUEUE_BOARD_PATH}/`, { headers: { 'X-Forwarded-For': from, ...headers } });
  const wrong = { Authorization: `Basic ${btoa('anyone:wrong')}` };
  const first = await ask('192.0.2.1', BASIC);
  t.is(first.status, 200);
  const cookie = first.headers.getSetCookie()[0] ?? '';
  t.regex(cookie, /^spotcheck-queues=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/);
  for (let network = 0; network < 10; network += 1) t.is((await ask(`198.51.100.${network}`, wrong)).status, 401);
  t.is((await ask('198.51.100.99', BASIC)).status, 429);
  t.is((await ask('192.0.2.1', BASIC)).status, 200);
  const Cookie = cookie.split(';')[0] ?? '';
  t.is((await ask('198.51.100.99', { Cookie })).status, 200);
  for (const forged of [
    Cookie.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
    `spotcheck-queues=${'A'.repeat(43)}`,
  ])
    t.is((await ask('198.51.100.99', { Cookie: forged })).status, 401);
});

test('wrong passwords behind a trusted proxy count toward their sender, not toward other clients', async (t) => {
  const { url } = await openBoard(t);
  const ask = async (forwardedFor: string, password: string) =>
    (
      await fetch(`${url}${QUEUE_BOARD_PATH}/`, {
        headers: { Authorization: `Basic ${btoa(`anyone:${password}`)}`, 'X-Forwarded-For': forwardedFor },
      })
    ).status;
  t.is(await ask('198.51.100.7', 'board-password'), 200);
  for (let attempt = 0; attempt < 10; attempt += 1) t.is(await ask(`192.0.2.${attempt}, 203.0.113.9`, 'wrong'), 401);
  t.is(await ask('198.51.100.7, 203.0.113.9', 'board-password'), 429);
  t.is(await ask('198.51.100.7', 'board-password'), 200);
});

test('the policy of the board page allows no other hosts', async (t) => {
  const { get } = await openBoard(t);
  const policy = (await get('/', 'anyone:board-password')).headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'self'/);
  t.notRegex(policy, /https?:/);
});
