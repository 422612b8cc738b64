import { randomBytes } from 'node:crypto';
import type { InferAttributes, WhereOptions } from 'sequelize';
import { madeWith } from '../../core/accounts/audit-entry.ts';
import { writeToken } from '../../core/accounts/cells.ts';
import type { Plan } from '../../core/accounts/plans.ts';
import type { TokenScope } from '../../core/accounts/roles.ts';
import type { Database } from '../database.ts';
import { sequelize, transactionOn, type ApiTokenRecord } from '../orm.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';
import { inTransaction } from '../sql.ts';
import { insertAuditEntry, type Authored } from './audit-log.ts';
import { requireOwner } from './users.ts';

/** The account and rights that a valid token grants. */
export type TokenHolder = { tokenId: string; tokenName: string; tenantId: string; plan: Plan; scopes: TokenScope[] };

/** A token as its owner sees it. Times are Unix seconds; null = never. */
export type ApiToken = {
  id: string;
  tenantId: string;
  name: string;
  scopes: TokenScope[];
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
};

/** Minimum time between two writes of `last_used_at`, in seconds. */
const LAST_USE_SECONDS = 60;

/**
 * Makes a secret token of 32 random bytes, which is never stored. It contains the name of its cell, if there is one.
 */
export function generateToken(prefix: 'spk' | 'spa' | 'spw', cell: string | null = null): string {
  return writeToken(prefix, cell, randomBytes(32).toString('base64url'));
}

/**
 * Stores a token under its fingerprint. `limit` is the plan's number of usable tokens (D-60); at the limit nothing is
 * stored and null is returned. Throws `NoOwner`.
 */
export async function createApiToken(
  database: Database,
  token: {
    id: string;
    tenantId: string;
    name: string;
    token: string;
    scopes: TokenScope[];
    expiresAt: number | null;
    nowMs: number;
  } & Authored,
  limit: number,
): Promise<ApiToken | null> {
  const now = Math.floor(token.nowMs / 1000);
  return await inTransaction(database, async (run, client) => {
    await run('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [token.tenantId]);
    await requireOwner(run, token.author, token.tenantId);
    const [usable] = await run<{ count: number }>(
      'SELECT count(*) FROM api_tokens WHERE tenant_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR ' +
        'expires_at > $2)',
      [token.tenantId, now],
    );
    if ((usable?.count ?? 0) >= limit) return null;
    const { id, tenantId, name, scopes, expiresAt, author } = token;
    const record = await database.records.apiTokens.create(
      { id, tenantId, name, fingerprint: fingerprintOf(token.token), scopes, expiresAt, createdAt: now },
      { transaction: transactionOn(database, client), returning: true },
    );
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'token', id, name },
      changes: madeWith({ name, scopes, expires_at: expiresAt }, { token: token.token }),
    });
    return { id, tenantId, name, scopes, createdAt: record.createdAt, expiresAt, revokedAt: null, lastUsedAt: null };
  });
}

/** Reports whether a token was ever stored, valid or not. */
export async function isTokenKnown({ pool }: Pick<Database, 'pool'>, token: string): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT 1 FROM api_tokens WHERE fingerprint = $1', [fingerprintOf(token)]);
  return rowCount === 1;
}

type HolderRow = {
  fingerprint: Buffer;
  id: string;
  name: string;
  tenant_id: string;
  plan: Plan;
  scopes: TokenScope[];
  last_used_at: number | null;
};

/**
 * Finds the holder of each of these tokens, in order, with one statement; null for tokens that are unknown, expired or
 * revoked. Records their use, at most once a minute.
 */
