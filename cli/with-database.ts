import { readEnvironment, type Environment } from '../config/environment.ts';
import { loadOrCreateSecretKeys } from '../config/secret-keys.ts';
import { closeDatabase, openDatabase, type Database } from '../models/database.ts';
import { createIdSource, type IdPrefix } from '../models/ids.ts';
import { createSecretBox } from '../models/secret-box.ts';
import { findDatabase } from './database-place.ts';

/** What a command works with. */
export type CommandContext = { database: Database; environment: Environment; newId: (prefix: IdPrefix) => string; nowMs: number };

/** Runs a command on the database of the running service and closes it after. */
export async function withDatabase<Result>(work: (context: CommandContext) => Promise<Result>): Promise<Result> {
  const environment = readEnvironment(process.env);
  const databaseUrl = await findDatabase(environment);
  const secretKeys = environment.secretKeys ?? (await loadOrCreateSecretKeys(environment.dataDir));
  const database = openDatabase({ databaseUrl, secrets: createSecretBox(secretKeys), poolSize: 1 });
  try {
    return await work({ database, environment, newId: createIdSource(), nowMs: Date.now() });
  } finally {
    await closeDatabase(database);
  }
}
