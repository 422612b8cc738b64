import type { Verdict } from '../../core/checks/verdict.ts';
import type { SourceFailure } from '../../core/incidents/change.ts';
import type { FailureEvidence } from '../../core/incidents/failure-evidence.ts';
import type { Database } from '../database.ts';
import { type Run, runOn } from '../sql.ts';

/** What one source saw at its first failure of one verdict in an incident. */
export type IncidentEvidence = {
  agentNo: number;
  /** The agent's id and name, as they were then. */
  sourceId: string;
  sourceName: string;
  /** When it was due, Unix milliseconds. */
  atMs: number;
  verdict: Exclude<Verdict, 'up'>;
  cause: string | null;
  reason: string | null;
  httpStatus: number | null;
  latencyMs: number | null;
  evidence: FailureEvidence | null;
  /** Whether the monitor asks for `traceparent`; false where it is deleted. */
  sendsTraceparent: boolean;
};

/**
 * The first failure of a source of a monitor, for the named incident or, where that is null, the one that is open (if
 * any).
 */
export type NewEvidence = SourceFailure & { incidentId: string | null; monitor: { id: string; no: number } };

/**
 * Inserts what sources saw at their first failures with their monitors' incidents, with one statement. Of a source an
 * incident stores the first failure of each verdict that it has.
 */
export async function insertEvidence(run: Run, rows: readonly NewEvidence[]): Promise<void> {
  // A gauge that is tripped, or on its way to it, begins with nothing better than degraded.
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
       e."httpStatus", e."latencyMs",
            coalesce(e.evidence, CASE WHEN (s.seen -> e.gauge ->> 'atMs')::bigint = e."atMs" THEN (s.seen -> e.gauge) -
              'atMs' END)
     FROM json_to_recordset($1::json) AS e ("incidentId" text, "monitorId" text, "monitorNo" integer, "agentNo" integer,
       gauge text, "atMs" bigint, verdict text,
                                            cause text, reason text, "httpStatus" smallint, "latencyMs" integer,
                                              evidence jsonb)
     JOIN agents a ON a.no = e."agentNo"
     LEFT JOIN monitor_sources s ON s.monitor_no = e."monitorNo" AND s.agent_no = e."agentNo"
     LEFT JOIN incidents i ON e."incidentId" IS NULL AND i.monitor_id = e."monitorId" AND i.resolved_at IS NULL
     WHERE e."incidentId" IS NOT NULL OR i.id IS NOT NULL
     ON CONFLICT DO NOTHING`,
    [JSON.stringify(failures)],
  );
}

/** What each source saw at its first failures in an incident, in the order of these. */
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
