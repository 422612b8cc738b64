import type { ChannelType } from '../../core/alerts/channel.ts';
import type { DrillAnswer, DrillStatus, DrilledMonitor, SkippedChannel } from '../../core/alerts/drill.ts';
import { isStateful, type WebhookFormat } from '../../core/alerts/webhook.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import type { DeliveryOutcome } from './delivery-record.ts';
import { listRoutes } from './routes.ts';

/** A stored drill. Times are Unix milliseconds, null if they have not happened. */
export type Drill = {
  id: string;
  tenantId: string;
  monitor: DrilledMonitor;
  incidentId: string;
  isMonthly: boolean;
  status: DrillStatus;
  answers: readonly DrillAnswer[];
  skipped: readonly SkippedChannel[];
  startedAtMs: number;
  alertedAtMs: number | null;
  endsAtMs: number | null;
  endedAtMs: number | null;
};

const DRILL_COLUMNS = `d.id, d.tenant_id AS "tenantId", d.monitor, d.incident_id AS "incidentId",
  d.is_monthly AS "isMonthly", d.status, d.answers, d.skipped, d.started_at AS "startedAtMs",
  d.alerted_at AS "alertedAtMs", d.ends_at AS "endsAtMs", d.ended_at AS "endedAtMs"`;

/** Reason why a drill was not started. */
export type DrillRefusal =
  | 'gone'
  | 'paused'
  | 'unwatched'
  | 'outage'
  | 'no_channel'
  | 'key_in_use'
  | { running: string };

type NewDrill = Authored & {
  id: string;
  incidentId: string;
  tenantId: string;
  monitorId: string;
  isMonthly: boolean;
  requestKey: string | null;
  nowMs: number;
  /** Runs in the transaction that starts the drill. */
  beforeCommit?: (run: Run) => Promise<unknown>;
};

/** Returns why no drill of a monitor can start now; null if one can. A start a moment later may still be refused. */
export async function findDrillRefusal(
  database: Pick<Database, 'pool'>,
  key: { tenantId: string; monitorId: string },
): Promise<DrillRefusal | null> {
  return await inTransaction(database, async (run) => refusalOf(run, await lockMonitor(run, key)));
}

/**
 * Starts a drill of a monitor: one at a time, while it is checked, has no open incident, and some channel is notified
 * of it. The caller enqueues the answers of its locations.
 */
export async function startDrill(
  database: Pick<Database, 'pool'>,
  { author, beforeCommit, ...drill }: NewDrill,
): Promise<{ drill: Drill } | { refusal: DrillRefusal }> {
  return await inTransaction(database, async (run) => {
    const monitor = await lockMonitor(run, drill);
    const refusal = await refusalOf(run, monitor);
    if (monitor === null || refusal !== null) return { refusal: refusal ?? 'gone' };
    const { enabled: _enabled, hasIncident: _hasIncident, runningId: _runningId, ...drilled } = monitor;
    const [begun] = await run<Drill>(
      `INSERT INTO drills AS d (id, tenant_id, monitor_id, monitor, incident_id, is_monthly, request_key, started_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING ${DRILL_COLUMNS}`,
      [
        drill.id,
        drill.tenantId,
        drill.monitorId,
        JSON.stringify(drilled),
        drill.incidentId,
        drill.isMonthly,
        drill.requestKey,
        drill.nowMs,
      ],
    );
    if (begun === undefined) return { refusal: 'key_in_use' };
    await insertAuditEntry(run, author, {
      tenantId: drill.tenantId,
      object: { kind: 'monitor', id: drilled.id, name: drilled.name },
      changes: { drill_id: [null, drill.id] },
    });
    await beforeCommit?.(run);
    return { drill: begun };
  });
}

async function refusalOf(run: Run, monitor: LockedMonitor | null): Promise<DrillRefusal | null> {
  if (monitor === null) return 'gone';
  if (monitor.runningId !== null) return { running: monitor.runningId };
  if (!monitor.enabled) return 'paused';
  if (monitor.hasIncident) return 'outage';
  if (monitor.sources.length === 0) return 'unwatched';
  return (await listRoutes(run, [monitor.id])).length === 0 ? 'no_channel' : null;
}

