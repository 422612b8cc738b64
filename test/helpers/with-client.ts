import type { Client } from 'pg';
import { withConnection } from '../../postgres/client.ts';

/** Time limit of tests for a connection, in milliseconds, generous enough for a machine that is slow for a while. */
export const PATIENCE_MS = 120_000;

/** Runs `work` on a separate connection. */
export async function withClient<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  return await withConnection(databaseUrl, work, PATIENCE_MS);
}
