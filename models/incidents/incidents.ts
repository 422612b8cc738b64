import type { ChannelType } from '../../core/alerts/channel.ts';
import type { ChangeEvidence, SourceEvidence } from '../../core/incidents/change.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import type { Delivery } from '../alerts/delivery-record.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';
import { INCIDENT_COLUMNS, type ListedIncident } from './history.ts';

type Key = { tenantId: string; id: string };

/** A change of the monitor's state within an incident. Times are Unix milliseconds. */
export type IncidentTransition = {
  sequence: number;
  atMs: number;
  detectedAtMs: number;
  from: MonitorState;
  to: MonitorState;
  cause: string | null;
  reason: string | null;
  /** What each source said at that moment; empty where no source was asked. */
  sources: SourceEvidence[];
};

/** What was sent because of an incident, and where. */
export type IncidentDelivery = Pick<
  Delivery,
  | 'id'
  | 'channelId'
  | 'event'
  | 'outcome'
  | 'attemptCount'
  | 'heldBy'
  | 'heldByMonitorId'
  | 'createdAtMs'
  | 'finishedAtMs'
> & {
  channelName: string;
  channelType: ChannelType;
};

/** One incident of a tenant, its monitor deleted or not; null when the tenant has no such incident. */
export async function findIncident(database: Database, { tenantId, id }: Key): Promise<ListedIncident | null> {
  const [incident] = await runOn(database.pool)<ListedIncident>(
    `SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE id = $1 AND tenant_id = $2`,
    [id, tenantId],
  );
  return incident ?? null;
}

/**
 * The monitor's changes of state within an incident in order, from the one that opened it to the one that ended it,
 * `limit` at most. The one that opened it is known by its two moments: a monitor that got worse twice in one
 * millisecond was first this incident's. One that was reopened has recoveries between.
 */
export async function listIncidentTransitions(
  database: Database,
  incident: ListedIncident,
  limit: number,
): Promise<IncidentTransition[]> {
  const rows = await runOn(database.pool)<Omit<IncidentTransition, 'sources'> & { evidence: Partial<ChangeEvidence> }>(
    `WITH opening AS (
       SELECT min(sequence) AS sequence FROM transitions
       WHERE monitor_id = $1 AND at = $2 AND detected_at = $3 AND to_state IN ('down', 'degraded')
     ), ending AS (
       SELECT t.sequence FROM transitions t, opening o
       WHERE t.monitor_id = $1 AND t.sequence > o.sequence AND t.to_state IN ('up', 'paused')
         AND greatest(t.at, $2) >= $5 ORDER BY t.sequence LIMIT 1
     )
     SELECT t.sequence, t.at AS "atMs", t.detected_at AS "detectedAtMs", t.from_state AS "from", t.to_state AS "to",
       t.cause, t.reason, t.evidence
     FROM transitions t
     WHERE t.monitor_id = $1 AND t.sequence >= (SELECT sequence FROM opening)
       AND t.sequence <= coalesce((SELECT sequence FROM ending), 2147483647)
     ORDER BY t.sequence LIMIT $4`,
    [incident.monitorId, incident.startedAtMs, incident.detectedAtMs, limit, incident.resolvedAtMs],
  );
  return rows.map(({ evidence, ...transition }) => ({ ...transition, sources: evidence.sources ?? [] }));
}

/**
 * What was sent because of an incident, in the order in which it was written, `limit` at most. What retention has
 * deleted is missing, and so are channels that are gone. `untilMs`: when it was decided that the incident is over; null
 * while it is not.
 */
export async function listIncidentDeliveries(
  database: Database,
  incident: ListedIncident,
  { untilMs, limit }: { untilMs: number | null; limit: number },
): Promise<IncidentDelivery[]> {
  return await runOn(database.pool)<IncidentDelivery>(
    `SELECT d.id, d.channel_id AS "channelId", c.name AS "channelName", c.type AS "channelType", d.event, d.outcome,
     d.attempts AS "attemptCount", h.reason AS "heldBy",
            CASE WHEN h.reason = 'parent' THEN h.held_by END AS "heldByMonitorId", d.created_at AS "createdAtMs",
            d.finished_at AS "finishedAtMs"
     FROM deliveries d JOIN channels c ON c.id = d.channel_id LEFT JOIN held_deliveries h ON h.delivery_id = d.id
     WHERE d.monitor_id = $1 AND d.created_at BETWEEN $2 AND $3 AND d.message -> 'detail' ->> 'incident_id' = $4
     ORDER BY d.created_at, d.no LIMIT $5`,
    [incident.monitorId, incident.detectedAtMs, untilMs ?? Number.MAX_SAFE_INTEGER, incident.id, limit],
  );
}
