import type { RecheckedSource } from '../../core/checks/recheck.ts';
import type { SourceState } from '../../core/incidents/source-state.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';

/** A monitor that an agent may report on, as far as taking in its results needs it. */
export type ReportedMonitor = {
  no: number;
  id: string;
  type: MonitorType;
  target: string;
  hasSecrets: boolean;
  intervalSeconds: number;
  timeoutMs: number;
  downAfterFailures: number;
  checksVersion: number;
  createdAtMs: number;
  /**
   * The version of its checks that the agent was given last, since when (Unix milliseconds), and the one before; null =
   * none.
   */
  givenVersion: number | null;
  givenAtMs: number | null;
  givenBefore: number | null;
  /** What this agent saw last; `expiresAt` in Unix seconds. */
  certificate: { target: string; expiresAt: number } | null;
};

type MonitorRow = {
  no: number;
  id: string;
  type: MonitorType;
  target: string;
  has_secrets: boolean;
  interval_seconds: number;
  timeout_ms: number;
  down_after_failures: number;
  checks_version: number;
  created_at: number;
  given_version: number | null;
  given_at: number | null;
  given_before: number | null;
  certificate_target: string | null;
  expires_at: number | null;
};

/** Those of the monitors named that are checked now and have the agent for a source, by their ids. */
export async function listReportedMonitors(
  database: Database,
  agentNo: number,
  ids: readonly string[],
): Promise<Map<string, ReportedMonitor>> {
  const { rows } = await database.pool.query<MonitorRow>({
    name: 'list-reported-monitors',
    text: `SELECT m.no, m.id, m.type, m.target, m.sealed_secrets IS NOT NULL AS has_secrets, m.interval_seconds,
        m.timeout_ms, m.down_after_failures, m.checks_version, m.created_at, s.given_version, s.given_at,
          s.given_before,
             c.target AS certificate_target, c.expires_at
           FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no AND s.agent_no = $1 AND s.phase IS NOT NULL
           LEFT JOIN certificates c ON c.monitor_no = m.no AND c.agent_no = $1
           WHERE m.id = ANY($2::text[]) AND m.enabled`,
    values: [agentNo, ids],
  });
  return new Map(rows.map((row) => [row.id, monitorOf(row)]));
}

/** A window of due time of one monitor, in Unix milliseconds, the end excluded. */
type MonitorWindow = { monitorNo: number; fromMs: number; toMs: number };

/**
 * The due times of an agent's stored results in windows of its monitors, by the keys that the windows have. Not a named
 * statement: partitions.
 */
export async function listStoredDueTimes(
  database: Pick<Database, 'pool'>,
  agentNo: number,
  windows: ReadonlyMap<string, MonitorWindow>,
): Promise<Map<string, number[]>> {
  const all = [...windows.values()];
  const { rows } = await database.pool.query<{ key: string; times: number[] | null }>(
    `SELECT k.key, (SELECT json_agg(r.due_at) FROM check_results r
                    WHERE r.monitor_no = k.monitor_no AND r.agent_no = $1 AND r.due_at >= k.from_ms
                      AND r.due_at < k.to_ms AND r.due_at >= $6 AND r.due_at < $7) AS times
     FROM unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[]) AS k (key, monitor_no, from_ms, to_ms)`,
    [
      agentNo,
      [...windows.keys()],
      all.map(({ monitorNo }) => monitorNo),
      all.map(({ fromMs }) => fromMs),
      all.map(({ toMs }) => toMs),
      Math.min(...all.map(({ fromMs }) => fromMs)),
      Math.max(...all.map(({ toMs }) => toMs)),
    ],
  );
  return new Map(rows.map(({ key, times }) => [key, times ?? []]));
}

/** Where an agent stands as a source of some monitors, by their numbers. */
export async function listRecheckedSources(
  database: Database,
  agentNo: number,
  monitorNos: readonly number[],
): Promise<Map<number, RecheckedSource>> {
  const { rows } = await database.pool.query<{
    no: number;
    state: SourceState | null;
    interval_seconds: number;
    down_after_failures: number;
    up_after_successes: number;
  }>({
    name: 'list-rechecked-sources',
    text: `SELECT m.no, s.state, m.interval_seconds, m.down_after_failures, m.up_after_successes
           FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no WHERE s.agent_no = $1
             AND s.monitor_no = ANY($2::int[])`,
    values: [agentNo, monitorNos],
  });
  return new Map(
    rows.map((row) => [
      row.no,
      {
        state: row.state,
        rule: {
          downAfterFailures: row.down_after_failures,
          upAfterSuccesses: row.up_after_successes,
          intervalSeconds: row.interval_seconds,
        },
      },
    ]),
  );
}

function monitorOf(row: MonitorRow): ReportedMonitor {
  return {
    no: row.no,
    id: row.id,
    type: row.type,
    target: row.target,
    hasSecrets: row.has_secrets,
    intervalSeconds: row.interval_seconds,
    timeoutMs: row.timeout_ms,
    downAfterFailures: row.down_after_failures,
    checksVersion: row.checks_version,
    createdAtMs: row.created_at * 1000,
    givenVersion: row.given_version,
    givenAtMs: row.given_at,
    givenBefore: row.given_before,
    certificate:
      row.certificate_target === null || row.expires_at === null
        ? null
        : { target: row.certificate_target, expiresAt: row.expires_at },
  };
}
