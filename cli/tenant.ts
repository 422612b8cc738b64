import type { Database } from '../models/database.ts';
import { findTenant, type Tenant } from '../models/tenants.ts';
import { Refusal } from './refusal.ts';

/** The tenant that a command names; throws a `Refusal` where there is none of that id. */
export async function getTenant(database: Database, id: string): Promise<Tenant> {
  const tenant = await findTenant(database, id);
  if (tenant === null) throw new Refusal(`There is no tenant ${id}`);
  return tenant;
}
