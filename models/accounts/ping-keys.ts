import { randomBytes } from 'node:crypto';
import { writeToken } from '../../core/accounts/cells.ts';
import { madeWith } from '../../core/accounts/field-changes.ts';
import type { Database } from '../database.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, type Run } from '../sql.ts';
import { recordChange, type Authored } from './audit-log.ts';

/** The key by which an account's heartbeats are pinged by their slugs. `createdAt` is in Unix seconds. */
export type PingKey = { key: string; createdAt: number };

/** Makes a ping key of 32 random bytes. It names the cell that makes it, where that has a name. */
export function generatePingKey(cell: string | null): string {
  return writeToken('spp', cell, randomBytes(32).toString('base64url'));
}

/** What a sealed ping key is bound to. */
export function pingKeyContext(id: string): string {
  return `ping_keys/${id}/key`;
}

/** The ping key of a tenant; null where it has none. */
export async function findPingKey(database: Database, tenantId: string): Promise<PingKey | null> {
  const [row] = await runOn(database.pool)<{ id: string; sealed: string; createdAt: number }>(
    'SELECT id, sealed_key AS sealed, created_at AS "createdAt" FROM ping_keys WHERE tenant_id = $1',
    [tenantId],
  );
  return row === undefined
    ? null
    : { key: database.secrets.open(row.sealed, pingKeyContext(row.id)), createdAt: row.createdAt };
}

/** Gives a tenant a ping key; the one that it had is unknown from then on. `id` is that of the new one. */
export async function replacePingKey(
  database: Database,
  { tenantId, id, key, nowMs, author }: { tenantId: string; id: string; key: string; nowMs: number } & Authored,
): Promise<PingKey> {
  const createdAt = Math.floor(nowMs / 1000);
  await inTransaction(database, async (run) => {
    const name = await lockTenant(run, tenantId);
    await run('DELETE FROM ping_keys WHERE tenant_id = $1', [tenantId]);
    await run(
      'INSERT INTO ping_keys (id, tenant_id, fingerprint, sealed_key, created_at) VALUES ($1, $2, $3, $4, $5)',
      [id, tenantId, fingerprintOf(key), database.secrets.seal(key, pingKeyContext(id)), createdAt],
    );
    await recordChange(run, author, {
      tenantId,
      object: { kind: 'account', id: tenantId, name },
      changes: madeWith({}, { ping_key: key }),
    });
  });
  return { key, createdAt };
}

/** Deletes the ping key of a tenant; false where it has none. */
export async function deletePingKey(
  database: Database,
  { tenantId, author }: { tenantId: string } & Authored,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const name = await lockTenant(run, tenantId);
    const deleted = await run('DELETE FROM ping_keys WHERE tenant_id = $1 RETURNING id', [tenantId]);
    if (deleted.length === 0) return false;
    await recordChange(run, author, { tenantId, object: { kind: 'account', id: tenantId, name } });
    return true;
  });
}

/** Of changes at once each waits for the one before; returns the tenant's name. */
async function lockTenant(run: Run, tenantId: string): Promise<string> {
  const [tenant] = await run<{ name: string }>('SELECT name FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
  return tenant?.name ?? '';
}
