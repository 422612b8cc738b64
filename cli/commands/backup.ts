import { copyFile, mkdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Environment } from '../../config/environment.ts';
import { backUpCluster } from '../embedded-postgres/backup.ts';
import { findDatabase } from '../find-database.ts';
import { print } from '../output.ts';
import { Refusal } from '../refusal.ts';

/** Where the generated key ring lies in a data directory. */
const SECRET_KEYS = 'secret-keys';

/** Adds `backup`: a copy of the data directory while the service runs on it. */
export function addBackupCommand(program: Command, readEnvironment: () => Environment): void {
  program
    .command('backup')
    .description('copy the data directory of the running service; to restore, start on the copy')
    .requiredOption('--to <folder>', 'a folder that does not exist yet')
    .option('--json', 'print JSON')
    .action(async (options: { to: string; json?: boolean }) => {
      const environment = readEnvironment();
      if (environment.databaseUrl !== null)
        throw new Refusal('DATABASE_URL is set: back that server up with its own programs, such as pg_dump');
      const databaseUrl = await findDatabase(environment);
      const to = resolve(options.to);
      if (await isThere(to)) throw new Refusal(`${to} exists: name a folder that does not`);
      const dataDir = await realpath(environment.dataDir);
      // What bears the name that was asked for is complete.
      const draft = `${to}.incomplete`;
      await rm(draft, { recursive: true, force: true });
      await mkdir(draft, { recursive: true, mode: 0o700 });
      if (environment.secretKeys === null) await copyFile(join(dataDir, SECRET_KEYS), join(draft, SECRET_KEYS));
      await backUpCluster({ databaseUrl, dataDir, to: join(draft, 'postgres') });
      await rename(draft, to);
      print({ to }, options);
    });
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
