import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { findEmbeddedPostgres } from '../../cli/embedded-postgres/connection.ts';
import { identifyProcess, isRunning } from '../../config/processes.ts';
import { listOf } from '../helpers/api-client.ts';
import { runSpotcheck } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { hasScript, outputMatching, ownEnvironment, ROOT, startProgram, startProgramAs } from '../helpers/program.ts';
import {
  newDataDir,
  newPreparedDataDir,
  postmasterPid,
  readyService,
  START,
  startService,
} from '../helpers/running-service.ts';
import { startTarget } from '../helpers/target.ts';
import { testDataDirectory } from '../helpers/test-servers.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

const UNPRIVILEGED = { uid: 65_534, gid: 65_534 };

async function takePort(t: ExecutionContext): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Reports whether a server listens there. */
async function accepts(host: string, port: string): Promise<boolean> {
  const socket = connect({ host, port: Number(port) });
  const isAccepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isAccepted;
}

/** Returns a checkout that `nobody` can read: this one, or a copy of it if a parent directory is closed. */
async function readableCheckout(t: ExecutionContext): Promise<string> {
  if (spawnSync(process.execPath, ['--version'], { ...UNPRIVILEGED, cwd: ROOT }).status === 0) return ROOT;
  const copy = await mkdtemp('/tmp/spotcheck-copy-');
  t.teardown(() => rm(copy, { recursive: true, force: true }));
  await cp(ROOT, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.includes('/.git') && !path.includes('/.data'),
  });
  return copy;
}

test.serial(
  'a first start prints progress and secrets once and locks its data directory; a stop ends the database',
  async (t) => {
    const dataDir = await newDataDir(t);
    // The last two are meant for other servers.
    const env = {
      DATA_DIR: dataDir,
      NODE_COMPILE_CACHE: '',
      PGSSLMODE: 'require',
      PGOPTIONS: '-c default_transaction_read_only=on',
    };
    const compiled = join(dataDir, 'compiled');
    await mkdir(join(compiled, 'of another version'), { recursive: true, mode: 0o700 });
    const first = await startService(t, env);
    t.is((await readdir(compiled)).length, 1, 'only what this version compiled is kept for the next start');
    t.true(await until(async () => (await readdir(compiled, { recursive: true })).length > 100));
    const output = first.program.output();
    const { port } = new URL(first.url);
    t.true(await accepts('127.0.0.1', port));
    t.false(await accepts('127.0.0.2', port), 'by default only this machine can connect');
    t.true(
      output.indexOf('creating the database') < output.indexOf('migration ') &&
        output.indexOf('migration ') < output.indexOf('API token'),
      output,
    );
    const other = startProgram(t, START, { DATA_DIR: dataDir, PORT: '0' });
    t.is(await other.exited, 1);
    t.regex(
      other.output(),
      new RegExp(`^\\S+ is in use by another Spotcheck \\(process ${first.program.child.pid}\\): [^\\n]+\\n$`),
    );
    t.is((await first.call('POST', '/monitors', { name: 'Kept' })).status, 201);
    const postgres = await postmasterPid(dataDir);
    t.is(await first.program.stop('SIGTERM'), 0, first.program.output());
    t.is(await identifyProcess(postgres), null);

    await chmod(compiled, 0o755);
    await mkdir(join(compiled, 'of a stranger'));
    const second = await startService(t, { ...env, HOST: '0.0.0.0' }, first.token);
    t.true((await readdir(compiled)).includes('of a stranger'), 'a folder that others can read is left alone');
    t.true(await accepts('127.0.0.2', new URL(second.url).port));
    t.notRegex(second.program.output(), /API token|password|preparing|migration/);
    t.like(listOf(await second.call('GET', '/monitors')), [{ name: 'Kept' }]);
    const secondPostgres = await postmasterPid(dataDir);
    t.is(await second.program.stop('SIGINT'), 0, second.program.output());
    t.is(await identifyProcess(secondPostgres), null);
  },
);

test.serial(
  'a HOST that is not an address of this machine causes one clear line and exit 1 before any preparation',
  async (t) => {
    const dataDir = await newDataDir(t);
    const program = startProgram(t, START, { DATA_DIR: dataDir, PORT: '0', HOST: '203.0.113.1' });
    t.is(await program.exited, 1);
    t.is(program.output(), 'HOST must be an address of this machine, got 203.0.113.1\n');
    await t.throwsAsync(stat(dataDir), { code: 'ENOENT' });
  },
);

test.serial('a start that is stopped while it creates the database ends cleanly', async (t) => {
  const dataDir = await newDataDir(t);
  const program = startProgram(t, START, { DATA_DIR: dataDir, PORT: '0' });
  await outputMatching(program, /creating the database/);
  t.is(await program.stop(), 0, program.output());
  t.deepEqual(
    (await readdir(dataDir)).filter((name) => name === 'owner.json' || name === 'runtime.json'),
    [],
  );
});

