import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { chooseAccount, giveTo, type Account } from './account.ts';
import { locateBinaries } from './binaries.ts';

/** A database cluster on disk and what is needed to run it. */
export type Cluster = { directory: string; postgres: string; account: Account | null; password: string };

export const SUPERUSER = 'spotcheck';

/**
 * Opens the cluster below a data directory, making it first where there is none. `<dataDir>/postgres` holds `cluster`,
 * what initdb makes, and `password`, the superuser's; both belong to the account that runs PostgreSQL.
 */
export async function openCluster(dataDir: string, onProgress: (text: string) => void): Promise<Cluster> {
  const home = join(await realpath(dataDir), 'postgres');
  const directory = join(home, 'cluster');
  await mkdir(home, { recursive: true, mode: 0o700 });
  const account = await chooseAccount(home);
  await giveTo(home, account);
  const binaries = await locateBinaries(account);
  if (!(await isThere(directory))) {
    onProgress('preparing the database, this happens once');
    await createCluster({ home, directory, account, initdb: binaries.initdb });
  }
  const password = (await readFile(join(home, 'password'), 'utf8')).trim();
  return { directory, postgres: binaries.postgres, account, password };
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

type Plan = { home: string; directory: string; account: Account | null; initdb: string };

/**
 * initdb works in a draft directory that is renamed when complete, so that a crash half-way leaves nothing that looks
 * like a cluster.
 */
async function createCluster({ home, directory, account, initdb }: Plan): Promise<void> {
  const draft = `${directory}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await giveTo(draft, account);
  await writePassword(join(home, 'password'), account);
  const args = [
    ...dataDirectoryArguments(draft, account),
    '-U',
    SUPERUSER,
    '--pwfile=../password',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ];
  const child = spawn(initdb, args, {
    ...account,
    cwd: draft,
    env: programEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const status = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [code, complaint] = await Promise.all([status, text(child.stderr)]);
  if (code !== 0) throw new Error(`initdb could not prepare the database in ${directory}: ${complaint.trim()}`);
  await rename(draft, directory);
}

async function writePassword(path: string, account: Account | null): Promise<void> {
  const file = await open(path, 'w', 0o600);
  await file.writeFile(`${randomBytes(24).toString('hex')}\n`);
  await file.sync();
  await file.close();
  await giveTo(path, account);
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
