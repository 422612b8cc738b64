import { randomBytes } from 'node:crypto';
import { PLAN_LIMITS } from '../core/plans.ts';
import { createApiToken, findTokenHolder, generateToken } from '../models/api-tokens.ts';
import type { AuditAction } from '../core/audit/entry.ts';
import { authorOf, OPERATOR } from '../models/audit-log.ts';
import type { Database } from '../models/database.ts';
import type { IdPrefix } from '../models/ids.ts';
import { hashPassword } from '../models/password.ts';
import { createTenant, listTenants } from '../models/tenants.ts';
import { createUser, findUserByEmail } from '../models/users.ts';

/** What the first start made, shown once. */
export type FirstStart = { token: string; email: string; password: string };

export type BootstrapOptions = { newId: (prefix: IdPrefix) => string; nowMs: number; token: string | null; password: string | null };

/** The tenant, the console user and the token of a first start have these names. */
const TENANT = 'default';
const EMAIL = 'admin@localhost';

/**
 * Makes an empty installation usable: the tenant `default` on the plan `pro`, an operator of the console and a read-write token. Null
 * where there is a tenant already. A first start that was killed half-way is completed by the next.
 */
export async function bootstrap(database: Database, options: BootstrapOptions): Promise<FirstStart | null> {
  const tenants = await listTenants(database);
  const tenant = tenants.find(({ name }) => name === TENANT);
  if (tenants.length > 0 && (tenant === undefined || (await findUserByEmail(database, EMAIL)) !== null)) return null;
  const { newId, nowMs } = options;
  const recordedAs = (action: AuditAction): Database => ({ ...database, author: authorOf(OPERATOR, action, options) });
  const tenantId = tenant?.id ?? (await createTenant(recordedAs('account.created'), { id: newId('ten'), name: TENANT, plan: 'pro', nowMs }))?.id;
  if (tenantId === undefined) return null;
  const token = options.token ?? generateToken('spk');
  const password = options.password ?? randomBytes(12).toString('base64url');
  const scopes = ['read' as const, 'write' as const];
  const isStored = options.token !== null && (await findTokenHolder(database, options.token, nowMs)) !== null;
  if (!isStored) await createApiToken(recordedAs('token.created'), { id: newId('tok'), tenantId, name: 'first start', token, scopes, expiresAt: null, nowMs }, PLAN_LIMITS.pro.tokens);
  // The user comes last: its row is what says that the first start is complete.
  await createUser(recordedAs('member.created'), { id: newId('usr'), tenantId, email: EMAIL, role: 'owner', passwordHash: await hashPassword(password), isOperator: true, nowMs });
  return { token, email: EMAIL, password };
}
