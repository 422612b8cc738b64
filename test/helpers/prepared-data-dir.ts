import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { migrate } from '../../models/migrate.ts';
import { testDataDirectory, testServers } from './test-servers.ts';
import { withClient } from './with-client.ts';

/** Any number that no other code locks in the maintenance database. */
const PREPARED_LOCK = 4_072;

const run = promisify(execFile);

/**
 * Fills a data directory like a first start that was interrupted before it created any account: the database exists and
 * is migrated. It is for tests of later steps; the preparation takes as long as the rest of a start.
 */
export async function prepareDataDir(dataDir: string): Promise<void> {
  const prepared = await ensurePrepared();
  await mkdir(dataDir, { recursive: true });
  // The copy must keep the owner, the account that PostgreSQL runs as, which Node's `cp` does not.
  await run('cp', ['-Rp', join(prepared, 'postgres'), dataDir]);
}

/** Prepares the directory once per run: the first caller creates it in the run's data directory, the others wait. */
async function ensurePrepared(): Promise<string> {
  const prepared = join(testDataDirectory(), 'prepared-data-dir');
  await withClient(testServers().databaseUrl, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [PREPARED_LOCK]);
    if (
      await stat(prepared).then(
        () => true,
        () => false,
      )
    )
      return;
    const draft = await mkdtemp(`${prepared}-`);
    await makeIn(draft).catch(async (error: unknown) => {
      await rm(draft, { recursive: true, force: true });
      throw error;
    });
    await rename(draft, prepared);
  });
  return prepared;
}

async function makeIn(dataDir: string): Promise<void> {
  const postgres = await startEmbeddedPostgres({ dataDir, onProgress: () => undefined, isDurable: false });
  try {
    await migrate(postgres.databaseUrl);
    // Imported only here, once per run, so that no other test file loads the queue library.
    const { migrateQueues } = await import('../../queues/migrate.ts');
    await migrateQueues(postgres.databaseUrl);
  } finally {
    await postgres.stop();
  }
}
