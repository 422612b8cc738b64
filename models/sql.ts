import { Pool, type PoolClient } from 'pg';
import { isFulfilled, within } from '../core/time.ts';

/**
 * A prepared statement that each connection keeps under its name, so that PostgreSQL parses it once. Most take longer
 * to plan than to run, and a plan that suits all values is also made only once. Each name has exactly one text. Not for
 * statements over partitions: a generic plan reads all of them.
 */
type Prepared = { name: string; text: string };

/** Runs one statement with `$1` parameters, within the caller's transaction if there is one, and returns its rows. */
export type Run = <Row extends object>(statement: string | Prepared, bind?: readonly unknown[]) => Promise<Row[]>;

/** Id of a row, and that of its account: a row of another account is not found. */
export type RowKey = { tenantId: string; id: string };

/** Quotes constants as a list for `IN`: `('a', 'b')`. */
export function quoteList(constants: readonly string[]): string {
  return `(${constants.map((constant) => `'${constant}'`).join(', ')})`;
}

/**
 * Returns a function that runs statements on a client of the pool, or separately on the pool itself. Each has the
 * pool's time limit, or `waitMs`. They bypass the ORM, which would cost as much as the statement. On the pool each is a
 * transaction of its own, and is repeated like one (D-733).
 */
export function runOn(client: Pool | Pick<PoolClient, 'query'>, waitMs?: number): Run {
  return async <Row extends object>(statement: string | Prepared, bind: readonly unknown[] = []) => {
    const prepared = typeof statement === 'string' ? { text: statement } : statement;
    const send = () =>
      client.query<Row>({
        ...prepared,
        values: [...bind],
        ...(waitMs !== undefined && { query_timeout: waitMs }),
      });
    const { rows } = client instanceof Pool ? await repeatedly(send) : await send();
    return rows;
  };
}

/** Time limit for rolling back a failed transaction, in milliseconds: a hanging statement would delay it. */
const ROLLBACK_MS = 1000;

/**
 * Runs a transaction on a client of the pool, and repeats it if PostgreSQL chose it as the victim of a deadlock. The
 * ORM's records join it by `transactionOn`.
 */
export async function inTransaction<Result>(
  database: { pool: Pool },
  work: (run: Run, client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return await repeatedly(async () => {
    const client = await lendClient(database.pool);
    let isSound = false;
    try {
      await client.query('BEGIN');
      const result = await work(runOn(client), client);
      await client.query('COMMIT');
      isSound = true;
      return result;
    } catch (error) {
      isSound = isOfStatement(error) && (await rollBack(client));
      throw error;
    } finally {
      takeBackClient(client, isSound);
    }
  });
}

/** SQLSTATE classes of errors in a statement or its values; others concern the connection or its session. */
const OF_STATEMENTS = /^(?:22|23|40|55|P0)/;

/** Reports whether an error leaves the connection usable: it is not PostgreSQL's, or concerns a statement. */
function isOfStatement(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === null || OF_STATEMENTS.test(code);
}

/**
 * Rolls back a transaction. False if that did not succeed in time: only closing the connection ends the transaction
 * then.
 */
async function rollBack(client: PoolClient): Promise<boolean> {
  return await within(ROLLBACK_MS, isFulfilled(client.query('ROLLBACK')), false);
}

/**
 * Lends a connection of the pool. After a failure the connection is closed, which ends its transaction and its locks in
 * any state.
 */
export async function withClient<Result>(
  { pool }: { pool: Pool },
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await lendClient(pool);
  let isSound = false;
  try {
    const result = await work(client);
    isSound = true;
    return result;
  } finally {
    takeBackClient(client, isSound);
  }
}

/**
 * Runs the work while holding a lock of that name across all processes; returns null, without running it, if another
 * process holds it. The lock ends with the work in any case, and with its connection, so that a killed holder leaves
 * nothing behind.
 */
export async function withAdvisoryLock<Result>(
  database: { pool: Pool },
  name: string,
  work: () => Promise<Result>,
): Promise<Result | null> {
  return await withClient(database, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS locked',
      [name],
    );
    if (rows[0]?.locked !== true) return null;
    const unlock = () => client.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', [name]);
    const result = await work().catch(async (error: unknown) => {
      // If the connection is lost, so is the lock.
      await unlock().catch(() => undefined);
      throw error;
    });
    await unlock();
    return result;
  });
}

/**
 * Takes a connection out of the pool, with an error handler. The pool ignores the errors of a lent connection, and one
 * that breaks between two statements would crash the process.
 */
export async function lendClient(pool: Pool): Promise<PoolClient> {
  const client = await pool.connect();
  client.on('error', ignoreError);
  return client;
}

/** Returns a lent connection to its pool, which closes it unless it is sound. */
export function takeBackClient(client: PoolClient, isSound: boolean): void {
  client.removeListener('error', ignoreError);
  client.release(!isSound);
}

const ignoreError = (): void => undefined;

/** SQLSTATEs after which the same transaction can simply be repeated: deadlock, serialization failure. */
const REPEATABLE = new Set(['40P01', '40001']);
const MAX_ATTEMPTS = 3;

async function repeatedly<Result>(transaction: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !REPEATABLE.has(sqlStateOf(error) ?? '')) throw error;
    }
  }
}

/**
 * Returns PostgreSQL's SQLSTATE (or the system's code) of an error thrown by pg or wrapped by Sequelize; null for any
 * other error.
 */
export function sqlStateOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  if ('original' in error) return sqlStateOf(error.original);
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/**
 * Codes of the system and of PostgreSQL for temporary failures. Those of PostgreSQL: 57P = it is being stopped or
 * started; 25006 = it is a standby, which accepts no writes.
 */
const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  '57P01',
  '57P02',
  '57P03',
  '25006',
]);

/**
 * SQLSTATE classes of temporary failures: 08 is the connection, 53 resources (disk, memory and connections), 58 the
 * system (a failing disk, or missing files).
 */
const AWAY_CLASSES = new Set(['08', '53', '58']);
const SQL_STATE = /^[0-9A-Z]{5}$/;

/** Messages of pg, which have no code, for a connection that was lost or could not be opened. */
const AWAY_MESSAGES = new RegExp(
  [
    '^Connection terminated',
    '^timeout exceeded when trying to connect',
    '^Client has encountered a connection error',
    '^Query read timeout',
  ].join('|'),
);

/**
 * Reports whether an error means that PostgreSQL is unreachable or cannot store at the moment, rather than that a
 * statement is wrong.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = sqlStateOf(error);
  if (code !== null && (AWAY_CODES.has(code) || (SQL_STATE.test(code) && AWAY_CLASSES.has(code.slice(0, 2)))))
    return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return AWAY_MESSAGES.test(error.message);
}
