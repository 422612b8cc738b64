import { randomBytes } from 'node:crypto';
import { mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { lockExclusively } from '../../config/exclusive-lock.ts';
import { identifyProcess } from '../../config/processes.ts';
import { ageDatabase } from '../helpers/aged-database.ts';
import { pingTokenOf, listOf, retrying, type ApiClient } from '../helpers/api-client.ts';
import { runSpotcheck } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { startInstallation } from '../helpers/own-agent.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import {
  newDataDir,
  newPreparedDataDir,
  postmasterPid,
  startService,
  type Service,
} from '../helpers/running-service.ts';
import { eventsAt, nextEvent, PATIENTLY } from '../helpers/story.ts';
import { testServers } from '../helpers/test-servers.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Receiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

const SECRET = 'only-with-the-key';

/** Starts a target that accepts only requests with a secret; `hits` counts them. */
async function startGuardedTarget(t: ExecutionContext) {
  const target = { url: '', status: 200, hits: 0 };
  const { port } = await startHttpServer(t, (request, response) => {
    const isKnown = request.headers['x-secret'] === SECRET;
    if (isKnown) target.hits += 1;
    response.writeHead(isKnown ? target.status : 401).end();
  });
  target.url = `http://127.0.0.1:${port}/`;
  return target;
}

/**
 * Creates a webhook channel and a monitor that is checked often with a sealed secret; returns the monitor's id.
 */
async function watchGuarded(service: Service, { receiver, url }: { receiver: Receiver; url: string }): Promise<string> {
  const call = retrying(service.call);
  const up = nextEvent(receiver, 'monitor.up');
  await call('POST', '/channels', { type: 'webhook', name: 'On call', url: receiver.url });
  const created = await call('POST', '/monitors', {
    name: 'Shop',
    target: url,
    ...PATIENTLY,
    check_spec: { request: { secretHeaders: { 'X-Secret': SECRET } } },
  });
  await up;
  return created.json['id'];
}

const receivedBy = (receiver: Receiver) => eventsAt(receiver).map(({ event, json }) => [event, json['delivery_id']]);

test('a backup made under load is a data directory, on which a start after a total loss resumes', async (t) => {
  const [receiver, target, dataDir] = await Promise.all([
    startReceiver(t),
    startGuardedTarget(t),
    newPreparedDataDir(t),
  ]);
  const env = { NODE_EXTRA_CA_CERTS: receiver.caFile };
  const lost = await startService(t, { ...env, DATA_DIR: dataDir });
  const id = await watchGuarded(lost, { receiver, url: target.url });
  const copy = join(dataDir, '..', 'backup');
  let renames = 0;
  const backup = runSpotcheck(['backup', '--to', copy, '--json'], { DATA_DIR: dataDir });
  for (
    const made = backup.then(() => false);
    await Promise.race([
      made,
      lost.call('PATCH', `/monitors/${id}`, {
        name: `Shop ${renames}`,
        check_spec: { request: { preserveSecretHeaders: true } },
      }),
    ]);
  )
    renames += 1;
  t.deepEqual(await backup, { status: 0, stdout: `${JSON.stringify({ to: copy })}\n`, stderr: '' });
  t.is((await stat(copy)).mode & 0o777, 0o700);
  const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;
  const foreign = await runSpotcheck(['backup', '--to', `${copy}-2`], { DATA_DIR: dataDir, SECRET_KEYS });
  t.is(foreign.status, 1);
  t.regex(
    foreign.stderr,
    /The running service does not encrypt with the key "k1" that this command found: set SECRET_KEYS/,
  );
  const keyless = await newDataDir(t);
  await mkdir(keyless, { recursive: true });
  const others = (await readdir(dataDir)).filter((name) => name !== 'secret-keys');
  for (const name of others) await symlink(join(dataDir, name), join(keyless, name));
  t.is((await runSpotcheck(['tenant', 'list'], { DATA_DIR: keyless })).status, 0, 'this command needs no keys');
  for (const args of [
    ['backup', '--to', `${copy}-3`],
    ['keys', 'rotate'],
  ])
    t.regex((await runSpotcheck(args, { DATA_DIR: keyless })).stderr, /has no key ring, so the running service has it/);
  t.deepEqual(await readdir(keyless), others, 'no command creates a key ring');
  const again = await runSpotcheck(['backup', '--to', copy], { DATA_DIR: dataDir });
  t.deepEqual([again.status, again.stderr], [1, `${copy} already exists: choose a folder that does not exist\n`]);

  await mkdir(`${copy}-4.incomplete`);
  const unlock = await lockExclusively(join(dataDir, 'backup.lock'), () => new Error());
  const second = await runSpotcheck(['backup', '--to', `${copy}-4`], { DATA_DIR: dataDir });
  t.is(second.stderr, `Another backup of ${dataDir} is in progress (process ${process.pid})\n`);
  t.true((await stat(`${copy}-4.incomplete`)).isDirectory(), 'its draft is left alone');
  await unlock();

  await lost.call('POST', '/monitors', { name: 'Made after the backup' });
  await lost.program.stop('SIGKILL');
  const postgres = await postmasterPid(dataDir);
  process.kill(postgres, 'SIGKILL');
  await until(async () => (await identifyProcess(postgres)) === null);
  const before = receivedBy(receiver);
  const hits = target.hits;

  const restored = await startService(t, { ...env, DATA_DIR: copy }, lost.token);
  const monitors = listOf(await restored.call('GET', '/monitors'));
  t.is(monitors.length, 1);
  t.true(renames > 0 && Number(/^Shop (\d+)$/.exec(String(monitors[0]?.['name']))?.[1] ?? -1) <= renames);
  await until(() => target.hits > hits + 2);
  t.is((await restored.call('GET', `/monitors/${id}`)).json['status'], 'up');
  const down = nextEvent(receiver, 'monitor.down');
  target.status = 503;
  await down;
  t.deepEqual(receivedBy(receiver).slice(0, -1), before, 'only what is new is reported');
  t.is(await restored.program.stop(), 0, restored.program.output());
});

