import type { EventState } from '../../core/alerts/event.ts';
import { fitEvidence, sourcesAgainst, type Change } from '../../core/incidents/change.ts';
import { reopens, stepIncident } from '../../core/incidents/incident.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import type { StateChange } from '../../core/statistics/sla.ts';
import type { Database } from '../database.ts';
import { runOn, type Run } from '../sql.ts';
import { insertTransitions, type Incident } from './history.ts';

/** A decided change of a monitor to record; `newIncidentId` is the id of an incident that it may open. */
export type DecidedTransition = {
  monitor: { id: string; tenantId: string; name: string };
  sequence: number;
  change: Change;
  newIncidentId: string;
};

/** The incident of a transition; null if there is none. `openSinceMs` is later than its start if it was reopened. */
export type WithIncident = { incident: { id: string; startedAtMs: number; openSinceMs: number } | null };

type IncidentOfTenant = Incident & { tenantId: string };

/**
 * Writes the transitions of a batch, opens and resolves their incidents, and returns them with these. Each monitor's
 * are taken in the given order. Uses four statements for any number of transitions: if everything fails at once the
 * alerts wait for them. The caller holds the monitors' locks.
 */
export async function recordTransitions<Decided extends DecidedTransition>(
  run: Run,
  decided: readonly Decided[],
): Promise<(Decided & WithIncident)[]> {
  await insertTransitions(
    run,
    decided.map(({ monitor, sequence, change: { failures: _kept, ...change } }) => ({
      ...change,
      evidence: fitEvidence(change.evidence),
      monitorId: monitor.id,
      tenantId: monitor.tenantId,
      sequence,
    })),
  );
  const open = await findOpenIncidents(
    run,
    decided.map(({ monitor }) => monitor.id),
  );
  const reopening = await findReopening(
    run,
    decided.map(({ monitor }) => monitor.id),
  );
  const changed = new Map<string, IncidentOfTenant>();
  const recorded = decided.map((transition) => {
    const { monitor } = transition;
    const before = open.get(monitor.id) ?? null;
    const closed = reopening.get(monitor.id);
    const incident = reopenIncident(before, transition, closed) ?? applyTransition(before, transition);
    if (incident !== null && incident !== before) {
      changed.set(incident.id, incident);
      if (incident.resolvedAtMs === null) open.set(incident.monitorId, incident);
      else open.delete(incident.monitorId);
      if (closed !== undefined) closed.last = incident;
      if (closed !== undefined && before === null) closed.troubleSinceMs = transition.change.atMs;
    }
    const openSinceMs = Math.max(incident?.startedAtMs ?? 0, closed?.troubleSinceMs ?? 0);
    return { ...transition, incident: incident && { ...incident, openSinceMs } };
  });
  await storeIncidents(run, [...changed.values()]);
  return recorded;
}

/**
 * Returns the state that the newest event of each of these monitors announced; monitors without one are left out.
 * Unknown states because of the service's overload were not announced.
 */
export async function listLastNotified(run: Run, monitorIds: readonly string[]): Promise<Map<string, EventState>> {
  if (monitorIds.length === 0) return new Map();
  const rows = await run<{ id: string; state: EventState }>(
    `SELECT m.id, t.to_state AS state
     FROM unnest($1::text[]) AS m (id), LATERAL (
       SELECT to_state FROM transitions WHERE monitor_id = m.id AND to_state IN ('up', 'degraded', 'down', 'unknown')
         AND NOT EXISTS (SELECT FROM unchecked_times u WHERE u.monitor_id = m.id AND u.sequence = transitions.sequence)
       ORDER BY sequence DESC LIMIT 1
     ) t`,
    [monitorIds],
  );
  return new Map(rows.map(({ id, state }) => [id, state]));
}

/**
 * The last incident of a monitor with reopening enabled; `last` is null if it never had one. `troubleSinceMs` is the
 * start of its current trouble, null if it has none.
 */
type Reopening = { reopenSeconds: number; last: IncidentOfTenant | null; troubleSinceMs: number | null };

/**
 * Returns the incident that a failure reopens, without its acknowledgement; null if the failure begins or changes
 * another one.
 */
function reopenIncident(
  open: IncidentOfTenant | null,
  { change }: DecidedTransition,
  closed: Reopening | undefined,
): IncidentOfTenant | null {
  const step = stepIncident(open?.state ?? null, change.to);
  const last = closed?.last ?? null;
  if (step.step !== 'open' || closed === undefined || last === null) return null;
  if (!reopens(last, { atMs: change.atMs, reopenSeconds: closed.reopenSeconds })) return null;
  return {
    ...last,
    reason: change.reason ?? '',
    sourcesDown: sourcesAgainst(change.evidence),
    state: last.state === 'down' ? 'down' : step.state,
    resolvedAtMs: null,
    resolution: null,
  };
}

