import { randomBytes } from 'node:crypto';
import type { AuditAction } from '../../core/accounts/audit-entry.ts';
import { PLAN_LIMITS, type Plan } from '../../core/accounts/plans.ts';
import type { TokenScope } from '../../core/accounts/roles.ts';
import {
  createApiToken,
  generateToken,
  isTokenKnown,
  listApiTokens,
  revokeApiToken,
} from '../../models/accounts/api-tokens.ts';
import { OPERATOR, systemAuthorOf } from '../../models/accounts/audit-log.ts';
import { createTenant, listTenants } from '../../models/accounts/tenants.ts';
import { createAccount, createUser, findUserByEmail, resetAccess, setOperator } from '../../models/accounts/users.ts';
import type { Database } from '../../models/database.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { isFirstStartOver, recordFirstStartOver } from '../../models/system/service-marks.ts';
import { Refusal, print } from '../output.ts';
import { getTenant, withDatabase } from '../with-database.ts';

type CreateOptions = { name: string; plan: Plan; email?: string; json?: boolean };

/** `tenant create`: creates an account, and its first console user. */
export async function makeTenant(options: CreateOptions): Promise<void> {
  const { name, plan } = options;
  const email = options.email ?? `admin@${name.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')}`;
  const made = await withDatabase(async ({ database, author, newId, nowMs }) => {
    const [id, userId, password] = [newId('ten'), newId('usr'), randomBytes(12).toString('base64url')];
    const tenant = { id, name, plan, nowMs, author: author('account.created') };
    // An account without a user that can sign in would be useless.
    const user = {
      id: userId,
      tenantId: id,
      email,
      role: 'owner' as const,
      passwordHash: await hashPassword(password),
      isOperator: false,
      nowMs,
      author: author('member.created'),
    };
    const outcome = await createAccount(database, { tenant, user });
    if (outcome === 'name_taken') throw new Refusal(`A tenant named "${name}" already exists`);
    if (outcome === 'address_taken')
      throw new Refusal(`${email} already has an account: choose another address with --email`);
    return { id, name, plan, user: { id: userId, email, password } };
  });
  print(made, options);
}

/** `tenant list`: prints all accounts. */
export async function printTenants(options: { json?: boolean }): Promise<void> {
  const tenants = await withDatabase(({ database }) => listTenants(database));
  print(
    tenants.map(({ id, name, plan, createdAt }) => ({ id, name, plan, created_at: createdAt })),
    options,
  );
}

/** `user reset`: sets a new password for a user who lost access. */
export async function resetUser(options: { email: string; json?: boolean }): Promise<void> {
  const email = options.email.trim();
  const access = await withDatabase(async ({ database, author, nowMs }) => {
    const user = await findUserByEmail(database, email);
    if (user === null) throw unknownUser(email);
    const password = randomBytes(12).toString('base64url');
    const reset = await resetAccess(database, {
      userId: user.id,
      passwordHash: await hashPassword(password),
      nowMs,
      author: author('member.reset'),
    });
    if (reset === null) throw unknownUser(email);
    return {
      id: user.id,
      email: user.email,
      password,
      second_factor_removed: reset.secondFactorRemoved,
      ended_sessions: reset.endedSessions,
    };
  });
  print(access, options);
}

/** `user operator`: makes a user an operator of the installation, or revokes that. */
export async function changeOperator(options: { email: string; revoke?: boolean; json?: boolean }): Promise<void> {
  const email = options.email.trim();
  const isOperator = options.revoke !== true;
  const operator = await withDatabase(async ({ database, author }) => {
    const user = await findUserByEmail(database, email);
    const changed =
      user && (await setOperator(database, { id: user.id, isOperator, author: author('member.changed') }));
    if (changed === null) throw unknownUser(email);
    return { id: changed.id, email: changed.email, operator: changed.isOperator };
  });
  print(operator, options);
}

function unknownUser(email: string): Refusal {
  return new Refusal(`No console user with the email address ${JSON.stringify(email)} was found`);
}

/** Seconds until a token expires. */
export type Expiry = number | 'never';

type TokenOptions = { tenant: string; scopes: TokenScope[]; expires: Expiry; name: string; json?: boolean };

