import { madeWith } from '../core/audit/field-changes.ts';
import type { Plan } from '../core/plans.ts';
import { recordChange } from './audit-log.ts';
import type { Database } from './database.ts';
import { inTransaction, runWith } from './sql.ts';

/** An account. Times are Unix seconds. */
export type Tenant = { id: string; name: string; plan: Plan; createdAt: number };

/** Stores a tenant; null when the name is taken. */
export async function createTenant(
  database: Database,
  tenant: { id: string; name: string; plan: Plan; nowMs: number },
): Promise<Tenant | null> {
  const { id, name, plan, nowMs } = tenant;
  const isCreated = await inTransaction(database, async (transaction) => {
    const run = runWith(database, transaction);
    const rows = await run(
      'INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING ' +
        'RETURNING id',
      [id, name, plan, Math.floor(nowMs / 1000)],
    );
    if (rows.length > 0)
      await recordChange(run, database, {
        tenantId: id,
        object: { kind: 'account', id, name },
        changes: madeWith({ name, plan }),
      });
    return rows.length > 0;
  });
  return isCreated ? await findTenant(database, id) : null;
}

/** A tenant by id; null when there is none. */
export async function findTenant(database: Database, id: string): Promise<Tenant | null> {
  const record = await database.records.tenants.findByPk(id);
  return record === null ? null : record.get({ plain: true });
}

/** Every tenant, by creation. */
export async function listTenants(database: Database): Promise<Tenant[]> {
  const records = await database.records.tenants.findAll({
    order: [
      ['createdAt', 'ASC'],
      ['id', 'ASC'],
    ],
  });
  return records.map((record) => record.get({ plain: true }));
}