if (hasScript())
  test.serial('a start stops when its terminal is closed', async (t) => {
    const dataDir = await newPreparedDataDir(t);
    const env = { ...ownEnvironment(), DATA_DIR: dataDir, PORT: '0' };
    const command = `exec '${process.execPath}' ${START.join(' ')}`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pids: number[] = [];
    t.teardown(() => {
      // First the service, which would start its PostgreSQL again; neither is left if the test passed.
      terminal.kill('SIGKILL');
      for (const pid of pids) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    for await (const line of createInterface({ input: terminal.stdout }))
      if (line.startsWith('Spotcheck is ready')) break;
    const { pid } = JSON.parse(await readFile(join(dataDir, 'owner.json'), 'utf8')) as { pid: number };
    const postgres = await postmasterPid(dataDir);
    pids.push(pid, postgres);
    terminal.kill('SIGKILL');
    await until(async () => (await identifyProcess(postgres)) === null);
    t.true(await until(async () => !(await readdir(dataDir)).includes('owner.json')));
  });
else test('script of util-linux is not installed here, so no terminal was closed', (t) => t.pass());

test.serial('a start without a terminal ignores SIGHUP', async (t) => {
  const service = await startService(t, { DATA_DIR: await newPreparedDataDir(t) });
  service.program.child.kill('SIGHUP');
  // The signal is handled before the second request.
  await fetch(`${service.url}/healthz`);
  t.is((await fetch(`${service.url}/healthz`)).status, 200);
  t.is(await service.program.stop(), 0, service.program.output());
});

test.serial('npm start stopped by a signal to npm alone leaves neither a service nor a database behind', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  const env = { ...ownEnvironment(), DATA_DIR: dataDir, PORT: '0' };
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  const { pid = 0, stdout } = npm;
  t.teardown(() => {
    // Kills any of npm, its shell and the service that are left; none are if the test passed.
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  });
  const lines: string[] = [];
  createInterface({ input: stdout }).on('line', (line) => lines.push(line));
  await until(() => lines.some((line) => line.startsWith('Spotcheck is ready')));
  const postgres = await postmasterPid(dataDir);
  npm.kill('SIGTERM');
  await until(async () => (await identifyProcess(postgres)) === null);
  await until(() => lines.at(-1) === 'Stopped');
  t.deepEqual(
    (await readdir(dataDir)).filter((name) => name === 'owner.json'),
    [],
  );
});

test.serial('a port in use causes one clear line and exit 1 before any preparation', async (t) => {
  const dataDir = await newDataDir(t);
  const port = await takePort(t);
  const program = startProgram(t, START, { DATA_DIR: dataDir, PORT: `${port}` });
  t.is(await program.exited, 1);
  t.is(program.output(), `Port ${port} is already in use: stop the program that uses it, or set PORT to a free port\n`);
  await t.throwsAsync(stat(dataDir), { code: 'ENOENT' });
});

test.serial('a fleet process whose port is in use names the variable that sets it', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const port = await takePort(t);
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    PUBLIC_URL: 'http://localhost:3000',
    METRICS_PORT: `${port}`,
    PORT: `${port}`,
  };
  for (const [args, variable] of [
    [['api/main.ts'], 'PORT'],
    [['workers/main.ts', 'clock'], 'METRICS_PORT'],
  ] as const) {
    const program = startProgram(t, args, env);
    t.is(await program.exited, 1);
    const last = `Port ${port} is already in use: stop the program that uses it, or set ${variable} to a free port\n`;
    t.true(program.output().endsWith(last), program.output());
  }
});

test.serial('an invalid configuration causes exit 1 with all problems together and without secrets', async (t) => {
  const dataDir = await newDataDir(t);
  const env = {
    DATA_DIR: dataDir,
    PORT: 'http',
    REDIS_URL: 'amqp://:hush1@queue',
    BOOTSTRAP_TOKEN: 'hush2',
    SECRET_KEYS: 'k1:hush3',
    AGENT_REGIONS: 'a,a',
    LOG_LEVEL: 'loud',
  };
  for (const args of [START, ['workers/main.ts', 'evaluate'], ['api/main.ts']]) {
    const program = startProgram(t, args, env);
    t.is(await program.exited, 1);
    for (const name of ['PORT', 'REDIS_URL', 'BOOTSTRAP_TOKEN', 'SECRET_KEYS', 'AGENT_REGIONS', 'LOG_LEVEL'])
      t.regex(program.errors(), new RegExp(`^  ${name}: expected `, 'm'));
    t.notRegex(program.output(), /hush/);
  }
  await t.throwsAsync(stat(dataDir), { code: 'ENOENT' });
});

