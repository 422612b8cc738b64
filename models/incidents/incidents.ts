import type { ChannelType } from '../../core/alerts/channel.ts';
import type { Verdict } from '../../core/checks/verdict.ts';
import type { SourceInDecision, SourceFailure } from '../../core/incidents/change.ts';
import type { FailureEvidence } from '../../core/incidents/evidence.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import type { Delivery } from '../alerts/delivery-record.ts';
import type { Database } from '../database.ts';
import { runOn, type Run, type RowKey } from '../sql.ts';
import { INCIDENT_COLUMNS, type ListedIncident } from './history.ts';

/** A change of the monitor's state within an incident. Times are Unix milliseconds. */
export type IncidentTransition = {
  sequence: number;
  atMs: number;
  detectedAtMs: number;
  from: MonitorState;
  to: MonitorState;
  cause: string | null;
  reason: string | null;
  /** Statements of the sources at that time; empty if no source was checked. */
  sources: SourceStatement[];
};

/**
 * A source's statement at a change. `sinceMs` is the start of the results that made its vote, `cause` and `reason` are
 * those of the newest one; null if none is stored. Rows of older releases do not contain whether the vote counted.
 */
export type SourceStatement = Pick<SourceInDecision, 'name' | 'vote' | 'fresh'> & {
  standing: SourceInDecision['standing'] | null;
  sinceMs: number | null;
  cause: string | null;
  reason: string | null;
};

/** Approximate limit on the size of all sources' statements in one timeline, in bytes. */
const MAX_TIMELINE_BYTES = 4 * 1024 * 1024;

/** A delivery because of an incident, with its channel. */
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

/** Finds an incident of a tenant, even if its monitor is deleted; null if there is none. */
export async function findIncident(database: Database, { tenantId, id }: RowKey): Promise<ListedIncident | null> {
  const [incident] = await runOn(database.pool)<ListedIncident>(
    `SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE id = $1 AND tenant_id = $2`,
    [id, tenantId],
  );
  return incident ?? null;
}

/** Returns those of `ids` that are incidents of the tenant, in no order. */
export async function listIncidentsById(
  database: Database,
  { tenantId, ids }: { tenantId: string; ids: readonly string[] },
): Promise<ListedIncident[]> {
  return await runOn(database.pool)<ListedIncident>(
    `SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE id = ANY($1::text[]) AND tenant_id = $2`,
    [ids, tenantId],
  );
}

/**
 * Lists the monitor's changes of state within an incident in order, from the one that opened it to the one that ended
 * it. There are at most `limit`, with at most 4 MiB of sources' statements; `isCut` if there are more. The opening one
 * is identified by its two times: of two that got worse in the same millisecond, the first is this incident's. A
 * reopened incident includes recoveries.
 */
export async function listIncidentTransitions(
  database: Database,
  incident: ListedIncident,
  limit: number,
): Promise<{ transitions: IncidentTransition[]; isCut: boolean }> {
  const rows = await runOn(database.pool)<IncidentTransition & { isBeyond: boolean }>(
    `WITH opening AS (
       SELECT min(sequence) AS sequence FROM transitions
       WHERE monitor_id = $1 AND at = $2 AND detected_at = $3 AND to_state IN ('down', 'degraded')
     ), ending AS (
       SELECT t.sequence FROM transitions t, opening o
       WHERE t.monitor_id = $1 AND t.sequence > o.sequence AND t.to_state IN ('up', 'paused')
         AND greatest(t.at, $2) >= $5 ORDER BY t.sequence LIMIT 1
     ), listed AS (
       SELECT * FROM transitions
       WHERE monitor_id = $1 AND sequence >= (SELECT sequence FROM opening)
         AND sequence <= coalesce((SELECT sequence FROM ending), 2147483647)
       ORDER BY sequence LIMIT $4::int + 1
     ), timeline AS (
       SELECT t.*, said.sources FROM listed t, LATERAL (
         SELECT coalesce(json_agg(json_build_object(
             'name', s -> 'name', 'vote', s -> 'vote', 'fresh', s -> 'fresh', 'standing', s -> 'standing',
             'sinceMs', s #> '{decidedBy,0,atMs}', 'cause', s #> '{decidedBy,-1,cause}',
             'reason', s #> '{decidedBy,-1,reason}') ORDER BY no), '[]') AS sources
         FROM jsonb_array_elements(t.evidence -> 'sources') WITH ORDINALITY AS e (s, no)
       ) said
     ), sized AS (
       SELECT sequence, at, detected_at, from_state, to_state, cause, reason, sources,
         row_number() OVER (ORDER BY sequence) > $4::int
         OR sum(octet_length(sources::text)) OVER (ORDER BY sequence) > $6 AS is_beyond FROM timeline
     )
     SELECT sequence, at AS "atMs", detected_at AS "detectedAtMs", from_state AS "from", to_state AS "to", cause,
       reason, CASE WHEN is_beyond THEN '[]' ELSE sources END AS sources, is_beyond AS "isBeyond"
     FROM sized ORDER BY sequence`,
    [incident.monitorId, incident.startedAtMs, incident.detectedAtMs, limit, incident.resolvedAtMs, MAX_TIMELINE_BYTES],
  );
  const transitions = rows.filter(({ isBeyond }) => !isBeyond).map(({ isBeyond: _shown, ...transition }) => transition);
  return { transitions, isCut: transitions.length < rows.length };
}

