import type { Authored } from '../accounts/audit-log.ts';
import { totpContext } from '../accounts/second-factor.ts';
import { slackContext } from '../alerts/connect-links.ts';
import { webhookContext } from '../alerts/webhook-secrets.ts';
import { SESSION_NAME, compareRing, type Database } from '../database.ts';
import { pingKeyContext } from '../heartbeats/slugs.ts';
import { patchContext } from '../monitors/bulk-changes.ts';
import { secretsContext } from '../monitors/monitor-rows.ts';
import { runOn } from '../sql.ts';
import { keyIdOf } from './secret-box.ts';

/** Kinds of values that are encrypted at rest (D-17). */
export const SEALED_KINDS = [
  'monitor_secrets',
  'webhook_url',
  'webhook_headers',
  'signing_secret',
  'previous_secret',
  'slack_webhook',
  'totp_secret',
  'bulk_patch',
  'ping_key',
] as const;

export type SealedKind = (typeof SEALED_KINDS)[number];

/** Location of a kind's values: the column and rows, the order in which others lock these, and the sealing context. */
type SealedColumn = {
  table: 'monitors' | 'channels' | 'users' | 'bulk_changes' | 'ping_keys';
  column: string;
  only: string;
  order: string;
  contextOf: (id: string) => string;
};

const IS_WEBHOOK = `type = 'webhook'`;
const secretContext = (id: string) => webhookContext(id, 'signing_secret');

const SEALED_COLUMNS = {
  monitor_secrets: {
    table: 'monitors',
    column: 'sealed_secrets',
    only: 'true',
    order: 'no',
    contextOf: secretsContext,
  },
  webhook_url: {
    table: 'channels',
    column: 'sealed_url',
    only: IS_WEBHOOK,
    order: 'id',
    contextOf: (id) => webhookContext(id, 'url'),
  },
  webhook_headers: {
    table: 'channels',
    column: 'sealed_headers',
    only: IS_WEBHOOK,
    order: 'id',
    contextOf: (id) => webhookContext(id, 'headers'),
  },
  signing_secret: {
    table: 'channels',
    column: 'sealed_signing_secret',
    only: IS_WEBHOOK,
    order: 'id',
    contextOf: secretContext,
  },
  previous_secret: {
    table: 'channels',
    column: 'sealed_previous_secret',
    only: IS_WEBHOOK,
    order: 'id',
    contextOf: secretContext,
  },
  slack_webhook: {
    table: 'channels',
    column: 'sealed_url',
    only: `type = 'slack'`,
    order: 'id',
    contextOf: slackContext,
  },
  totp_secret: { table: 'users', column: 'sealed_totp_secret', only: 'true', order: 'id', contextOf: totpContext },
  bulk_patch: {
    table: 'bulk_changes',
    column: 'sealed_patch',
    only: 'true',
    order: 'no',
    contextOf: patchContext,
  },
  ping_key: { table: 'ping_keys', column: 'sealed_key', only: 'true', order: 'id', contextOf: pingKeyContext },
} as const satisfies Record<SealedKind, SealedColumn>;

/** Maximum number of rows in one statement, whose locks others may wait for: some 10 ms. */
const BATCH = 200;

/**
 * The outcome of a batch. `read`: number of values that were read; `resealed`: those changed. `lost`: values that
 * another process changed meanwhile, left as they are. `unopened`: values that no key of the ring decrypts, by the id
 * of the row and of the key. `last`: the id to continue after, null = there are no more.
 */
type ResealedBatch = {
  read: number;
  resealed: number;
  lost: number;
  unopened: { id: string; keyId: string }[];
  last: string | null;
};

/**
 * Seals the next values of a kind with the ring's first key, in rows after `after` (null = from the beginning). Values
 * that are sealed with it already, or that no key opens, stay as they are. A row that was changed since it was read is
 * left alone: the later write wins.
 */
export async function resealBatch(
  database: Database,
  kind: SealedKind,
  { after, author }: { after: string | null } & Authored,
): Promise<ResealedBatch> {
  const { table, column, only, contextOf } = SEALED_COLUMNS[kind];
  const values = await runOn(database.pool)<{ id: string; sealed: string }>(
    `SELECT id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL AND ${only} AND id > $1 ORDER BY id
     LIMIT ${BATCH}`,
    [after ?? ''],
  );
  const stale: { id: string; sealed: string; fresh: string }[] = [];
  const unopened: ResealedBatch['unopened'] = [];
  for (const { id, sealed } of values) {
    const plain = openOrNull(database, sealed, contextOf(id));
    if (plain === null) unopened.push({ id, keyId: keyIdOf(sealed) });
    else if (keyIdOf(sealed) !== database.secrets.keyIds[0])
      stale.push({ id, sealed, fresh: database.secrets.seal(plain, contextOf(id)) });
  }
  const resealed = stale.length === 0 ? 0 : await replace(database, kind, { stale, author });
  return {
    read: values.length,
    resealed,
    lost: stale.length - resealed,
    unopened,
    last: values.length < BATCH ? null : (values.at(-1)?.id ?? null),
  };
}

