import type { PoolClient } from 'pg';
import { compareFields, goneWith, madeWith } from '../../core/accounts/audit-entry.ts';
import type { Channel, ChannelStatus, ChannelType } from '../../core/alerts/channel.ts';
import type { ChannelRule } from '../../core/alerts/rules.ts';
import type { MonitorTags } from '../../core/monitors/monitor.ts';
import { channelFields, insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import { notifyChange } from '../changes.ts';
import type { Database } from '../database.ts';
import { behind, sequelize, transactionOn, type ChannelRecord } from '../orm.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { ChannelRefusal, countRoutes, isLimited, requireRoom } from './channel-limits.ts';
import { insertConnectCode, type StoredConnectCode } from './chat-connections.ts';
import { insertTestDelivery, type TestedDelivery } from './delivery-record.ts';
import { sealWebhook, type NewWebhook } from './webhook-secrets.ts';

/**
 * A channel to store. `webhook` is in clear and is encrypted here; `connectCode` is part of its connect link (D-55).
 */
export type NewChannel = {
  id: string;
  tenantId: string;
  type: ChannelType;
  name: string;
  status: ChannelStatus;
  allMonitors: boolean;
  monitorIds: readonly string[];
  /** Default null. */
  monitorTags?: MonitorTags | null;
  /** Default false. */
  wantsReports?: boolean;
  /** Null = UTC, the default. */
  reportTimezone?: string | null;
  /** Default false. */
  followsMaintenance?: boolean;
  /** Null, the default = all events, at once. */
  rules?: readonly ChannelRule[] | null;
  /** Default 0. */
  groupSeconds?: number;
  /** Default false. */
  summarizesFlapping?: boolean;
  webhook?: NewWebhook;
  /** Address of an email channel; absent for other types. */
  address?: string | null;
  connectCode?: StoredConnectCode;
  /** The test delivery that connected its webhook: the first delivery of its log. */
  tested?: Omit<TestedDelivery, 'channelId'>;
  nowMs: number;
};

/** Changes that a customer may make to a channel; absent fields stay, `monitorIds` replaces the whole list. */
type ChannelChange = {
  name?: string;
  enabled?: boolean;
  allMonitors?: boolean;
  monitorIds?: readonly string[];
  monitorTags?: MonitorTags | null;
  wantsReports?: boolean;
  reportTimezone?: string | null;
  followsMaintenance?: boolean;
  rules?: readonly ChannelRule[] | null;
  groupSeconds?: number;
  summarizesFlapping?: boolean;
};

/** Columns for reads that only display a channel: no encrypted values. */
const SHOWN = { exclude: ['sealedUrl', 'sealedSigningSecret', 'sealedHeaders'] };

/**
 * Stores a channel with its routing, connect code and first test in one transaction. Throws a `ChannelRefusal` if the
 * tenant has reached a limit, even with concurrent requests. Of `monitorIds`, only the tenant's own monitors are kept.
 */
export async function createChannel(database: Database, channel: NewChannel & Authored): Promise<Channel> {
  return await inTransaction(database, (run, client) => createChannelBy({ database, run, client }, channel));
}

/** Stores a channel in the caller's transaction, as above. */
export async function createChannelBy(
  { database, run, client }: { database: Database; run: Run; client: PoolClient },
  channel: NewChannel & Authored,
): Promise<Channel> {
  const { author, id, tenantId, type, name, status, allMonitors, monitorTags = null } = channel;
  const {
    wantsReports = false,
    reportTimezone = null,
    followsMaintenance = false,
    rules = null,
    groupSeconds = 0,
    summarizesFlapping = false,
    webhook,
    address = null,
    connectCode,
    tested,
  } = channel;
  const transaction = transactionOn(database, client);
  await run('SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
  await requireRoom(run, channel, { ...channel, format: webhook?.format ?? null });
  const record = await database.records.channels.create(
    {
      id,
      tenantId,
      type,
      name,
      status,
      allMonitors,
      ...tagColumns(monitorTags),
      wantsReports,
      reportTimezone,
      followsMaintenance,
      rules,
      groupSeconds,
      summarizesFlapping,
      ...(webhook && sealWebhook(database, id, webhook)),
      ...(address !== null && { address }),
      createdAt: Math.floor(channel.nowMs / 1000),
    },
    { transaction, returning: true },
  );
  const monitorIds = await replaceRouting(run, { tenantId, id }, channel.monitorIds);
  const routes = await countRoutes(run, tenantId);
  if (routes.count > routes.most) throw new ChannelRefusal('routes');
  if (connectCode !== undefined) await insertConnectCode(run, id, connectCode);
  if (tested !== undefined) await insertTestDelivery(run, { ...tested, channelId: id });
  const created = channelOf(record, monitorIds);
  await insertAuditEntry(run, author, {
    tenantId,
    object: { kind: 'channel', id, name },
    changes: madeWith(
      channelFields(created).fields ?? {},
      webhook && {
        url: webhook.url,
        signing_secret: webhook.signingSecret,
        ...(webhook.headers && Object.keys(webhook.headers).length > 0 && { headers: Object.entries(webhook.headers) }),
      },
    ),
  });
  return created;
}

/** Finds a channel of a tenant; null if there is none. */
export async function findChannel(database: Database, { tenantId, id }: RowKey): Promise<Channel | null> {
  const record = await database.records.channels.findOne({ attributes: SHOWN, where: { id, tenantId } });
  if (record === null) return null;
  return channelOf(record, (await listRouting(runOn(database.pool), [id])).get(id));
}

/** Lists a tenant's channels by creation, then id; `after` is the last one of the previous page. */
export async function listChannels(
  database: Database,
  query: { tenantId: string; type?: ChannelType; after?: { createdAt: number; id: string }; limit?: number },
): Promise<Channel[]> {
  const { Op } = sequelize();
  const { tenantId, type, after, limit } = query;
  const records = await database.records.channels.findAll({
    attributes: SHOWN,
    where: { [Op.and]: [{ tenantId }, ...(type === undefined ? [] : [{ type }]), ...behind(after)] },
    order: [
      ['createdAt', 'ASC'],
      ['id', 'ASC'],
    ],
    ...(limit !== undefined && { limit }),
  });
  const routing = await listRouting(
    runOn(database.pool),
    records.map((record) => record.id),
  );
  return records.map((record) => channelOf(record, routing.get(record.id)));
}

/**
 * Applies all changes to a channel or none (D-07), and returns the result; null if the tenant has no such channel. Of
 * `monitorIds`, only the tenant's own monitors are kept. Throws a `ChannelRefusal`.
 */
export async function updateChannel(
  database: Database,
  { author, ...key }: RowKey & Authored,
  change: ChannelChange,
): Promise<Channel | null> {
  const { monitorIds, monitorTags, ...fields } = change;
  const isRouted = monitorIds !== undefined || monitorTags !== undefined || fields.allMonitors !== undefined;
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    // Locks in the same order as a creation.
    if (isLimited(change) || isRouted) await run('SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [key.tenantId]);
    const record = await database.records.channels.findOne({
      attributes: SHOWN,
      where: key,
      transaction,
      lock: transaction.LOCK.NO_KEY_UPDATE,
    });
    if (record === null) return null;
    if (isLimited(change)) await requireRoom(run, key, change);
    if ((change.groupSeconds ?? 0) > 0 && record.format !== null) throw new ChannelRefusal('grouped_format');
    const routing = (await listRouting(run, [key.id])).get(key.id);
    const before = channelOf(record, routing);
    const routes = isRouted ? await countRoutes(run, key.tenantId) : null;
    // The last error stays until a delivery arrives or the channel is reconnected.
    await record.update({ ...fields, ...(monitorTags !== undefined && tagColumns(monitorTags)) }, { transaction });
    const channel = channelOf(record, monitorIds === undefined ? routing : await replaceRouting(run, key, monitorIds));
    if (routes !== null && (await countRoutes(run, key.tenantId)).count > Math.max(routes.count, routes.most))
      throw new ChannelRefusal('routes');
    await insertAuditEntry(run, author, {
      tenantId: key.tenantId,
      object: { kind: 'channel', id: key.id, name: channel.name },
      changes: compareFields(channelFields(before), channelFields(channel)),
    });
    return channel;
  });
}

/** Deletes a channel with its deliveries; false if the tenant has no such channel. */
export async function deleteChannel(database: Database, { tenantId, id, author }: RowKey & Authored): Promise<boolean> {
  // A concurrent record of a delivery that heals the channel locks in the opposite order, so the transaction is
  // repeated on deadlock.
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    const record = await database.records.channels.findOne({ attributes: SHOWN, where: { id, tenantId }, transaction });
    if (record === null) return false;
    const channel = channelOf(record, (await listRouting(run, [id])).get(id));
    if ((await database.records.channels.destroy({ where: { id, tenantId }, transaction })) === 0) return false;
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'channel', id, name: channel.name },
      changes: goneWith(channelFields(channel).fields ?? {}),
    });
    return true;
  });
}

