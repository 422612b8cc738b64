import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { migrate } from '../../models/migrate.ts';
import { testDataDirectory, testServers } from './test-servers.ts';
import { withClient } from './with-client.ts';

/** Any number that nothing else in the maintenance database locks. */
const PREPARED_LOCK = 4_072;

const run = promisify(execFile);

/**
 * Fills a data directory as a first start leaves it that was cut short before it made any account: the database is
 * there and migrated. For tests of what comes after; preparing it takes as long as all the rest of a start.
 */
export async function prepareDataDir(dataDir: string): Promise<void> {
  const prepared = await ensurePrepared();
  await mkdir(dataDir, { recursive: true });
  // It belongs to whom PostgreSQL runs as, which the copying of Node's own does not keep.
  await run('cp', ['-Rp', join(prepared, 'postgres'), dataDir]);
}

/** Made once per run, by the first who needs it while the others wait; in the run's own directory for data. */
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
    // Once per run: no other test file loads the queue's library for it.
    const { migrateQueues } = await import('../../queues/migrate.ts');
    await migrateQueues(postgres.databaseUrl);
  } finally {
    await postgres.stop();
  }
}
