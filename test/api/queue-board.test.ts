import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import { loadQueueBoard } from '../../api/queue-board-door.ts';
import { QUEUE_BOARD_PATH, queueBoardLogin } from '../../api/queue-board-login.ts';
import { errorResponse } from '../../api/middleware/error-response.ts';
import { clientAddress } from '../../api/middleware/client-address.ts';
import { requestId } from '../../api/middleware/request-id.ts';
import { hashPassword } from '../../models/password.ts';
import { createUser } from '../../models/users.ts';
import { startCheck } from '../../workers/processes/check.ts';
import { startEvaluate } from '../../workers/processes/evaluate.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { endSession } from '../../models/sessions.ts';
import { addPerson } from './person.ts';
import { listQueueBackends, type QueueBackend } from '../helpers/queue-backend.ts';
import { openTestRuntime, type TestRuntime } from '../helpers/runtime.ts';
import { until } from '../helpers/until.ts';

const PUBLIC_URL = 'http://spotcheck.example';

type Board = { runtime: TestRuntime; url: string; get: (path: string, credentials?: string) => Promise<Response> };

async function openBoard(t: ExecutionContext, backend?: QueueBackend): Promise<Board> {
  const runtime = await openTestRuntime(t, backend);
  const { database, queues, now, newId, log } = runtime;
  const app = express();
  app.use(requestId({ makeId: newId }), clientAddress({ trustedProxies: ['loopback'] }));
  app.use(QUEUE_BOARD_PATH, queueBoardLogin({ database, password: 'board-password', publicUrl: PUBLIC_URL, now }), loadQueueBoard({ database, queues, now }));
  app.use(errorResponse({ logger: log }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const get: Board['get'] = (path, credentials) =>
    fetch(`http://127.0.0.1:${port}${QUEUE_BOARD_PATH}${path}`, credentials === undefined ? {} : { headers: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } });
  return { runtime, get, url: `http://127.0.0.1:${port}` };
}

for (const backend of listQueueBackends()) {
  test(`${backend.name}: the board says for each check job which monitors it checks and what came of the last runs`, async (t) => {
    const { runtime, get } = await openBoard(t, backend);
    const target = await startHttpServer(t, (_request, response) => void response.end('ok'));
    const processes = [await startEvaluate(runtime), await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true })];
    t.teardown(async () => {
      for (const process of processes) await process.stop();
    });
    const agent = await runtime.addAgent('local');
    await runtime.addMonitor([agent], { name: 'Front page', target: `http://127.0.0.1:${target.port}/`, intervalSeconds: 1, timeoutMs: 500 });
    for (const change of runtime.scheduleChanges) await runtime.queues.applyScheduleChange(change, await runtime.listRegions());

    const jobsOf = async (status: string): Promise<{ data: { monitors: string[] }; returnValue: { monitors: string[] } | null }[]> => {
      const answer = await get(`/api/queues?activeQueue=check-local&status=${status}&page=1&jobsPerPage=5`, 'anyone:board-password');
      t.is(answer.status, 200);
      const { queues } = (await answer.json()) as { queues: { name: string; jobs: { data: { monitors: string[] }; returnValue: { monitors: string[] } | null }[] }[] };
      return queues.find(({ name }) => name === 'check-local')?.jobs ?? [];
    };
    const [done] = await until(async () => {
      const jobs = await jobsOf('completed');
      return jobs.length > 0 && jobs;
    });
    t.deepEqual(done?.data.monitors, ['Front page']);
    t.deepEqual(done?.returnValue?.monitors, ['Front page: up']);
  });
}

test('nobody sees the board without a password, and the answer asks for one', async (t) => {
  const { get } = await openBoard(t);
  const answer = await get('/');
  t.is(answer.status, 401);
  t.regex(answer.headers.get('www-authenticate') ?? '', /^Basic realm=/);
  t.is((await get('/', 'anyone:wrong')).status, 401);
});

