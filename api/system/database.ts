import { openDatabase, type Database, type DatabaseOptions } from '../../models/database.ts';

/** How long a request waits for PostgreSQL before it is answered with 503, in milliseconds. */
const QUERY_TIMEOUT_MS = 8000;

/**
 * Opens connections for requests alone, which then wait neither behind the workers' statements nor for longer than
 * callers do.
 */
export function openApiDatabase(options: Omit<DatabaseOptions, 'queryTimeoutMs'>): Database {
  return openDatabase({ ...options, queryTimeoutMs: QUERY_TIMEOUT_MS });
}
