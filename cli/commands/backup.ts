import { mkdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { lockExclusively } from '../../config/exclusive-lock.ts';
import { isFulfilled } from '../../core/time.ts';
import type { Database } from '../../models/database.ts';
import { countForeignSessions } from '../../models/secrets/sealed-values.ts';
import { recordFirstStartOver } from '../../models/system/service-marks.ts';
import { backUpCluster, copyEntry, copyOwner, syncFolders, syncPath } from '../embedded-postgres/backup.ts';
import { Refusal, print } from '../output.ts';
import { findDatabase, serviceEnvironment, withDatabase } from '../with-database.ts';
import { bootstrap } from './accounts.ts';

/** Name of the generated key ring in a data directory. */
const SECRET_KEYS = 'secret-keys';

/** `backup`: copies the data directory while the service runs on it. */
export async function backUp(options: { to: string; json?: boolean }): Promise<void> {
  const environment = serviceEnvironment();
  if (environment.databaseUrl !== null)
    throw new Refusal('DATABASE_URL is set: back up that server with its own tools, such as pg_dump');
  const databaseUrl = await findDatabase(environment);
  const to = resolve(options.to);
  const dataDir = await realpath(environment.dataDir);
  await withDatabase(({ database }) => refuseOtherRing(database));
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  // The target's file system may have no hard links, which a lock needs.
  const unlock = await lockExclusively(join(dataDir, 'backup.lock'), (pid) => {
    return new Refusal(`Another backup of ${dataDir} is in progress (process ${pid})`);
  });
  await copyDataDir({ databaseUrl, dataDir, to, hasOwnRing: environment.secretKeys === null }).finally(unlock);
  print({ to }, options);
}

/** Copies a data directory under a lock: a killed run's draft is removed, but not that of one in progress. */
async function copyDataDir({
  databaseUrl,
  dataDir,
  to,
  hasOwnRing,
}: {
  databaseUrl: string;
  dataDir: string;
  to: string;
  hasOwnRing: boolean;
}): Promise<void> {
  if (await isThere(to)) throw new Refusal(`${to} already exists: choose a folder that does not exist`);
  // The requested name appears only once the backup is complete.
  const draft = `${to}.incomplete`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  // The copied owner lets the service's account restore a backup that root makes.
  await copyOwner(dataDir, draft);
  if (hasOwnRing) await copyEntry(join(dataDir, SECRET_KEYS), join(draft, SECRET_KEYS));
  await backUpCluster({ databaseUrl, dataDir, to: join(draft, 'postgres') });
  await syncFolders(draft);
  await rename(draft, to);
  await syncPath(dirname(to));
}

/** Refuses the backup if the copied ring cannot open the copied data. */
async function refuseOtherRing(database: Database): Promise<void> {
  const [key] = database.secrets.keyIds;
  const { lackKey, sealWithOther } = await countForeignSessions(database);
  if (lackKey + sealWithOther > 0)
    throw new Refusal(
      `The running service does not encrypt with the key "${key}" that this command found: set SECRET_KEYS as it is ` +
        'set for the service, or leave it unset as there',
    );
}

async function isThere(path: string): Promise<boolean> {
  return await isFulfilled(stat(path));
}

/** `migrate`: migrates the schema and the queue's own schema, once per deploy. */
export async function migrateDatabase(options: { json?: boolean }): Promise<void> {
  const environment = serviceEnvironment();
  // Only this command needs these modules, and they take as long to load as all the rest.
  const [{ migrate }, { migrateQueues }] = await Promise.all([
    import('../../models/migrate.ts'),
    import('../../queues/migrate.ts'),
  ]);
  const databaseUrl = await findDatabase(environment);
  const applied: string[] = [];
  await migrate(databaseUrl, (text) => applied.push(text));
  await migrateQueues(databaseUrl);
  const { bootstrapToken: token, bootstrapPassword: password } = environment;
  const first =
    token === null
      ? null
      : await withDatabase(({ database, newId, nowMs }) =>
          bootstrap(database, { newId, nowMs, token, password, cell: environment.cell }),
        );
  // Generated credentials are shown only here.
  print(
    {
      applied,
      ...(first !== null && first.password !== null && { email: first.email, password: first.password }),
    },
    options,
  );
  if (first !== null) await withDatabase(({ database, nowMs }) => recordFirstStartOver(database, nowMs));
}
