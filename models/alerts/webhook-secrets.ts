import { compareFields, type Compared } from '../../core/accounts/audit-entry.ts';
import { formatFields, type WebhookFormat, type WebhookHeaders } from '../../core/alerts/webhook.ts';
import { DAY_MS } from '../../core/time.ts';
import { insertAuditEntry, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type RowKey } from '../sql.ts';
import { HEALED } from './channel-health.ts';
import { isLimited, requireRoom } from './channel-limits.ts';

/**
 * Address and secrets of a webhook. `previousSecret` also signs until a day after a change of the secret; null = there
 * is none.
 */
export type OpenedWebhook = {
  url: string;
  signingSecret: string;
  previousSecret: string | null;
  headers: WebhookHeaders;
  format: WebhookFormat;
};

/** The same as stored in the row of its channel; null headers = none. */
export type SealedWebhook = Omit<OpenedWebhook, 'headers'> & { headers: string | null; channelId: string };

/** A webhook to store, in clear; by default without headers, and with the signed envelope. */
export type NewWebhook = { url: string; signingSecret: string; headers?: WebhookHeaders; format?: WebhookFormat };

/** Address and format of deliveries. */
type Address = { url: string; headers: WebhookHeaders; format: WebhookFormat };

/** Time that the previous secret also signs after a change, in milliseconds: a day, to update receivers. */
export const PREVIOUS_SECRET_MS = DAY_MS;

/**
 * Returns the columns of a new webhook channel. Its host and the names of its headers can be shown; the rest is sealed
 * for this row only (D-17).
 */
export function sealWebhook(
  database: Database,
  id: string,
  { url, signingSecret, headers = {}, format = null }: NewWebhook,
) {
  return {
    ...sealAddress(database, id, { url, headers, format }),
    sealedSigningSecret: sealSigningSecret(database, id, signingSecret),
  };
}

function sealAddress(database: Database, id: string, { url, headers, format }: Address) {
  const headerNames = Object.keys(headers).toSorted();
  return {
    urlHost: new URL(url).host,
    sealedUrl: database.secrets.seal(url, webhookContext(id, 'url')),
    headerNames,
    sealedHeaders:
      headerNames.length === 0 ? null : database.secrets.seal(JSON.stringify(headers), webhookContext(id, 'headers')),
    format,
  };
}

/**
 * Opens the sealed values of a channel's row. Throws if their key is no longer in the ring; a previous secret that
 * cannot be opened is ignored.
 */
export function openWebhook(database: Database, sealed: SealedWebhook): OpenedWebhook {
  const { channelId, previousSecret } = sealed;
  return {
    url: database.secrets.open(sealed.url, webhookContext(channelId, 'url')),
    signingSecret: database.secrets.open(sealed.signingSecret, webhookContext(channelId, 'signing_secret')),
    previousSecret: previousSecret === null ? null : openPreviousSecret(database, { channelId, previousSecret }),
    headers:
      sealed.headers === null
        ? {}
        : JSON.parse(database.secrets.open(sealed.headers, webhookContext(channelId, 'headers'))),
    format: sealed.format,
  };
}

/** Finds the sealed webhook of a tenant's channel; null if there is no such channel or it is not a webhook. */
export async function findWebhook(
  database: Database,
  { tenantId, id }: RowKey,
  nowMs: number,
): Promise<SealedWebhook | null> {
  const [row] = await runOn(database.pool)<Omit<SealedWebhook, 'channelId'>>(
    `SELECT sealed_url AS url, sealed_headers AS headers, format, sealed_signing_secret AS "signingSecret", CASE
     WHEN previous_secret_until > $3 THEN sealed_previous_secret END AS "previousSecret"
     FROM channels WHERE id = $1 AND tenant_id = $2 AND type = 'webhook'`,
    [id, tenantId, nowMs],
  );
  return row === undefined ? null : { channelId: id, ...row };
}

