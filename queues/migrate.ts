import { LATEST_SCHEMA_VERSION, SchemaMigrationRequiredError, assertSchemaCompatibility, runMigrations } from 'bullmq';
import { clientClass } from '../postgres/client.ts';

/**
 * Migrates BullMQ's own schema in PostgreSQL; harmless if the queues live in Redis. A current schema is only read:
 * BullMQ's migration always needs its ledger alone, and would wait for a dump, with all who connect to a queue behind
 * it.
 */
export async function migrateQueues(databaseUrl: string): Promise<void> {
  const client = new (clientClass(databaseUrl, { application_name: 'spotcheck migrate' }))();
  await client.connect();
  try {
    const version = await assertSchemaCompatibility(client).catch((error: unknown) => {
      if (error instanceof SchemaMigrationRequiredError) return 0;
      throw error;
    });
    if (version < LATEST_SCHEMA_VERSION) await runMigrations(client);
  } finally {
    await client.end();
  }
}