/** Returns the incident of the transition in its new state; the same object if it is unchanged. */
function applyTransition(
  open: IncidentOfTenant | null,
  { monitor, change, newIncidentId }: DecidedTransition,
): IncidentOfTenant | null {
  const step = stepIncident(open?.state ?? null, change.to);
  const notified = { reason: change.reason ?? '', sourcesDown: sourcesAgainst(change.evidence) };
  if (step.step === 'open') {
    const { atMs, detectedAtMs } = change;
    const named = { id: newIncidentId, tenantId: monitor.tenantId, monitorId: monitor.id, monitorName: monitor.name };
    return {
      ...named,
      ...notified,
      state: step.state,
      startedAtMs: atMs,
      detectedAtMs,
      resolvedAtMs: null,
      resolution: null,
    };
  }
  if (open === null || step.step === 'none') return open;
  if (step.step === 'worsen') return { ...open, ...notified, state: 'down' };
  return { ...open, resolvedAtMs: Math.max(change.atMs, open.startedAtMs), resolution: step.resolution };
}

async function findOpenIncidents(run: Run, monitorIds: readonly string[]): Promise<Map<string, IncidentOfTenant>> {
  const rows = await run<IncidentOfTenant>(
    `SELECT id, tenant_id AS "tenantId", monitor_id AS "monitorId", monitor_name AS "monitorName", state, reason,
     sources_down AS "sourcesDown",
            started_at AS "startedAtMs", detected_at AS "detectedAtMs", resolved_at AS "resolvedAtMs", resolution
     FROM incidents WHERE monitor_id = ANY($1::text[]) AND resolved_at IS NULL`,
    [[...new Set(monitorIds)]],
  );
  return new Map(rows.map((incident) => [incident.monitorId, incident]));
}

/** Returns those of the monitors that reopen incidents, with the last one of each. */
async function findReopening(run: Run, monitorIds: readonly string[]): Promise<Map<string, Reopening>> {
  const rows = await run<Reopening & { id: string }>(
    `SELECT m.id, m.reopen_seconds AS "reopenSeconds", (
       SELECT json_build_object('id', i.id, 'tenantId', i.tenant_id, 'monitorId', i.monitor_id,
         'monitorName', i.monitor_name, 'state', i.state, 'reason', i.reason, 'sourcesDown', i.sources_down,
         'startedAtMs', i.started_at, 'detectedAtMs', i.detected_at, 'resolvedAtMs', i.resolved_at,
         'resolution', i.resolution)
       FROM incidents i WHERE i.monitor_id = m.id ORDER BY i.started_at DESC, i.id DESC LIMIT 1) AS last,
       (SELECT t.at FROM transitions t WHERE t.monitor_id = m.id AND t.to_state IN ('degraded', 'down')
          AND t.sequence > coalesce((SELECT u.sequence FROM transitions u WHERE u.monitor_id = m.id
            AND u.to_state = 'up' ORDER BY u.sequence DESC LIMIT 1), 0)
        ORDER BY t.sequence LIMIT 1) AS "troubleSinceMs"
     FROM monitors m WHERE m.id = ANY($1::text[]) AND m.reopen_seconds > 0`,
    [[...new Set(monitorIds)]],
  );
  return new Map(rows.map(({ id, ...reopening }) => [id, reopening]));
}

/** SQL: whether the stored incident `i` was resolved and no longer is. */
const IS_REOPENED = '(i.resolved_at IS NOT NULL AND excluded.resolved_at IS NULL)';

/**
 * Stores incidents in the given order: a monitor's incident is resolved before its next one is opened, because two open
 * ones would be refused.
 */
