import type {
  CreationOptional,
  InferAttributes,
  InferCreationAttributes,
  Model,
  ModelStatic,
  Sequelize,
} from 'sequelize';
import type { Plan } from '../../core/accounts/plans.ts';
import type { TokenScope } from '../../core/accounts/roles.ts';
import { sequelize } from '../orm.ts';

/** A row of `tenants`: the account that owns everything else. */
export interface TenantRecord extends Model<InferAttributes<TenantRecord>, InferCreationAttributes<TenantRecord>> {
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

/** Maps `tenants` on one connection. */
export function defineTenantRecord(orm: Sequelize): ModelStatic<TenantRecord> {
  const { DataTypes } = sequelize();
  return orm.define<TenantRecord>('tenants', {
    id: { type: DataTypes.TEXT, primaryKey: true },
    name: { type: DataTypes.TEXT, allowNull: false },
    plan: { type: DataTypes.TEXT, allowNull: false },
    createdAt: { type: DataTypes.BIGINT, allowNull: false },
  });
}

/** Maps `api_tokens` on one connection. */
export function defineApiTokenRecord(orm: Sequelize): ModelStatic<ApiTokenRecord> {
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
