import type { Client } from 'pg';
import { withConnection } from '../../postgres/client.ts';
import { ON_CALL } from './channels.ts';

/** A stored transition; `voters` are the sources whose vote counted, with their last results. */
export type Transition = {
  monitorId: string;
  sequence: number;
  from: string;
  to: string;
  atMs: number;
  detectedAtMs: number;
  deliveryIds: string[];
  /** False if our own overload made the monitor unknown, and for the end of that: no channel is notified of either. */
  isNotified: boolean;
  voters: { vote: string | null; decidedByMs: number[] }[];
};

export type Incident = {
  monitorId: string;
  state: string;
  startedAtMs: number;
  resolvedAtMs: number | null;
  resolution: string | null;
};

/** A stored delivery since the script began. Times are Unix milliseconds. */
export type Delivery = {
  id: string;
  channel: string;
  monitorId: string | null;
  event: string;
  sequence: number | null;
  outcome: string;
  attempts: number;
  createdAtMs: number;
  finishedAtMs: number | null;
  /** Start of its first attempt; null if it had none. */
  startedAtMs: number | null;
  /** The reason why it waited, and whether acknowledgement cancels it; null = it did not wait. */
  held: {
    reason: string;
    heldBy: string | null;
    summaryId: string | null;
    unlessAcknowledged: boolean;
    /** Whether it was to be sent by itself in the end. */
    isReleased: boolean;
  } | null;
  /** The delivery whose message contains it. */
  joinedId: string | null;
  /** Its group of alerts of the channel, as the id of the delivery that opened it. */
  groupId: string | null;
  /**
   * For a reminder: the delivery that it repeats, and its number; below 0 it reports that more monitors depend on one.
   */
  repeats: { id: string; number: number } | null;
  incident: { startedAtMs: number; acknowledgedAtMs: number | null } | null;
  /** Changes of monitors in a summary, or in the message of a group. */
  changes: { monitorId: string; sequence: number }[];
};

export type Source = { monitorId: string; agentNo: number };

/** A stored result; `verdict` in the words of probes, `none` = no vote. */
export type Result = Source & { dueAtMs: number; verdict: 'none' | 'up' | 'degraded' | 'down' };

/** Everything that the service stored during a run. */
export type WrittenRecord = {
  transitions: Transition[];
  incidents: Incident[];
  sources: Source[];
  results: Result[];
  deliveries: Delivery[];
};

function isEndOfOurs(
  { monitorId, to }: Pick<Transition, 'monitorId' | 'to'>,
  before: TransitionRow | undefined,
): boolean {
  return before?.isOurs === true && before.monitorId === monitorId && before.from === to;
}

async function readDeliveries(client: Client, sinceMs: number): Promise<Delivery[]> {
  const { rows } = await client.query<Delivery>(
    `SELECT d.id, c.name AS channel, d.monitor_id AS "monitorId", d.event, d.outcome, d.attempts,
       (d.message #>> '{detail,sequence}')::int AS sequence, d.created_at::float8 AS "createdAtMs",
       d.finished_at::float8 AS "finishedAtMs", (SELECT min(a.started_at)::float8 FROM delivery_attempts a
         WHERE a.delivery_id = d.id) AS "startedAtMs",
       (SELECT json_build_object('reason', h.reason, 'heldBy', h.held_by, 'summaryId', h.summary_id,
          'unlessAcknowledged', h.unless_acknowledged, 'isReleased', h.released_at IS NOT NULL)
        FROM held_deliveries h WHERE h.delivery_id = d.id) AS held,
       (SELECT p.joined_id FROM parent_holds p WHERE p.delivery_id = d.id) AS "joinedId",
       (SELECT g.group_id FROM grouped_deliveries g WHERE g.delivery_id = d.id) AS "groupId",
       (SELECT json_build_object('id', r.follows, 'number', r.number) FROM reminders r WHERE r.delivery_id = d.id)
         AS repeats,
       (SELECT json_build_object('startedAtMs', i.started_at, 'acknowledgedAtMs', i.acknowledged_at) FROM incidents i
        WHERE i.id = d.message #>> '{detail,incident_id}') AS incident,
       (SELECT coalesce(json_agg(json_build_object('monitorId', s.monitor_id, 'sequence', s.sequence)), '[]')
        FROM summary_changes s WHERE s.delivery_id = d.id) AS changes
     FROM deliveries d JOIN channels c ON c.id = d.channel_id WHERE d.created_at >= $1 AND c.name <> $2
       AND d.event ~ '^(monitor[.]|summary$)' AND d.message ->> 'test' IS NULL ORDER BY d.no`,
    [sinceMs, ON_CALL],
  );
  return rows;
}

