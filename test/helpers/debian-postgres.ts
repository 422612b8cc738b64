import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { chooseAccount, type Account } from '../../cli/embedded-postgres/cluster.ts';
import { findFreePort } from '../../cli/embedded-postgres/start.ts';
import { findDataDirectory } from '../../tools/data-directory.ts';
import type { KeyPair } from './certificates.ts';
import { isInstalled } from './command.ts';
import type { Harness } from './harness.ts';
import { until } from './until.ts';
import { withClient } from './with-client.ts';

const PROGRAMS = '/usr/lib/postgresql';

/** Role that Spotcheck signs in as: the owner of its database and nothing more, as on managed servers. */
const OWNER = 'spotcheck';

/**
 * A PostgreSQL from Debian packages, as in a fleet: with a role that is no superuser, replication, and optional TLS.
 */
export type Server = { port: number; folder: string; stop: () => Promise<void>; promote: () => Promise<void> };

/** Returns the folder of the newest installed programs; null if there are none. */
export function debianPrograms(): string | null {
  const [newest] = existsSync(PROGRAMS) ? readdirSync(PROGRAMS).toSorted((a, b) => Number(b) - Number(a)) : [];
  return newest !== undefined && existsSync(join(PROGRAMS, newest, 'bin', 'postgres'))
    ? join(PROGRAMS, newest, 'bin')
    : null;
}

export function isPgBouncerInstalled(): boolean {
  return isInstalled('pgbouncer') || existsSync('/usr/sbin/pgbouncer');
}

/** Returns the `postgres://` URL of these hosts and ports, for the role that owns the database. */
export function urlOf(servers: readonly { port: number }[], query = '', host = '127.0.0.1'): string {
  return `postgres://${OWNER}@${servers.map(({ port }) => `${host}:${port}`).join(',')}/spotcheck${query}`;
}

/** Starts a primary with an empty database `spotcheck`; with a key pair it accepts TLS only. */
export async function startPrimary(t: Harness, tls?: KeyPair): Promise<Server> {
  const { folder, account } = await newFolder(t);
  await run(account, 'initdb', [
    '--pgdata',
    join(folder, 'data'),
    '--auth',
    'trust',
    '--username',
    'postgres',
    '--no-sync',
    '--encoding',
    'UTF8',
  ]);
  const server = await startServer(t, { folder, account, tls });
  if (tls !== undefined)
    writeFileSync(
      join(folder, 'data', 'pg_hba.conf'),
      `hostssl all all 127.0.0.1/32 trust\nhostnossl all postgres 127.0.0.1/32 trust\n`,
    );
  const admin = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
  await withClient(admin, async (client) => {
    await client.query(`CREATE ROLE ${OWNER} LOGIN`);
    await client.query(`CREATE DATABASE spotcheck OWNER ${OWNER}`);
    await client.query('SELECT pg_reload_conf()');
  });
  return server;
}

/** Starts a standby that follows a primary. */
export async function startStandby(t: Harness, primary: Server): Promise<Server> {
  const { folder, account } = await newFolder(t);
  await run(account, 'pg_basebackup', [
    '--host',
    '127.0.0.1',
    '--port',
    String(primary.port),
    '--username',
    'postgres',
    '--pgdata',
    join(folder, 'data'),
    '--write-recovery-conf',
    '--checkpoint',
    'fast',
    '--no-sync',
  ]);
  return await startServer(t, { folder, account });
}

/** Starts a PgBouncer in front of a server. */
export async function startPgBouncer(
  t: Harness,
  server: Server,
  poolMode: 'session' | 'transaction',
): Promise<{ port: number }> {
  const { folder, account } = await newFolder(t);
  const port = await findFreePort();
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `spotcheck = host=127.0.0.1 user=${OWNER} port=${server.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `pool_mode = ${poolMode}`,
      'default_pool_size = 90',
      '',
    ].join('\n'),
  );
  const bouncer = spawn(
    isInstalled('pgbouncer') ? 'pgbouncer' : '/usr/sbin/pgbouncer',
    [join(folder, 'pgbouncer.ini')],
    { ...account, stdio: 'ignore' },
  );
  t.teardown(() => void bouncer.kill('SIGKILL'));
  await answering(`postgres://${OWNER}@127.0.0.1:${port}/spotcheck`);
  return { port };
}

async function newFolder(t: Harness): Promise<{ folder: string; account: Account | null }> {
  const account = await chooseAccount('/');
  const folder = mkdtempSync(join(await findDataDirectory(), 'spotcheck-postgres-'));
  if (account !== null) chownSync(folder, account.uid, account.gid);
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return { folder, account };
}

async function startServer(
  t: Harness,
  { folder, account, tls }: { folder: string; account: Account | null; tls?: KeyPair | undefined },
): Promise<Server> {
  const data = join(folder, 'data');
  const port = await findFreePort();
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=off',
    'max_connections=150',
    'wal_level=replica',
    'hot_standby=on',
  ];
  if (tls !== undefined) {
    for (const [name, pem] of [
      ['server.key', tls.key],
      ['server.crt', tls.cert],
    ] as const) {
      writeFileSync(join(data, name), pem, { mode: 0o600 });
      if (account !== null) chownSync(join(data, name), account.uid, account.gid);
    }
    settings.push('ssl=on');
  }
  const control = (action: string, ...more: string[]) =>
    run(account, 'pg_ctl', [action, '--pgdata', data, '--silent', ...more]);
  t.teardown(async () => {
    if (existsSync(join(data, 'postmaster.pid'))) await control('stop', '--mode', 'immediate');
  });
  await control(
    'start',
    '--wait',
    '--log',
    join(folder, 'log'),
    '--options',
    settings.map((setting) => `-c ${setting}`).join(' '),
  );
  return {
    port,
    folder,
    stop: () => control('stop', '--mode', 'immediate'),
    promote: () => control('promote', '--wait'),
  };
}

async function answering(databaseUrl: string): Promise<void> {
  await until(() =>
    withClient(databaseUrl, (client) => client.query('SELECT 1')).then(
      () => true,
      () => false,
    ),
  );
}

/** Runs a program to its end without blocking: targets and receivers of the file's other tests are in this process. */
async function run(account: Account | null, program: string, args: readonly string[]): Promise<void> {
  const child = spawn(join(debianPrograms() ?? '', program), args, { ...account, stdio: ['ignore', 'pipe', 'pipe'] });
  const status = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if ((await status) !== 0) throw new Error(`${program} ended with ${child.exitCode}: ${stdout}${stderr}`);
}
