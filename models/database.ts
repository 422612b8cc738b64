import { Pool, types } from 'pg';
import type { ModelStatic, Sequelize } from 'sequelize';
import { within } from '../core/time.ts';
import { clientClass, type ClientClass } from '../postgres/client.ts';
import {
  defineApiTokenRecord,
  defineTenantRecord,
  type ApiTokenRecord,
  type TenantRecord,
} from './accounts/records.ts';
import { sessionNameOf } from './accounts/session-name.ts';
import { defineAgentRecord, type AgentRecord } from './agents/record.ts';
import { defineChannelRecord, type ChannelRecord } from './alerts/channel-record.ts';
import { defineMonitorRecord, type MonitorRecord } from './monitors/record.ts';
import { ormOn } from './orm.ts';
import type { SecretBox } from './secrets/secret-box.ts';

/**
 * One PostgreSQL: `records` on `orm` for what people edit and `pool` for plain SQL, on the same connections; `Client`
 * for a connection of one's own. The ORM is loaded by the first use of either.
 */
export type Database = {
  pool: Pool;
  Client: ClientClass;
  secrets: SecretBox;
  readonly orm: Sequelize;
  readonly records: Records;
};

/** The mapped tables of one connection. */
export type Records = {
  tenants: ModelStatic<TenantRecord>;
  apiTokens: ModelStatic<ApiTokenRecord>;
  agents: ModelStatic<AgentRecord>;
  monitors: ModelStatic<MonitorRecord>;
  channels: ModelStatic<ChannelRecord>;
};

export type DatabaseOptions = {
  databaseUrl: string;
  secrets: SecretBox;
  /** Connections at most, opened as they are needed; default 8. */
  poolSize?: number;
  /**
   * How long a caller waits for a connection before the request fails as "database away", in milliseconds; default 5 s.
   */
  acquireTimeoutMs?: number;
  /**
   * How long a caller waits for the answer to one statement, in milliseconds; default 35 s, longer than PostgreSQL lets
   * it run.
   */
  queryTimeoutMs?: number;
  /** Called with errors of idle connections, so that a restart of PostgreSQL never ends the process. */
  onError?: (error: Error) => void;
};

const ACQUIRE_TIMEOUT_MS = 5000;

/** A statement that takes longer than this is ended by PostgreSQL, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000;

/** A server that was cut off or frozen does not end it; its connection is then given up after this, in milliseconds. */
const QUERY_TIMEOUT_MS = 35_000;

const CLOSE_TIMEOUT_MS = 5000;

/** Opens the pool; connects on first use. BIGINT columns hold times and counts below 2^53 and come as numbers. */
export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize = 8, acquireTimeoutMs = ACQUIRE_TIMEOUT_MS, queryTimeoutMs = QUERY_TIMEOUT_MS } = options;
  types.setTypeParser(types.builtins.INT8, Number);
  const Client = clientClass(options.databaseUrl, {
    application_name: sessionNameOf(options.secrets),
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // The ORM writes strings into its statements by this rule, which a server may be set not to follow.
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

function mapRecords(pool: Pool): Pick<Database, 'orm' | 'records'> {
  const orm = ormOn(pool);
  const records = {
    tenants: defineTenantRecord(orm),
    apiTokens: defineApiTokenRecord(orm),
    agents: defineAgentRecord(orm),
    monitors: defineMonitorRecord(orm),
    channels: defineChannelRecord(orm),
  };
  return { orm, records };
}

/**
 * Closes the pool after the queries under way; a server that does not even answer a goodbye is left after five seconds.
 */
export async function closeDatabase(database: Database): Promise<void> {
  await within(CLOSE_TIMEOUT_MS, database.pool.end(), null);
}