async function storeIncidents(run: Run, incidents: readonly IncidentOfTenant[]): Promise<void> {
  if (incidents.length === 0) return;
  await run(
    `INSERT INTO incidents AS i (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
     detected_at, resolved_at, resolution)
     SELECT i.id, i."tenantId", i."monitorId", i."monitorName", i.state, i.reason, i."sourcesDown", i."startedAtMs",
       i."detectedAtMs", i."resolvedAtMs", i.resolution
     FROM json_to_recordset($1::json) AS i (id text, "tenantId" text, "monitorId" text, "monitorName" text, state text,
       reason text, "sourcesDown" text[], "startedAtMs" bigint, "detectedAtMs" bigint, "resolvedAtMs" bigint,
       resolution text)
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason,
       sources_down = excluded.sources_down, resolved_at = excluded.resolved_at, resolution = excluded.resolution,
       acknowledged_at = CASE WHEN ${IS_REOPENED} THEN NULL ELSE i.acknowledged_at END,
       acknowledged_by = CASE WHEN ${IS_REOPENED} THEN NULL ELSE i.acknowledged_by END,
       snoozed_until = CASE WHEN ${IS_REOPENED} THEN NULL ELSE i.snoozed_until END`,
    [JSON.stringify(incidents)],
  );
}

type HistoriesRead = {
  monitorIds: readonly string[];
  fromMs: number;
  toMs: number;
  /** Maximum number of changes of one monitor; unlimited if absent. */
  most?: number;
};

/** Counts the changes of monitors in a window `[fromMs, toMs)` (Unix milliseconds), up to `most` of each. */
export async function countChanges(
  database: Pick<Database, 'pool'>,
  { monitorIds, fromMs, toMs, most }: Required<HistoriesRead>,
): Promise<number[]> {
  const rows = await runOn(database.pool)<{ count: number }>(
    `SELECT t.count FROM unnest($1::text[]) WITH ORDINALITY AS m (id, place), LATERAL (
       SELECT count(*) FROM (
         SELECT FROM transitions WHERE monitor_id = m.id AND at >= $2 AND at < $3 LIMIT $4) AS one) t
     ORDER BY m.place`,
    [monitorIds, fromMs, toMs, most],
  );
  return rows.map(({ count }) => count);
}

/**
 * Reads the changes of state that a window `[fromMs, toMs)` (Unix milliseconds) is measured from, in order. Each
 * monitor has the last one before the window and all in it, or the newest `most` if there are more; an empty list if
 * there are none. Two index lookups for each monitor, however long its history.
 */
export async function readStateHistories(
  database: Pick<Database, 'pool'>,
  { monitorIds, fromMs, toMs, most = Number.POSITIVE_INFINITY }: HistoriesRead,
): Promise<Map<string, StateChange[]>> {
  const histories = new Map<string, StateChange[]>(monitorIds.map((id) => [id, []]));
  const rows = await runOn(database.pool)<{ id: string; times: number[]; states: MonitorState[] }>(
    {
      // The driver reads two lists per monitor in a sixth of the time that it takes for rows.
      name: 'read-state-histories',
      text: `SELECT m.id, json_agg(t.at ORDER BY t.sequence) AS times,
               json_agg(t.to_state ORDER BY t.sequence) AS states
             FROM unnest($1::text[]) AS m (id), LATERAL (
               (SELECT at, sequence, to_state FROM transitions WHERE monitor_id = m.id AND at < $2
                 ORDER BY at DESC, sequence DESC LIMIT 1)
               UNION ALL
               (SELECT at, sequence, to_state FROM transitions WHERE monitor_id = m.id AND at >= $2 AND at < $3
                 ORDER BY at DESC, sequence DESC LIMIT $4)
             ) t
             GROUP BY m.id`,
    },
    [[...histories.keys()], fromMs, toMs, Number.isFinite(most) ? most : null],
  );
  for (const { id, times, states } of rows)
    histories.set(
      id,
      states.map((to, index) => ({ atMs: times[index] ?? 0, to })),
    );
  // With the oldest changes cut off, the one before the window is not the one before the rest.
  for (const history of histories.values()) if (history.length > most) history.shift();
  return histories;
}

/** Maximum number of incidents that are read of one monitor. */
const MAX_SPANS = 100_000;

/**
 * Returns the times of a monitor's incidents that overlap `[fromMs, toMs)`, in Unix milliseconds. Newest first, at most
 * 100,000; `endMs` is null for an open one.
 */
export async function listIncidentSpans(
  database: Pick<Database, 'pool'>,
  { monitorId, fromMs, toMs }: { monitorId: string; fromMs: number; toMs: number },
): Promise<{ startMs: number; endMs: number | null }[]> {
  return await runOn(database.pool)(
    {
      name: 'list-incident-spans',
      text: `SELECT started_at AS "startMs", resolved_at AS "endMs" FROM incidents
             WHERE monitor_id = $1 AND started_at < $3 AND (resolved_at IS NULL OR resolved_at >= $2)
               ORDER BY started_at DESC LIMIT ${MAX_SPANS}`,
    },
    [monitorId, fromMs, toMs],
  );
}
