import type { Plan } from '../core/plans.ts';
import type { Database } from './database.ts';
import { runWith } from './sql.ts';

/** An account. Times are Unix seconds. */
export type Tenant = { id: string; name: string; plan: Plan; createdAt: number };

/** A person who signs in to the console. `passwordHash` is in the form of models/password.ts. */
export type User = { id: string; tenantId: string; email: string; passwordHash: string; isOperator: boolean; createdAt: number };

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

/** Stores a console user; null when the e-mail address is taken. */
export async function createUser(
  database: Database,
  user: { id: string; tenantId: string; email: string; passwordHash: string; isOperator: boolean; nowMs: number },
): Promise<User | null> {
  const rows = await runWith(database)<{ id: string }>(
    `INSERT INTO users (id, tenant_id, email, password_hash, is_operator, created_at) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (email) DO NOTHING RETURNING id`,
    [user.id, user.tenantId, user.email, user.passwordHash, user.isOperator, Math.floor(user.nowMs / 1000)],
  );
  return rows.length === 0 ? null : await findUserByEmail(database, user.email);
}

/** A console user by e-mail address; null when there is none. */
export async function findUserByEmail(database: Database, email: string): Promise<User | null> {
  const record = await database.records.users.findOne({ where: { email } });
  return record === null ? null : record.get({ plain: true });
}
