import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { copyPreparedCluster, isClusterPrepared } from './prepared-cluster.ts';
import { CLUSTER_OPTIONS, locateBinaries, runInitdb, type Account, type Binaries } from './programs.ts';

/** A database cluster on disk and what is needed to run it. */
export type Cluster = { directory: string; postgres: string; account: Account | null; password: string };

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
    onProgress('creating the database, this happens only once');
    await createCluster({ home, directory, account, binaries });
  }
  const password = (await readFile(join(home, 'password'), 'utf8')).trim();
  return { directory, postgres: binaries.postgres, account, password };
}

type Plan = { home: string; directory: string; account: Account | null; binaries: Binaries };

/**
 * Works in a draft directory that is renamed when complete, so that a crash half-way leaves nothing that looks like a
 * cluster.
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
 * Chooses the account to run PostgreSQL as, which refuses to run as root: null = the one we run as. As root it is the
 * owner of an existing directory, so that a later start finds the same one, else `postgres` where there is such an
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