const VERDICTS = ['none', 'up', 'degraded', 'down'] as const;

type TransitionRow = Omit<Transition, 'voters' | 'isNotified'> & {
  isOurs: boolean;
  evidence: { sources: { fresh: boolean; vote: string | null; decidedBy: { atMs: number }[] }[] };
};

/** Reads the data stored since a moment (Unix milliseconds), and all transitions and incidents. */
export async function readRecord(databaseUrl: string, sinceMs: number): Promise<WrittenRecord> {
  return await withConnection(databaseUrl, async (client) => {
    const { rows: transitions } = await client.query<TransitionRow>(
      `SELECT t.monitor_id AS "monitorId", t.sequence, t.from_state AS "from", t.to_state AS "to",
       t.at::float8 AS "atMs", t.detected_at::float8 AS "detectedAtMs", t.evidence,
              t.to_state = 'unknown' AND coalesce(t.reason, '') LIKE 'Not checked in time:%' AS "isOurs",
              ARRAY(SELECT d.id FROM deliveries d JOIN channels c ON c.id = d.channel_id AND c.name = $1
                WHERE d.monitor_id = t.monitor_id
                  AND (d.message -> 'detail' ->> 'sequence')::int = t.sequence) AS "deliveryIds"
       FROM transitions t ORDER BY t.monitor_id, t.sequence`,
      [ON_CALL],
    );
    const { rows: incidents } = await client.query<Incident>(
      `SELECT monitor_id AS "monitorId", state, started_at::float8 AS "startedAtMs",
       resolved_at::float8 AS "resolvedAtMs", resolution FROM incidents ORDER BY monitor_id, started_at, resolved_at`,
    );
    const { rows: sources } = await client.query<Source>(
      `SELECT m.id AS "monitorId", s.agent_no AS "agentNo" FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no
       WHERE s.phase IS NOT NULL`,
    );
    const { rows: results } = await client.query<Source & { dueAtMs: number; verdict: number }>(
      `SELECT m.id AS "monitorId", r.agent_no AS "agentNo", r.due_at::float8 AS "dueAtMs", r.verdict
       FROM results_due($1, ${2 ** 52}) r JOIN monitors m ON m.no = r.monitor_no ORDER BY r.due_at`,
      [sinceMs],
    );
    return {
      transitions: transitions.map(({ evidence, isOurs, ...transition }, index) => ({
        ...transition,
        isNotified: !isOurs && !isEndOfOurs(transition, transitions[index - 1]),
        voters: evidence.sources
          .filter(({ fresh }) => fresh)
          .map(({ vote, decidedBy }) => ({ vote, decidedByMs: decidedBy.map(({ atMs }) => atMs) })),
      })),
      incidents,
      deliveries: await readDeliveries(client, sinceMs),
      sources,
      results: results.map((result) => ({ ...result, verdict: VERDICTS[result.verdict] ?? 'none' })),
    };
  });
}

/** State that must settle before a run can be judged. It ignores flapping alerts, which wait longer than any run. */
export type ServiceStatus = { states: ReadonlyMap<string, string>; pendingDeliveries: number; oldestResultMs: number };

/**
 * Reads the state of the service; `oldestResultMs` is the newest result of the source that reported least recently,
 * Unix milliseconds.
 */
export async function readServiceStatus(databaseUrl: string, sinceMs: number): Promise<ServiceStatus> {
  return await withConnection(databaseUrl, async (client) => {
    const { rows: monitors } = await client.query<{ id: string; state: string }>('SELECT id, state FROM monitors');
    const { rows } = await client.query<{ pending: number; oldest: number }>(
      `SELECT (SELECT count(*)::int FROM deliveries d WHERE outcome = 'pending' AND NOT EXISTS (
                 SELECT FROM held_deliveries h WHERE h.delivery_id = d.id AND h.reason = 'flapping')) AS pending,
              (SELECT coalesce(min(newest), 0)::float8 FROM (
                 SELECT coalesce((SELECT max(r.due_at) FROM single_results r WHERE r.monitor_no = s.monitor_no
                   AND r.agent_no = s.agent_no AND r.due_at >= $1), 0) AS newest FROM monitor_sources s
                   WHERE s.phase IS NOT NULL
               ) each) AS oldest`,
      [sinceMs],
    );
    return {
      states: new Map(monitors.map(({ id, state }) => [id, state])),
      pendingDeliveries: rows[0]?.pending ?? 0,
      oldestResultMs: rows[0]?.oldest ?? 0,
    };
  });
}
