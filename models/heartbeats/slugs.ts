import { randomBytes } from 'node:crypto';
import { compareFields, madeWith, type Author } from '../../core/accounts/audit-entry.ts';
import { writeToken } from '../../core/accounts/cells.ts';
import type { Plan } from '../../core/accounts/plans.ts';
import type { Monitor, MonitorSettings } from '../../core/monitors/monitor.ts';
import { NOTHING, monitorFields, insertAuditEntry, insertAuditEntries, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { requireRoutes } from '../monitors/monitor-changes.ts';
import { monitorOf } from '../monitors/monitor-rows.ts';
import { transactionOn } from '../orm.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { insertHeartbeats } from './heartbeats.ts';

/** Key for pinging an account's heartbeats by slug. `createdAt` is in Unix seconds. */
type PingKey = { key: string; createdAt: number };

/** Makes a ping key of 32 random bytes. It contains the name of its cell, if there is one. */
export function generatePingKey(cell: string | null): string {
  return writeToken('spp', cell, randomBytes(32).toString('base64url'));
}

/** Returns the context that a ping key is sealed with. */
export function pingKeyContext(id: string): string {
  return `ping_keys/${id}/key`;
}

/** Finds the ping key of a tenant; null if it has none. */
export async function findPingKey(database: Database, tenantId: string): Promise<PingKey | null> {
  const [row] = await runOn(database.pool)<{ id: string; sealed: string; createdAt: number }>(
    'SELECT id, sealed_key AS sealed, created_at AS "createdAt" FROM ping_keys WHERE tenant_id = $1',
    [tenantId],
  );
  return row === undefined
    ? null
    : { key: database.secrets.open(row.sealed, pingKeyContext(row.id)), createdAt: row.createdAt };
}

/** Gives a tenant a new ping key, with this `id`; the previous one becomes unknown. */
export async function replacePingKey(
  database: Database,
  { tenantId, id, key, nowMs, author }: RowKey & { key: string; nowMs: number } & Authored,
): Promise<PingKey> {
  const createdAt = Math.floor(nowMs / 1000);
  await inTransaction(database, async (run) => {
    const name = await lockTenant(run, tenantId);
    await run('DELETE FROM ping_keys WHERE tenant_id = $1', [tenantId]);
    await run(
      'INSERT INTO ping_keys (id, tenant_id, fingerprint, sealed_key, created_at) VALUES ($1, $2, $3, $4, $5)',
      [id, tenantId, fingerprintOf(key), database.secrets.seal(key, pingKeyContext(id)), createdAt],
    );
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'account', id: tenantId, name },
      changes: madeWith({}, { ping_key: key }),
    });
  });
  return { key, createdAt };
}

/** Deletes the ping key of a tenant; false if it has none. */
export async function deletePingKey(
  database: Database,
  { tenantId, author }: { tenantId: string } & Authored,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const name = await lockTenant(run, tenantId);
    const deleted = await run('DELETE FROM ping_keys WHERE tenant_id = $1 RETURNING id', [tenantId]);
    if (deleted.length === 0) return false;
    await insertAuditEntry(run, author, { tenantId, object: { kind: 'account', id: tenantId, name } });
    return true;
  });
}

