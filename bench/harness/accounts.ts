import { generateToken } from '../../models/accounts/api-tokens.ts';
import { createChannel } from '../../models/alerts/channels.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { runOn } from '../../models/sql.ts';
import type { Installation } from './installation.ts';
import { monitorId } from './monitors.ts';

/** An account with its tokens and the numbers of its monitors, `first` to `last`. */
export type Account = { tokens: string[]; first: number; last: number };

/** Distributes monitors 1 to n evenly over accounts of the largest plan, each with its own tokens. */
export async function spreadOverAccounts(
  { database }: Installation,
  { monitors, accounts, tokensEach }: { monitors: number; accounts: number; tokensEach: number },
): Promise<Account[]> {
  const run = runOn(database.pool);
  const share = Math.ceil(monitors / accounts);
  const spread: Account[] = [];
  for (let index = 0; index < accounts; index += 1) {
    const [first, last] = [1 + index * share, Math.min(monitors, (index + 1) * share)];
    const tenantId = `ten_bench${index}`;
    await run(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
    const tokens = await addTokens({ database, tenantId }, tokensEach);
    await run('UPDATE monitors SET tenant_id = $1 WHERE id BETWEEN $2 AND $3', [
      tenantId,
      monitorId(first),
      monitorId(last),
    ]);
    spread.push({ tokens, first, last });
  }
  await database.pool.query('VACUUM ANALYZE monitors');
  return spread;
}

/** Adds tokens that may read and write to an account, regardless of the limit of its plan. */
export async function addTokens(
  { database, tenantId }: Pick<Installation, 'database' | 'tenantId'>,
  count: number,
): Promise<string[]> {
  const tokens = Array.from({ length: count }, () => generateToken('spk'));
  await runOn(database.pool)(
    `INSERT INTO api_tokens (id, tenant_id, name, fingerprint, scopes, created_at)
     SELECT 'tok_' || $1 || i, $1, 'bench', fingerprint, '{read,write}', 0 FROM unnest($2::bytea[])
       WITH ORDINALITY AS f (fingerprint, i)`,
    [tenantId, tokens.map(fingerprintOf)],
  );
  return tokens;
}

/** Gives each account of `spreadOverAccounts` a channel of each type for all of its monitors. */
export async function addChannels(
  { database }: Pick<Installation, 'database'>,
  { accounts, types }: { accounts: number; types: readonly ('webhook' | 'slack')[] },
): Promise<void> {
  const newId = createIdSource();
  for (let index = 0; index < accounts; index += 1)
    for (const type of types)
      await createChannel(database, {
        id: newId('nch'),
        tenantId: `ten_bench${index}`,
        type,
        name: 'On call',
        status: 'connected',
        allMonitors: true,
        monitorIds: [],
        ...(type === 'webhook' && { webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' } }),
        nowMs: Date.now() - 3_600_000,
        author: null,
      });
}