test('backup refuses an external server, and a service that is not running', async (t) => {
  const server = await runSpotcheck(['backup', '--to', '/nowhere/backup'], {
    DATABASE_URL: 'postgres://u:p@127.0.0.1:9/x',
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  });
  t.deepEqual(
    [server.status, server.stderr],
    [1, 'DATABASE_URL is set: back up that server with its own tools, such as pg_dump\n'],
  );
  const stopped = await runSpotcheck(['backup', '--to', '/nowhere/backup'], { DATA_DIR: await newDataDir(t) });
  t.is(stopped.status, 1);
  t.regex(stopped.stderr, /^No running Spotcheck was found/);
});

/** Creates a database from another, as a restored backup of it. */
async function restoreInto(t: ExecutionContext, from: string): Promise<string> {
  const name = `restored_${randomBytes(6).toString('hex')}`;
  const maintenance = testServers().databaseUrl;
  await withClient(maintenance, async (client) => {
    const template = new URL(from).pathname.slice(1);
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [template]);
    await until(
      async () => (await client.query('SELECT FROM pg_stat_activity WHERE datname = $1', [template])).rowCount === 0,
    );
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  });
  t.teardown(() =>
    withClient(
      maintenance,
      async (client) => void (await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
    ),
  );
  return Object.assign(new URL(from), { pathname: `/${name}` }).href;
}

