import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { createTestDatabase } from '../helpers/database.ts';
import { outputMatching, startProgram } from '../helpers/program.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

async function startWeb(t: ExecutionContext, env: Record<string, string>) {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const program = startProgram(t, ['api/main.ts'], {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    PORT: '0',
    ...env,
  });
  const [, port = ''] = await outputMatching(program, /"port":(\d+)/);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const get = async (path: string, headers = {}) => {
    const sent = request({ host: '127.0.0.1', port, path, headers, agent }).end();
    const [response]: IncomingMessage[] = (await once(sent, 'response')) as [IncomingMessage];
    return {
      status: response?.statusCode,
      connection: response?.headers.connection,
      body: response === undefined ? '' : await text(response),
    };
  };
  return { program, databaseUrl, get };
}

test('a stopping web process says so at /readyz, serves on for its grace and sends Connection: close', async (t) => {
  const { program, get } = await startWeb(t, { STOP_GRACE_SECONDS: '20' });
  const ready = await until(async () => {
    const answer = await get('/readyz');
    return answer.status === 200 && answer;
  });
  t.like(ready, { connection: 'keep-alive', body: '{"status":"ready","database":true,"queue":true}' });
  program.child.kill('SIGTERM');
  const signalledAtMs = performance.now();
  const unready = await until(async () => {
    const answer = await get('/readyz');
    return answer.status === 503 && answer.body.includes('"database":true') && answer;
  });
  t.like(unready, { connection: 'close', body: '{"status":"stopping","database":true,"queue":true}' });
  t.like(await get('/healthz'), { status: 200, connection: 'close' });
  t.like(await get('/v1/monitors'), { status: 401, connection: 'close' });
  t.is(await program.exited, 0, program.output());
  t.true(performance.now() - signalledAtMs >= 8000);
});

test('a request in progress when the stop begins also gets a response with Connection: close', async (t) => {
  const { program, databaseUrl, get } = await startWeb(t, { STOP_GRACE_SECONDS: '30' });
  await withClient(databaseUrl, async (client) => {
    await client.query('BEGIN; LOCK TABLE api_tokens');
    const slow = get('/v1/monitors', { Authorization: `Bearer spk_${'x'.repeat(32)}` });
    await until(
      async () =>
        (await client.query("SELECT FROM pg_locks WHERE relation = 'api_tokens'::regclass AND NOT granted"))
          .rowCount === 1,
    );
    program.child.kill('SIGTERM');
    await until(async () => (await get('/readyz')).body.includes('"stopping"'));
    await client.query('COMMIT');
    t.like(await slow, { status: 401, connection: 'close' });
  });
});
