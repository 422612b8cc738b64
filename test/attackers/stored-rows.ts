import type { ApiServer } from '../api/api-server.ts';

/** Tables with counters or caches of all accounts, which show one account's activity by design. */
const SHARED = new Set(['rate_limits', 'schedule_phases', 'vendor_pages', 'service_marks', 'schema_migrations']);

/** Columns by table that each accepted request writes, at most once a minute: a slow test sees them change. */
const TIME_OF_USE: Partial<Record<string, string>> = { sessions: 'last_seen_at', api_tokens: 'last_used_at' };

/** Returns every row of every table, prefixed with the table's name, without the time of its last use. */
export async function listRows({ database: { pool } }: ApiServer): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  const selects = tables
    .filter(({ name }) => !SHARED.has(name))
    .map(({ name }) => `SELECT '${name} ' || (to_jsonb(t) - '${TIME_OF_USE[name] ?? ''}')::text AS row FROM ${name} t`);
  const { rows } = await pool.query<{ row: string }>(selects.join(' UNION ALL '));
  return rows.map(({ row }) => row);
}