/** Replaces sealed values; writes one audit entry per account for any number of its secrets. */
async function replace(
  { pool }: Database,
  kind: SealedKind,
  { stale, author }: { stale: readonly { id: string; sealed: string; fresh: string }[] } & Authored,
): Promise<number> {
  const { table, column, order } = SEALED_COLUMNS[kind];
  const rows = await runOn(pool)(
    `WITH held AS MATERIALIZED (SELECT id FROM ${table} WHERE id = ANY($1::text[]) ORDER BY ${order} FOR NO KEY
     UPDATE), replaced AS (
       UPDATE ${table} t SET ${column} = n.fresh
       FROM held h JOIN unnest($1::text[], $2::text[], $3::text[]) AS n (id, stale, fresh) ON n.id = h.id
       WHERE t.id = h.id AND t.${column} = n.stale RETURNING t.id, t.tenant_id
     ), recorded AS (
       INSERT INTO audit_log (id, tenant_id, at, actor_kind, actor_name, action, object_kind, object_id, object_name,
         changes)
       SELECT $4, t.id, $5::bigint, $6, $7, $8, 'account', t.id, t.name, '{"secrets":"changed"}' FROM tenants t
       WHERE $4::text IS NOT NULL AND t.id IN (SELECT tenant_id FROM replaced) AND NOT EXISTS (SELECT 1 FROM audit_log a
         WHERE a.tenant_id = t.id AND a.at = $5::bigint AND a.id = $4)
     )
     SELECT id FROM replaced`,
    [
      stale.map(({ id }) => id),
      stale.map(({ sealed }) => sealed),
      stale.map(({ fresh }) => fresh),
      ...(author === null
        ? [null, 0, null, null, null]
        : [author.id, Math.floor(author.nowMs / 1000), author.actor?.kind, author.actor?.name, author.action]),
    ],
  );
  return rows.length;
}

function openOrNull(database: Database, sealed: string, context: string): string | null {
  try {
    return database.secrets.open(sealed, context);
  } catch {
    return null;
  }
}

/** Counts the values of each kind by the id of the key that encrypts them. */
export async function countSealedValues(database: Database): Promise<Record<SealedKind, ReadonlyMap<string, number>>> {
  const count = async (kind: SealedKind) => {
    const { table, column, only } = SEALED_COLUMNS[kind];
    const rows = await runOn(database.pool)<{ key: string; values: number }>(
      `SELECT split_part(${column}, '.', 2) AS key, count(*) AS values FROM ${table} WHERE ${column} IS NOT NULL
       AND ${only} GROUP BY 1`,
    );
    return new Map(rows.map(({ key, values }) => [key, values]));
  };
  return {
    monitor_secrets: await count('monitor_secrets'),
    webhook_url: await count('webhook_url'),
    webhook_headers: await count('webhook_headers'),
    signing_secret: await count('signing_secret'),
    previous_secret: await count('previous_secret'),
    slack_webhook: await count('slack_webhook'),
    totp_secret: await count('totp_secret'),
    bulk_patch: await count('bulk_patch'),
    ping_key: await count('ping_key'),
  };
}

/** Deletes previous signing secrets after their day: they no longer sign. */
export async function forgetPreviousSecrets(database: Database, nowMs: number): Promise<void> {
  await runOn(database.pool)(
    'UPDATE channels SET sealed_previous_secret = NULL, previous_secret_until = NULL WHERE previous_secret_until <= $1',
    [nowMs],
  );
}

/**
 * Counts sessions of other processes whose rings lack the key that this one seals with, or have it and seal with
 * another. A process that was idle for half a minute may have no session: zero is no proof that there is none.
 */
export async function countForeignSessions(database: Database): Promise<{ lackKey: number; sealWithOther: number }> {
  const rows = await runOn(database.pool)<{ name: string }>(
    `SELECT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user AND split_part(application_name, ':', 1) = $1
       AND pid <> pg_backend_pid()`,
    [SESSION_NAME],
  );
  const rings = rows.map(({ name }) => compareRing(name, database.secrets));
  return {
    lackKey: rings.filter((ring) => ring === 'lacks_key').length,
    sealWithOther: rings.filter((ring) => ring === 'seals_with_other').length,
  };
}
