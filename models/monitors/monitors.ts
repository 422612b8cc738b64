import type { Pool } from 'pg';
import type { MonitorState, MonitorStatus } from '../../core/incidents/state.ts';
import type { Parent } from '../../core/monitors/dependencies.ts';
import type { Monitor, MonitorType } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type RowKey } from '../sql.ts';
import { PARENTS } from './dependencies.ts';
import { LISTED, openSecrets, selectList, type ListedMonitor, type WholeMonitor } from './monitor-rows.ts';

/** `agentNo` selects monitors that this agent is to check. */
type MonitorFilter = {
  type?: MonitorType;
  status?: MonitorStatus;
  enabled?: boolean;
  q?: string;
  agentNo?: number;
  /** Selects monitors that have all of these tags. */
  tags?: readonly string[];
};

/**
 * A monitor with the ids of its sources and the monitors that it depends on, sorted; `hasOwnSources` = customers'
 * agents are among them.
 */
export type FoundMonitor = { monitor: Monitor; agentIds: string[]; hasOwnSources: boolean; parents: Parent[] };

/** The pool, or a client of it in a transaction. */
type Queryable = { pool: Pick<Pool, 'query'> };

/** Finds a monitor of a tenant; null if there is none. */
export async function findMonitor(database: Queryable, key: RowKey): Promise<FoundMonitor | null> {
  const [found] = await findMonitors(database, [key]);
  return found ?? null;
}

/**
 * Finds each of these monitors like `findMonitor`, in order, in one prepared statement: this is the most frequent read.
 */
export async function findMonitors({ pool }: Queryable, keys: readonly RowKey[]): Promise<(FoundMonitor | null)[]> {
  // PostgreSQL reuses the plan for a single monitor, but makes a new one for each number of many.
  const isOne = keys.length === 1;
  const requested = isOne
    ? 'monitors m'
    : 'unnest($1::text[], $2::text[]) AS requested (id, tenant_id) JOIN monitors m ' +
      'ON m.id = requested.id AND m.tenant_id = requested.tenant_id';
  const { rows } = await pool.query<Monitor & Omit<FoundMonitor, 'monitor'>>({
    name: isOne ? 'find-monitor' : 'find-monitors',
    text: `SELECT no, m.id, m.tenant_id AS "tenantId", name, type, target, interval_seconds AS "intervalSeconds",
             timeout_ms AS "timeoutMs", method, expected_status AS "expectedStatus", body_match AS "bodyMatch",
             follow_redirects AS "followRedirects", down_after_failures AS "downAfterFailures",
             up_after_successes AS "upAfterSuccesses", down_min_sources AS "downMinSources",
             heartbeat_grace_seconds AS "heartbeatGraceSeconds", sla_target AS "slaTarget", sla,
             reopen_seconds AS "reopenSeconds", monthly_drill AS "monthlyDrill", tags,
             check_spec AS "checkSpec", checks_version AS "checksVersion", enabled, state,
             state_since AS "stateSinceMs", created_at AS "createdAt", updated_at AS "updatedAt", "agentIds",
             "hasOwnSources", ${PARENTS} AS parents
           FROM ${requested}, LATERAL (
             SELECT coalesce(array_agg(a.id
               ORDER BY a.id) FILTER (WHERE a.kind <> 'service'), '{}') AS "agentIds",
               coalesce(bool_or(a.kind = 'tenant'), false) AS "hasOwnSources"
             FROM monitor_sources s JOIN agents a ON a.no = s.agent_no WHERE s.monitor_no = m.no
           ) AS sources ${isOne ? 'WHERE m.id = $1 AND m.tenant_id = $2' : ''}`,
    values: isOne ? [keys[0]?.id, keys[0]?.tenantId] : [keys.map(({ id }) => id), keys.map(({ tenantId }) => tenantId)],
  });
  const found = new Map(
    rows.map(({ agentIds, hasOwnSources, parents, ...monitor }) => [
      monitor.id,
      { monitor, agentIds, hasOwnSources, parents },
    ]),
  );
  return keys.map(({ tenantId, id }) => {
    const one = found.get(id);
    return one?.monitor.tenantId === tenantId ? one : null;
  });
}

/** Finds a monitor of a tenant with its secrets in clear, for a preview of an edit; null if there is none. */
export async function findWholeMonitor(database: Database, key: RowKey): Promise<WholeMonitor | null> {
  return await inTransaction(database, async (run, client) => {
    // Without one snapshot, the secrets could belong to another target.
    await run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const found = await findMonitor({ pool: client }, key);
    const [row] = await run<{ id: string; sealedSecrets: string | null }>(
      'SELECT id, sealed_secrets AS "sealedSecrets" FROM monitors WHERE id = $1 AND tenant_id = $2',
      [key.id, key.tenantId],
    );
    if (found === null || row === undefined) return null;
    const { monitor, agentIds, parents } = found;
    return { monitor, agentIds, parents, secrets: openSecrets(database, row) };
  });
}

