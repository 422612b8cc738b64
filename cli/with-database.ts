import type { Environment } from '../config/environment.ts';
import { loadOrCreateSecretKeys } from '../config/secret-keys.ts';
import { closeDatabase, openDatabase, type Database } from '../models/database.ts';
import { createIdSource, type IdPrefix } from '../models/ids.ts';
import { createSecretBox } from '../models/secret-box.ts';
import { findDatabase } from './database-place.ts';

/** What a command works with. */
export type CommandContext = { database: Database; environment: Environment; newId: (prefix: IdPrefix) => string; nowMs: number };

/** Runs a command on the database of the running service and closes it after. */
export type WithDatabase = <Result>(work: (context: CommandContext) => Promise<Result>) => Promise<Result>;

/** Makes the way to the database; the environment is read when a command runs, so that asking for help needs none. */
export function databaseAccess(readEnvironment: () => Environment): WithDatabase {
  return (work) => runOnDatabase(readEnvironment(), work);
}

async function runOnDatabase<Result>(environment: Environment, work: (context: CommandContext) => Promise<Result>): Promise<Result> {
  const databaseUrl = await findDatabase(environment);
  const secretKeys = environment.secretKeys ?? (await loadOrCreateSecretKeys(environment.dataDir));
  const database = openDatabase({ databaseUrl, secrets: createSecretBox(secretKeys), poolSize: 1 });
  try {
    return await work({ database, environment, newId: createIdSource(), nowMs: Date.now() });
  } finally {
    await closeDatabase(database);
  }
}