/**
 * Lists the deliveries of an incident, in the order in which they were written, at most `limit`. Deliveries deleted by
 * retention are missing, and so are those of deleted channels. `untilMs`: when the end of the incident was decided;
 * null while it is open.
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

/** Evidence of one source's first failure with one verdict in an incident. */
export type IncidentEvidence = {
  agentNo: number;
  /** The agent's id and name at that time. */
  sourceId: string;
  sourceName: string;
  /** Due time of the check, in Unix milliseconds. */
  atMs: number;
  verdict: Exclude<Verdict, 'up'>;
  cause: string | null;
  reason: string | null;
  httpStatus: number | null;
  latencyMs: number | null;
  evidence: FailureEvidence | null;
  /** Whether the monitor sends `traceparent`; false if it is deleted. */
  sendsTraceparent: boolean;
};

/** The first failure of a source of a monitor, for the given incident or, if null, the open one (if any). */
export type NewEvidence = SourceFailure & { incidentId: string | null; monitor: { id: string; no: number } };

/**
 * Inserts the evidence of sources' first failures into their monitors' incidents, with one statement. For each source
 * an incident stores the first failure with each verdict.
 */
export async function insertEvidence(run: Run, rows: readonly NewEvidence[]): Promise<void> {
  // A tripped or tripping gauge begins with a verdict of degraded or worse.
  const failures = rows.map(({ incidentId, monitor, agentNo, gauge, first, evidence }) => ({
    incidentId,
    monitorId: monitor.id,
    monitorNo: monitor.no,
    agentNo,
    gauge,
    ...first,
    evidence,
  }));
  if (failures.length === 0) return;
  await run(
    `INSERT INTO incident_evidence (incident_id, agent_no, source_id, source_name, at, verdict, cause, reason,
     http_status, latency_ms, seen)
     SELECT coalesce(e."incidentId", i.id), e."agentNo", a.id, a.name, e."atMs", e.verdict, e.cause, e.reason,
       e."httpStatus", e."latencyMs", coalesce(e.evidence,
         CASE WHEN (s.seen -> e.gauge ->> 'atMs')::bigint = e."atMs" THEN (s.seen -> e.gauge) - 'atMs' END)
     FROM json_to_recordset($1::json) AS e ("incidentId" text, "monitorId" text, "monitorNo" integer, "agentNo" integer,
       gauge text, "atMs" bigint, verdict text, cause text, reason text, "httpStatus" smallint, "latencyMs" integer,
       evidence jsonb)
     JOIN agents a ON a.no = e."agentNo"
     LEFT JOIN monitor_sources s ON s.monitor_no = e."monitorNo" AND s.agent_no = e."agentNo"
     LEFT JOIN incidents i ON e."incidentId" IS NULL AND i.monitor_id = e."monitorId" AND i.resolved_at IS NULL
     WHERE e."incidentId" IS NOT NULL OR i.id IS NOT NULL
     ON CONFLICT DO NOTHING`,
    [JSON.stringify(failures)],
  );
}

/** Lists the evidence of each source's first failures in an incident, in order of time. */
export async function listEvidence(database: Database, incidentId: string): Promise<IncidentEvidence[]> {
  return await runOn(database.pool)<IncidentEvidence>(
    `SELECT e.agent_no AS "agentNo", e.source_id AS "sourceId", e.source_name AS "sourceName", e.at AS "atMs",
       e.verdict, e.cause, e.reason, e.http_status AS "httpStatus", e.latency_ms AS "latencyMs", e.seen AS evidence,
       coalesce(m.check_spec #> '{request,traceparent}' = 'true', false) AS "sendsTraceparent"
     FROM incident_evidence e JOIN incidents i ON i.id = e.incident_id LEFT JOIN monitors m ON m.id = i.monitor_id
     WHERE e.incident_id = $1 ORDER BY e.at, e.agent_no`,
    [incidentId],
  );
}
