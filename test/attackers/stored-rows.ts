import type { ApiServer } from '../api/api-server.ts';

/** Tables that count or remember for everybody at once, so that the work of one account is seen in them by design. */
const SHARED = new Set(['rate_limits', 'schedule_phases', 'vendor_pages', 'service_marks', 'schema_migrations']);

/** Every row of every table, with its table's name before it. */
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
