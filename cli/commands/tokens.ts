import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { TokenScope } from '../../core/accounts/roles.ts';
import { createApiToken, generateToken, listApiTokens, revokeApiToken } from '../../models/accounts/api-tokens.ts';
import { print, Refusal } from '../output.ts';
import { getTenant, withDatabase } from '../with-database.ts';

/** In how many seconds a token expires. */
export type Expiry = number | 'never';

type CreateOptions = { tenant: string; scopes: TokenScope[]; expires: Expiry; name: string; json?: boolean };

/** `token create`: an API token of a tenant. */
export async function makeToken(options: CreateOptions): Promise<void> {
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

/** `token list`: a tenant's tokens without their values. */
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

/** `token revoke`: ends a token. */
export async function revokeToken(options: { id: string; json?: boolean }): Promise<void> {
  const revoked = await withDatabase(({ database, author, nowMs }) =>
    revokeApiToken(database, { id: options.id, nowMs, author: author('token.revoked') }),
  );
  if (!revoked) throw new Refusal(`No valid token ${options.id} was found`);
  print({ id: options.id, revoked: true }, options);
}
