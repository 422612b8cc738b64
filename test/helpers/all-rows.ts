import { withClient } from './with-client.ts';

/** Columns of every table in a database, including the queue's, by table name. */
export type Columns = ReadonlyMap<string, string>;

/** Reads the columns of every table. */
export async function readColumns(databaseUrl: string): Promise<Columns> {
  return await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ name: string; columns: string }>(
      `SELECT format('%I.%I', n.nspname, c.relname) AS name,
              string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
       WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
         AND n.nspname NOT IN ('pg_catalog', 'information_schema')
       GROUP BY 1`,
    );
    return new Map(rows.map(({ name, columns }) => [name, columns]));
  });
}

/** Reads all rows as PostgreSQL prints them, by table name; with all columns unless some are given. */
export async function readAllRows(databaseUrl: string, given?: Columns): Promise<Map<string, string>> {
  const columns = given ?? (await readColumns(databaseUrl));
  return await withClient(databaseUrl, async (client) => {
    const texts = new Map<string, string>();
    for (const [name, names] of columns) {
      const { rows } = await client.query<{ text: string | null }>(
        `SELECT string_agg(ROW(${names})::text, E'\\n') AS text FROM ${name}`,
      );
      texts.set(name, rows[0]?.text ?? '');
    }
    return texts;
  });
}