type LockedMonitor = DrilledMonitor & { enabled: boolean; hasIncident: boolean; runningId: string | null };

/**
 * Locks the monitor in a separate statement, so that the next statement of a concurrent request finds the drill that
 * the first one has started.
 */
async function lockMonitor(
  run: Run,
  { tenantId, monitorId }: { tenantId: string; monitorId: string },
): Promise<LockedMonitor | null> {
  await run('SELECT FROM monitors WHERE id = $1 AND tenant_id = $2 FOR NO KEY UPDATE', [monitorId, tenantId]);
  const [monitor] = await run<LockedMonitor>(
    `SELECT m.no, m.id, m.name, m.type, m.target, m.down_min_sources AS quorum, m.enabled,
       EXISTS (SELECT FROM incidents i WHERE i.monitor_id = m.id AND i.resolved_at IS NULL) AS "hasIncident",
       (SELECT d.id FROM drills d WHERE d.monitor_id = m.id AND d.ended_at IS NULL) AS "runningId",
       coalesce((SELECT json_agg(json_build_object('agentNo', s.agent_no, 'name', a.name) ORDER BY s.agent_no)
         FROM monitor_sources s JOIN agents a ON a.no = s.agent_no WHERE s.monitor_no = m.no), '[]') AS sources
     FROM monitors m WHERE m.id = $1 AND m.tenant_id = $2`,
    [monitorId, tenantId],
  );
  return monitor ?? null;
}

/** Finds the drill that a request with this idempotency key started; null if there is none. */
export async function findDrillByKey(
  database: Pick<Database, 'pool'>,
  { tenantId, requestKey }: { tenantId: string; requestKey: string },
): Promise<Drill | null> {
  const [drill] = await runOn(database.pool)<Drill>(
    `SELECT ${DRILL_COLUMNS} FROM drills d WHERE d.tenant_id = $1 AND d.request_key = $2`,
    [tenantId, requestKey],
  );
  return drill ?? null;
}

/** Finds the pending answer of a location in a drill in progress; null if there is none, or it has answered. */
export async function findOpenAnswer(
  database: Pick<Database, 'pool'>,
  { drillId, agentNo, verdict }: { drillId: string } & Omit<DrillAnswer, 'atMs'>,
): Promise<{ tenantId: string; name: string } | null> {
  const [open] = await runOn(database.pool)<{ tenantId: string; name: string }>(
    `SELECT tenant_id AS "tenantId", monitor ->> 'name' AS name FROM drills
     WHERE id = $1 AND (status = 'alerted' OR (status = 'failing' AND $3::text = 'down'))
       AND NOT answers @> jsonb_build_array(jsonb_build_object('agentNo', $2::int, 'verdict', $3::text))`,
    [drillId, agentNo, verdict],
  );
  return open ?? null;
}

/** Locks a drill in progress; null if it is over or was deleted. */
export async function lockOpenDrill(run: Run, id: string): Promise<Drill | null> {
  const [drill] = await run<Drill>(
    `SELECT ${DRILL_COLUMNS} FROM drills d WHERE d.id = $1 AND d.ended_at IS NULL FOR NO KEY UPDATE`,
    [id],
  );
  return drill ?? null;
}

/** Stores the new state of a locked drill. */
export async function updateDrill(
  run: Run,
  { id, status, answers, skipped, alertedAtMs, endsAtMs, endedAtMs }: Omit<Drill, 'monitor'>,
): Promise<void> {
  await run(
    `UPDATE drills SET status = $2, answers = $3, skipped = $4, alerted_at = $5, ends_at = $6, ended_at = $7
     WHERE id = $1`,
    [id, status, JSON.stringify(answers), JSON.stringify(skipped), alertedAtMs, endsAtMs, endedAtMs],
  );
}

