import type { Model, ModelStatic, Optional, Sequelize } from 'sequelize';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { sequelize } from '../orm.ts';

/** The columns of `monitors`; `stateSince` is in Unix milliseconds, `sequence` that of the newest transition. */
export type MonitorColumns = Omit<Monitor, 'stateSinceMs'> & {
  sealedSecrets: string | null;
  stateSince: number;
  sequence: number;
  awaitsSources: boolean;
};

/** A row of `monitors`; what the database fills in by itself need not be given. */
export type MonitorRecord = Model<
  MonitorColumns,
  Optional<MonitorColumns, 'no' | 'checksVersion' | 'enabled' | 'state' | 'sequence' | 'awaitsSources'>
> &
  MonitorColumns;

/** Maps `monitors` on one connection; the table itself is made by the migrations. */
export function defineMonitorRecord(orm: Sequelize): ModelStatic<MonitorRecord> {
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
