import { VERDICT_CODES, type Timings } from '../../core/checks/verdict.ts';
import { readTimings } from '../../core/incidents/evidence.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';

/**
 * A monitor with the fields for its metrics; `checksVersion` increases with each change of the measured settings. Times
 * in Unix seconds.
 */
export type ExportedRow = {
  no: number;
  id: string;
  name: string;
  type: string;
  target: string;
  tags: string[];
  intervalSeconds: number;
  enabled: boolean;
  state: MonitorState;
  slaTarget: number | null;
  checksVersion: number;
  createdAt: number;
  updatedAt: number;
  isIncidentOpen: boolean;
  sources: { agentNo: number; id: string; name: string }[];
};

/**
 * Lists the monitors of a tenant by creation, except drafts, with their sources; a heartbeat has no target and no
 * checks. One statement for any number of monitors.
 */
export async function listExportedRows(database: Pick<Database, 'pool'>, tenantId: string): Promise<ExportedRow[]> {
  return await runOn(database.pool)<ExportedRow>(
    {
      name: 'list-exported-rows',
      text: `SELECT m.no, m.id, m.name, m.type, m.target, m.tags, m.interval_seconds AS "intervalSeconds", m.enabled,
               m.state, m.sla_target AS "slaTarget", m.checks_version AS "checksVersion",
               m.created_at AS "createdAt", m.updated_at AS "updatedAt", i.monitor_id IS NOT NULL AS "isIncidentOpen",
               coalesce(s.sources, '[]') AS sources
             FROM monitors m
             LEFT JOIN incidents i ON i.monitor_id = m.id AND i.resolved_at IS NULL
             LEFT JOIN (
               SELECT s.monitor_no, json_agg(json_build_object('agentNo', a.no, 'id', a.id, 'name', a.name)
                        ORDER BY a.no) AS sources
               FROM monitors o JOIN monitor_sources s ON s.monitor_no = o.no JOIN agents a ON a.no = s.agent_no
               WHERE o.tenant_id = $1 AND o.enabled AND o.type <> 'heartbeat' GROUP BY s.monitor_no
             ) s ON s.monitor_no = m.no
             WHERE m.tenant_id = $1 AND (m.target <> '' OR m.type = 'heartbeat') ORDER BY m.created_at, m.id`,
    },
    [tenantId],
  );
}

/** A monitor's source whose results after `sinceMs`, in Unix milliseconds, are read. */
export type ReadSource = { monitorNo: number; agentNo: number; sinceMs: number };

/** The newest check of a source; `timings` are those of the newest result that has any. */
type ReadCheck = Pick<ReadSource, 'monitorNo' | 'agentNo'> & {
  dueAtMs: number;
  verdict: 'up' | 'degraded' | 'down';
  latencyMs: number | null;
  httpStatus: number | null;
  timings: Timings | null;
};

type CheckRow = Omit<ReadCheck, 'verdict' | 'timings'> & { verdict: number; timings: string | null };

/** Time in which timings are searched: successes store them every ten minutes, so the last two are included. */
const TIMINGS_MS = 20 * MINUTE_MS;

/** Minimum age of packed results: they are packed an hour after their hour. */
const PACKED_MS = HOUR_MS;

const VERDICTS = new Map<number, ReadCheck['verdict']>([
  [VERDICT_CODES.up, 'up'],
  [VERDICT_CODES.degraded, 'degraded'],
  [VERDICT_CODES.down, 'down'],
]);

/**
 * Returns the newest result with a vote for each of these sources since its `sinceMs`; sources without one are absent.
 * One index lookup for each source and table. Results that may be packed by now are read only if `sinceMs` is that old.
 */
export async function readNewestChecks(
  database: Pick<Database, 'pool'>,
  sources: readonly ReadSource[],
  nowMs: number,
): Promise<ReadCheck[]> {
  const found = await readSingle(database, sources, nowMs);
  const known = new Set(found.map(keyOf));
  const older = sources.filter((source) => source.sinceMs < nowMs - PACKED_MS && !known.has(keyOf(source)));
  return older.length === 0 ? found : [...found, ...(await readPacked(database, older, nowMs))];
}

/** Returns the key of a monitor's source. */
export function keyOf({ monitorNo, agentNo }: Pick<ReadSource, 'monitorNo' | 'agentNo'>): string {
  return `${monitorNo} ${agentNo}`;
}

