import type { MonitorState } from '../../../core/incidents/state.ts';
import { insertTransitions } from '../../../models/incidents/history.ts';
import { runOn } from '../../../models/sql.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import type { Account, ApiServer } from '../api-server.ts';

/** A stored result; omitted fields are those of a success of 100 ms by the first agent. */
export type StoredResult = {
  atMs: number;
  agentId: string;
  verdict?: 0 | 1 | 2 | 3;
  latencyMs?: number | null;
  cause?: number | null;
  httpStatus?: number | null;
  detail?: object | null;
};

/** Creates a monitor as of `createdAtMs`; returns its id and number. */
export async function addMonitor(
  api: ApiServer,
  account: Account,
  { createdAtMs, body = {} }: { createdAtMs: number; body?: object },
): Promise<{ id: string; no: number }> {
  const answer = await account.owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example', ...body });
  const id = answer.json['id'];
  const { rows } = await api.database.pool.query<{ no: number }>(
    'UPDATE monitors SET created_at = $2, state_since = $3 WHERE id = $1 RETURNING no',
    [id, Math.floor(createdAtMs / 1000), createdAtMs],
  );
  return { id, no: rows[0]?.no ?? 0 };
}

/** Stores state changes in the given order. */
export async function addTransitions(
  api: ApiServer,
  { tenantId, monitorId }: { tenantId: string; monitorId: string },
  changes: readonly [atMs: number, to: MonitorState][],
): Promise<void> {
  const rows = changes.map(([atMs, to], index) => ({
    monitorId,
    tenantId,
    sequence: index + 1,
    from: changes[index - 1]?.[1] ?? ('pending' as const),
    to,
    atMs,
    detectedAtMs: atMs,
    cause: null,
    reason: null,
    evidence: {},
  }));
  await insertTransitions(runOn(api.database.pool), rows);
}

/** Stores results; their days may be long ago. */
export async function addResults(api: ApiServer, monitorNo: number, results: readonly StoredResult[]): Promise<void> {
  for (const day of new Set(results.map(({ atMs }) => Math.floor(atMs / 86_400_000))))
    await createPartitions(api.database, day * 86_400_000);
  for (const {
    atMs,
    agentId,
    verdict = 1,
    latencyMs = 100,
    cause = null,
    httpStatus = null,
    detail = null,
  } of results) {
    await api.database.pool.query(
      `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict, cause, detail)
       SELECT $1, $2, no, $4, $5, $6, $7, $8 FROM agents WHERE id = $3`,
      [atMs, monitorNo, agentId, latencyMs, httpStatus, verdict, cause, detail],
    );
  }
}

/** Returns the ids of the shared agents, in order of creation. */
export async function listAgentIds(api: ApiServer): Promise<string[]> {
  return (
    await api.database.pool.query<{ id: string }>(`SELECT id FROM agents WHERE kind = 'first_party' ORDER BY no`)
  ).rows.map(({ id }) => id);
}
