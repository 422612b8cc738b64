import type { Environment } from '../config/environment.ts';
import { findEmbeddedPostgres } from './embedded-postgres/runtime-file.ts';
import { Refusal } from './refusal.ts';

/**
 * The database that a command works on: the server of `DATABASE_URL`, or the one that `npm start` runs on `DATA_DIR`.
 */
export async function findDatabase(environment: Environment): Promise<string> {
  const databaseUrl = environment.databaseUrl ?? (await findEmbeddedPostgres(environment.dataDir));
  if (databaseUrl === null) {
    throw new Refusal(
      `No running Spotcheck was found on ${environment.dataDir}: start it with npm start, or set DATABASE_URL or ` +
        'DATA_DIR to where it runs',
    );
  }
  return databaseUrl;
}