test('operators of the console see the board with their own password, other users do not', async (t) => {
  const { runtime, get } = await openBoard(t);
  const passwordHash = await hashPassword('right');
  for (const [email, isOperator] of [['operator@example.org', true], ['member@example.org', false]] as const) {
    await createUser(runtime.database, { id: runtime.newId('usr'), tenantId: runtime.tenantId, email, role: 'owner', passwordHash, isOperator, nowMs: Date.now() });
  }
  t.is((await get('/', 'operator@example.org:right')).status, 200);
  t.is((await get('/', 'operator@example.org:wrong')).status, 401);
  t.is((await get('/', 'member@example.org:right')).status, 401);
});

test('operators who are signed in to the console see the board and may press its buttons, from its own pages only; other people do not', async (t) => {
  const { runtime, url } = await openBoard(t);
  const place = { database: runtime.database, makeId: runtime.newId, url };
  const [operator, member] = [await addPerson(place, runtime.tenantId, { mark: 'operator', isOperator: true }), await addPerson(place, runtime.tenantId, { mark: 'member' })];
  const ask = async (method: string, headers: Record<string, string>) => (await fetch(`${url}${QUEUE_BOARD_PATH}/api/queues`, { method, headers })).status;
  const [cookie, others] = [{ Cookie: operator.headers['Cookie'] ?? '' }, { Cookie: member.headers['Cookie'] ?? '' }];
  t.is(await ask('GET', cookie), 200);
  t.is(await ask('GET', { ...cookie, Authorization: `Basic ${btoa('anyone:wrong')}` }), 200);
  t.is(await ask('GET', others), 401);
  // There is nothing to post to at this path, which only who is let in is told.
  t.is(await ask('POST', { ...cookie, Origin: url }), 404);
  t.is(await ask('POST', cookie), 401);
  for (const Origin of ['https://evil.example', 'null']) t.is(await ask('POST', { ...cookie, Origin }), 401);
  await endSession(runtime.database, { userId: operator.user.id, id: operator.sessionId });
  t.is(await ask('GET', cookie), 401);
});

test('who has a second factor cannot do without it by HTTP Basic', async (t) => {
  const { runtime, get, url } = await openBoard(t);
  const operator = await addPerson({ database: runtime.database, makeId: runtime.newId, url }, runtime.tenantId, { isOperator: true });
  await runtime.database.pool.query('UPDATE users SET totp_confirmed_at = 1 WHERE id = $1', [operator.user.id]);
  t.is((await get('/', `${operator.email}:${operator.password}`)).status, 401);
});

test('after ten wrong passwords an address waits, even with the right one', async (t) => {
  const { get } = await openBoard(t);
  for (let attempt = 0; attempt < 10; attempt += 1) t.is((await get('/', 'anyone:wrong')).status, 401);
  const refused = await get('/', 'anyone:board-password');
  t.is(refused.status, 429);
  t.is(refused.headers.get('retry-after'), '60');
});

test('wrong passwords behind a trusted proxy count for who sent them, and not for everybody behind it', async (t) => {
  const { url } = await openBoard(t);
  const ask = async (forwardedFor: string, password: string) =>
    (await fetch(`${url}${QUEUE_BOARD_PATH}/`, { headers: { Authorization: `Basic ${btoa(`anyone:${password}`)}`, 'X-Forwarded-For': forwardedFor } })).status;
  for (let attempt = 0; attempt < 10; attempt += 1) t.is(await ask(`192.0.2.${attempt}, 203.0.113.9`, 'wrong'), 401);
  t.is(await ask('198.51.100.7, 203.0.113.9', 'board-password'), 429);
  t.is(await ask('198.51.100.7', 'board-password'), 200);
});

test('the page of the board may load nothing from other hosts', async (t) => {
  const { get } = await openBoard(t);
  const policy = (await get('/', 'anyone:board-password')).headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'self'/);
  t.notRegex(policy, /https?:/);
});
