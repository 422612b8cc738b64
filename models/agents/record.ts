import type {
  CreationOptional,
  InferAttributes,
  InferCreationAttributes,
  Model,
  ModelStatic,
  Sequelize,
} from 'sequelize';
import { sequelize } from '../orm.ts';

export type AgentKind = 'tenant' | 'first_party' | 'service';

/** A row of `agents`: a program that measures. */
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
  /** X25519, base64; pinned at the first check-in that shows one. */
  publicKey: CreationOptional<string | null>;
  /** Unix milliseconds. */
  offlineAt: CreationOptional<number | null>;
  lastSeenAt: CreationOptional<number | null>;
  createdAt: number;
}

/** Maps `agents` on one connection. */
export function defineAgentRecord(orm: Sequelize): ModelStatic<AgentRecord> {
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
