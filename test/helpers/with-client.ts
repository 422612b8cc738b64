import type { Client } from 'pg';
import { withConnection } from '../../postgres/client.ts';

/** How long tests wait for a connection, in milliseconds: a machine that is slow for a while should take longer. */
export const PATIENCE_MS = 120_000;

/** Runs one piece of work on a connection of its own. */
export async function withClient<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  return await withConnection(databaseUrl, work, { connectionTimeoutMillis: PATIENCE_MS });
}