async function readSingle(
  database: Pick<Database, 'pool'>,
  sources: readonly ReadSource[],
  nowMs: number,
): Promise<ReadCheck[]> {
  if (sources.length === 0) return [];
  // The oldest time is a separate parameter, so that partitions are excluded before the statement runs.
  const oldestMs = sources.reduce((oldest, { sinceMs }) => Math.min(oldest, sinceMs), nowMs);
  const rows = await runOn(database.pool)<CheckRow>(
    `SELECT k.monitor_no AS "monitorNo", k.agent_no AS "agentNo", n.due_at AS "dueAtMs", n.verdict,
       n.latency_ms AS "latencyMs", n.http_status AS "httpStatus", t.timings
     FROM unnest($1::int[], $2::int[], $3::bigint[]) AS k (monitor_no, agent_no, since_ms)
     CROSS JOIN LATERAL (
       (SELECT r.due_at, 1::smallint AS verdict, r.latency_ms::integer, r.http_status FROM recent_results r
        WHERE r.monitor_no = k.monitor_no AND r.agent_no = k.agent_no AND r.due_at > k.since_ms AND r.due_at <= $4
        ORDER BY r.due_at DESC LIMIT 1)
       UNION ALL
       (SELECT c.due_at, c.verdict, c.latency_ms, c.http_status FROM check_results c
        WHERE c.monitor_no = k.monitor_no AND c.agent_no = k.agent_no AND c.due_at > k.since_ms
          AND c.due_at > $5 AND c.due_at <= $4 AND c.verdict <> ${VERDICT_CODES.none}
        ORDER BY c.due_at DESC LIMIT 1)
       ORDER BY due_at DESC LIMIT 1
     ) n
     LEFT JOIN LATERAL (
       (SELECT r.due_at, r.timings FROM recent_results r
        WHERE r.monitor_no = k.monitor_no AND r.agent_no = k.agent_no AND r.due_at > greatest(k.since_ms, $6)
          AND r.due_at <= $4 AND r.timings IS NOT NULL
        ORDER BY r.due_at DESC LIMIT 1)
       UNION ALL
       (SELECT c.due_at, c.detail ->> 'phases' FROM check_results c
        WHERE c.monitor_no = k.monitor_no AND c.agent_no = k.agent_no AND c.due_at > greatest(k.since_ms, $6)
          AND c.due_at > $6 AND c.due_at <= $4 AND c.detail ->> 'phases' IS NOT NULL
        ORDER BY c.due_at DESC LIMIT 1)
       ORDER BY due_at DESC LIMIT 1
     ) t ON true`,
    [...columnsOf(sources), nowMs, oldestMs, nowMs - TIMINGS_MS],
  );
  return rows.flatMap(checkOf);
}

async function readPacked(
  database: Pick<Database, 'pool'>,
  sources: readonly ReadSource[],
  nowMs: number,
): Promise<ReadCheck[]> {
  const rows = await runOn(database.pool)<CheckRow>(
    `SELECT k.monitor_no AS "monitorNo", k.agent_no AS "agentNo", n.due_at AS "dueAtMs", n.verdict,
       n.latency_ms AS "latencyMs", n.http_status AS "httpStatus", NULL AS timings
     FROM unnest($1::int[], $2::int[], $3::bigint[]) AS k (monitor_no, agent_no, since_ms)
     CROSS JOIN LATERAL (
       SELECT u.* FROM unpacked_results(k.since_ms + 1, $4) u
       WHERE u.monitor_no = k.monitor_no AND u.agent_no = k.agent_no ORDER BY u.due_at DESC LIMIT 1
     ) n`,
    [...columnsOf(sources), nowMs],
  );
  return rows.flatMap(checkOf);
}

function columnsOf(sources: readonly ReadSource[]): number[][] {
  return [
    sources.map(({ monitorNo }) => monitorNo),
    sources.map(({ agentNo }) => agentNo),
    sources.map(({ sinceMs }) => sinceMs),
  ];
}

function checkOf({ verdict: code, timings, ...row }: CheckRow): ReadCheck[] {
  const verdict = VERDICTS.get(code);
  return verdict === undefined ? [] : [{ ...row, verdict, timings: timings === null ? null : readTimings(timings) }];
}

/** Returns when the certificates that a tenant's sources last saw expire, in Unix seconds, by `keyOf`. */
export async function readCertificateExpiries(
  database: Pick<Database, 'pool'>,
  tenantId: string,
): Promise<Map<string, number>> {
  const rows = await runOn(database.pool)<{ monitorNo: number; agentNo: number; expiresAt: number }>(
    `SELECT c.monitor_no AS "monitorNo", c.agent_no AS "agentNo", c.expires_at AS "expiresAt"
     FROM monitors m JOIN certificates c ON c.monitor_no = m.no AND c.target = m.target WHERE m.tenant_id = $1`,
    [tenantId],
  );
  return new Map(rows.map(({ expiresAt, ...source }) => [keyOf(source), expiresAt]));
}