async function replaceRouting(run: Run, { tenantId, id }: RowKey, monitorIds: readonly string[]): Promise<string[]> {
  await run('DELETE FROM channel_monitors WHERE channel_id = $1', [id]);
  await notifyChange(run, { tenantId, kind: 'channel', id });
  if (monitorIds.length === 0) return [];
  const rows = await run<{ monitor_id: string }>(
    `INSERT INTO channel_monitors (channel_id, monitor_id)
     SELECT $1, m.id FROM monitors m WHERE m.tenant_id = $2 AND m.id = ANY($3::text[]) FOR KEY SHARE
     RETURNING monitor_id`,
    [id, tenantId, monitorIds],
  );
  return rows.map((row) => row.monitor_id).toSorted();
}

async function listRouting(run: Run, channelIds: readonly string[]): Promise<Map<string, string[]>> {
  if (channelIds.length === 0) return new Map();
  const rows = await run<{ channel_id: string; monitor_ids: string[] }>(
    'SELECT channel_id, array_agg(monitor_id ORDER BY monitor_id COLLATE "C") AS monitor_ids FROM ' +
      'channel_monitors WHERE channel_id = ANY($1::text[]) GROUP BY channel_id',
    [channelIds],
  );
  return new Map(rows.map((row) => [row.channel_id, row.monitor_ids]));
}

