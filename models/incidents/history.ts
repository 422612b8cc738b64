import type { MonitorMessage } from '../../core/alerts/envelope.ts';
import { QUIET_AHEAD_MS, planDelivery, type ChannelRule } from '../../core/alerts/rules.ts';
import { STATEFUL_PRESETS } from '../../core/alerts/webhook.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { ServiceCalendar } from '../../core/statistics/service-sla.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { insertDeliveries } from '../alerts/deliveries.ts';
import type { Database } from '../database.ts';
import { createIdSource } from '../secrets/ids.ts';
import { runOn, type Run } from '../sql.ts';

/** A stored incident (D-45). Times are Unix milliseconds. */
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

/** An incident with its acknowledgement: by whom and when; null if it was not acknowledged. */
export type ListedIncident = Incident & {
  acknowledgedAtMs: number | null;
  acknowledgedBy: string | null;
  snoozedUntilMs: number | null;
};

/**
 * `sinceSeconds` and `untilSeconds` limit the start of the incident, both included; `openSinceSeconds` selects those
 * that were open then or later.
 */
type IncidentFilter = {
  monitorId?: string;
  status?: 'open' | 'resolved';
  acknowledged?: boolean;
  sinceSeconds?: number;
  untilSeconds?: number;
  openSinceSeconds?: number;
  /** Selects monitors that currently have all of these tags. */
  tags?: readonly string[];
};

/** A transition to write (D-43). `reason` and `cause` are null if no result decided it. */
export type NewTransition = {
  monitorId: string;
  tenantId: string;
  sequence: number;
  from: MonitorState;
  to: MonitorState;
  atMs: number;
  detectedAtMs: number;
  cause: string | null;
  reason: string | null;
  evidence: object;
};

/** Fields of transitions that a request caused. */
const UNDECIDED = { cause: null, reason: null, evidence: {} } as const;

/** The columns of a `ListedIncident`. */
export const INCIDENT_COLUMNS = `id, monitor_id AS "monitorId", monitor_name AS "monitorName", state, reason,
  sources_down AS "sourcesDown", started_at AS "startedAtMs", detected_at AS "detectedAtMs",
  resolved_at AS "resolvedAtMs", resolution, acknowledged_at AS "acknowledgedAtMs",
  acknowledged_by AS "acknowledgedBy", snoozed_until AS "snoozedUntilMs"`;

