import { createRequire } from 'node:module';
import type { Pool, PoolClient } from 'pg';
import type * as Package from 'sequelize';
import type {
  CreationOptional,
  InferAttributes,
  InferCreationAttributes,
  Model,
  ModelStatic,
  Optional,
  Sequelize,
  Transaction,
  WhereOptions,
} from 'sequelize';
import type { Plan } from '../core/accounts/plans.ts';
import type { TokenScope } from '../core/accounts/roles.ts';
import type { ChannelStatus, ChannelType } from '../core/alerts/channel.ts';
import type { ChannelRule } from '../core/alerts/rules.ts';
import type { WebhookFormat } from '../core/alerts/webhook.ts';
import type { Monitor } from '../core/monitors/monitor.ts';
import { lendClient, takeBackClient } from './sql.ts';

/** A connection that the ORM returns: it marks broken ones. */
type ReturnedClient = PoolClient & { _invalid?: boolean };

const require = createRequire(import.meta.url);

/**
 * Returns the ORM package, loaded by the first call. It takes 0.1 s and 250 files, and most worker processes edit
 * nothing.
 */
export function sequelize(): typeof Package {
  return require('sequelize') as typeof Package;
}

/** The tables that the ORM maps; the migrations create them. */
export type Records = {
  tenants: ModelStatic<TenantRecord>;
  apiTokens: ModelStatic<ApiTokenRecord>;
  agents: ModelStatic<AgentRecord>;
  monitors: ModelStatic<MonitorRecord>;
  channels: ModelStatic<ChannelRecord>;
};

