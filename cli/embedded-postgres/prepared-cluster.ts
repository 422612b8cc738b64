import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { awaitConnection, withClient } from './connection.ts';
import {
  dataDirectoryArguments,
  programEnvironment,
  runInitdb,
  SUPERUSER,
  type Account,
  type Binaries,
} from './programs.ts';

/**
 * A cluster as initdb makes it, in the image of a container alone (`tools/prepare-cluster.ts`). There initdb can run
 * neither without a shell nor under an account that `/etc/passwd` does not name, which PostgreSQL itself can (D-565).
 */
export const PREPARED = fileURLToPath(new URL('prepared', import.meta.url));

/** The password within that cluster, known to everybody: no server listens on a port before it is changed. */
export const PREPARED_PASSWORD = 'prepared';

const START_TIMEOUT_MS = 60_000;

/** Whether there is a prepared cluster. */
export async function isClusterPrepared(prepared = PREPARED): Promise<boolean> {
  return await stat(prepared).then(
    () => true,
    () => false,
  );
}

/** What a copy becomes: its folder, the account and programs of its server, and the superuser's password. */
export type CopyPlan = { prepared?: string; directory: string; account: Account | null; password: string };

/** Copies the prepared cluster and gives its superuser another password; on disk when it returns. */
export async function copyPreparedCluster(
  { prepared = PREPARED, directory, account, password }: CopyPlan,
  binaries: Binaries,
): Promise<void> {
  await cp(prepared, directory, { recursive: true });
  await closeToOthers(directory, account);
  await changePassword({ directory, account, password }, binaries.postgres);
  await runInitdb(binaries.initdb, { directory, account, args: ['--sync-only'] });
}

/** As the server needs it: its account's, and closed to others. */
async function closeToOthers(entry: string, account: Account | null): Promise<void> {
  const isFolder = (await stat(entry)).isDirectory();
  await chmod(entry, isFolder ? 0o700 : 0o600);
  if (account !== null) await chown(entry, account.uid, account.gid);
  if (isFolder) for (const name of await readdir(entry)) await closeToOthers(path.join(entry, name), account);
}

/** Runs the server on a socket within its closed folder, where only its account and root can reach it. */
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
    await withClient(databaseUrl, (client) =>
      client.query(`ALTER ROLE CURRENT_USER PASSWORD ${client.escapeLiteral(password)}`),
    );
  } finally {
    server.kill('SIGINT');
    await ended;
  }
  for (const name of await readdir(directory))
    if (name.startsWith('.s.PGSQL.')) await rm(path.join(directory, name), { force: true });
}