/** `token create`: creates an API token of a tenant. */
export async function makeToken(options: TokenOptions): Promise<void> {
  const { tenant: tenantId, scopes, expires, name } = options;
  const made = await withDatabase(async ({ database, author, environment, newId, nowMs }) => {
    const tenant = await getTenant(database, tenantId);
    const token = generateToken('spk', environment.cell);
    const expiresAt = expires === 'never' ? null : Math.floor(nowMs / 1000) + expires;
    const limit = PLAN_LIMITS[tenant.plan].tokens;
    const created = await createApiToken(
      database,
      { id: newId('tok'), tenantId, name, token, scopes, expiresAt, nowMs, author: author('token.created') },
      limit,
    );
    if (created === null)
      throw new Refusal(
        `The ${tenant.plan} plan allows at most ${limit} API tokens, and ${tenantId} has reached the limit: revoke ` +
          'one first',
      );
    return { id: created.id, token, scopes, expires_at: expiresAt };
  });
  print(made, options);
}

/** `token list`: prints a tenant's tokens without their values. */
export async function printTokens(options: { tenant: string; json?: boolean }): Promise<void> {
  const tokens = await withDatabase(async ({ database }) =>
    listApiTokens(database, (await getTenant(database, options.tenant)).id),
  );
  print(
    tokens.map(({ id, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt }) => ({
      id,
      name,
      scopes,
      created_at: createdAt,
      expires_at: expiresAt,
      revoked_at: revokedAt,
      last_used_at: lastUsedAt,
    })),
    options,
  );
}

/** `token revoke`: revokes a token. */
export async function revokeToken(options: { id: string; json?: boolean }): Promise<void> {
  const revoked = await withDatabase(({ database, author, nowMs }) =>
    revokeApiToken(database, { id: options.id, nowMs, author: author('token.revoked') }),
  );
  if (!revoked) throw new Refusal(`No valid token ${options.id} was found`);
  print({ id: options.id, revoked: true }, options);
}

/**
 * Credentials of the first start; token and password are null if the operator set them, because they must not appear in
 * a log.
 */
export type FirstStart = { token: string | null; email: string; password: string | null };

type BootstrapOptions = {
  newId: (prefix: IdPrefix) => string;
  nowMs: number;
  /** The name of this cell; null or absent if it has none. */
  cell?: string | null;
  token: string | null;
  password: string | null;
};

/** Names of the first start's tenant, token and console user. */
const TENANT = 'default';
const TOKEN = 'first start';
const EMAIL = 'admin@localhost';

/**
 * Makes an empty installation usable: the tenant `default` on the plan `pro`, an operator of the console and a
 * read-write token. The first start is over once the caller has printed the result and calls `recordFirstStartOver`.
 * Until then each start completes the previous one, and makes another token and password, because a kill may have
 * prevented printing them. Null after that, even if the tenant, user or token was deleted.
 */
export async function bootstrap(database: Database, options: BootstrapOptions): Promise<FirstStart | null> {
  const { newId, nowMs } = options;
  if (await isFirstStartOver(database, nowMs)) return null;
  const user = await findUserByEmail(database, EMAIL);
  if (user !== null && user.lastSignedInAt !== null) {
    await recordFirstStartOver(database, nowMs);
    return null;
  }
  const author = (action: AuditAction) => systemAuthorOf(OPERATOR, action, options);
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
  if (!(await isTokenKnown(database, token))) {
    const created = { id: newId('tok'), tenantId, name: TOKEN, token, expiresAt: null, nowMs };
    const create = () =>
      createApiToken(
        database,
        { ...created, scopes: ['read', 'write'], author: author('token.created') },
        PLAN_LIMITS.pro.tokens,
      );
    // Tokens that a killed start may have printed stay valid as long as there is room for another.
    if ((await create()) === null) {
      await revokeUnused(database, tenantId, options);
      await create();
    }
  }
  const password = options.password ?? randomBytes(12).toString('base64url');
  const passwordHash = await hashPassword(password);
  if (user === null)
    await createUser(database, {
      id: newId('usr'),
      tenantId,
      email: EMAIL,
      role: 'owner',
      passwordHash,
      isOperator: true,
      nowMs,
      author: author('member.created'),
    });
  else await resetAccess(database, { userId: user.id, passwordHash, nowMs, author: author('member.reset') });
  // There is nothing to print.
  if (options.token !== null && options.password !== null) await recordFirstStartOver(database, nowMs);
  return {
    token: options.token === null ? token : null,
    email: EMAIL,
    password: options.password === null ? password : null,
  };
}

/** Revokes the unused tokens of first starts that were killed. */
async function revokeUnused(database: Database, tenantId: string, options: BootstrapOptions): Promise<void> {
  for (const { id, name, lastUsedAt } of await listApiTokens(database, tenantId)) {
    if (name !== TOKEN || lastUsedAt !== null) continue;
    await revokeApiToken(database, {
      id,
      nowMs: options.nowMs,
      author: systemAuthorOf(OPERATOR, 'token.revoked', options),
    });
  }
}