/** Returns tags as the columns of a row. */
function tagColumns(tags: MonitorTags | null): { anyTags: readonly string[]; allTags: readonly string[] } {
  return {
    anyTags: tags !== null && 'any' in tags ? tags.any : [],
    allTags: tags !== null && 'all' in tags ? tags.all : [],
  };
}

function channelOf(record: ChannelRecord, monitorIds: string[] = []): Channel {
  const {
    id,
    tenantId,
    type,
    name,
    enabled,
    status,
    allMonitors,
    anyTags = [],
    allTags = [],
    wantsReports,
    reportTimezone,
    followsMaintenance,
    rules,
    groupSeconds = 0,
    summarizesFlapping = false,
    urlHost,
    headerNames,
    format,
    teamName,
    channelName,
    address,
    createdAt,
    lastError: text,
    lastErrorAt: atMs,
  } = record;
  const lastError = text === null || atMs === null ? null : { text, at: Math.floor(atMs / 1000) };
  return {
    id,
    tenantId,
    type,
    name,
    enabled,
    status,
    allMonitors,
    monitorIds,
    monitorTags: anyTags.length > 0 ? { any: anyTags } : allTags.length > 0 ? { all: allTags } : null,
    wantsReports,
    reportTimezone,
    followsMaintenance,
    rules: rules ?? null,
    groupSeconds,
    summarizesFlapping,
    urlHost,
    headerNames: headerNames ?? [],
    format,
    teamName,
    channelName,
    address,
    lastError,
    createdAt,
  };
}

/** Returns those of `ids` that are channels of the tenant; for a few ids, as each takes a query. */
export async function listChannelsById(
  database: Database,
  { tenantId, ids }: { tenantId: string; ids: readonly string[] },
): Promise<Channel[]> {
  const found: (Channel | null)[] = [];
  for (const id of ids) found.push(await findChannel(database, { tenantId, id }));
  return found.filter((channel) => channel !== null);
}
