import { readEnvironment, type Environment } from '../config/environment.ts';
import { readSecretKeys } from '../config/secret-keys.ts';
import { removeServerVariables } from '../config/variables.ts';
import type { AuditAction, Author } from '../core/accounts/audit-entry.ts';
import { systemAuthorOf, OPERATOR } from '../models/accounts/audit-log.ts';
import { findTenant, type Tenant } from '../models/accounts/tenants.ts';
import { SESSION_MARK, closeDatabase, openDatabase, type Database } from '../models/database.ts';
import { createIdSource, type IdPrefix } from '../models/secrets/ids.ts';
import { createSecretBox, type SecretBox } from '../models/secrets/secret-box.ts';
import { sqlStateOf } from '../models/sql.ts';
import { findEmbeddedPostgres } from './embedded-postgres/connection.ts';
import { Refusal } from './output.ts';

/** Context of a command. `author` makes the operator the author of one change, by its action in the audit log. */
export type CommandContext = {
  database: Database;
  author: (action: AuditAction) => Author;
  environment: Environment;
  newId: (prefix: IdPrefix) => string;
  nowMs: number;
};

/** SQLSTATEs of a missing table, column and function: the database may lack this release's migrations. */
const LACKS_SCHEMA: ReadonlySet<string | null> = new Set(['42P01', '42703', '42883']);

/** Returns the configuration of a command. */
export function serviceEnvironment(): Environment {
  return readEnvironment(process.env);
}

/**
 * Runs a command on the database of the running service and closes the database afterwards. If it failed because the
 * schema is older than this release, it throws the remedy instead.
 */
export async function withDatabase<Result>(work: (context: CommandContext) => Promise<Result>): Promise<Result> {
  const environment = serviceEnvironment();
  const databaseUrl = await findDatabase(environment);
  const database = openDatabase({ databaseUrl, secrets: await openSecrets(environment), poolSize: 2 });
  try {
    const [newId, nowMs] = [createIdSource(), Date.now()];
    return await work({
      database,
      author: (action) => systemAuthorOf(OPERATOR, action, { newId, nowMs }),
      environment,
      newId,
      nowMs,
    });
  } catch (error) {
    if (!LACKS_SCHEMA.has(sqlStateOf(error))) throw error;
    const { findSchemaLack } = await import('../models/migrate.ts');
    // A failure to determine the reason must not hide the error.
    throw (await findSchemaLack(database).catch(() => null)) ?? error;
  } finally {
    await closeDatabase(database);
  }
}

/**
 * Opens a box over the key ring of the running service. A command creates no ring, because the service would not have
 * it: without one the box neither encrypts nor decrypts, which most commands do not need.
 */
async function openSecrets({ secretKeys, dataDir }: Environment): Promise<SecretBox> {
  const keys = secretKeys ?? (await readSecretKeys(dataDir));
  if (keys !== null) return createSecretBox(keys);
  const refuse = (): never => {
    throw new Refusal(
      `${dataDir} has no key ring, so the running service has it from SECRET_KEYS: set SECRET_KEYS to the same value`,
    );
  };
  return {
    get keyIds() {
      return refuse();
    },
    seal: refuse,
    open: refuse,
    derive: (purpose) => (purpose === SESSION_MARK ? ['none'] : refuse()),
  };
}

/**
 * Returns the URL of the command's database: the server of `DATABASE_URL`, or the one that `npm start` runs on
 * `DATA_DIR`.
 */
export async function findDatabase(environment: Environment): Promise<string> {
  if (environment.databaseUrl === null) removeServerVariables(process.env);
  const databaseUrl = environment.databaseUrl ?? (await findEmbeddedPostgres(environment.dataDir));
  if (databaseUrl === null) {
    throw new Refusal(
      `No running Spotcheck was found on ${environment.dataDir}: start it with npm start, or set DATABASE_URL or ` +
        'DATA_DIR to those of the running service',
    );
  }
  return databaseUrl;
}

/** Returns the tenant that a command names; throws a `Refusal` if there is none with that id. */
export async function getTenant(database: Database, id: string): Promise<Tenant> {
  const tenant = await findTenant(database, id);
  if (tenant === null) throw new Refusal(`No tenant ${id} was found`);
  return tenant;
}
