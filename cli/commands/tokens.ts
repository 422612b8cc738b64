import { InvalidArgumentError, type Command } from 'commander';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { TokenScope } from '../../core/accounts/roles.ts';
import { createApiToken, generateToken, listApiTokens, revokeApiToken } from '../../models/accounts/api-tokens.ts';
import { print, Refusal } from '../output.ts';
import { getTenant, parseName, type WithDatabase } from '../with-database.ts';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** In how many seconds a token expires. */
type Expiry = number | 'never';

type CreateOptions = { tenant: string; scopes: TokenScope[]; expires: Expiry; name: string; json?: boolean };

/** Adds `token create`, `token list` and `token revoke`. */
export function addTokenCommands(program: Command, withDatabase: WithDatabase): void {
  const token = program.command('token').description('API tokens');
  token
    .command('create')
    .description('create an API token; it is shown once')
    .requiredOption('--tenant <id>', 'whose token')
    .option('--scopes <list>', 'read, or read,write', parseScopes, ['read', 'write'])
    .option('--expires <duration>', 'such as 12h, 90d or never', parseExpiry, 'never')
    .option('--name <name>', 'what it is for', parseName, 'Created on the command line')
    .option('--json', 'print JSON')
    .action(async (options: CreateOptions) => {
      print(await makeToken(options, withDatabase), options);
    });
  token
    .command('list')
    .description("a tenant's tokens, without their values")
    .requiredOption('--tenant <id>', 'whose tokens')
    .option('--json', 'print JSON')
    .action(async (options: { tenant: string; json?: boolean }) => {
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
    });
  token
    .command('revoke')
    .description('end a token at once')
    .requiredOption('--id <id>', 'the token')
    .option('--json', 'print JSON')
    .action(async (options: { id: string; json?: boolean }) => {
      const revoked = await withDatabase(({ database, author, nowMs }) =>
        revokeApiToken(database, { id: options.id, nowMs, author: author('token.revoked') }),
      );
      if (!revoked) throw new Refusal(`There is no usable token ${options.id}`);
      print({ id: options.id, revoked: true }, options);
    });
}

async function makeToken(
  { tenant: tenantId, scopes, expires, name }: CreateOptions,
  withDatabase: WithDatabase,
): Promise<Record<string, unknown>> {
  return await withDatabase(async ({ database, author, newId, nowMs }) => {
    const tenant = await getTenant(database, tenantId);
    const token = generateToken('spk');
    const expiresAt = expires === 'never' ? null : Math.floor(nowMs / 1000) + expires;
    const limit = PLAN_LIMITS[tenant.plan].tokens;
    const created = await createApiToken(
      database,
      { id: newId('tok'), tenantId, name, token, scopes, expiresAt, nowMs, author: author('token.created') },
      limit,
    );
    if (created === null)
      throw new Refusal(
        `The plan ${tenant.plan} allows ${limit} API tokens, and ${tenantId} has as many: revoke one first`,
      );
    return { id: created.id, token, scopes, expires_at: expiresAt };
  });
}

function parseScopes(text: string): TokenScope[] {
  const scopes = [...new Set(text.split(',').map((scope) => scope.trim()))].toSorted();
  if (scopes.join(',') !== 'read' && scopes.join(',') !== 'read,write')
    throw new InvalidArgumentError('A token has read, or read,write.');
  return scopes as TokenScope[];
}

/** Never null, for which Commander puts an empty text. */
function parseExpiry(text: string): Expiry {
  if (text === 'never') return text;
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhdw])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Expected a duration such as 12h or 90d, or never.');
  return Number(count) * (UNIT_SECONDS[unit] ?? 0);
}
