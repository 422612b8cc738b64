import type {
  CreationOptional,
  InferAttributes,
  InferCreationAttributes,
  Model,
  ModelStatic,
  Sequelize,
} from 'sequelize';
import type { ChannelStatus, ChannelType } from '../../core/alerts/channel.ts';
import type { ChannelRule } from '../../core/alerts/rules.ts';
import type { WebhookFormat } from '../../core/alerts/webhook-format.ts';
import { sequelize } from '../orm.ts';

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

/** Maps `channels` on one connection. */
export function defineChannelRecord(orm: Sequelize): ModelStatic<ChannelRecord> {
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
