import type { ScheduleSlot } from '../../core/checks/slots.ts';
import type { Verdict } from '../../core/checks/verdict.ts';
import { checkTargetOf, type CheckTarget, type MonitorSecrets } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';
import { secretsContext } from '../monitors/monitor-rows.ts';
import { runOn } from '../sql.ts';

/** A check of a tick: the monitor, the version of its checks, and everything its probe needs. */
export type DueCheck = {
  monitorNo: number;
  monitorId: string;
  tenantId: string;
  name: string;
  checksVersion: number;
  target: CheckTarget;
  /** The verdict that cannot change the monitor's state: its own, and if bad, this source's too; null = any can. */
  steadyVerdict: Exclude<Verdict, 'none'> | null;
  /** The current bad verdict of this source; null = not bad. */
  badVote: Exclude<Verdict, 'up'> | null;
  /** False if the key of the monitor's secrets is not in the ring: such a check cannot be run. */
  hasItsSecrets: boolean;
};

/** A row of a check, with the fields of its target, whose secrets are sealed. */
type DueRow = Omit<DueCheck, 'target' | 'hasItsSecrets'> &
  Omit<CheckTarget, 'secrets'> & { sealedSecrets: string | null };

const DUE_COLUMNS = `m.no AS "monitorNo", m.id AS "monitorId", m.tenant_id AS "tenantId", m.name,
  m.checks_version AS "checksVersion", m.type, m.target, m.timeout_ms AS "timeoutMs", m.method,
  m.expected_status AS "expectedStatus", m.body_match AS "bodyMatch", m.follow_redirects AS "followRedirects",
  m.check_spec AS "checkSpec", m.sealed_secrets AS "sealedSecrets",
  CASE WHEN s.state #> '{failing,tripped}' = 'true' THEN 'down'
       WHEN s.state #> '{impaired,tripped}' = 'true' THEN 'degraded' END AS "badVote",
  CASE WHEN m.state = 'up' OR m.state = 'down' AND s.state #> '{failing,tripped}' = 'true'
       OR m.state = 'degraded' AND s.state #> '{impaired,tripped}' = 'true'
         AND s.state #> '{failing,tripped}' IS DISTINCT FROM 'true' THEN m.state END AS "steadyVerdict"`;

/**
 * Lists the monitors of a slot, in one indexed query, with secrets opened: only the probing process has these in clear.
 */
export async function listDueChecks(database: Database, entry: ScheduleSlot): Promise<DueCheck[]> {
  const { rows } = await database.pool.query<DueRow>({
    name: 'list-due-checks',
    // OFFSET 0 forces a lookup of each monitor by its number: with a high cost for random reads the planner would scan
    // the whole table.
    text: `SELECT ${DUE_COLUMNS}
           FROM monitor_sources s, LATERAL (SELECT * FROM monitors WHERE no = s.monitor_no AND enabled OFFSET 0) m
           WHERE s.agent_no = $1 AND s.interval_seconds = $2 AND s.phase = $3`,
    values: [entry.agentNo, entry.intervalSeconds, entry.slot],
  });
  return rows.map((row) => dueCheckOf(row, openSecrets(database, row)));
}

/**
 * Claims rechecks: the monitors that an agent is to check before their next tick, the longest waiting first. Concurrent
 * claims get different ones. Secrets are opened.
 */
export async function claimRechecks(
  database: Database,
  { agentNo, nowMs, limit }: { agentNo: number; nowMs: number; limit: number },
): Promise<DueCheck[]> {
  const { rows } = await database.pool.query<DueRow>(
    `WITH waiting AS MATERIALIZED (
       SELECT monitor_no FROM monitor_sources WHERE agent_no = $1 AND look_at <= $2 ORDER BY look_at LIMIT $3 FOR NO KEY
         UPDATE SKIP LOCKED
     )
     UPDATE monitor_sources s SET look_at = NULL FROM waiting w, monitors m
     WHERE s.agent_no = $1 AND s.monitor_no = w.monitor_no AND m.no = s.monitor_no AND m.enabled
     RETURNING ${DUE_COLUMNS}`,
    [agentNo, nowMs, limit],
  );
  return rows.map((row) => dueCheckOf(row, openSecrets(database, row)));
}

function dueCheckOf(row: DueRow, secrets: MonitorSecrets | null): DueCheck {
  const { monitorNo, monitorId, tenantId, name, checksVersion, steadyVerdict, badVote } = row;
  return {
    monitorNo,
    monitorId,
    tenantId,
    name,
    checksVersion,
    steadyVerdict,
    badVote,
    target: checkTargetOf(row, secrets ?? {}),
    hasItsSecrets: secrets !== null,
  };
}

/**
 * Returns the names of the monitors in each occupied slot of an agent, for the queue board; at most `perSlot` per slot.
 */
export async function listNamesBySlot(
  database: Database,
  agentNo: number,
  perSlot: number,
): Promise<Map<string, string[]>> {
  const { rows } = await database.pool.query<{ key: string; names: string[] }>(
    `SELECT s.interval_seconds || '/' || s.phase AS key, (array_agg(m.name ORDER BY m.no))[1:$2::int] AS names
     FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no
     WHERE s.agent_no = $1 AND s.phase IS NOT NULL GROUP BY 1`,
    [agentNo, perSlot],
  );
  return new Map(rows.map(({ key, names }) => [key, names]));
}

/**
 * Opens a monitor's secrets; null if that fails, because one monitor's lost key must not stop the others in its slot.
 */
function openSecrets(database: Database, row: DueRow): MonitorSecrets | null {
  if (row.sealedSecrets === null) return {};
  try {
    return JSON.parse(database.secrets.open(row.sealedSecrets, secretsContext(row.monitorId)));
  } catch {
    return null;
  }
}

/**
 * Maximum length of a certificate's name, in characters: it is part of a key of `advisories`. Workers of older releases
 * stored longer ones.
 */
export const MAX_CERTIFICATE_NAME = 255;

/**
 * A certificate as one source of a monitor saw it; `target` is the checked address, `expiresAt` in Unix seconds,
 * `observedAtMs` in Unix milliseconds.
 */
export type ObservedCertificate = {
  monitorNo: number;
  agentNo: number;
  target: string;
  name: string;
  expiresAt: number;
  observedAtMs: number;
};

/**
 * Stores certificates in place of those that the same sources saw before, with one statement; skips those of deleted
 * monitors and agents. One observed before the stored one is outdated, unless a clock was ahead then.
 */
export async function storeCertificates(database: Database, observed: readonly ObservedCertificate[]): Promise<void> {
  await runOn(database.pool)(
    `INSERT INTO certificates (monitor_no, agent_no, target, name, expires_at, observed_at)
     SELECT k."monitorNo", k."agentNo", k.target, k.name, k."expiresAt", k."observedAtMs"
     FROM json_to_recordset($1::json) AS k ("monitorNo" int, "agentNo" int, target text, name text, "expiresAt" bigint,
       "observedAtMs" bigint)
     JOIN monitors m ON m.no = k."monitorNo" JOIN agents a ON a.no = k."agentNo"
     ORDER BY 1, 2
     ON CONFLICT (monitor_no, agent_no) DO UPDATE
       SET target = excluded.target, name = excluded.name, expires_at = excluded.expires_at,
         observed_at = excluded.observed_at
       WHERE excluded.observed_at >= coalesce(certificates.observed_at, 0)
         OR certificates.observed_at > (extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
    [JSON.stringify(observed)],
  );
}