test('a server restored from a nine-day-old backup without queues resumes and sends what was pending', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const [receiver, target] = await Promise.all([startReceiver(t), startGuardedTarget(t)]);
  const redisUrl = listQueueBackends().at(-1)?.redisUrl ?? null;
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const envOf = (url: string, redisDatabase: number) => ({
    DATABASE_URL: url,
    ...(redisUrl !== null && { REDIS_URL: `${redisUrl}/${redisDatabase}` }),
    SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
    DELIVERY_RETRY_SECONDS: '600',
    NODE_EXTRA_CA_CERTS: receiver.caFile,
  });
  const lost = await startService(t, envOf(databaseUrl, 6), token);
  const id = await watchGuarded(lost, { receiver, url: target.url });
  const job = (
    await retrying(lost.call)('POST', '/monitors', { name: 'Nightly', type: 'heartbeat', interval_seconds: 60 })
  ).json['id'];
  const pingToken = pingTokenOf(await lost.call('GET', `/monitors/${job}`));
  const jobUp = nextEvent(receiver, 'monitor.up');
  await fetch(`${lost.url}/ping/${pingToken}`);
  await jobUp;
  receiver.answer.status = 500;
  const refused = nextEvent(receiver, 'monitor.down');
  target.status = 503;
  const waiting = (await refused).json['delivery_id'];
  const [channel] = listOf(await lost.call('GET', '/channels'));
  const pendingAt = async (call: ApiClient) =>
    listOf(await call('GET', `/channels/${channel?.['id']}/deliveries?outcome=pending`));
  await until(async () =>
    (await pendingAt(lost.call)).some((delivery) => delivery['attempt_count'] === 1 && delivery['last_error'] !== null),
  );
  await lost.program.stop('SIGKILL');

  const restoredUrl = await restoreInto(t, databaseUrl);
  await ageDatabase(restoredUrl, 9);
  receiver.answer.status = 204;
  target.status = 200;
  const before = receivedBy(receiver).length;
  // Including the start, which alone may take four minutes.
  const recovered = nextEvent(receiver, 'monitor.up', 360_000);
  const { call, program } = await startService(t, envOf(restoredUrl, 7), token);
  await recovered;
  await until(() => program.output().includes('heartbeats.forgiven'));
  await until(() => program.output().includes('service.gap_ended'));
  await until(async () => listOf(await call('GET', `/monitors/${id}/checks`)).length > 2);
  await until(async () => (await pendingAt(call)).length === 0);
  t.deepEqual(
    receivedBy(receiver)
      .slice(before)
      .map(([event]) => event),
    ['monitor.down', 'monitor.up'],
  );
  t.is(receivedBy(receiver)[before]?.[1], waiting, 'under its original delivery id');
  t.is((await call('GET', `/monitors/${id}`)).json['status'], 'up');
  t.is((await call('GET', `/monitors/${job}`)).json['status'], 'up');
  t.is(await program.stop(), 0, program.output());
});

test("after a restore a customer's agent goes on with the work in the backup and drops newer work", async (t) => {
  const target = await startGuardedTarget(t);
  const receiver = await startReceiver(t);
  const installation = await startInstallation(t, { NODE_EXTRA_CA_CERTS: receiver.caFile });
  const agent = await installation.startAgent('office');
  const call = retrying((...request) => installation.service.call(...request));
  const settings = {
    target: target.url,
    ...PATIENTLY,
    agent_sources: [agent.id],
    check_spec: { request: { secretHeaders: { 'X-Secret': SECRET } } },
  };
  const up = nextEvent(receiver, 'monitor.up');
  await call('POST', '/channels', { type: 'webhook', name: 'On call', url: receiver.url });
  const id = (await call('POST', '/monitors', { name: 'Shop', ...settings })).json['id'];
  await up;
  await installation.service.program.stop();
  const backup = await restoreInto(t, installation.databaseUrl);

  await installation.restart();
  await call('PATCH', `/monitors/${id}`, {
    interval_seconds: 3600,
    check_spec: { request: { preserveSecretHeaders: true } },
  });
  const other = await startGuardedTarget(t);
  const since = (await call('POST', '/monitors', { ...settings, name: 'Made after the backup', target: other.url }))
    .json['id'];
  await until(async () => (await call('GET', `/monitors/${since}`)).json['status'] === 'up');
  await installation.service.program.stop('SIGKILL');

  const before = receivedBy(receiver).length;
  await installation.restart({ DATABASE_URL: backup });
  const restoredAt = Date.now() / 1000;
  await until(async () => Number(listOf(await call('GET', `/monitors/${id}/checks`))[0]?.['at']) > restoredAt);
  t.is((await call('GET', `/monitors/${since}`)).status, 404);
  const { hits } = other;
  const down = nextEvent(receiver, 'monitor.down');
  target.status = 503;
  await down;
  t.true(other.hits <= hits + 1, 'a monitor that is not in the backup is no longer checked');
  const reported = receivedBy(receiver)
    .slice(before)
    .map(([event]) => event);
  // If a start takes longer than results stay fresh, the monitor was unknown in between.
  const wasUnknown = reported[0] === 'monitor.unknown';
  t.deepEqual(
    reported,
    [...(wasUnknown ? ['monitor.unknown', 'monitor.up'] : []), 'monitor.down'],
    'only what is new is reported',
  );
});
