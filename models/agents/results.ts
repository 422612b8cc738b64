import type { RecheckedSource } from '../../core/checks/recheck.ts';
import type { SourceState } from '../../core/incidents/source-state.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';

/** A monitor that an agent may report on, as far as taking in its results needs it. */
export type ReportedMonitor = {
  no: number;
  id: string;
  name: string;
  type: MonitorType;
  target: string;
  method: string | null;
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

type MonitorRow = Omit<ReportedMonitor, 'certificate'> & {
  certificateTarget: string | null;
  certificateExpiresAt: number | null;
};

/** Those of the monitors named that are checked now and have the agent for a source, by their ids. */
export async function listReportedMonitors(
  database: Database,
  agentNo: number,
  ids: readonly string[],
): Promise<Map<string, ReportedMonitor>> {
  const { rows } = await database.pool.query<MonitorRow>({
    name: 'list-reported-monitors',
    text: `SELECT m.no, m.id, m.name, m.type, m.target, m.method, m.sealed_secrets IS NOT NULL AS "hasSecrets",
             m.interval_seconds AS "intervalSeconds", m.timeout_ms AS "timeoutMs",
             m.down_after_failures AS "downAfterFailures", m.checks_version AS "checksVersion",
             m.created_at * 1000 AS "createdAtMs", s.given_version AS "givenVersion", s.given_at AS "givenAtMs",
             s.given_before AS "givenBefore", c.target AS "certificateTarget", c.expires_at AS "certificateExpiresAt"
           FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no AND s.agent_no = $1 AND s.phase IS NOT NULL
           LEFT JOIN certificates c ON c.monitor_no = m.no AND c.agent_no = $1
           WHERE m.id = ANY($2::text[]) AND m.enabled`,
    values: [agentNo, ids],
  });
  return new Map(rows.map((row) => [row.id, monitorOf(row)]));
}

/** A window of due time of one monitor, in Unix milliseconds, the end excluded. */
export type MonitorWindow = { monitorNo: number; fromMs: number; toMs: number };

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
    `SELECT k.key, (SELECT json_agg(r.due_at) FROM (
         SELECT due_at, monitor_no, agent_no FROM single_results WHERE due_at >= $6 AND due_at < $7
         UNION ALL
         SELECT due_at, monitor_no, agent_no FROM unpacked_results($6, $7)
           WHERE packed_at > k.from_ms - ${HOUR_MS} AND packed_at < k.to_ms
       ) r WHERE r.monitor_no = k.monitor_no AND r.agent_no = $1 AND r.due_at >= k.from_ms
         AND r.due_at < k.to_ms) AS times
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

/** The state of an agent as a source of some monitors, by their numbers. */
export async function listRecheckedSources(
  database: Database,
  agentNo: number,
  monitorNos: readonly number[],
): Promise<Map<number, RecheckedSource>> {
  const { rows } = await database.pool.query<RecheckedSource['rule'] & { no: number; state: SourceState | null }>({
    name: 'list-rechecked-sources',
    text: `SELECT m.no, s.state, m.interval_seconds AS "intervalSeconds", m.down_after_failures AS "downAfterFailures",
             m.up_after_successes AS "upAfterSuccesses"
           FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no WHERE s.agent_no = $1
             AND s.monitor_no = ANY($2::int[])`,
    values: [agentNo, monitorNos],
  });
  return new Map(rows.map(({ no, state, ...rule }) => [no, { state, rule }]));
}

function monitorOf({
  certificateTarget: target,
  certificateExpiresAt: expiresAt,
  ...monitor
}: MonitorRow): ReportedMonitor {
  return { ...monitor, certificate: target === null || expiresAt === null ? null : { target, expiresAt } };
}