/**
 * Replaces the signing secret of a tenant's webhook; the previous one also signs for a day, and the one before that no
 * longer. The row is changed in one statement, so that concurrent changes are ordered. False if there is no such
 * channel or it is not a webhook.
 */
export async function rotateSigningSecret(
  database: Database,
  { tenantId, id, author }: RowKey & Authored,
  { signingSecret, nowMs }: { signingSecret: string; nowMs: number },
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    // The sealed text only moves to another column, so that this works even if the old key has left the ring.
    const [rotated] = await run<{ name: string }>(
      `UPDATE channels SET sealed_previous_secret = sealed_signing_secret, previous_secret_until = $4,
       sealed_signing_secret = $3
       WHERE id = $1 AND tenant_id = $2 AND type = 'webhook' RETURNING name`,
      [id, tenantId, sealSigningSecret(database, id, signingSecret), nowMs + PREVIOUS_SECRET_MS],
    );
    if (rotated === undefined) return false;
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'channel', id, name: rotated.name },
      changes: { signing_secret: 'changed' },
    });
    return true;
  });
}

/**
 * Replaces the address, headers and format of a tenant's webhook, from the next attempt on. Clears the channel's
 * errors and its pause, because a test has arrived there. Throws a `ChannelRefusal`. False if the webhook is no longer
 * `sealed`, or groups and is to get a format: it was changed meanwhile, or deleted.
 */
export async function replaceAddress(
  database: Database,
  { tenantId, id, author }: RowKey & Authored,
  { sealed, before, after }: { sealed: SealedWebhook; before: Address; after: Address },
): Promise<boolean> {
  const { urlHost, sealedUrl, headerNames, sealedHeaders, format } = sealAddress(database, id, after);
  return await inTransaction(database, async (run) => {
    if (isLimited(after)) {
      await run('SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenantId]);
      await requireRoom(run, { tenantId, id }, { format });
    }
    const [channel] = await run<{ name: string }>(
      `UPDATE channels SET url_host = $5, sealed_url = $6, header_names = $7, sealed_headers = $8, format = $9,
         quiet_until = NULL, ${HEALED}
       WHERE id = $1 AND tenant_id = $2 AND sealed_url = $3 AND sealed_headers IS NOT DISTINCT FROM $4
         AND ($9::jsonb IS NULL OR group_seconds = 0) RETURNING name`,
      [id, tenantId, sealed.url, sealed.headers, urlHost, sealedUrl, headerNames, sealedHeaders, jsonOrNull(format)],
    );
    if (channel === undefined) return false;
    await insertAuditEntry(run, author, {
      tenantId,
      object: { kind: 'channel', id, name: channel.name },
      changes: compareFields(addressFields(before), addressFields(after)),
    });
    return true;
  });
}

/** Returns the fields for the audit log: hosts and names of headers are shown, the rest of both is secret. */
function addressFields({ url, headers, format }: Address): Compared {
  return {
    fields: {
      url_host: new URL(url).host,
      header_names: Object.keys(headers).toSorted(),
      ...formatFields(format),
    },
    secrets: { url, headers: Object.entries(headers) },
  };
}

/** Opens the previous secret; null if its key is gone after a rotation, because the new secret suffices for signing. */
function openPreviousSecret(
  database: Database,
  { channelId, previousSecret }: { channelId: string; previousSecret: string },
): string | null {
  try {
    return database.secrets.open(previousSecret, webhookContext(channelId, 'signing_secret'));
  } catch {
    return null;
  }
}

function sealSigningSecret(database: Database, id: string, signingSecret: string): string {
  return database.secrets.seal(signingSecret, webhookContext(id, 'signing_secret'));
}

/**
 * Returns the context that a value of a webhook is sealed with. A previous secret remains bound to its original field.
 */
export function webhookContext(channelId: string, field: 'url' | 'headers' | 'signing_secret'): string {
  return `channel:${channelId}:${field}`;
}

function jsonOrNull(format: WebhookFormat): string | null {
  return format === null ? null : JSON.stringify(format);
}