/** Writes transitions, with one statement. */
export async function insertTransitions(run: Run, transitions: readonly NewTransition[]): Promise<void> {
  await run(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, cause, reason,
     evidence)
     SELECT t."monitorId", t.sequence, t."tenantId", t."from", t."to", t."atMs", t."detectedAtMs", t.cause, t.reason,
       t.evidence
     FROM json_to_recordset($1::json) AS t ("monitorId" text, sequence integer, "tenantId" text, "from" text, "to" text,
       "atMs" bigint, "detectedAtMs" bigint, cause text, reason text, evidence jsonb)`,
    [JSON.stringify(transitions)],
  );
}

/** Writes the transition of a pause and resolves the open incident. */
export async function recordPause(
  run: Run,
  paused: { monitorId: string; tenantId: string; sequence: number; from: MonitorState; atMs: number },
): Promise<void> {
  await insertTransitions(run, [{ ...paused, ...UNDECIDED, to: 'paused', detectedAtMs: paused.atMs }]);
  await insertResolves(run, { ...paused, resolution: 'paused' });
  await resolveIncident(run, { monitorId: paused.monitorId, atMs: paused.atMs, resolution: 'paused' });
}

/** Writes the transition of a resume. */
export async function recordResume(
  run: Run,
  resumed: { monitorId: string; tenantId: string; sequence: number; from: MonitorState; atMs: number },
): Promise<void> {
  await insertTransitions(run, [{ ...resumed, ...UNDECIDED, to: 'pending', detectedAtMs: resumed.atMs }]);
}

/** Ends a monitor's open incident because the monitor is deleted. */
export async function resolveDeleted(
  run: Run,
  deleted: { monitorId: string; sequence: number; atMs: number },
): Promise<void> {
  await insertResolves(run, { ...deleted, resolution: 'deleted' });
  await resolveIncident(run, { ...deleted, resolution: 'deleted' });
}

/** A request for a page of incidents; `before` is the last one of the previous page. */
type IncidentQuery = {
  tenantId: string;
  filter?: IncidentFilter;
  before?: { startedAtMs: number; id: string };
  limit: number;
};

/** Number of incidents that are searched for a page if no index serves its filters. */
const SEARCHED = 100_000;

const NEWEST_FIRST = 'ORDER BY started_at DESC, id DESC';

/**
 * Lists a tenant's incidents, newest first. Absent conditions are left out, and the statement has no name: it is
 * planned for its actual conditions, and uses the matching indexes (D-457). If none serves, only the next 100,000
 * incidents are searched: `findSearchEnd` returns where that ended.
 */
export async function listIncidents(database: Database, query: IncidentQuery): Promise<ListedIncident[]> {
  const { bind, at } = startBinding();
  const within = boundsOf(query, at);
  const filters = filtersOf(query, at);
  const isOpen = query.filter?.status === 'open';
  const source = `SELECT * FROM incidents WHERE ${within}${isOpen ? ' AND resolved_at IS NULL' : ''}`;
  return await runOn(database.pool)<ListedIncident>(
    // Open incidents are found by their own index, without the order: each monitor has at most one.
    `WITH found AS ${isOpen ? `MATERIALIZED (${source})` : `(${source} ${NEWEST_FIRST} LIMIT ${SEARCHED})`}
     SELECT ${INCIDENT_COLUMNS} FROM found WHERE ${['true', ...filters].join(' AND ')}
     ${NEWEST_FIRST} LIMIT ${at(query.limit)}`,
    bind,
  );
}

/** Returns where the search for an incomplete page ended before the last incident; null if all were searched. */
export async function findSearchEnd(
  database: Database,
  query: IncidentQuery,
): Promise<{ startedAtMs: number; id: string } | null> {
  if (query.filter?.status === 'open' || filtersOf(query, startBinding().at).length === 0) return null;
  const { bind, at } = startBinding();
  const [end] = await runOn(database.pool)<{ startedAtMs: number; id: string }>(
    `SELECT started_at AS "startedAtMs", id FROM incidents WHERE ${boundsOf(query, at)}
     ${NEWEST_FIRST} OFFSET ${SEARCHED - 1} LIMIT 1`,
    bind,
  );
  return end ?? null;
}

type Bound = string | number | readonly string[];

/** `at` adds a value to a statement's parameters and returns its placeholder. */
function startBinding(): { bind: Bound[]; at: (value: Bound) => string } {
  const bind: Bound[] = [];
  return { bind, at: (value) => `$${bind.push(value)}` };
}

/** SQL: the conditions that indexes serve. */
function boundsOf({ tenantId, filter = {}, before }: IncidentQuery, at: (value: Bound) => string): string {
  const { monitorId, sinceSeconds, untilSeconds } = filter;
  const conditions = [
    `tenant_id = ${at(tenantId)}`,
    monitorId !== undefined && `monitor_id = ${at(monitorId)}`,
    sinceSeconds !== undefined && `started_at >= ${at(sinceSeconds * 1000)}::bigint`,
    untilSeconds !== undefined && `started_at <= ${at(untilSeconds * 1000 + 999)}::bigint`,
    before !== undefined && `(started_at, id) < (${at(before.startedAtMs)}::bigint, ${at(before.id)}::text)`,
  ];
  return conditions.filter((condition) => condition !== false).join(' AND ');
}

/** SQL: the conditions that are checked for each incident. */
function filtersOf({ tenantId, filter = {} }: IncidentQuery, at: (value: Bound) => string): string[] {
  const { status, acknowledged, openSinceSeconds, tags } = filter;
  return [
    status === 'resolved' && 'resolved_at IS NOT NULL',
    acknowledged !== undefined && `acknowledged_at IS ${acknowledged ? 'NOT ' : ''}NULL`,
    openSinceSeconds !== undefined && `(resolved_at IS NULL OR resolved_at >= ${at(openSinceSeconds * 1000)}::bigint)`,
    tags !== undefined &&
      `monitor_id IN (SELECT m.id FROM monitors m
         WHERE m.tenant_id = ${at(tenantId)} AND m.tags @> ${at(tags)}::text[])`,
  ].filter((condition) => condition !== false);
}

async function resolveIncident(
  run: Run,
  ended: { monitorId: string; atMs: number; resolution: 'recovered' | 'paused' | 'deleted' },
): Promise<void> {
  await run(
    {
      name: 'resolve-incident',
      text:
        'UPDATE incidents SET resolved_at = greatest($2::bigint, started_at), resolution = $3 WHERE monitor_id = ' +
        '$1 AND resolved_at IS NULL',
    },
    [ended.monitorId, ended.atMs, ended.resolution],
  );
}

/** A monitor whose alert ends without a recovery, with the sequence of the end. */
type EndedMonitor = { monitorId: string; sequence: number; atMs: number; resolution: 'paused' | 'deleted' };

type OpenAlert = {
  tenantId: string;
  channelId: string;
  message: MonitorMessage;
  rules: readonly ChannelRule[] | null;
  tags: readonly string[];
};

const REASONS = {
  paused: 'The monitor was paused: it is not checked any more',
  deleted: 'The monitor was deleted',
} as const satisfies Record<EndedMonitor['resolution'], string>;

/**
 * Writes the end of a monitor's open incident or unknown state, for receivers that keep its alert open until then
 * (D-573). Only if they have been sent it or are about to be, and the channel's rules do not exclude every
 * `monitor.up`. Run it before the incident is resolved and the monitor changed, in the same transaction. The search for
 * overdue deliveries finds the new ones as due.
 */
async function insertResolves(run: Run, { monitorId, sequence, atMs, resolution }: EndedMonitor): Promise<void> {
  const open = await run<OpenAlert>(
    `SELECT DISTINCT ON (d.channel_id) d.tenant_id AS "tenantId", d.channel_id AS "channelId", d.message, c.rules,
       m.tags
     FROM monitors m LEFT JOIN incidents i ON i.monitor_id = m.id AND i.resolved_at IS NULL
       JOIN deliveries d ON d.monitor_id = m.id AND CASE WHEN i.id IS NOT NULL
         THEN d.message #>> '{detail,incident_id}' = i.id AND d.event <> 'monitor.up'
         ELSE m.state = 'unknown' AND d.event = 'monitor.unknown' AND d.created_at >= m.state_since END
       JOIN channels c ON c.id = d.channel_id
     WHERE m.id = $1 AND (i.id IS NOT NULL OR m.state = 'unknown') AND c.format ->> 'preset' = ANY ($2::text[])
       AND (d.attempts > 0 OR (d.outcome = 'pending' AND NOT EXISTS (
         SELECT FROM held_deliveries h WHERE h.delivery_id = d.id AND h.released_at IS NULL)))
     ORDER BY d.channel_id, d.no DESC`,
    [monitorId, STATEFUL_PRESETS],
  );
  if (open.length === 0) return;
  const calendar = new ServiceCalendar({ fromMs: atMs, toMs: atMs + QUIET_AHEAD_MS });
  const newId = createIdSource();
  const wanted = open.filter(({ rules, tags }) => {
    const event = { event: 'monitor.up', tags, nowMs: atMs, incidentStartedAtMs: null } as const;
    return planDelivery(rules, event, calendar) !== null;
  });
  await insertDeliveries(
    run,
    wanted.map(({ tenantId, channelId, message }) => ({
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId,
      message: resolveOf(message, { sequence, atMs, resolution }),
      createdAtMs: atMs,
    })),
  );
}

function resolveOf(
  { reminder: _reminder, ...message }: MonitorMessage,
  { sequence, atMs, resolution }: Omit<EndedMonitor, 'monitorId'>,
): MonitorMessage {
  const { behind: _behind, flapping: _flapping, ...detail } = message.detail;
  return {
    ...message,
    event: 'monitor.up',
    event_at: toUnixSeconds(atMs),
    state: 'up',
    reason: REASONS[resolution],
    detail: {
      ...detail,
      sources_down: [],
      cause: null,
      previous_state: message.state,
      sequence,
      detected_at: toUnixSeconds(atMs),
    },
  };
}
