import type { Client } from 'pg';
import { withClient } from './with-client.ts';

/** Numbers above this are Unix milliseconds, those below are Unix seconds. */
const MILLISECONDS_FROM = 100_000_000_000;

/**
 * Makes a database without clients look like a backup of this many days ago. All times in it move back, and all
 * partitions are dropped with their rows.
 */
export async function ageDatabase(databaseUrl: string, days: number): Promise<void> {
  const ms = days * 86_400_000;
  await withClient(databaseUrl, async (client) => {
    const { rows: partitions } = await client.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c
       WHERE c.relispartition AND c.relkind = 'r' AND c.relname ~ '_[0-9]{6,}$'`,
    );
    for (const { name } of partitions) await client.query(`DROP TABLE ${name}`);
    const { rows: columns } = await client.query<{ table_name: string; column_name: string }>(
      `SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t
       USING (table_schema, table_name)
       WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.data_type = 'bigint'
         AND c.is_generated = 'NEVER' AND c.is_identity = 'NO'
         AND c.column_name ~ '(^at|_at|_since|_until)$'`,
    );
    for (const [table, names] of Map.groupBy(columns, (column) => column.table_name)) {
      const moves = names.map(
        ({ column_name: name }) =>
          `${name} = ${name} - CASE WHEN ${name} > ${MILLISECONDS_FROM} THEN ${ms} ELSE ${ms / 1000} END`,
      );
      await client.query(`UPDATE ${table} SET ${moves.join(', ')}`);
    }
    await ageStates(client, ms);
  });
}

/** Ages the state of each source, which is a JSON document with times. */
async function ageStates(client: Client, ms: number): Promise<void> {
  const { rows } = await client.query<{ monitor_no: number; agent_no: number; state: unknown }>(
    'SELECT monitor_no, agent_no, state FROM monitor_sources WHERE state IS NOT NULL',
  );
  for (const { monitor_no: monitorNo, agent_no: agentNo, state } of rows) {
    const aged = JSON.stringify(state, (_key, value: unknown) =>
      typeof value === 'number' && value > MILLISECONDS_FROM ? value - ms : value,
    );
    await client.query('UPDATE monitor_sources SET state = $3 WHERE monitor_no = $1 AND agent_no = $2', [
      monitorNo,
      agentNo,
      aged,
    ]);
  }
}
