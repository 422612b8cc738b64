import { DataTypes, type CreationOptional, type InferAttributes, type InferCreationAttributes, type Model, type ModelStatic, type Sequelize } from 'sequelize';
import type { CheckSpec, HttpMethod, MonitorType } from '../../core/monitor.ts';
import type { MonitorState } from '../../core/state.ts';

/** A row of `monitors`. */
export interface MonitorRecord extends Model<InferAttributes<MonitorRecord>, InferCreationAttributes<MonitorRecord>> {
  no: CreationOptional<number>;
  id: string;
  tenantId: string;
  name: string;
  type: MonitorType;
  target: string;
  intervalSeconds: number;
  timeoutMs: number;
  method: HttpMethod | null;
  expectedStatus: string | null;
  bodyMatch: string | null;
  followRedirects: boolean;
  downAfterFailures: number;
  upAfterSuccesses: number;
  downMinSources: number;
  heartbeatGraceSeconds: number | null;
  slaTarget: number | null;
  checkSpec: CheckSpec;
  sealedSecrets: string | null;
  checksVersion: CreationOptional<number>;
  enabled: CreationOptional<boolean>;
  state: CreationOptional<MonitorState>;
  stateSince: number;
  sequence: CreationOptional<number>;
  createdAt: number;
  updatedAt: number;
}

/** Maps `monitors` on one connection; the table itself is made by the migrations. */
export function defineMonitorRecord(orm: Sequelize): ModelStatic<MonitorRecord> {
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
    checkSpec: { type: DataTypes.JSONB, allowNull: false },
    sealedSecrets: DataTypes.TEXT,
    checksVersion: DataTypes.INTEGER,
    enabled: DataTypes.BOOLEAN,
    state: DataTypes.TEXT,
    stateSince: { type: DataTypes.BIGINT, allowNull: false },
    sequence: DataTypes.INTEGER,
    createdAt: { type: DataTypes.BIGINT, allowNull: false },
    updatedAt: { type: DataTypes.BIGINT, allowNull: false },
  });
}