/** Locks a tenant, so that concurrent changes wait for each other; returns its name. */
async function lockTenant(run: Run, tenantId: string): Promise<string> {
  const [tenant] = await run<{ name: string }>('SELECT name FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
  return tenant?.name ?? '';
}

/** A ping key, and the slug of one of its account's heartbeats. */
export type SlugKey = { key: string; slug: string };

/** The account of a ping key, and the token of its heartbeat with the slug; null if it has none with it. */
export type FoundSlug = { tenantId: string; plan: Plan; token: string | null };

/**
 * Finds the account and heartbeat of each key and slug, in order, with one statement; null if no account has the key.
 */
export async function findSlugs(
  { pool }: Pick<Database, 'pool'>,
  keys: readonly SlugKey[],
): Promise<(FoundSlug | null)[]> {
  const rows = await runOn(pool)<FoundSlug & { index: number }>(
    {
      name: 'find-slugs',
      text: `SELECT w.index::int, p.tenant_id AS "tenantId", t.plan, m.check_spec -> 'heartbeat' ->> 'token' AS token
             FROM unnest($1::bytea[], $2::text[]) WITH ORDINALITY AS w (fingerprint, slug, index)
             JOIN ping_keys p ON p.fingerprint = w.fingerprint JOIN tenants t ON t.id = p.tenant_id
             LEFT JOIN heartbeat_slugs s ON s.tenant_id = p.tenant_id AND s.slug = w.slug
             LEFT JOIN monitors m ON m.no = s.monitor_no`,
    },
    [keys.map(({ key }) => fingerprintOf(key)), keys.map(({ slug }) => slug)],
  );
  const found = new Map(rows.map(({ index, ...row }) => [index - 1, row]));
  return keys.map((_, index) => found.get(index) ?? null);
}

/** A heartbeat to create for a slug. `settings` contain its token and its slug. */
export type NewHeartbeat = { id: string; slug: string; settings: MonitorSettings; author: Author };

/**
 * Creates a tenant's missing heartbeats for slugs, in one transaction, each slug once. `limit` is the plan's number of
 * monitors (null = none): no more are created beyond it. Returns the tokens by slug, including existing heartbeats; a
 * missing slug is beyond the limit. A slug has only one heartbeat, even with concurrent calls. Throws `MonitorRefusal`
 * if too many channels would be notified of them.
 */
export async function createHeartbeats(
  database: Database,
  { tenantId, wanted, nowMs }: { tenantId: string; wanted: readonly NewHeartbeat[]; nowMs: number },
  limit: number | null,
): Promise<Map<string, string>> {
  return await inTransaction(database, async (run, client) => {
    // The lock makes concurrent transactions count, and look for slugs, one after the other.
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
    const tokens = await readTokens(run, tenantId, wanted);
    const room = limit === null ? Infinity : limit - (await countMonitors(run, tenantId));
    const made = wanted.filter(({ slug }) => !tokens.has(slug)).slice(0, Math.max(0, room));
    if (made.length === 0) return tokens;
    const now = Math.floor(nowMs / 1000);
    const records = await database.records.monitors.bulkCreate(
      made.map(({ id, settings }) => ({
        id,
        tenantId,
        ...settings,
        sealedSecrets: null,
        awaitsSources: false,
        stateSince: nowMs,
        createdAt: now,
        updatedAt: now,
      })),
      { transaction: transactionOn(database, client), returning: true },
    );
    const monitors = records.map((record) => monitorOf(record.get({ plain: true })));
    await insertHeartbeats(run, monitors, nowMs);
    await insertSources(run, monitors);
    await insertSlugs(run, tenantId, monitors);
    await requireRoutes(run, tenantId);
    const authors = new Map(made.map(({ id, author }) => [id, author]));
    await insertAuditEntries(
      run,
      monitors.map((monitor) => ({
        author: authors.get(monitor.id) ?? null,
        tenantId,
        object: { kind: 'monitor', id: monitor.id, name: monitor.name },
        changes: compareFields(NOTHING, monitorFields(monitor, { agentIds: [], parents: [] }, {})),
      })),
    );
    for (const { slug, settings } of made) tokens.set(slug, settings.checkSpec.heartbeat?.token ?? '');
    return tokens;
  });
}

async function readTokens(
  run: Run,
  tenantId: string,
  wanted: readonly { slug: string }[],
): Promise<Map<string, string>> {
  const rows = await run<{ slug: string; token: string }>(
    `SELECT s.slug, m.check_spec -> 'heartbeat' ->> 'token' AS token
     FROM heartbeat_slugs s JOIN monitors m ON m.no = s.monitor_no
     WHERE s.tenant_id = $1 AND s.slug = ANY($2::text[])`,
    [tenantId, wanted.map(({ slug }) => slug)],
  );
  return new Map(rows.map(({ slug, token }) => [slug, token]));
}

async function countMonitors(run: Run, tenantId: string): Promise<number> {
  const [row] = await run<{ count: number }>('SELECT count(*) FROM monitors WHERE tenant_id = $1', [tenantId]);
  return row?.count ?? 0;
}

/** Inserts the sources of heartbeats: only the service itself, without a slot. */
async function insertSources(run: Run, monitors: readonly Monitor[]): Promise<void> {
  await run(
    `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds)
     SELECT k.no, a.no, k.interval_seconds
     FROM unnest($1::int[], $2::int[]) AS k (no, interval_seconds), agents a WHERE a.kind = 'service'`,
    [monitors.map(({ no }) => no), monitors.map(({ intervalSeconds }) => intervalSeconds)],
  );
}

async function insertSlugs(run: Run, tenantId: string, monitors: readonly Monitor[]): Promise<void> {
  await run(
    `INSERT INTO heartbeat_slugs (tenant_id, slug, monitor_no)
     SELECT $1, slug, no FROM unnest($2::text[], $3::int[]) AS k (slug, no)`,
    [tenantId, monitors.map(({ checkSpec }) => checkSpec.heartbeat?.slug), monitors.map(({ no }) => no)],
  );
}
