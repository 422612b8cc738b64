import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { findKeptPort } from '../../tools/kept-port.ts';
import { hostCommands, runSpotcheck } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { outputMatching, startProgram } from '../helpers/program.ts';
import { until } from '../helpers/until.ts';

const run = hostCommands(test);

/** Starts a server that answers every path with the given status, and returns its port. */
async function answering(t: ExecutionContext, status: number, body = ''): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

test('health exits with 0 if the process responds with 200, otherwise with 1 and the reason', async (t) => {
  const [well, ill, nothing] = [
    await answering(t, 200),
    await answering(t, 503, 'stopping'),
    String(await findKeptPort()),
  ];
  t.deepEqual(await run(['health'], { PORT: well }), {
    status: 0,
    stdout: `Healthy: http://127.0.0.1:${well}/healthz answered 200\n`,
    stderr: '',
  });
  t.deepEqual(await run(['health', 'web', '--ready'], { PORT: ill, HOST: '0.0.0.0' }), {
    status: 1,
    stdout: '',
    stderr: `Unhealthy: http://127.0.0.1:${ill}/readyz answered 503: stopping\n`,
  });
  t.deepEqual(await run(['health', 'start'], { PORT: nothing, HOST: '::1' }), {
    status: 1,
    stdout: '',
    stderr: `Unhealthy: nothing answers at http://[::1]:${nothing}/healthz\n`,
  });
});

test('a process on a port that browsers block is reported as healthy', async (t) => {
  for (const port of [6000, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 10_080]) {
    const server = createServer((_request, response) => response.end());
    const isListening = await once(server.listen(port, '127.0.0.1'), 'listening').then(
      () => true,
      () => false,
    );
    if (!isListening) continue;
    t.teardown(() => void server.close());
    t.is((await run(['health'], { PORT: String(port) })).status, 0);
    return;
  }
  t.fail('every such port is taken');
});

test('the health of a worker is read at METRICS_PORT, and without a process name first at PORT', async (t) => {
  const [well, ill, nothing] = [await answering(t, 200), await answering(t, 500), String(await findKeptPort())];
  t.is((await run(['health', 'check'], { PORT: ill, METRICS_PORT: well })).status, 0);
  t.is((await run(['health', 'check'], { PORT: well, METRICS_PORT: nothing })).status, 1);
  t.is((await run(['health'], { PORT: nothing, METRICS_PORT: well })).status, 0);
  t.is((await run(['health'], { PORT: ill, METRICS_PORT: well })).status, 1, 'PORT takes precedence');
  t.deepEqual(await run(['health', 'clock'], { PORT: well }), {
    status: 1,
    stdout: '',
    stderr: 'Set METRICS_PORT: clock serves its health on that port\n',
  });
  t.is((await run(['health', 'nothing'], { PORT: well })).status, 2);
});

test('every fleet process starts by name, under the pid of the command, and reports its health', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    AGENT_REGION: 'local',
    ALLOW_PRIVATE_NETWORK: 'true',
  };
  t.is((await runSpotcheck(['migrate'], env)).status, 0);
  const names = Object.keys(FLEET).filter((name): name is ProcessName => name !== 'release');
  for (const name of names) {
    const ports = { HOST: '127.0.0.1', PORT: String(await findKeptPort()), METRICS_PORT: String(await findKeptPort()) };
    const program = startProgram(t, ['cli/spotcheck.ts', name], { ...env, ...ports, STOP_GRACE_SECONDS: '0' });
    await outputMatching(program, /"msg":"process\.started"/);
    await until(async () => (await run(['health', name, '--ready'], { ...env, ...ports })).status === 0);
    t.is((await run(['health'], { ...env, ...ports })).status, 0, name);
    t.is(await program.stop('SIGTERM'), 0, `${name} gets the signal itself`);
    t.is((await run(['health', name], { ...env, ...ports })).status, 1, name);
  }
});

test('the private agent starts by name and reports missing configuration', async (t) => {
  const { status, stderr } = await runSpotcheck(['agent', 'run'], {});
  t.is(status, 1);
  t.regex(stderr, /SPOTCHECK_URL: expected/);
});
