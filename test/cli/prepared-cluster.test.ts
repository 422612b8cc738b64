import { chown, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  PREPARED_PASSWORD,
  chooseAccount,
  copyPreparedCluster,
  locateBinaries,
} from '../../cli/embedded-postgres/cluster.ts';
import { canConnect } from '../../cli/embedded-postgres/connection.ts';
import { databaseUrlOf, launchPostmaster, stopPostmaster } from '../../cli/embedded-postgres/postmaster.ts';
import { findKeptPort } from '../../tools/kept-port.ts';
import { prepareCluster } from '../../tools/prepare-cluster.ts';
import { testDataDirectory } from '../helpers/test-servers.ts';
import { withClient } from '../helpers/with-client.ts';

/** A user id without an account on this system, as containers are started with. */
const STRANGER = 1_234_567;

async function newFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(testDataDirectory(), 'prepared-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

test('a copy of the prepared cluster is private to its owner and accepts only its own password', async (t) => {
  const folder = await newFolder(t);
  const prepared = join(folder, 'prepared');
  await prepareCluster(prepared);
  const directory = join(folder, 'cluster');
  await mkdir(directory, { mode: 0o700 });
  const own = await chooseAccount(folder);
  const account = own === null ? null : { uid: STRANGER, gid: STRANGER };
  if (account !== null) await chown(directory, account.uid, account.gid);
  const binaries = await locateBinaries(account);
  await copyPreparedCluster({ prepared, directory, account, password: 'of-its-own' }, binaries);
  t.deepEqual(
    (await readdir(directory)).filter((name) => /^\.|postmaster\.pid/.test(name)),
    [],
  );
  for (const name of ['.', 'global', 'PG_VERSION', 'pg_hba.conf']) {
    const { mode, uid } = await stat(join(directory, name));
    t.is(mode & 0o077, 0, name);
    if (account !== null) t.is(uid, account.uid, name);
  }

  const cluster = { directory, postgres: binaries.postgres, account, password: 'of-its-own' };
  const logPath = join(folder, 'log');
  const server = await launchPostmaster(cluster, { port: await findKeptPort(), isDurable: false, logPath });
  t.teardown(() => stopPostmaster(server));
  const url = databaseUrlOf(cluster, server.port, 'postgres');
  const locale = await withClient(url, (client) =>
    client.query(
      `SELECT pg_encoding_to_char(encoding) || ' ' || datlocale AS text FROM pg_database WHERE datname = 'postgres'`,
    ),
  );
  t.is(locale.rows[0].text, 'UTF8 C.UTF-8');
  t.false(await canConnect(databaseUrlOf({ ...cluster, password: PREPARED_PASSWORD }, server.port, 'postgres')));
});
