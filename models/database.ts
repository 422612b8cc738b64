import { Pool, types } from 'pg';
import type { Sequelize } from 'sequelize';
import { within } from '../core/time.ts';
import { clientClass, type ClientClass } from '../postgres/client.ts';
import { mapRecords, type Records } from './orm.ts';
import type { SecretBox } from './secrets/secret-box.ts';

/**
 * One PostgreSQL database: `records` on `orm` for the data that people edit and `pool` for plain SQL, on the same
 * connections. `Client` opens a separate connection. The ORM is loaded when either is first used.
 */
export type Database = {
  pool: Pool;
  Client: ClientClass;
  secrets: SecretBox;
  readonly orm: Sequelize;
  readonly records: Records;
};

export type DatabaseOptions = {
  databaseUrl: string;
  secrets: SecretBox;
  /** Maximum number of connections, opened on demand; default 8. */
  poolSize?: number;
  /**
   * Time that a caller waits for a connection before the request fails as "database away", in milliseconds; default 5
   * s.
   */
  acquireTimeoutMs?: number;
  /**
   * Time that a caller waits for the result of one statement, in milliseconds; default 35 s, longer than PostgreSQL
   * lets it run.
   */
  queryTimeoutMs?: number;
  /** Called with errors of idle connections, so that a restart of PostgreSQL never ends the process. */
  onError?: (error: Error) => void;
};

const ACQUIRE_TIMEOUT_MS = 5000;

/** Time after which PostgreSQL cancels a statement, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Time after which a connection is given up, in milliseconds, if its server cannot cancel the statement because it is
 * cut off or frozen.
 */
const QUERY_TIMEOUT_MS = 35_000;

const CLOSE_TIMEOUT_MS = 5000;

/**
 * Opens the pool; connects on first use. BIGINT columns contain times and counts below 2^53 and are parsed as numbers.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize = 8, acquireTimeoutMs = ACQUIRE_TIMEOUT_MS, queryTimeoutMs = QUERY_TIMEOUT_MS } = options;
  types.setTypeParser(types.builtins.INT8, Number);
  const Client = clientClass(options.databaseUrl, {
    application_name: sessionNameOf(options.secrets),
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // The ORM quotes strings by this rule, which a server may be configured not to follow.
    standard_conforming_strings: 'on',
  });
  const pool = new Pool({
    Client,
    max: poolSize,
    connectionTimeoutMillis: acquireTimeoutMs,
    query_timeout: queryTimeoutMs,
    idleTimeoutMillis: 30_000,
  });
  pool.on('error', (error) => options.onError?.(error));
  let mapped: Pick<Database, 'orm' | 'records'> | null = null;
  const map = () => (mapped ??= mapRecords(pool));
  return {
    pool,
    Client,
    secrets: options.secrets,
    get orm() {
      return map().orm;
    },
    get records() {
      return map().records;
    },
  };
}

/** Closes the pool after its running queries; gives up after five seconds if the server does not respond. */
export async function closeDatabase(database: Database): Promise<void> {
  await within(CLOSE_TIMEOUT_MS, database.pool.end(), null);
}

/** Prefix of session names at PostgreSQL, before the marks of their keys. */
export const SESSION_NAME = 'spotcheck';

/** Purpose that marks of keys are derived for. */
export const SESSION_MARK = 'session-mark';

const MARK_LENGTH = 6;
/** PostgreSQL truncates names to 63 bytes. */
const MAX_MARKS = 7;

/**
 * Returns the name of a process's sessions at PostgreSQL, such as `spotcheck:mK3_x9,Q-71ba`. After the colon is a mark
 * for each of the first seven keys of its ring, in order. A mark is derived from the key and reveals nothing of it;
 * with it a change of keys can check the keys of other processes.
 */
function sessionNameOf(secrets: SecretBox): string {
  return `${SESSION_NAME}:${marksOf(secrets).join(',')}`;
}

/**
 * Compares the key ring of a session with that name to this one. It may lack the key that this ring seals with, or have
 * it and seal with another.
 */
export function compareRing(sessionName: string, secrets: SecretBox): 'same' | 'lacks_key' | 'seals_with_other' {
  const [current] = marksOf(secrets);
  const marks = sessionName.slice(SESSION_NAME.length + 1).split(',');
  if (marks[0] === current) return 'same';
  return marks.includes(current) ? 'seals_with_other' : 'lacks_key';
}

function marksOf(secrets: SecretBox): readonly [string, ...string[]] {
  const [current, ...others] = secrets.derive(SESSION_MARK);
  return [markOf(current), ...others.slice(0, MAX_MARKS - 1).map(markOf)];
}

function markOf(derived: string): string {
  return derived.slice(0, MARK_LENGTH);
}
