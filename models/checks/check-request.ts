import { findInability, type Inability, type Withholding } from '../../core/agents/capability.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';
import { recordChange } from '../accounts/audit-log.ts';
import type { AgentKind } from '../agents/record.ts';
import type { Database } from '../database.ts';
import { inTransaction } from '../sql.ts';

/** A source of which a recheck was requested: when it will make it, and for `unable` why it will not. */
export type RequestedSource = {
  agentNo: number;
  agentId: string;
  kind: AgentKind;
  state: 'asked' | 'waits' | 'unable';
  inability: Inability | null;
};

/** What a request for a check found. A monitor that is not being checked now has no sources. */
export type CheckRequest = {
  monitor: { no: number; type: MonitorType; target: string; enabled: boolean };
  sources: RequestedSource[];
};

type SourceRow = Pick<RequestedSource, 'agentNo' | 'agentId' | 'kind'> & {
  capabilities: string[] | null;
  secretsWithheld: Withholding | null;
  hasSecrets: boolean;
};

/**
 * Requests another check from every source of a monitor that can run it. Those of the service check as soon as the
 * queue is notified, customers' agents at their next check-in. Asking again before one has checked changes nothing for
 * it. Null where the tenant has no such monitor.
 */
export async function requestCheck(
  database: Database,
  { tenantId, id, nowMs }: { tenantId: string; id: string; nowMs: number },
): Promise<CheckRequest | null> {
  return await inTransaction(database, async (run) => {
    const [monitor] = await run<CheckRequest['monitor'] & { name: string }>(
      'SELECT no, name, type, target, enabled FROM monitors WHERE id = $1 AND tenant_id = $2',
      [id, tenantId],
    );
    if (monitor === undefined) return null;
    const rows = await run<SourceRow>(
      `WITH requested AS (
         SELECT monitor_no, agent_no FROM monitor_sources WHERE monitor_no = $1 AND phase IS NOT NULL ORDER BY agent_no
           FOR NO KEY UPDATE
       )
       UPDATE monitor_sources s
       SET look_at = CASE a.kind WHEN 'tenant' THEN s.look_at
         ELSE least(s.look_at, $2::bigint) END, asked_at = CASE a.kind WHEN 'tenant' THEN $2::bigint / 1000 END
       FROM requested k JOIN agents a ON a.no = k.agent_no JOIN monitors m ON m.no = k.monitor_no
       WHERE s.monitor_no = k.monitor_no AND s.agent_no = k.agent_no
       RETURNING s.agent_no AS "agentNo", a.id AS "agentId", a.kind, a.capabilities,
         a.secrets_withheld AS "secretsWithheld", m.sealed_secrets IS NOT NULL AS "hasSecrets"`,
      [monitor.no, nowMs],
    );
    if (rows.length > 0)
      await recordChange(run, database, { tenantId, object: { kind: 'monitor', id, name: monitor.name } });
    return {
      monitor,
      sources: rows.map((row) => requestedSource(row, monitor)).toSorted((a, b) => a.agentNo - b.agentNo),
    };
  });
}

function requestedSource(row: SourceRow, { type }: CheckRequest['monitor']): RequestedSource {
  const { agentNo, agentId, kind, capabilities, secretsWithheld, hasSecrets } = row;
  const requested = { agentNo, agentId, kind };
  if (kind !== 'tenant') return { ...requested, state: 'asked', inability: null };
  const inability = findInability({ capabilities, secretsWithheld }, { type, hasSecrets });
  return { ...requested, state: inability === null ? 'waits' : 'unable', inability };
}