test.serial('it runs as an unprivileged user, who also owns a backup made by root', async (t) => {
  const isRoot = process.getuid?.() === 0;
  const account = isRoot ? UNPRIVILEGED : {};
  // Next to the run's directory and not inside, because that is closed to other users.
  const directory = await mkdtemp(join(dirname(testDataDirectory()), 'spotcheck-unprivileged-'));
  t.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  if (isRoot) await chown(directory, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  const cwd = isRoot ? await readableCheckout(t) : ROOT;
  const service = await readyService(
    startProgramAs(t, {
      args: START,
      env: { DATA_DIR: join(directory, 'data'), PORT: '0', HOME: directory },
      cwd,
      ...account,
    }),
  );
  t.is((await service.call('GET', '/monitors')).status, 200);
  const owner = isRoot ? UNPRIVILEGED.uid : (process.getuid?.() ?? 0);
  t.is((await stat(join(directory, 'data', 'secret-keys'))).uid, owner);
  const copy = join(directory, 'copy');
  const backup = await runSpotcheck(['backup', '--to', copy], { DATA_DIR: join(directory, 'data') });
  t.is(backup.status, 0, backup.stderr);
  for (const path of ['.', 'secret-keys', 'postgres', 'postgres/password', 'postgres/cluster'])
    t.is((await stat(join(copy, path))).uid, owner, path);
  t.is(await service.program.stop(), 0, service.program.output());
});

test.serial(
  'a later start restores no deleted user or revoked token, and logs the variables that it ignores',
  async (t) => {
    const dataDir = await newPreparedDataDir(t);
    const env = {
      DATA_DIR: dataDir,
      BOOTSTRAP_TOKEN: 'spk_of-the-first-start',
      BOOTSTRAP_PASSWORD: 'of the first start',
    };
    const first = await startService(t, env, env.BOOTSTRAP_TOKEN);
    const accounts = async (sql: string) =>
      (await withClient((await findEmbeddedPostgres(dataDir)) ?? '', (client) => client.query(sql))).rows;
    // Simulates another owner who removes the first one and revokes the token.
    await accounts(`DELETE FROM users WHERE email = 'admin@localhost'`);
    await accounts('UPDATE api_tokens SET revoked_at = created_at');
    t.is(await first.program.stop('SIGKILL'), null);

    const second = await startService(t, env, env.BOOTSTRAP_TOKEN);
    t.is((await second.call('GET', '/monitors')).status, 401);
    t.deepEqual(await accounts('SELECT email FROM users'), []);
    t.is((await accounts('SELECT 1 FROM api_tokens')).length, 1);
    t.regex(
      second.program.output(),
      /"variables":\["BOOTSTRAP_TOKEN","BOOTSTRAP_PASSWORD"\],"msg":"bootstrap.ignored"/,
    );
    t.notRegex(second.program.output(), /API token|of-the-first-start|of the first start/);
  },
);

test.serial(
  'the first token and password can be set, and each of several regions is an agent that checks',
  async (t) => {
    const target = await startTarget(t);
    const [token, password] = ['spk_given-for-unattended-set-up', 'given by the operator'];
    const env = {
      DATA_DIR: await newPreparedDataDir(t),
      BOOTSTRAP_TOKEN: token,
      BOOTSTRAP_PASSWORD: password,
      AGENT_REGIONS: 'hanoi,oslo',
    };
    const { program, url, call } = await startService(t, env, token);
    const board = async (credentials: string) =>
      (await fetch(`${url}/queues`, { headers: { Authorization: `Basic ${btoa(credentials)}` } })).status;
    t.is(await board(`admin@localhost:${password}`), 401, "a user's password does not open the board");
    const signedIn = await fetch(`${url}/v1/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'admin@localhost', password }),
    });
    t.is(signedIn.status, 201);
    const headers = { Cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '' };
    for (const path of ['/v1/monitors', '/queues']) t.is((await fetch(`${url}${path}`, { headers })).status, 200, path);

    const agents = listOf(await call('GET', '/agents'));
    t.deepEqual(agents.map(({ region }) => region).toSorted(), ['hanoi', 'oslo']);
    const { json } = await call('POST', '/monitors', {
      name: 'Shop',
      target: target.url(),
      interval_seconds: 1,
      timeout_ms: 999,
      down_min_sources: 2,
    });
    const monitor = async () => (await call('GET', `/monitors/${json['id']}`)).json;
    t.deepEqual((await monitor())['agent_sources'], agents.map(({ id }) => id).toSorted());
    await until(async () => (await monitor())['status'] === 'up');
    for (const given of [token, password])
      t.false(program.output().includes(given), 'what the operator set is not logged');
    t.regex(program.output(), /set by BOOTSTRAP_TOKEN[^]*password set by BOOTSTRAP_PASSWORD/);
    t.is(await program.stop(), 0, program.output());
  },
);
