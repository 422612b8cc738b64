/**
 * Creates the cluster that a container image starts from: `node tools/prepare-cluster.ts <folder>`. When run as root,
 * PostgreSQL's programs run as an unprivileged account, and every account can read the result.
 */
import { spawnSync } from 'node:child_process';
import { chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CLUSTER_OPTIONS,
  PREPARED,
  PREPARED_PASSWORD,
  chooseAccount,
  locateBinaries,
  runInitdb,
} from '../cli/embedded-postgres/cluster.ts';

/** Creates a prepared cluster in `folder`, which must not exist. */
export async function prepareCluster(folder: string): Promise<void> {
  const draft = await mkdtemp(join(tmpdir(), 'spotcheck-prepared-'));
  const [directory, password] = [join(draft, 'cluster'), join(draft, 'password')];
  try {
    const account = await chooseAccount(draft);
    await mkdir(directory, { mode: 0o700 });
    await writeFile(password, `${PREPARED_PASSWORD}\n`);
    if (account !== null) for (const path of [draft, directory]) await chown(path, account.uid, account.gid);
    const { initdb } = await locateBinaries(account);
    await runInitdb(initdb, {
      directory,
      account,
      args: [...CLUSTER_OPTIONS, '--pwfile=../password', '--no-sync'],
    });
    await cp(directory, folder, { recursive: true });
    const { status } = spawnSync('chmod', ['-R', 'a+rX', folder], { stdio: 'inherit' });
    if (status !== 0) throw new Error(`the modes of ${folder} could not be changed`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

if (import.meta.main) await prepareCluster(process.argv[2] ?? PREPARED);
