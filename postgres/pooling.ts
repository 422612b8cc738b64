import type { Client } from 'pg';
import type { ClientClass } from './client.ts';

const REMEDY = 'give Spotcheck a database of PgBouncer with pool_mode = session, or the address of PostgreSQL itself';

/**
 * Rejects, with the remedy, where `DATABASE_URL` leads through a pooler that hands each transaction to another session
 * of PostgreSQL. LISTEN, locks of a session, its settings and its prepared statements, all of which Spotcheck uses,
 * would be lost there or be another client's.
 */
export async function refuseTransactionPooling(Connection: ClientClass): Promise<void> {
  const [first, second] = [new Connection(), new Connection()];
  const clients = [first, second];
  clients.forEach((client) => client.on('error', () => undefined));
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const before = await sessionOf(first);
    // Holds whatever session it is given for as long as the transaction lasts, so that the first client must get
    // another one.
    await second.query('BEGIN');
    const held = await sessionOf(second);
    if (held === before || (await sessionOf(first)) !== before) {
      throw new Error(
        'DATABASE_URL leads through a pooler that changes the session with each transaction, where LISTEN, locks ' +
          `and settings of a session do not work: ${REMEDY}`,
      );
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}

async function sessionOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}
