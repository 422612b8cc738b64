import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { backUpCluster } from '../../cli/embedded-postgres/backup.ts';
import { findEmbeddedPostgres } from '../../cli/embedded-postgres/connection.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { boundedDisk } from '../helpers/bounded-disk.ts';
import { prepareDataDir } from '../helpers/prepared-data-dir.ts';
import { testDataDirectory } from '../helpers/test-servers.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

const START = new URL('../../cli/embedded-postgres/start.ts', import.meta.url).href;

/** Creates a data directory for this test, below one that only its owner can enter, like a checkout in /root. */
async function newDataDir(t: ExecutionContext): Promise<string> {
  const closed = await mkdtemp(join(testDataDirectory(), 'spotcheck-embedded-'));
  await chmod(closed, 0o700);
  t.teardown(() => rm(closed, { recursive: true, force: true }));
  return join(closed, 'data');
}

/** Creates a data directory whose cluster is already initialized. */
async function newPreparedDataDir(t: ExecutionContext): Promise<string> {
  const dataDir = await newDataDir(t);
  await prepareDataDir(dataDir);
  return dataDir;
}

async function start(t: ExecutionContext, dataDir: string, progress: string[] = []): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({
    dataDir,
    onProgress: (text) => progress.push(text),
    isDurable: false,
  });
  t.teardown(() => postgres.stop().catch(() => undefined));
  return postgres;
}

