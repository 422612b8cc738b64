import { InvalidArgumentError } from 'commander';
import { findTenant, type Tenant } from '../models/accounts/tenants.ts';
import type { Database } from '../models/database.ts';
import { Refusal } from './output.ts';

/** The tenant that a command names; throws a `Refusal` where there is none of that id. */
export async function getTenant(database: Database, id: string): Promise<Tenant> {
  const tenant = await findTenant(database, id);
  if (tenant === null) throw new Refusal(`There is no tenant ${id}`);
  return tenant;
}

/** Reads the name of something that a tenant has, as one line: 1 to 255 characters that are not only blanks. */
export function parseName(text: string): string {
  if (text.trim() === '' || text.length > 255 || /\p{Cc}/u.test(text))
    throw new InvalidArgumentError('Expected 1 to 255 characters, none of them a control character.');
  return text;
}
