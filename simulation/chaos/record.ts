import { withClient } from '../../cli/embedded-postgres/connection.ts';

/** A stored transition; `voters` are the sources whose vote counted, with their last results. */
export type Transition = {
  monitorId: string;
  sequence: number;
  from: string;
  to: string;
  atMs: number;
  detectedAtMs: number;
  deliveryIds: string[];
  voters: { vote: string | null; decidedByMs: number[] }[];
};

export type Incident = {
  monitorId: string;
  state: string;
  startedAtMs: number;
  resolvedAtMs: number | null;
  resolution: string | null;
};

export type Source = { monitorId: string; agentNo: number };

/** A stored result; `verdict` in the words of probes, `none` = no vote. */
export type Result = Source & { dueAtMs: number; verdict: 'none' | 'up' | 'degraded' | 'down' };

/** Everything that the service stored during a run. */
export type WrittenRecord = { transitions: Transition[]; incidents: Incident[]; sources: Source[]; results: Result[] };

const VERDICTS = ['none', 'up', 'degraded', 'down'] as const;

type TransitionRow = Omit<Transition, 'voters'> & {
  evidence: { sources: { fresh: boolean; vote: string | null; decidedBy: { atMs: number }[] }[] };
};

/** Reads what was stored since a moment (Unix milliseconds), and all transitions and incidents. */
export async function readRecord(databaseUrl: string, sinceMs: number): Promise<WrittenRecord> {
  return await withClient(databaseUrl, async (client) => {
    const { rows: transitions } = await client.query<TransitionRow>(
      `SELECT t.monitor_id AS "monitorId", t.sequence, t.from_state AS "from", t.to_state AS "to",
       t.at::float8 AS "atMs", t.detected_at::float8 AS "detectedAtMs", t.evidence,
              ARRAY(SELECT d.id FROM deliveries d WHERE d.monitor_id = t.monitor_id
                AND (d.message -> 'detail' ->> 'sequence')::int = t.sequence) AS "deliveryIds"
       FROM transitions t ORDER BY t.monitor_id, t.sequence`,
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
      transitions: transitions.map(({ evidence, ...transition }) => ({
        ...transition,
        voters: evidence.sources
          .filter(({ fresh }) => fresh)
          .map(({ vote, decidedBy }) => ({ vote, decidedByMs: decidedBy.map(({ atMs }) => atMs) })),
      })),
      incidents,
      sources,
      results: results.map((result) => ({ ...result, verdict: VERDICTS[result.verdict] ?? 'none' })),
    };
  });
}

/** What has to settle before a run can be judged. */
export type ServiceStatus = { states: ReadonlyMap<string, string>; pendingDeliveries: number; oldestResultMs: number };

/**
 * Reads the state of the service; `oldestResultMs` is the newest result of the source that reported least recently,
 * Unix milliseconds.
 */
export async function readServiceStatus(databaseUrl: string, sinceMs: number): Promise<ServiceStatus> {
  return await withClient(databaseUrl, async (client) => {
    const { rows: monitors } = await client.query<{ id: string; state: string }>('SELECT id, state FROM monitors');
    const { rows } = await client.query<{ pending: number; oldest: number }>(
      `SELECT (SELECT count(*)::int FROM deliveries WHERE outcome = 'pending') AS pending,
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