/** Makes an ORM on the connections of a pool, with its tables. */
export function mapRecords(pool: Pool): { orm: Sequelize; records: Records } {
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

/** Makes an ORM that runs its statements on connections of the pool, without connections of its own. */
function ormOn(pool: Pool): Sequelize {
  const orm = new (sequelize().Sequelize)({
    dialect: 'postgres',
    logging: false,
    define: { timestamps: false, underscored: true, freezeTableName: true },
  });
  // The ORM gets and returns connections only by these two methods, so its own pool stays empty.
  Object.assign(orm.connectionManager, {
    getConnection: () => lendClient(pool),
    releaseConnection: (client: ReturnedClient) => takeBackClient(client, client._invalid !== true),
  });
  return orm;
}

/**
 * Returns the transaction of a client in the form that calls of the ORM's records accept: they then run on that client.
 * `inTransaction` begins and ends it.
 */
export function transactionOn({ orm }: { orm: Sequelize }, client: PoolClient): Transaction {
  return Object.assign(new (sequelize().Transaction)(orm, {}), { connection: client });
}

/** Returns the condition for a page after an entry, in a list by creation, then id; none for the first page. */
export function behind(after: { createdAt: number; id: string } | undefined): WhereOptions[] {
  if (after === undefined) return [];
  const { Op } = sequelize();
  const { createdAt, id } = after;
  return [{ [Op.or]: [{ createdAt: { [Op.gt]: createdAt } }, { createdAt, id: { [Op.gt]: id } }] }];
}

/** A row of `tenants`: the account that owns everything else. */
interface TenantRecord extends Model<InferAttributes<TenantRecord>, InferCreationAttributes<TenantRecord>> {
  id: string;
  name: string;
  plan: Plan;
  createdAt: number;
}

/** A row of `api_tokens`; the token itself is not stored, only its fingerprint. */
export interface ApiTokenRecord extends Model<
  InferAttributes<ApiTokenRecord>,
  InferCreationAttributes<ApiTokenRecord>
> {
  id: string;
  tenantId: string;
  name: string;
  fingerprint: Buffer;
  scopes: TokenScope[];
  createdAt: number;
  expiresAt: number | null;
  revokedAt: CreationOptional<number | null>;
  lastUsedAt: CreationOptional<number | null>;
}

function defineTenantRecord(orm: Sequelize): ModelStatic<TenantRecord> {
  const { DataTypes } = sequelize();
  return orm.define<TenantRecord>('tenants', {
    id: { type: DataTypes.TEXT, primaryKey: true },
    name: { type: DataTypes.TEXT, allowNull: false },
    plan: { type: DataTypes.TEXT, allowNull: false },
    createdAt: { type: DataTypes.BIGINT, allowNull: false },
  });
}

function defineApiTokenRecord(orm: Sequelize): ModelStatic<ApiTokenRecord> {
  const { DataTypes } = sequelize();
  return orm.define<ApiTokenRecord>('api_tokens', {
    id: { type: DataTypes.TEXT, primaryKey: true },
    tenantId: { type: DataTypes.TEXT, allowNull: false },
    name: { type: DataTypes.TEXT, allowNull: false },
    fingerprint: { type: DataTypes.BLOB, allowNull: false },
    scopes: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    createdAt: { type: DataTypes.BIGINT, allowNull: false },
    expiresAt: DataTypes.BIGINT,
    revokedAt: DataTypes.BIGINT,
    lastUsedAt: DataTypes.BIGINT,
  });
}

export type AgentKind = 'tenant' | 'first_party' | 'service';

/** A row of `agents`: a program that runs checks. */
export interface AgentRecord extends Model<InferAttributes<AgentRecord>, InferCreationAttributes<AgentRecord>> {
  no: CreationOptional<number>;
  id: string;
  tenantId: string | null;
  kind: AgentKind;
  name: string;
  region: string | null;
  tags: CreationOptional<readonly string[]>;
  capabilities: CreationOptional<string[] | null>;
  version: CreationOptional<string | null>;
  arch: CreationOptional<string | null>;
  tokenFingerprint: CreationOptional<Buffer | null>;
  revokedAt: CreationOptional<number | null>;
  /** X25519, base64; pinned at the first check-in that sends one. */
  publicKey: CreationOptional<string | null>;
  /** Unix milliseconds. */
  offlineAt: CreationOptional<number | null>;
  lastSeenAt: CreationOptional<number | null>;
  createdAt: number;
}

function defineAgentRecord(orm: Sequelize): ModelStatic<AgentRecord> {
  const { DataTypes } = sequelize();
  return orm.define<AgentRecord>('agents', {
    no: { type: DataTypes.INTEGER, autoIncrement: true },
    id: { type: DataTypes.TEXT, primaryKey: true },
    tenantId: DataTypes.TEXT,
    kind: { type: DataTypes.TEXT, allowNull: false },
    name: { type: DataTypes.TEXT, allowNull: false },
    region: DataTypes.TEXT,
    tags: DataTypes.ARRAY(DataTypes.TEXT),
    capabilities: DataTypes.JSONB,
    version: DataTypes.TEXT,
    arch: DataTypes.TEXT,
    tokenFingerprint: DataTypes.BLOB,
    revokedAt: DataTypes.BIGINT,
    publicKey: DataTypes.TEXT,
    offlineAt: DataTypes.BIGINT,
    lastSeenAt: DataTypes.BIGINT,
    createdAt: { type: DataTypes.BIGINT, allowNull: false },
  });
}

/** A row of `channels`. */
export interface ChannelRecord extends Model<InferAttributes<ChannelRecord>, InferCreationAttributes<ChannelRecord>> {
  id: string;
  tenantId: string;
  type: ChannelType;
  name: string;
  enabled: CreationOptional<boolean>;
  status: ChannelStatus;
  allMonitors: boolean;
  anyTags: CreationOptional<readonly string[]>;
  allTags: CreationOptional<readonly string[]>;
  wantsReports: CreationOptional<boolean>;
  reportTimezone: CreationOptional<string | null>;
  followsMaintenance: CreationOptional<boolean>;
  rules: CreationOptional<readonly ChannelRule[] | null>;
  groupSeconds: CreationOptional<number>;
  summarizesFlapping: CreationOptional<boolean>;
  urlHost: CreationOptional<string | null>;
  teamName: CreationOptional<string | null>;
  channelName: CreationOptional<string | null>;
  address: CreationOptional<string | null>;
  sealedUrl: CreationOptional<string | null>;
  sealedSigningSecret: CreationOptional<string | null>;
  sealedHeaders: CreationOptional<string | null>;
  headerNames: CreationOptional<readonly string[] | null>;
  format: CreationOptional<WebhookFormat>;
  lastError: CreationOptional<string | null>;
  /** Unix milliseconds. */
  lastErrorAt: CreationOptional<number | null>;
  createdAt: number;
}

function defineChannelRecord(orm: Sequelize): ModelStatic<ChannelRecord> {
  const { DataTypes } = sequelize();
  return orm.define<ChannelRecord>('channels', {
    id: { type: DataTypes.TEXT, primaryKey: true },
    tenantId: { type: DataTypes.TEXT, allowNull: false },
    type: { type: DataTypes.TEXT, allowNull: false },
    name: { type: DataTypes.TEXT, allowNull: false },
    enabled: DataTypes.BOOLEAN,
    status: { type: DataTypes.TEXT, allowNull: false },
    allMonitors: { type: DataTypes.BOOLEAN, allowNull: false },
    anyTags: DataTypes.ARRAY(DataTypes.TEXT),
    allTags: DataTypes.ARRAY(DataTypes.TEXT),
    wantsReports: DataTypes.BOOLEAN,
    reportTimezone: DataTypes.TEXT,
    followsMaintenance: DataTypes.BOOLEAN,
    rules: DataTypes.JSONB,
    groupSeconds: DataTypes.SMALLINT,
    summarizesFlapping: DataTypes.BOOLEAN,
    urlHost: DataTypes.TEXT,
    teamName: DataTypes.TEXT,
    channelName: DataTypes.TEXT,
    address: DataTypes.TEXT,
    sealedUrl: DataTypes.TEXT,
    sealedSigningSecret: DataTypes.TEXT,
    sealedHeaders: DataTypes.TEXT,
    headerNames: DataTypes.ARRAY(DataTypes.TEXT),
    format: DataTypes.JSONB,
    lastError: DataTypes.TEXT,
    lastErrorAt: DataTypes.BIGINT,
    createdAt: { type: DataTypes.BIGINT, allowNull: false },
  });
}

/** The columns of `monitors`; `stateSince` is in Unix milliseconds, `sequence` that of the newest transition. */
export type MonitorColumns = Omit<Monitor, 'stateSinceMs'> & {
  sealedSecrets: string | null;
  stateSince: number;
  sequence: number;
  awaitsSources: boolean;
};

/** A row of `monitors`; columns that the database fills in are optional. */
type MonitorRecord = Model<
  MonitorColumns,
  Optional<MonitorColumns, 'no' | 'checksVersion' | 'enabled' | 'state' | 'sequence' | 'awaitsSources'>
> &
  MonitorColumns;

function defineMonitorRecord(orm: Sequelize): ModelStatic<MonitorRecord> {
  const { DataTypes } = sequelize();
  return orm.define<MonitorRecord>('monitors', {
    no: { type: DataTypes.INTEGER, autoIncrement: true },
    id: { type: DataTypes.TEXT, primaryKey: true },
    tenantId: { type: DataTypes.TEXT, allowNull: false },
    name: { type: DataTypes.TEXT, allowNull: false },
    type: { type: DataTypes.TEXT, allowNull: false },
    target: { type: DataTypes.TEXT, allowNull: false },
    intervalSeconds: { type: DataTypes.INTEGER, allowNull: false },
    timeoutMs: { type: DataTypes.INTEGER, allowNull: false },
    method: DataTypes.TEXT,
    expectedStatus: DataTypes.TEXT,
    bodyMatch: DataTypes.TEXT,
    followRedirects: { type: DataTypes.BOOLEAN, allowNull: false },
    downAfterFailures: { type: DataTypes.SMALLINT, allowNull: false },
    upAfterSuccesses: { type: DataTypes.SMALLINT, allowNull: false },
    downMinSources: { type: DataTypes.SMALLINT, allowNull: false },
    heartbeatGraceSeconds: DataTypes.INTEGER,
    slaTarget: DataTypes.DOUBLE,
    sla: DataTypes.JSONB,
    reopenSeconds: DataTypes.INTEGER,
    monthlyDrill: DataTypes.BOOLEAN,
    tags: DataTypes.ARRAY(DataTypes.TEXT),
    checkSpec: { type: DataTypes.JSONB, allowNull: false },
    sealedSecrets: DataTypes.TEXT,
    checksVersion: DataTypes.INTEGER,
    enabled: DataTypes.BOOLEAN,
    state: DataTypes.TEXT,
    stateSince: { type: DataTypes.BIGINT, allowNull: false },
    sequence: DataTypes.INTEGER,
    awaitsSources: DataTypes.BOOLEAN,
    createdAt: { type: DataTypes.BIGINT, allowNull: false },
    updatedAt: { type: DataTypes.BIGINT, allowNull: false },
  });
}
