import { randomBytes } from 'node:crypto';
import type { AuditAction } from '../core/accounts/audit-entry.ts';
import { PLAN_LIMITS } from '../core/accounts/plans.ts';
import { createApiToken, generateToken, isTokenKnown } from '../models/accounts/api-tokens.ts';
import { authorOf, OPERATOR } from '../models/accounts/audit-log.ts';
import { createTenant, listTenants } from '../models/accounts/tenants.ts';
import { createUser, findUserByEmail } from '../models/accounts/users.ts';
import type { Database } from '../models/database.ts';
import type { IdPrefix } from '../models/secrets/ids.ts';
import { hashPassword } from '../models/secrets/password.ts';
import { isFirstStartOver, recordFirstStartOver } from '../models/system/service-marks.ts';

/**
 * What the first start made; token and password are null where the operator gave them, who is not to find them in a
 * log.
 */
export type FirstStart = { token: string | null; email: string; password: string | null };

export type BootstrapOptions = {
  newId: (prefix: IdPrefix) => string;
  nowMs: number;
  /** The name of this cell; null or absent = it has none. */
  cell?: string | null;
  token: string | null;
  password: string | null;
};

/** The tenant, the console user and the token of a first start have these names. */
const TENANT = 'default';
const EMAIL = 'admin@localhost';

/**
 * Makes an empty installation usable: the tenant `default` on the plan `pro`, an operator of the console and a
 * read-write token. Null after the first start, whatever became of these. A first start that was killed half-way is
 * completed by the next.
 */
export async function bootstrap(database: Database, options: BootstrapOptions): Promise<FirstStart | null> {
  const { newId, nowMs } = options;
  if (await isFirstStartOver(database, nowMs)) return null;
  const author = (action: AuditAction) => authorOf(OPERATOR, action, options);
  // Killed after it had made all, and before it could say so.
  if ((await findUserByEmail(database, EMAIL)) !== null) {
    await recordFirstStartOver(database, nowMs);
    return null;
  }
  const tenant = (await listTenants(database)).find(({ name }) => name === TENANT);
  const tenantId =
    tenant?.id ??
    (
      await createTenant(database, {
        id: newId('ten'),
        name: TENANT,
        plan: 'pro',
        nowMs,
        author: author('account.created'),
      })
    )?.id;
  if (tenantId === undefined) return null;
  const token = options.token ?? generateToken('spk', options.cell);
  const password = options.password ?? randomBytes(12).toString('base64url');
  const scopes = ['read' as const, 'write' as const];
  if (!(await isTokenKnown(database, token)))
    await createApiToken(
      database,
      {
        id: newId('tok'),
        tenantId,
        name: 'first start',
        token,
        scopes,
        expiresAt: null,
        nowMs,
        author: author('token.created'),
      },
      PLAN_LIMITS.pro.tokens,
    );
  await createUser(database, {
    id: newId('usr'),
    tenantId,
    email: EMAIL,
    role: 'owner',
    passwordHash: await hashPassword(password),
    isOperator: true,
    nowMs,
    author: author('member.created'),
  });
  await recordFirstStartOver(database, nowMs);
  return {
    token: options.token === null ? token : null,
    email: EMAIL,
    password: options.password === null ? password : null,
  };
}
