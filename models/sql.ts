import type { Pool, PoolClient } from 'pg';
import { within } from '../core/time.ts';

/**
 * A statement that each connection keeps under its name, so that PostgreSQL parses it once. Most take longer to plan
 * than to run, and where no values need a plan of their own it plans once as well. A name belongs to one text. Not for
 * statements over partitions: a plan for any values reads all of them.
 */
type Prepared = { name: string; text: string };

/** Runs one statement with `$1` parameters in the caller's transaction, or in none, and returns its rows. */
export type Run = <Row extends object>(statement: string | Prepared, bind?: readonly unknown[]) => Promise<Row[]>;

/** Writes constants as the list that `IN` takes: `('a', 'b')`. */
export function quoteList(constants: readonly string[]): string {
  return `(${constants.map((constant) => `'${constant}'`).join(', ')})`;
}

/**
 * Statements on a client of the pool, or on the pool itself, each on its own. Each is waited for as long as the pool
 * says, or `waitMs`. None goes through the ORM, which would cost as much as the statement.
 */
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

/** How long a failed transaction's end is waited for: a statement that hangs would hold it up. */
const ROLLBACK_MS = 1000;

/**
 * Runs a transaction on a client of the pool, and again where PostgreSQL chose it as the victim of a deadlock. Records
 * of the ORM join it by `transactionOn`.
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

/** SQLSTATE classes of what is wrong with a statement and its values; others are of the connection or its session. */
const OF_STATEMENTS = /^(?:22|23|40|55|P0)/;

/** Whether an error says nothing against the connection: it is our own, or one of a statement. */
function isOfStatement(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === null || OF_STATEMENTS.test(code);
}

/**
 * Ends what a transaction began. False where that could not be had in time: only the connection's own end ends it then.
 */
async function rollBack(client: PoolClient): Promise<boolean> {
  const isRolledBack = client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
  return await within(ROLLBACK_MS, isRolledBack, false);
}

/**
 * Lends a connection of the pool. After a failure it is closed, which ends its transaction and its locks whatever state
 * it was in.
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
 * Does the work while holding a lock of that name over all processes; null, without doing it, when another process
 * holds it. The lock ends with the work, however that ends, and with its connection, so that a killed holder leaves
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
      // Where the connection is gone the lock is as well.
      await unlock().catch(() => undefined);
      throw error;
    });
    await unlock();
    return result;
  });
}

/**
 * Takes a connection out of the pool. While it is lent the pool does not see its errors, and one that breaks between
 * two statements would end the process.
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

/** SQLSTATEs after which the same transaction may simply run again: deadlock, serialization failure. */
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
 * PostgreSQL's SQLSTATE (or the system's code) of an error thrown by pg or wrapped by Sequelize; null for any other
 * error.
 */
export function sqlStateOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  if ('original' in error) return sqlStateOf(error.original);
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/**
 * Codes of the system and of PostgreSQL that say "not now". Those of PostgreSQL: 57P = it is being stopped or started;
 * 25006 = it is a standby, which takes no writes.
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
 * Classes of SQLSTATE that say so as a whole: 08 is the connection, 53 resources, 58 the system below. Resources are
 * disk, memory and connections; the system fails where a disk does, or where files are gone.
 */
const AWAY_CLASSES = new Set(['08', '53', '58']);
const SQL_STATE = /^[0-9A-Z]{5}$/;

/** The messages of pg, which have no code, when a connection is lost or none can be had. */
const AWAY_MESSAGES = new RegExp(
  [
    '^Connection terminated',
    '^timeout exceeded when trying to connect',
    '^Client has encountered a connection error',
    '^Query read timeout',
  ].join('|'),
);

/**
 * True for an error that means PostgreSQL cannot be reached or cannot store at the moment, and not that a statement is
 * wrong.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = sqlStateOf(error);
  if (code !== null && (AWAY_CODES.has(code) || (SQL_STATE.test(code) && AWAY_CLASSES.has(code.slice(0, 2)))))
    return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return AWAY_MESSAGES.test(error.message);
}

/** A call whose statement is shared with the calls that come meanwhile; rejects with the statement's failure. */
export type Batched<Item, Result> = (item: Item) => Promise<Result>;

/** A call that waits for its batch, which settles it. */
export type Waiting<Item, Result> = { item: Item; settled: PromiseWithResolvers<Result> };

/** More than a statement takes at a time. */
const MAX_ITEMS = 200;

/**
 * Calls wait no longer than this for a statement that is under way, in milliseconds. It may wait for a lock that is
 * none of theirs.
 */
const PATIENCE_MS = 100;

/**
 * Makes one call of many: what is asked for while a statement is under way goes out together after it. Nothing waits on
 * purpose: a call that comes alone goes out at once, and the busier the process, the less each one costs. `run` answers
 * its items in order.
 */
export function createBatched<Item, Result>(run: (items: Item[]) => Promise<readonly Result[]>): Batched<Item, Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isBusy = false;

  const send = async (): Promise<void> => {
    isBusy = true;
    await within(PATIENCE_MS, settleBatch(waiting.splice(0, MAX_ITEMS), run), null);
    isBusy = false;
    if (waiting.length > 0) void send();
  };

  return (item) => {
    const settled = Promise.withResolvers<Result>();
    waiting.push({ item, settled });
    if (!isBusy) void send();
    return settled.promise;
  };
}

/** Runs a batch, which answers its items in order, and settles each of its calls. Never rejects. */
export async function settleBatch<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  run: (items: Item[]) => Promise<readonly Result[]>,
): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item));
    batch.forEach(({ settled }, index) => settled.resolve(results[index] as Result));
  } catch (error) {
    for (const { settled } of batch) settled.reject(error);
  }
}
