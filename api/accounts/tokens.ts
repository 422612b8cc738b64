import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { TokenScope } from '../../core/accounts/roles.ts';
import { DAY_MS } from '../../core/time.ts';
import {
  createApiToken,
  generateToken,
  listRecentTokens,
  revokeTenantToken,
  type ApiToken,
} from '../../models/accounts/api-tokens.ts';
import { badRequest, notFound, requirePlainName } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** Time that an ended token is still listed. */
const ENDED_MS = 30 * DAY_MS;

/** `GET /tokens` */
export function listTokensHandler({ database, now }: Parts<'database' | 'now'>): Handler<'listTokens'> {
  return async (_request, response) => {
    const tokens = await listRecentTokens(database, callerOf(response).tenantId, now() - ENDED_MS);
    response.json({ tokens: tokens.map(presentToken) });
  };
}

/** `POST /tokens`: besides the command line, the only place that shows a token. */
export function createTokenHandler({
  database,
  makeId,
  now,
  rateLimits,
  config,
}: Parts<'database' | 'makeId' | 'now' | 'rateLimits' | 'config'>): Handler<'createToken'> {
  return async (request, response) => {
    const { tenantId, plan } = callerOf(response);
    const { name, scopes, expires_at: expiresAt = null } = request.body;
    const nowMs = now();
    if (expiresAt !== null && expiresAt <= nowMs / 1000)
      throw badRequest(`expires_at must be in the future, in Unix seconds, got ${expiresAt}`);
    await rateLimits.take('token', tenantId);
    const granted = readScopes(scopes);
    // The prefix shows people, and scanners for leaked secrets, how much a token can do.
    const token = generateToken(granted.includes('wall') ? 'spw' : 'spk', config.cell);
    const limit = PLAN_LIMITS[plan].tokens;
    const created = await createApiToken(
      database,
      {
        author: authorOf(response),
        id: makeId('tok'),
        tenantId,
        name: requirePlainName('name', name),
        token,
        scopes: granted,
        expiresAt,
        nowMs,
      },
      limit,
    );
    if (created === null)
      throw badRequest(
        `the ${plan} plan allows at most ${limit} API tokens, and this account has reached the limit: revoke one first`,
      );
    // The response contains the token: no cache on the way may store it.
    response.setHeader('Cache-Control', 'no-store');
    response.status(201).json({ ...presentToken(created), token });
  };
}

/** `DELETE /tokens/{id}` */
export function revokeTokenHandler({ database, now }: Parts<'database' | 'now'>): Handler<'revokeToken'> {
  return async (request, response) => {
    const id = idOf(request);
    if (
      !(await revokeTenantToken(database, {
        tenantId: callerOf(response).tenantId,
        id,
        nowMs: now(),
        author: authorOf(response),
      }))
    )
      throw notFound('token', id);
    response.status(204).end();
  };
}

/** The scope `write` includes `read`; `wall` cannot be combined with either. */
function readScopes(scopes: readonly TokenScope[]): TokenScope[] {
  if (scopes.includes('wall')) {
    if (scopes.every((scope) => scope === 'wall')) return ['wall'];
    throw badRequest(`scopes must be ["wall"] alone, or must not include wall, got ${JSON.stringify(scopes)}`);
  }
  if (!scopes.includes('read')) throw badRequest('scopes must be ["read"] or ["read", "write"], got ["write"]');
  return scopes.includes('write') ? ['read', 'write'] : ['read'];
}

function presentToken({
  id,
  name,
  scopes,
  createdAt,
  expiresAt,
  revokedAt,
  lastUsedAt,
}: ApiToken): components['schemas']['ApiToken'] {
  return {
    id,
    name,
    scopes,
    created_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
    last_used_at: lastUsedAt,
  };
}
