import type { PoolClient } from 'pg';
import type { Transaction } from 'sequelize';
import type { Database } from './database.ts';

/**
 * A statement that each connection keeps under its name, so that PostgreSQL reads it once, and plans it once where no
 * values need a plan of their own: most take longer to plan than to run. A name belongs to one text. Not for statements
 * over partitions: a plan for any values is one for all of them.
 */
export type Prepared = { name: string; text: string };

/** Runs one statement with `$1` parameters where the caller stands (a transaction or none) and returns its rows. */
export type Run = <Row extends object>(statement: string | Prepared, bind?: readonly unknown[]) => Promise<Row[]>;

/**
 * Statements inside a transaction of the ORM, or each on its own where none is given. None goes through the ORM itself,
 * which would cost as much as the statement.
 */
export function runWith(database: Pick<Database, 'pool'>, transaction?: Transaction): Run {
  return runOn(transaction === undefined ? database.pool : connectionOf(transaction));
}

/** The connection that a transaction of the ORM holds until it ends; its types keep it to themselves. */
function connectionOf(transaction: Transaction): PoolClient {
  return (transaction as Transaction & { connection: PoolClient }).connection;
}

/** Statements on a client of the pool; each is waited for as long as the pool says, or `waitMs`. */
export function runOn(client: Pick<PoolClient, 'query'>, waitMs?: number): Run {
  return async <Row extends object>(statement: string | Prepared, bind: readonly unknown[] = []) => {
    const prepared = typeof statement === 'string' ? { text: statement } : statement;
    const { rows } = await client.query<Row>({
      ...prepared,
      values: [...bind],
      ...(waitMs !== undefined && { query_timeout: waitMs }),
    });
    return rows;
  };
}

/** Runs a transaction of the ORM, and again where PostgreSQL chose it as the victim of a deadlock. */
export async function inTransaction<Result>(
  database: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return await repeatedly(() => database.orm.transaction(work));
}

/** Runs a transaction on a client of the pool, and again where PostgreSQL chose it as the victim of a deadlock. */
export async function inPoolTransaction<Result>(
  database: Pick<Database, 'pool'>,
  work: (run: Run, client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return await repeatedly(() =>
    withClient(database, async (client) => {
      await client.query('BEGIN');
      const result = await work(runOn(client), client);
      await client.query('COMMIT');
      return result;
    }),
  );
}

/**
 * Lends a connection of the pool. After a failure it is closed, which ends its transaction and its locks whatever state
 * it was in. While it is lent nobody else gets its errors, and one that breaks between two statements would end the
 * process.
 */
export async function withClient<Result>(
  database: Pick<Database, 'pool'>,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await database.pool.connect();
  let isSound = false;
  const onError = () => undefined;
  client.on('error', onError);
  try {
    const result = await work(client);
    isSound = true;
    return result;
  } finally {
    client.removeListener('error', onError);
    client.release(!isSound);
  }
}

/** SQLSTATEs after which the same transaction may simply run again: deadlock, serialization failure. */
const REPEATABLE = new Set(['40P01', '40001']);
const MOST_ATTEMPTS = 3;

async function repeatedly<Result>(transaction: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !REPEATABLE.has(sqlStateOf(error) ?? '')) throw error;
    }
  }
}

/**
 * PostgreSQL's SQLSTATE (or the system's code) of an error thrown by pg or wrapped by Sequelize; null for any other
 * error.
 */
export function sqlStateOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  if ('original' in error) return sqlStateOf(error.original);
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}
