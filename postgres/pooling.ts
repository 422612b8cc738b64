import type { Client } from 'pg';
import type { ClientClass } from './client.ts';

/** Sessions of others that a pooler may have at hand while it starts: they are held before the first one's is. */
const HELD_SESSIONS = 3;

const REFUSAL =
  'DATABASE_URL points to a pooler that changes the session with each transaction, where LISTEN, locks and ' +
  'session settings do not work: use a PgBouncer database with pool_mode = session, or the ' +
  'address of PostgreSQL itself';

/**
 * Rejects, with the remedy, where `DATABASE_URL` leads through a pooler that hands each transaction to another session
 * of PostgreSQL. LISTEN, locks of a session, its settings and its prepared statements, all of which Spotcheck uses,
 * would be lost there or be another client's.
 */
export async function refuseTransactionPooling(Connection: ClientClass): Promise<void> {
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = new Connection();
    clients.push(client.on('error', () => undefined));
    await client.connect();
    return client;
  };
  try {
    const first = await connect();
    const own = await sessionOf(first);
    // Each holds whatever session it is given. A pooler has the first one's to give, and may have some others.
    for (let held = 0; held < HELD_SESSIONS; held += 1) {
      const holder = await connect();
      await holder.query('BEGIN');
      if ((await sessionOf(holder)) === own || (await sessionOf(first)) !== own) throw new Error(REFUSAL);
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}

async function sessionOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}
