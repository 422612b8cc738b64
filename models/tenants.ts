import type { Plan } from '../core/plans.ts';
import type { Database } from './database.ts';
import { runWith } from './sql.ts';

/** An account. Times are Unix seconds. */
export type Tenant = { id: string; name: string; plan: Plan; createdAt: number };

/** Stores a tenant; null when the name is taken. */
export async function createTenant(database: Database, tenant: { id: string; name: string; plan: Plan; nowMs: number }): Promise<Tenant | null> {
  const rows = await runWith(database)<{ id: string }>(
    'INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING RETURNING id',
    [tenant.id, tenant.name, tenant.plan, Math.floor(tenant.nowMs / 1000)],
  );
  return rows.length === 0 ? null : await findTenant(database, tenant.id);
}

/** A tenant by id; null when there is none. */
export async function findTenant(database: Database, id: string): Promise<Tenant | null> {
  const record = await database.records.tenants.findByPk(id);
  return record === null ? null : record.get({ plain: true });
}

/** Every tenant, by creation. */
export async function listTenants(database: Database): Promise<Tenant[]> {
  const records = await database.records.tenants.findAll({ order: [['createdAt', 'ASC'], ['id', 'ASC']] });
  return records.map((record) => record.get({ plain: true }));
}