/**
 * Returns the current state of a monitor, locked against changes until the transaction ends; null if it was deleted.
 * The lock is a separate statement, so that the next one finds the incident of an evaluator that it waited for.
 */
export async function findMonitorState(
  run: Run,
  monitorId: string,
): Promise<{ state: MonitorState; hasIncident: boolean } | null> {
  await run('SELECT FROM monitors WHERE id = $1 FOR SHARE', [monitorId]);
  const [monitor] = await run<{ state: MonitorState; hasIncident: boolean }>(
    `SELECT m.state,
       EXISTS (SELECT FROM incidents i WHERE i.monitor_id = m.id AND i.resolved_at IS NULL) AS "hasIncident"
     FROM monitors m WHERE m.id = $1`,
    [monitorId],
  );
  return monitor ?? null;
}

/**
 * Lists the channels that were notified of a drill and still receive alerts; `keepsOpen` if the receiver keeps an alert
 * open until it is resolved. Until the transaction ends, none of them can be deleted.
 */
export async function listNotifiedChannels(
  run: Run,
  drillId: string,
): Promise<{ channelId: string; type: ChannelType; keepsOpen: boolean }[]> {
  const rows = await run<{ channelId: string; type: ChannelType; format: WebhookFormat }>(
    `SELECT c.id AS "channelId", c.type, c.format FROM channels c
     WHERE c.enabled AND c.status = 'connected' AND c.id IN (
       SELECT d.channel_id FROM deliveries d WHERE d.monitor_id = $1 AND d.event = 'monitor.down')
     ORDER BY c.id FOR KEY SHARE`,
    [drillId],
  );
  return rows.map(({ format, ...channel }) => ({ ...channel, keepsOpen: isStateful(format) }));
}

/** Lists drills that are behind schedule, the oldest first. */
export async function listLateDrills(
  database: Pick<Database, 'pool'>,
  { lateMs, nowMs, limit }: { lateMs: number; nowMs: number; limit: number },
): Promise<Drill[]> {
  return await runOn(database.pool)<Drill>(
    `SELECT ${DRILL_COLUMNS} FROM drills d
     WHERE d.ended_at IS NULL AND coalesce(d.ends_at, d.started_at) <= $1 ORDER BY d.started_at LIMIT $2`,
    [nowMs - lateMs, limit],
  );
}

/** Deletes drills that began before a time (Unix milliseconds) and are over; returns their number. */
export async function deleteOldDrills(database: Pick<Database, 'pool'>, beforeMs: number): Promise<number> {
  const { rowCount } = await database.pool.query('DELETE FROM drills WHERE started_at < $1 AND ended_at IS NOT NULL', [
    beforeMs,
  ]);
  return rowCount ?? 0;
}

/** A delivery of a drill with the times of its progress, Unix milliseconds; null if not reached yet. */
export type DrillDelivery = {
  id: string;
  channelId: string;
  channelName: string;
  channelType: ChannelType;
  event: 'monitor.down' | 'monitor.up';
  outcome: DeliveryOutcome;
  attemptCount: number;
  lastError: string | null;
  writtenAtMs: number;
  /** Start of its first attempt. */
  begunAtMs: number | null;
  deliveredAtMs: number | null;
};

/** The channel of a skipped delivery, with its name; null if it was deleted. */
type SkippedDelivery = SkippedChannel & { channelName: string | null };

/** A drill with its deliveries. */
export type DrillRecord = Drill & { deliveries: DrillDelivery[]; skippedDeliveries: SkippedDelivery[] };

/** Finds a drill of a tenant with its deliveries; null if there is none. */
export async function findDrill(
  database: Pick<Database, 'pool'>,
  { tenantId, id }: RowKey,
): Promise<DrillRecord | null> {
  const [drill] = await runOn(database.pool)<Drill>(
    `SELECT ${DRILL_COLUMNS} FROM drills d WHERE d.id = $1 AND d.tenant_id = $2`,
    [id, tenantId],
  );
  return drill === undefined ? null : ((await withDeliveries(database, [drill]))[0] ?? null);
}

