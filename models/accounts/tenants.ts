import { compareFields, madeWith } from '../../core/accounts/audit-entry.ts';
import type { Plan } from '../../core/accounts/plans.ts';
import { CANARY } from '../../core/system/canary.ts';
import type { Database } from '../database.ts';
import { sequelize } from '../orm.ts';
import { inTransaction, runOn, sqlStateOf, type Run } from '../sql.ts';
import { insertAuditEntry, type Authored } from './audit-log.ts';

/** An account. Times are Unix seconds. */
export type Tenant = { id: string; name: string; plan: Plan; createdAt: number };

export type NewTenant = { id: string; name: string; plan: Plan; nowMs: number };

/** Stores a tenant; null if the name is taken. */
export async function createTenant(database: Database, tenant: NewTenant & Authored): Promise<Tenant | null> {
  const isCreated = await inTransaction(database, (run) => createTenantBy(run, tenant));
  return isCreated ? await findTenant(database, tenant.id) : null;
}

/** Stores a tenant in the caller's transaction; false if the name is taken. */
export async function createTenantBy(
  run: Run,
  { id, name, plan, nowMs, author }: NewTenant & Authored,
): Promise<boolean> {
  const rows = await run(
    'INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING ' +
      'RETURNING id',
    [id, name, plan, Math.floor(nowMs / 1000)],
  );
  if (rows.length === 0) return false;
  await insertAuditEntry(run, author, {
    tenantId: id,
    object: { kind: 'account', id, name },
    changes: madeWith({ name, plan }),
  });
  return true;
}

/** Finds a tenant by id; null if there is none, or it is the service's own. */
export async function findTenant(database: Database, id: string): Promise<Tenant | null> {
  if (id === CANARY.tenantId) return null;
  const record = await database.records.tenants.findByPk(id);
  return record === null ? null : record.get({ plain: true });
}

/** Reports whether the installation has no other tenant than this one and the service's own. */
export async function isOnlyTenant({ pool }: Pick<Database, 'pool'>, id: string): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT 1 FROM tenants WHERE id NOT IN ($1, $2) LIMIT 1', [
    id,
    CANARY.tenantId,
  ]);
  return rowCount === 0;
}

/** Lists all tenants except the service's own, by creation. */
export async function listTenants(database: Database): Promise<Tenant[]> {
  const { Op } = sequelize();
  const records = await database.records.tenants.findAll({
    where: { id: { [Op.ne]: CANARY.tenantId } },
    order: [
      ['createdAt', 'ASC'],
      ['id', 'ASC'],
    ],
  });
  return records.map((record) => record.get({ plain: true }));
}

/** SQLSTATE of a value that violates a unique index. */
const UNIQUE_VIOLATION = '23505';

/** Renames a tenant; false, and changes nothing, if another tenant has the name. */
export async function renameTenant(
  database: Pick<Database, 'pool'>,
  { id, name, author }: { id: string; name: string } & Authored,
): Promise<boolean> {
  try {
    await inTransaction(database, async (run) => {
      const [before] = await run<{ name: string }>('SELECT name FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [id]);
      await run('UPDATE tenants SET name = $2 WHERE id = $1', [id, name]);
      await insertAuditEntry(run, author, {
        tenantId: id,
        object: { kind: 'account', id, name },
        changes: compareFields({ fields: { name: before?.name } }, { fields: { name } }),
      });
    });
    return true;
  } catch (error) {
    // Only the index detects that two accounts take one name concurrently.
    if (sqlStateOf(error) === UNIQUE_VIOLATION) return false;
    throw error;
  }
}

/** Usage of an account, including objects that plans do not limit. */
type Usage = { monitors: number; ownAgents: number; tokens: number; channels: number; members: number };

/** Counts an account's objects as the limits do (D-60): tokens that are valid, agents that are not revoked. */
export async function countUsage(database: Pick<Database, 'pool'>, tenantId: string, nowMs: number): Promise<Usage> {
  const [row] = await runOn(database.pool)<{
    monitors: number;
    own_agents: number;
    tokens: number;
    channels: number;
    members: number;
  }>(
    `SELECT (SELECT count(*) FROM monitors WHERE tenant_id = $1) AS monitors,
            (SELECT count(*) FROM agents WHERE tenant_id = $1 AND revoked_at IS NULL) AS own_agents,
            (SELECT count(*) FROM api_tokens WHERE tenant_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL
              OR expires_at > $2)) AS tokens,
            (SELECT count(*) FROM channels WHERE tenant_id = $1) AS channels,
            (SELECT count(*) FROM users WHERE tenant_id = $1) AS members`,
    [tenantId, Math.floor(nowMs / 1000)],
  );
  if (row === undefined) throw new Error('Counting answered nothing');
  return {
    monitors: row.monitors,
    ownAgents: row.own_agents,
    tokens: row.tokens,
    channels: row.channels,
    members: row.members,
  };
}