/** A monitor with the fields for statistics; `createdAt` is in Unix seconds. */
export type MeasuredMonitor = Pick<
  Monitor,
  'no' | 'id' | 'type' | 'slaTarget' | 'sla' | 'createdAt' | 'intervalSeconds'
> & { sources: number };

/** Finds a monitor of a tenant, with the fields for statistics; null if there is none. */
export async function findMeasuredMonitor(
  database: Pick<Database, 'pool'>,
  { tenantId, id }: RowKey,
): Promise<MeasuredMonitor | null> {
  const [monitor] = await runOn(database.pool)<MeasuredMonitor>(
    {
      name: 'find-measured-monitor',
      text:
        'SELECT no, id, type, sla_target AS "slaTarget", sla, created_at AS "createdAt", ' +
        'interval_seconds AS "intervalSeconds", ' +
        '(SELECT count(*) FROM monitor_sources s WHERE s.monitor_no = monitors.no) AS sources ' +
        'FROM monitors WHERE id = $1 AND tenant_id = $2',
    },
    [id, tenantId],
  );
  return monitor ?? null;
}

/**
 * Lists a tenant's monitors by creation, then id; `after` is the last one of the previous page. Reads plain rows with
 * only the listed fields: ten thousand records of the mapper take five times as long.
 */
export async function listMonitors(
  database: Database,
  query: { tenantId: string; filter?: MonitorFilter; after?: { createdAt: number; id: string }; limit?: number },
): Promise<ListedMonitor[]> {
  const { type = null, status, enabled = null, q, agentNo = null, tags = [] } = query.filter ?? {};
  const contains = q === undefined ? null : `%${q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return await runOn(database.pool)<ListedMonitor>(
    {
      name: 'list-monitors',
      text: `SELECT ${selectList(LISTED)} FROM monitors
             WHERE tenant_id = $1
               AND ($2::text IS NULL OR type = $2)
               AND ($3::text[] IS NULL OR state = ANY($3))
               AND ($4::boolean IS NULL OR enabled = $4)
               AND ($5::text IS NULL OR name ILIKE $5 OR target ILIKE $5)
               AND ($6::bigint IS NULL OR (created_at, id) > ($6, $7::text))
               AND ($9::int IS NULL OR EXISTS (SELECT 1 FROM monitor_sources s WHERE s.monitor_no = monitors.no
                 AND s.agent_no = $9))
               AND tags @> $10::text[]
             ORDER BY created_at, id LIMIT $8`,
    },
    [
      query.tenantId,
      type,
      status === undefined ? null : statesOf(status),
      enabled,
      contains,
      query.after?.createdAt ?? null,
      query.after?.id ?? null,
      query.limit ?? null,
      agentNo,
      tags,
    ],
  );
}

/** Returns those of `ids` that are vendor monitors of the tenant, which `dependencies` may name. */
export async function listVendorMonitorIds(
  database: Database,
  tenantId: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await runOn(database.pool)<{ id: string }>(
    `SELECT id FROM monitors WHERE id = ANY($1::text[]) AND tenant_id = $2 AND type = 'vendor'`,
    [ids, tenantId],
  );
  return rows.map(({ id }) => id);
}

/** Returns those of `ids` that are monitors of the tenant. */
export async function listOwnMonitorIds(
  database: Database,
  tenantId: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await runOn(database.pool)<{ id: string }>(
    'SELECT id FROM monitors WHERE id = ANY($1::text[]) AND tenant_id = $2',
    [ids, tenantId],
  );
  return rows.map(({ id }) => id);
}

/** Returns the names of those of `ids` that are monitors of the tenant. */
export async function listMonitorNames(
  database: Pick<Database, 'pool'>,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await runOn(database.pool)<{ id: string; name: string }>(
    'SELECT id, name FROM monitors WHERE id = ANY($1::text[]) AND tenant_id = $2',
    [ids, tenantId],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Returns the ids of a tenant's monitors that have all of these tags. */
export async function listTaggedMonitorIds(
  database: Pick<Database, 'pool'>,
  tenantId: string,
  tags: readonly string[],
): Promise<Set<string>> {
  const rows = await runOn(database.pool)<{ id: string }>(
    'SELECT id FROM monitors WHERE tenant_id = $1 AND tags @> $2::text[]',
    [tenantId, tags],
  );
  return new Set(rows.map(({ id }) => id));
}

function statesOf(status: MonitorStatus): MonitorState[] {
  return status === 'pending' ? ['pending', 'unknown'] : [status];
}

/** Returns those of `ids` that are monitors of the tenant, for lists, in no order. */
export async function listMonitorsById(
  database: Database,
  { tenantId, ids }: { tenantId: string; ids: readonly string[] },
): Promise<ListedMonitor[]> {
  return await runOn(database.pool)<ListedMonitor>(
    `SELECT ${selectList(LISTED)} FROM monitors WHERE id = ANY($1::text[]) AND tenant_id = $2`,
    [ids, tenantId],
  );
}