/** Lists the drills of a tenant's monitor, newest first, at most `limit`. */
export async function listDrills(
  database: Pick<Database, 'pool'>,
  { tenantId, monitorId, limit }: { tenantId: string; monitorId: string; limit: number },
): Promise<DrillRecord[]> {
  const drills = await runOn(database.pool)<Drill>(
    `SELECT ${DRILL_COLUMNS} FROM drills d WHERE d.tenant_id = $1 AND d.monitor_id = $2
     ORDER BY d.started_at DESC, d.id DESC LIMIT $3`,
    [tenantId, monitorId, limit],
  );
  return await withDeliveries(database, drills);
}

/** Number of a tenant's newest drills in which those of a channel are searched. */
const MAX_SEARCHED = 500;

/**
 * Lists the drills of a tenant that were sent to a channel or skipped it, newest first, at most `limit`. Reads only
 * this channel's part of each.
 */
export async function listChannelDrills(
  database: Pick<Database, 'pool'>,
  { tenantId, channelId, limit }: { tenantId: string; channelId: string; limit: number },
): Promise<DrillRecord[]> {
  const drills = await runOn(database.pool)<Drill>(
    `WITH d AS MATERIALIZED (
       SELECT * FROM drills WHERE tenant_id = $1 ORDER BY started_at DESC, id DESC LIMIT $4)
     SELECT ${DRILL_COLUMNS} FROM d
     WHERE d.skipped @> jsonb_build_array(jsonb_build_object('channelId', $2::text))
       OR EXISTS (SELECT FROM deliveries x WHERE x.monitor_id = d.id AND x.channel_id = $2)
     ORDER BY d.started_at DESC, d.id DESC LIMIT $3`,
    [tenantId, channelId, limit, MAX_SEARCHED],
  );
  return (await withDeliveries(database, drills)).map((drill) => ({
    ...drill,
    deliveries: drill.deliveries.filter((delivery) => delivery.channelId === channelId),
    skippedDeliveries: drill.skippedDeliveries.filter((skip) => skip.channelId === channelId),
  }));
}

async function withDeliveries(database: Pick<Database, 'pool'>, drills: readonly Drill[]): Promise<DrillRecord[]> {
  const run = runOn(database.pool);
  const deliveries = await run<DrillDelivery & { drillId: string }>(
    `SELECT d.monitor_id AS "drillId", d.id, d.channel_id AS "channelId", c.name AS "channelName",
       c.type AS "channelType", d.event, d.outcome, d.attempts AS "attemptCount", d.created_at AS "writtenAtMs",
       (SELECT a.error FROM delivery_attempts a WHERE a.delivery_id = d.id AND a.error IS NOT NULL
         ORDER BY a.attempt DESC LIMIT 1) AS "lastError",
       (SELECT a.started_at FROM delivery_attempts a WHERE a.delivery_id = d.id AND a.attempt = 1) AS "begunAtMs",
       CASE WHEN d.outcome = 'delivered' THEN d.finished_at END AS "deliveredAtMs"
     FROM deliveries d JOIN channels c ON c.id = d.channel_id
     WHERE d.monitor_id = ANY ($1::text[]) ORDER BY d.no`,
    [drills.map(({ id }) => id)],
  );
  const names = new Map(
    (
      await run<{ id: string; name: string }>('SELECT id, name FROM channels WHERE id = ANY ($1::text[])', [
        drills.flatMap(({ skipped }) => skipped.map(({ channelId }) => channelId)),
      ])
    ).map(({ id, name }) => [id, name]),
  );
  const byDrill = Map.groupBy(deliveries, ({ drillId }) => drillId);
  return drills.map((drill) => ({
    ...drill,
    deliveries: byDrill.get(drill.id) ?? [],
    skippedDeliveries: drill.skipped.map((skip) => ({ ...skip, channelName: names.get(skip.channelId) ?? null })),
  }));
}
