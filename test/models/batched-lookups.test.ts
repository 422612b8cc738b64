import test from 'ava';
import { createApiToken, findTokenHolders, generateToken, revokeApiToken } from '../../models/accounts/api-tokens.ts';
import { createTenant } from '../../models/accounts/tenants.ts';
import { findMonitors } from '../../models/monitors/monitors.ts';
import { openTestRuntime } from '../helpers/runtime.ts';

test('monitors looked up in a batch are returned in order, and only to their own account', async (t) => {
  const { database, tenantId, addMonitor } = await openTestRuntime(t);
  const [first, second] = [await addMonitor([]), await addMonitor([])];
  const keys = [
    { tenantId, id: second.id },
    { tenantId: 'ten_other', id: first.id },
    { tenantId, id: first.id },
    { tenantId, id: 'mon_none' },
    { tenantId, id: second.id },
  ];
  const ids = (found: Awaited<ReturnType<typeof findMonitors>>) => found.map((one) => one?.monitor.id ?? null);
  t.deepEqual(ids(await findMonitors(database, keys)), [second.id, null, first.id, null, second.id]);
  t.deepEqual(ids(await findMonitors(database, [{ tenantId: 'ten_other', id: first.id }])), [null]);
  t.deepEqual(await findMonitors(database, keys.slice(2, 3)), (await findMonitors(database, keys)).slice(2, 3));
});

test('tokens looked up in a batch return their own holders, and only valid ones are marked as used', async (t) => {
  const { database, tenantId, newId, now } = await openTestRuntime(t);
  const other = newId('ten');
  await createTenant(database, { id: other, name: other, plan: 'pro', nowMs: now(), author: null });
  const issue = async (owner: string) => {
    const [id, token] = [newId('tok'), generateToken('spk')];
    await createApiToken(
      database,
      { id, tenantId: owner, name: 'x', token, scopes: ['read'], expiresAt: null, nowMs: now(), author: null },
      10,
    );
    return { id, token };
  };
  const [own, others, revoked] = [await issue(tenantId), await issue(other), await issue(tenantId)];
  await revokeApiToken(database, { id: revoked.id, nowMs: now(), author: null });
  const tokens = [others.token, generateToken('spk'), own.token, revoked.token, own.token];
  const holders = await findTokenHolders(database, tokens, now());
  t.deepEqual(
    holders.map((holder) => holder && [holder.tokenId, holder.tenantId]),
    [[others.id, other], null, [own.id, tenantId], null, [own.id, tenantId]],
  );
  const { rows } = await database.pool.query('SELECT id FROM api_tokens WHERE last_used_at IS NOT NULL ORDER BY id');
  t.deepEqual(
    rows.map(({ id }) => id),
    [own.id, others.id].toSorted(),
  );
});
