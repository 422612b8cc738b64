import { runMigrations } from 'bullmq';
import { clientClass } from '../postgres/client.ts';

/** Migrates BullMQ's own schema in PostgreSQL; harmless if the queues live in Redis. Running it again does nothing. */
export async function migrateQueues(databaseUrl: string): Promise<void> {
  const client = new (clientClass(databaseUrl, { application_name: 'spotcheck migrate' }))();
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
