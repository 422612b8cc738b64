import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import anyTest, { type TestFn } from 'ava';
import { answerTo } from '../../../api/middleware/error-response.ts';
import { createApiToken, generateToken } from '../../../models/accounts/api-tokens.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { closeDatabase } from '../../../models/database.ts';
import { findKeptPort } from '../../../tools/kept-port.ts';
import { createTestDatabase, openTestDatabase } from '../../helpers/database.ts';
import { until } from '../../helpers/until.ts';
import { withClient } from '../../helpers/with-client.ts';
import { isError, withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test, {
  onScheduleChange: async () => {
    throw new Error('the queue is away');
  },
});

const NO_ROOM = 'no room';

/** A connection path to PostgreSQL that can be cut and restored. */
type Wire = { url: string; cut: () => Promise<void>; mend: () => Promise<void> };

async function createWire(databaseUrl: string): Promise<Wire> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const port = await findKeptPort();
  const listen = async (): Promise<Server> => {
    const server = createServer((inner) => {
      const outer = connect(Number(target.port), target.hostname);
      for (const socket of [inner, outer]) {
        sockets.add(socket);
        // Errors are expected once the wire is cut.
        socket.on('error', () => undefined);
      }
      inner.pipe(outer).pipe(inner);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await listen();
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    async cut() {
      server.close();
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      await once(server, 'close');
    },
    async mend() {
      server = await listen();
    },
  };
}

test('writes succeed while the queue is unavailable', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const created = await owner('POST', '/v1/monitors', { name: 'x', target: 'https://shop.example' });
  t.is(created.status, 201);
  t.is((await owner('POST', `/v1/monitors/${created.json['id']}/pause`)).status, 200);
  t.is((await owner('DELETE', `/v1/monitors/${created.json['id']}`)).status, 204);
  await until(() => api.logLines.some((line) => line['msg'] === 'schedule.announcement_failed'));
});

test('a statement timeout is a 503, like an unavailable database', async (t) => {
  const { databaseUrl } = t.context.api;
  const busy = withClient(databaseUrl, async (client) => {
    await client.query("SET statement_timeout = '50ms'");
    await client.query('SELECT pg_sleep(60)');
  });
  t.like(answerTo(await t.throwsAsync(busy, { code: '57014' })), { status: 503, headers: { 'Retry-After': '5' } });
});

test('a database with missing files is a 503, like an unavailable one', async (t) => {
  const lost = withClient(t.context.api.databaseUrl, (client) => client.query(`SELECT pg_read_file('gone')`));
  t.like(answerTo(await t.throwsAsync(lost, { code: '58P01' })), { status: 503, headers: { 'Retry-After': '5' } });
});

test('a process is not ready if its database is full, read-only or out of connections', async (t) => {
  const { api } = t.context;
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const name = new URL(databaseUrl).pathname.slice(1);
  const role = `role_of_${name}`;
  const set = (sql: string) => api.database.pool.query(sql);
  await set(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'x'`);
  t.teardown(() => set(`DROP ROLE ${role}`));
  const asRole = new URL(databaseUrl);
  asRole.username = role;
  asRole.password = 'x';
  const tenantId = api.makeId('ten');
  const owned = openTestDatabase(databaseUrl);
  await createTenant(owned, { id: tenantId, name: tenantId, plan: 'pro', nowMs: Date.now(), author: null });
  const token = generateToken('spk');
  await createApiToken(
    owned,
    {
      id: api.makeId('tok'),
      tenantId,
      name: 'test',
      token,
      scopes: ['read', 'write'],
      expiresAt: null,
      nowMs: Date.now(),
      author: null,
    },
    10,
  );
  await closeDatabase(owned);

  const refusals = {
    [NO_ROOM]: [`ALTER ROLE ${role} SET temp_file_limit = 0`, `ALTER ROLE ${role} SET work_mem = '64kB'`],
    'a standby': [`ALTER ROLE ${role} SET default_transaction_read_only = on`],
    'no connection to be had': [`ALTER ROLE ${role} NOSUPERUSER CONNECTION LIMIT 0`],
  };
  for (const [refusal, statements] of Object.entries(refusals)) {
    for (const statement of statements) await set(statement);
    const database = openTestDatabase(asRole.href);
    const base = await api.another({ database });
    // No PostgreSQL setting leaves a row without room; test/faults/full-disk.test.ts covers a full disk.
    if (refusal !== NO_ROOM)
      isError(
        t,
        await api.anonymous('POST', '/v1/monitors', { name: 'x' }, { Authorization: `Bearer ${token}` }, base),
        { status: 503, error: 'the database is unavailable: try again in a few seconds' },
      );
    t.like(
      await api.anonymous('GET', '/readyz', undefined, {}, base),
      { status: 503, json: { database: false } },
      refusal,
    );
    await closeDatabase(database);
    await set(`ALTER ROLE ${role} RESET ALL`);
  }
});

test('while the database is unavailable requests are a 503, and they work again without a restart', async (t) => {
  const { api } = t.context;
  const { ownerToken } = await api.account();
  const wire = await createWire(api.databaseUrl);
  const database = openTestDatabase(wire.url);
  const base = await api.another({ database, rateLimitStore: { kind: 'postgres', pool: database.pool } });
  const call = async (path: string) =>
    await api.anonymous('GET', path, undefined, { Authorization: `Bearer ${ownerToken}` }, base);

  t.is((await call('/v1/monitors')).status, 200);
  await wire.cut();
  isError(t, await call('/v1/monitors'), {
    status: 503,
    error: 'the database is unavailable: try again in a few seconds',
  });
  t.like(await call('/readyz'), { status: 503, json: { database: false, queue: true } });
  t.is((await call('/healthz')).status, 200);
  await wire.mend();
  await until(async () => (await call('/v1/monitors')).status === 200);
  await until(async () => (await call('/readyz')).status === 200);
  await closeDatabase(database);
  await wire.cut();
});
