import type { AnswerEvidence } from '../../core/incidents/evidence.ts';
import { toUnixSeconds } from '../../core/time.ts';
import type { ListedIncident } from '../../models/incidents/history.ts';
import type {
  IncidentDelivery,
  IncidentEvidence,
  IncidentTransition,
  SourceStatement,
} from '../../models/incidents/incidents.ts';
import type { IncidentNote } from '../../models/incidents/notes.ts';
import { traceIdsOf } from '../../models/secrets/ids.ts';
import { presentTimings } from '../checks/checks.ts';
import type { components } from '../schema.generated.ts';

/** Returns an incident for responses (D-45); an open one lasts until now. */
export function presentIncident(incident: ListedIncident, nowMs: number): components['schemas']['Incident'] {
  const startedAt = toUnixSeconds(incident.startedAtMs);
  const resolvedAt = incident.resolvedAtMs === null ? null : toUnixSeconds(incident.resolvedAtMs);
  return {
    id: incident.id,
    monitor_id: incident.monitorId,
    monitor_name: incident.monitorName,
    status: resolvedAt === null ? 'open' : 'resolved',
    state: incident.state,
    reason: incident.reason,
    sources_down: incident.sourcesDown,
    started_at: startedAt,
    detected_at: toUnixSeconds(incident.detectedAtMs),
    resolved_at: resolvedAt,
    duration_seconds: Math.max(0, (resolvedAt ?? toUnixSeconds(nowMs)) - startedAt),
    resolution: incident.resolution,
    acknowledged_at: incident.acknowledgedAtMs === null ? null : toUnixSeconds(incident.acknowledgedAtMs),
    acknowledged_by: incident.acknowledgedBy,
    ...(resolvedAt === null &&
      incident.snoozedUntilMs !== null &&
      incident.snoozedUntilMs > nowMs && { snoozed_until: toUnixSeconds(incident.snoozedUntilMs) }),
  };
}

type Wire = components['schemas'];

/**
 * Whether spans of failed checks are sent, and the URL of a trace's page with `{trace_id}` in it; null if there is
 * none.
 */
type Traces = { areSent: boolean; urlTemplate: string | null };

/**
 * An incident with all of its lists; one entry of evidence or deliveries beyond the shown ones means that there are
 * more.
 */
export type IncidentRecord = {
  incident: ListedIncident;
  timeline: { transitions: readonly IncidentTransition[]; isCut: boolean };
  evidence: readonly IncidentEvidence[];
  deliveries: readonly IncidentDelivery[];
  notes: readonly IncidentNote[];
};

export function presentIncidentDetail(
  { incident, timeline, evidence, deliveries, notes }: IncidentRecord,
  { nowMs, mostShown, traces }: { nowMs: number; mostShown: number; traces: Traces },
): Wire['IncidentDetail'] {
  const shown = evidence.slice(0, mostShown).map((seen) => presentEvidence(incident.monitorId, seen, traces));
  const opening = shown.find(({ trace_id: traceId }) => traceId !== undefined);
  const isCut = {
    timeline: timeline.isCut,
    evidence: evidence.length > mostShown,
    deliveries: deliveries.length > mostShown,
  };
  return {
    ...presentIncident(incident, nowMs),
    ...(opening?.trace_id !== undefined && { trace_id: opening.trace_id }),
    ...(opening?.trace_url !== undefined && { trace_url: opening.trace_url }),
    notes: notes.map(presentNote),
    timeline: timeline.transitions.map(presentTransition),
    evidence: shown,
    deliveries: deliveries.slice(0, mostShown).map(presentDelivery),
    truncated: (['timeline', 'evidence', 'deliveries'] as const).filter((name) => isCut[name]),
  };
}

export function presentNote({ id, author, text, createdAtMs }: IncidentNote): Wire['IncidentNote'] {
  return { id, author, text, created_at: toUnixSeconds(createdAtMs) };
}

function presentTransition(transition: IncidentTransition): Wire['IncidentTransition'] {
  const { sequence, from, to, cause, reason, sources } = transition;
  return {
    sequence,
    at: toUnixSeconds(transition.atMs),
    detected_at: toUnixSeconds(transition.detectedAtMs),
    from,
    to,
    cause,
    reason,
    sources: sources.map(presentStatement),
  };
}

/** Returns a source's statement. Without a stored `standing`, a fresh vote counts as voting. */
function presentStatement(statement: SourceStatement): Wire['SourceStatement'] {
  const { name, vote, fresh, standing, sinceMs, cause, reason } = statement;
  return {
    name,
    verdict: vote,
    standing: standing ?? (fresh ? 'votes' : 'silent'),
    since: vote === null || sinceMs === null ? null : toUnixSeconds(sinceMs),
    cause: vote === null ? null : cause,
    reason: vote === null ? null : reason,
  };
}

function presentEvidence(monitorId: string, seen: IncidentEvidence, traces: Traces): Wire['IncidentEvidence'] {
  const { sourceId, sourceName, atMs, verdict, cause, reason, httpStatus, latencyMs, evidence } = seen;
  const timings = evidence?.phases ?? null;
  const answer = evidence?.answer ?? null;
  return {
    source: { id: sourceId, name: sourceName },
    at: toUnixSeconds(atMs),
    verdict,
    cause,
    reason,
    http_status: httpStatus,
    latency_ms: latencyMs,
    phases: timings && presentTimings(timings),
    answer: answer && presentAnswerEvidence(answer),
    ...presentTrace(monitorId, seen, traces),
  };
}

/** Returns the trace of the check, if it may have one: a missed ping is not a check (D-607). */
function presentTrace(
  monitorId: string,
  { sourceId, atMs, cause, sendsTraceparent }: IncidentEvidence,
  { areSent, urlTemplate }: Traces,
): Pick<Wire['IncidentEvidence'], 'trace_id' | 'trace_url'> {
  if (!(areSent || sendsTraceparent) || cause?.startsWith('heartbeat_')) return {};
  const { traceId } = traceIdsOf({ monitorId, sourceId, dueAtMs: atMs });
  return {
    trace_id: traceId,
    ...(urlTemplate !== null && { trace_url: urlTemplate.replaceAll('{trace_id}', traceId) }),
  };
}

/** Returns the stored part of a target's response. */
export function presentAnswerEvidence({ status, headers, body, bodyWithheld }: AnswerEvidence): Wire['SeenAnswer'] {
  return { status, headers, body, body_withheld: bodyWithheld ?? null };
}

function presentDelivery({
  id,
  channelId,
  channelName,
  channelType,
  event,
  outcome,
  attemptCount,
  heldBy,
  heldByMonitorId,
  createdAtMs,
  finishedAtMs,
}: IncidentDelivery): Wire['IncidentDelivery'] {
  const finishedAt = finishedAtMs === null ? null : toUnixSeconds(finishedAtMs);
  return {
    id,
    channel_id: channelId,
    channel_name: channelName,
    channel_type: channelType,
    event,
    outcome,
    attempt_count: attemptCount,
    ...(heldBy !== null && { held_by: heldBy }),
    ...(heldByMonitorId !== null && { held_by_monitor: heldByMonitorId }),
    created_at: toUnixSeconds(createdAtMs),
    finished_at: finishedAt,
  };
}
