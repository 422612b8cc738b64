import { withClient } from '../../cli/embedded-postgres/connection.ts';

/** Every row of every table of a database, ours and the queue's, as PostgreSQL prints it; by the table's name. */
export async function readAllRows(databaseUrl: string): Promise<Map<string, string>> {
  return await withClient(databaseUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n
       ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND n.nspname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const texts = new Map<string, string>();
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string | null }>(
        `SELECT string_agg(t::text, E'\\n') AS text FROM ${name} t`,
      );
      texts.set(name, rows[0]?.text ?? '');
    }
    return texts;
  });
}
