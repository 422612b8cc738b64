import { stepIncident } from '../core/incident.ts';
import type { Change } from '../core/monitor-state.ts';
import type { MonitorState } from '../core/state.ts';
import { sourcesAgainst } from '../core/monitor-state.ts';
import type { Database } from './database.ts';
import { runWith, type Run } from './sql.ts';

/** An incident as it is stored (D-45). Times are Unix milliseconds. */
export type Incident = {
  id: string;
  monitorId: string;
  monitorName: string;
  state: 'down' | 'degraded';
  reason: string;
  sourcesDown: string[];
  startedAtMs: number;
  detectedAtMs: number;
  resolvedAtMs: number | null;
  resolution: 'recovered' | 'paused' | 'deleted' | null;
};

/** `sinceSeconds` and `untilSeconds` bound the start of the incident, both included. */
export type IncidentFilter = { monitorId?: string; status?: 'open' | 'resolved'; sinceSeconds?: number; untilSeconds?: number };

type IncidentRow = {
  id: string;
  monitor_id: string;
  monitor_name: string;
  state: 'down' | 'degraded';
  reason: string;
  sources_down: string[];
  started_at: number;
  detected_at: number;
  resolved_at: number | null;
  resolution: 'recovered' | 'paused' | 'deleted' | null;
};

/** The open incident's id and worst state; null when none is open. */
export type OpenIncident = { id: string; state: 'down' | 'degraded'; startedAtMs: number };

/** A monitor whose change is to be recorded. */
export type ChangedMonitor = { id: string; tenantId: string; name: string; sequence: number };

const INCIDENT_COLUMNS = 'id, monitor_id, monitor_name, state, reason, sources_down, started_at, detected_at, resolved_at, resolution';

/** Writes a transition and does to the monitor's incident what it means; returns the incident it belongs to, null where there is none. */
export async function recordChange(run: Run, monitor: ChangedMonitor, details: { change: Change; newIncidentId: string }): Promise<OpenIncident | null> {
  const { change, newIncidentId } = details;
  await insertTransition(run, { ...monitor, monitorId: monitor.id, from: change.from, to: change.to, change });
  const open = await findOpenIncident(run, monitor.id);
  const step = stepIncident(open?.state ?? null, change.to);
  switch (step.step) {
    case 'none':
      return open;
    case 'open': {
      await run(
        `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at, detected_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [newIncidentId, monitor.tenantId, monitor.id, monitor.name, step.state, change.reason, sourcesAgainst(change.evidence), change.atMs, change.detectedAtMs],
      );
      return { id: newIncidentId, state: step.state, startedAtMs: change.atMs };
    }
    case 'worsen':
      await run(`UPDATE incidents SET state = 'down', reason = $2, sources_down = $3 WHERE id = $1`, [open?.id, change.reason, sourcesAgainst(change.evidence)]);
      return open;
    case 'resolve':
      await resolveIncident(run, { monitorId: monitor.id, atMs: change.atMs, resolution: step.resolution });
      return open;
    default:
      return step satisfies never;
  }
}

/** Writes the transition of a pause and resolves the open incident. */
export async function recordPause(run: Run, paused: { monitorId: string; tenantId: string; sequence: number; from: MonitorState; atMs: number }): Promise<void> {
  await insertTransition(run, { ...paused, to: 'paused', change: null });
  await resolveIncident(run, { monitorId: paused.monitorId, atMs: paused.atMs, resolution: 'paused' });
}

/** Writes the transition of a resume. */
export async function recordResume(run: Run, resumed: { monitorId: string; tenantId: string; sequence: number; from: MonitorState; atMs: number }): Promise<void> {
  await insertTransition(run, { ...resumed, to: 'pending', change: null });
}

/** Ends a monitor's open incident because the monitor is deleted. */
export async function resolveDeleted(run: Run, monitorId: string, atMs: number): Promise<void> {
  await resolveIncident(run, { monitorId, atMs, resolution: 'deleted' });
}

/** A tenant's incidents, newest first; `before` is the last one of the page before. */
export async function listIncidents(
  database: Database,
  query: { tenantId: string; filter?: IncidentFilter; before?: { startedAtMs: number; id: string }; limit: number },
): Promise<Incident[]> {
  const { monitorId, status, sinceSeconds, untilSeconds } = query.filter ?? {};
  const rows = await runWith(database)<IncidentRow>(
    `SELECT ${INCIDENT_COLUMNS} FROM incidents
     WHERE tenant_id = $1
       AND ($2::text IS NULL OR monitor_id = $2)
       AND ($3::text IS NULL OR (resolved_at IS NULL) = ($3 = 'open'))
       AND ($4::bigint IS NULL OR started_at >= $4)
       AND ($5::bigint IS NULL OR started_at <= $5)
       AND ($6::bigint IS NULL OR (started_at, id) < ($6, $7::text))
     ORDER BY started_at DESC, id DESC LIMIT $8`,
    [
      query.tenantId,
      monitorId ?? null,
      status ?? null,
      sinceSeconds === undefined ? null : sinceSeconds * 1000,
      untilSeconds === undefined ? null : untilSeconds * 1000 + 999,
      query.before?.startedAtMs ?? null,
      query.before?.id ?? null,
      query.limit,
    ],
  );
  return rows.map(incidentOf);
}

async function findOpenIncident(run: Run, monitorId: string): Promise<OpenIncident | null> {
  const [row] = await run<IncidentRow>('SELECT id, state, started_at FROM incidents WHERE monitor_id = $1 AND resolved_at IS NULL', [monitorId]);
  return row === undefined ? null : { id: row.id, state: row.state, startedAtMs: row.started_at };
}

async function resolveIncident(run: Run, ended: { monitorId: string; atMs: number; resolution: 'recovered' | 'paused' | 'deleted' }): Promise<void> {
  await run('UPDATE incidents SET resolved_at = greatest($2::bigint, started_at), resolution = $3 WHERE monitor_id = $1 AND resolved_at IS NULL', [
    ended.monitorId,
    ended.atMs,
    ended.resolution,
  ]);
}

async function insertTransition(
  run: Run,
  transition: { monitorId: string; tenantId: string; sequence: number; from: MonitorState; to: MonitorState; atMs?: number; change: Change | null },
): Promise<void> {
  const { change } = transition;
  const atMs = change?.atMs ?? transition.atMs;
  await run(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, cause, reason, evidence)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      transition.monitorId,
      transition.sequence,
      transition.tenantId,
      transition.from,
      transition.to,
      atMs,
      change?.detectedAtMs ?? atMs,
      change?.cause ?? null,
      change?.reason ?? null,
      JSON.stringify(change?.evidence ?? {}),
    ],
  );
}

function incidentOf(row: IncidentRow): Incident {
  return {
    id: row.id,
    monitorId: row.monitor_id,
    monitorName: row.monitor_name,
    state: row.state,
    reason: row.reason,
    sourcesDown: row.sources_down,
    startedAtMs: row.started_at,
    detectedAtMs: row.detected_at,
    resolvedAtMs: row.resolved_at,
    resolution: row.resolution,
  };
}