export async function findTokenHolders(
  { pool }: Pick<Database, 'pool'>,
  tokens: readonly string[],
  nowMs: number,
): Promise<(TokenHolder | null)[]> {
  const now = Math.floor(nowMs / 1000);
  const fingerprints = tokens.map(fingerprintOf);
  // PostgreSQL reuses the plan for a single token, but makes a new one for each number of many.
  const [name, match, keys] =
    fingerprints.length === 1
      ? ['find-token-holder', '= $1', fingerprints[0]]
      : ['find-token-holders', '= ANY($1::bytea[])', fingerprints];
  const { rows } = await pool.query<HolderRow>({
    name,
    text: `SELECT t.fingerprint, t.id, t.name, t.tenant_id, n.plan, t.scopes, t.last_used_at FROM api_tokens t
        JOIN tenants n ON n.id = t.tenant_id
           WHERE t.fingerprint ${match} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > $2)`,
    values: [keys, now],
  });
  const used = rows
    .filter((row) => row.last_used_at === null || now - row.last_used_at >= LAST_USE_SECONDS)
    .map(({ id }) => id);
  if (used.length > 0) await updateLastUsed(pool, used, now);
  const holders = new Map(rows.map((row) => [row.fingerprint.toString('hex'), holderOf(row)]));
  return fingerprints.map((fingerprint) => holders.get(fingerprint.toString('hex')) ?? null);
}

/**
 * Updates the last use of tokens, skipping rows that another process updates: two updates of many rows would wait for
 * each other.
 */
async function updateLastUsed(pool: Database['pool'], ids: readonly string[], now: number): Promise<void> {
  await pool.query(
    'UPDATE api_tokens SET last_used_at = $2 WHERE id IN (SELECT id FROM api_tokens WHERE id = ANY($1::text[]) ' +
      'FOR NO KEY UPDATE SKIP LOCKED)',
    [ids, now],
  );
}

function holderOf(row: HolderRow): TokenHolder {
  return { tokenId: row.id, tokenName: row.name, tenantId: row.tenant_id, plan: row.plan, scopes: row.scopes };
}

type Revocation = { id: string; nowMs: number } & Authored;

/** Revokes a token; false if there is no unrevoked one with this id. */
export async function revokeApiToken(database: Database, revocation: Revocation): Promise<boolean> {
  return await revoke(database, { id: revocation.id, revokedAt: null }, revocation);
}

/** Revokes a token of a tenant; false if the tenant has no valid one with this id. */
export async function revokeTenantToken(
  database: Database,
  { tenantId, ...revocation }: { tenantId: string } & Revocation,
): Promise<boolean> {
  const { Op } = sequelize();
  const isGood = { revokedAt: null, expiresAt: { [Op.or]: [null, { [Op.gt]: Math.floor(revocation.nowMs / 1000) }] } };
  return await revoke(database, { tenantId, id: revocation.id, ...isGood }, revocation);
}

/** Revokes the token that matches these conditions; false if there is none. */
async function revoke(
  database: Database,
  where: WhereOptions<InferAttributes<ApiTokenRecord>>,
  { nowMs, author }: Revocation,
): Promise<boolean> {
  const revokedAt = Math.floor(nowMs / 1000);
  return await inTransaction(database, async (run, client) => {
    const transaction = transactionOn(database, client);
    const [, [revoked]] = await database.records.apiTokens.update(
      { revokedAt },
      { where, transaction, returning: true },
    );
    if (revoked === undefined) return false;
    const { id, name, tenantId } = revoked;
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'token', id, name },
      changes: { revoked_at: [null, revokedAt] },
    });
    return true;
  });
}

/** Lists a tenant's tokens by creation, without their fingerprints. */
export async function listApiTokens(database: Database, tenantId: string): Promise<ApiToken[]> {
  return await readTokens(database, { tenantId });
}

/** Lists a tenant's tokens that are valid, or were so after this time. */
export async function listRecentTokens(database: Database, tenantId: string, sinceMs: number): Promise<ApiToken[]> {
  const { Op } = sequelize();
  const after = { [Op.or]: [null, { [Op.gt]: Math.floor(sinceMs / 1000) }] };
  return await readTokens(database, { tenantId, revokedAt: after, expiresAt: after });
}

async function readTokens(
  database: Database,
  where: WhereOptions<InferAttributes<ApiTokenRecord>>,
): Promise<ApiToken[]> {
  const records = await database.records.apiTokens.findAll({
    where,
    attributes: { exclude: ['fingerprint'] },
    order: [
      ['createdAt', 'ASC'],
      ['id', 'ASC'],
    ],
  });
  return records.map((record) => record.get({ plain: true }));
}