/** Starts the database in a separate process, which a test can kill. */
async function startElsewhere(t: ExecutionContext, dataDir: string): Promise<ChildProcess> {
  const script = `
    import { startEmbeddedPostgres } from ${JSON.stringify(START)};
    await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, onProgress: () => undefined, isDurable: false });
    process.stdout.write('started\\n');
    setInterval(() => undefined, 60_000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => owner.kill('SIGKILL'));
  for await (const line of createInterface({ input: owner.stdout })) if (line === 'started') break;
  return owner;
}

async function kill(process: ChildProcess): Promise<void> {
  const exited = once(process, 'exit');
  process.kill('SIGKILL');
  await exited;
}

async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

async function query(databaseUrl: string, sql: string): Promise<unknown> {
  return withClient(databaseUrl, async (client) => Object.values((await client.query(sql)).rows[0] ?? {})[0]);
}

test('a first start creates the cluster and reports it, and a later one finds its rows', async (t) => {
  const dataDir = await newDataDir(t);
  const progress: string[] = [];
  const first = await start(t, dataDir, progress);
  t.deepEqual(progress, ['creating the database, this happens only once']);
  await query(first.databaseUrl, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await first.stop();
  const second = await start(t, dataDir, progress);
  t.is(progress.length, 1);
  t.is(await query(second.databaseUrl, 'SELECT answer FROM kept'), 42);
});

test('the server accepts only its password on 127.0.0.1, and sorts the same on every machine', async (t) => {
  const { databaseUrl } = await start(t, await newDataDir(t));
  t.is(await query(databaseUrl, 'SHOW listen_addresses'), '127.0.0.1');
  t.is(await query(databaseUrl, 'SHOW unix_socket_directories'), '');
  t.is(
    await query(
      databaseUrl,
      `SELECT datlocprovider::text || ' ' || datlocale || ' ' || pg_encoding_to_char(encoding) FROM pg_database
       WHERE datname = current_database()`,
    ),
    'b C.UTF-8 UTF8',
  );
  const stranger = new URL(databaseUrl);
  stranger.password = 'guess';
  await t.throwsAsync(query(stranger.href, 'SELECT 1'), { message: /password authentication failed/ });
});

test('no other user may read the password', async (t) => {
  const dataDir = await newDataDir(t);
  await start(t, dataDir);
  for (const path of ['postgres/password', 'runtime.json'])
    t.is((await stat(join(dataDir, path))).mode & 0o077, 0, path);
});

test('the running database is found by its data directory until it is stopped', async (t) => {
  const dataDir = await newDataDir(t);
  t.is(await findEmbeddedPostgres(dataDir), null);
  const postgres = await start(t, dataDir);
  t.is(await findEmbeddedPostgres(dataDir), postgres.databaseUrl);
  await postgres.stop();
  t.is(await findEmbeddedPostgres(dataDir), null);
  t.deepEqual((await readdir(dataDir)).toSorted(), ['postgres', 'postgres.log']);
});

test('a second start on the same data directory is refused while the first one is running', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  const owner = await startElsewhere(t, dataDir);
  await t.throwsAsync(startEmbeddedPostgres({ dataDir, onProgress: () => undefined }), {
    message: new RegExp(`in use by another Spotcheck \\(process ${owner.pid}\\)`),
  });
  t.not(await findEmbeddedPostgres(dataDir), null, 'the first one is left alone');
  await kill(owner);
  await start(t, dataDir);
});

test('the server survives a kill of its owner and is adopted by the next start', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  await kill(await startElsewhere(t, dataDir));
  const orphan = await postmasterPid(dataDir);
  const { databaseUrl, stop } = await start(t, dataDir);
  t.is(await postmasterPid(dataDir), orphan);
  t.is(await query(databaseUrl, 'SELECT 1'), 1);
  await stop();
  t.is(await findEmbeddedPostgres(dataDir), null);
});

test('a start after a kill of owner and server recovers all commits', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  const owner = await startElsewhere(t, dataDir);
  await query((await findEmbeddedPostgres(dataDir)) ?? '', 'CREATE TABLE kept AS SELECT 42 AS answer');
  await kill(owner);
  process.kill(await postmasterPid(dataDir), 'SIGKILL');
  const { databaseUrl } = await start(t, dataDir);
  t.is(await query(databaseUrl, 'SELECT answer FROM kept'), 42);
});

test('a pid file whose pid was reused by another process does not prevent a start', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  const { stop } = await start(t, dataDir);
  const path = join(dataDir, 'postgres', 'cluster', 'postmaster.pid');
  const lines = await readFile(path, 'utf8');
  await stop();
  const stranger = spawn(process.execPath, ['--eval', 'setInterval(() => undefined, 60_000)'], { stdio: 'ignore' });
  t.teardown(() => stranger.kill('SIGKILL'));
  await writeFile(path, lines.replace(/^\d+/, `${stranger.pid}`));
  const { databaseUrl } = await start(t, dataDir);
  t.is(await query(databaseUrl, 'SELECT 1'), 1);
  t.is(stranger.exitCode, null, 'the other process is left alone');
});

test('a reused pid of a process that the system hides does not delay a start', async (t) => {
  const hiding =
    'mount -t proc -o hidepid=invisible,gid=65534 proc /proc && exec setpriv --bounding-set=-sys_ptrace,-kill "$@"';
  const runHidden = (...args: string[]) =>
    spawnSync('unshare', ['--mount', 'sh', '-c', hiding, '', process.execPath, ...args], { timeout: 60_000 });
  // Only root may hide processes, and not in every container.
  if (runHidden('--version').status !== 0) return t.pass();
  const stranger = spawn('sleep', ['600'], { uid: 65_534, stdio: 'ignore' });
  t.teardown(() => stranger.kill('SIGKILL'));
  const directory = await mkdtemp(join(testDataDirectory(), 'spotcheck-hidden-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'postmaster.pid'), `${stranger.pid}\n${directory}\n0\n1\n`);
  const script = `
    import { adoptPostmaster } from ${JSON.stringify(new URL('postmaster.ts', START).href)};
    console.log(await adoptPostmaster({ directory: ${JSON.stringify(directory)}, password: 'any' }));`;
  t.is(`${runHidden('--input-type=module', '--eval', script).stdout}`, 'null\n');
});

test('a server that dies is restarted at the same address', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  const progress: string[] = [];
  const { databaseUrl } = await start(t, dataDir, progress);
  const killed = await postmasterPid(dataDir);
  process.kill(killed, 'SIGKILL');
  await until(
    async () =>
      (await postmasterPid(dataDir).catch(() => killed)) !== killed &&
      (await findEmbeddedPostgres(dataDir)) === databaseUrl,
  );
  t.is(await query(databaseUrl, 'SELECT 1'), 1);
  t.true(progress.includes('the database stopped unexpectedly, restarting it'));
});

test('a server stopped by a full disk restarts once there is space, with all its commits', async (t) => {
  const disk = await boundedDisk(t, 200);
  if (disk === null) return t.pass();
  // A new cluster has one WAL segment and none to recycle.
  const dataDir = join(disk.path, 'data');
  const progress: string[] = [];
  const { databaseUrl } = await start(t, dataDir, progress);
  await query(databaseUrl, 'CREATE TABLE kept (number int)');
  await query(databaseUrl, 'INSERT INTO kept SELECT generate_series(1, 1000)');
  await until(async () => {
    await disk.fill();
    // An update needs disk space only in the WAL, of which this starts a new segment.
    await query(databaseUrl, 'UPDATE kept SET number = number WHERE number = 1').catch(() => undefined);
    await query(databaseUrl, 'SELECT pg_switch_wal()').catch(() => undefined);
    return progress.some((text) => text.includes(`The disk of ${dataDir} is full`));
  });
  // Each start rewrites the server's log.
  const begun = new Set<number>();
  await until(async () => begun.add((await stat(join(dataDir, 'postgres.log'))).mtimeMs).size >= 3);
  t.is(progress.length, 3, 'a retry each second is not reported each time');
  await disk.free();
  await until(() =>
    query(databaseUrl, 'SELECT count(*)::int FROM kept').then(
      (count) => count === 1000,
      () => false,
    ),
  );
});

test('Ctrl-C does not reach the server, which has its own process group', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  await start(t, dataDir);
  const pid = await postmasterPid(dataDir);
  t.true(process.kill(-pid, 0));
});

test('an interrupted cluster creation does not prevent the next start', async (t) => {
  const dataDir = await newDataDir(t);
  await mkdir(join(dataDir, 'postgres', 'cluster.new'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'cluster.new', 'PG_VERSION'), '18\n');
  const { databaseUrl } = await start(t, dataDir);
  t.is(await query(databaseUrl, 'SELECT 1'), 1);
});

test('the lock of an owner whose pid was reused by another process is taken over', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  await writeFile(join(dataDir, 'owner.json'), JSON.stringify({ pid: process.ppid, identity: 'another start' }));
  await start(t, dataDir);
  t.like(JSON.parse(await readFile(join(dataDir, 'owner.json'), 'utf8')), { pid: process.pid });
});

test('a backup fails if a part of it disappears while it is made', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  const { databaseUrl } = await start(t, dataDir);
  const to = join(dataDir, '..', 'backup');
  const backup = backUpCluster({ databaseUrl, dataDir, to });
  const base = join(to, 'cluster', 'base');
  await Promise.all([
    until(async () => (await readdir(base).catch(() => []))[0], { intervalMs: 1 }).then((name) =>
      rename(join(base, name), join(to, 'removed')),
    ),
    t.throwsAsync(backup, { code: 'ENOENT' }),
  ]);
});
