import type { ApiServer } from '../api/api-server.ts';

/** Tables with counters or caches of all accounts, which show one account's activity by design. */
const SHARED = new Set(['rate_limits', 'schedule_phases', 'vendor_pages', 'service_marks', 'schema_migrations']);

/** Returns every row of every table, prefixed with the table's name. */
export async function listRows({ database: { pool } }: ApiServer): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  const selects = tables
    .filter(({ name }) => !SHARED.has(name))
    .map(({ name }) => `SELECT '${name} ' || to_jsonb(t)::text AS row FROM ${name} t`);
  const { rows } = await pool.query<{ row: string }>(selects.join(' UNION ALL '));
  return rows.map(({ row }) => row);
}
