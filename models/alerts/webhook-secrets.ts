import { compareFields, type Compared } from '../../core/accounts/audit-entry.ts';
import { formatFields, type WebhookFormat, type WebhookHeaders } from '../../core/alerts/webhook.ts';
import { DAY_MS } from '../../core/time.ts';
import { recordChange, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn } from '../sql.ts';
import { HEALED } from './channel-health.ts';
import { isLimited, requireRoom } from './channel-limits.ts';

/**
 * What a webhook is called and signed with. `previousSecret` signs as well until a day after a change of the secret;
 * null = there is none.
 */
export type OpenedWebhook = {
  url: string;
  signingSecret: string;
  previousSecret: string | null;
  headers: WebhookHeaders;
  format: WebhookFormat;
};

/** The same as it lies in the row of its channel; null headers are none. */
export type SealedWebhook = Omit<OpenedWebhook, 'headers'> & { headers: string | null; channelId: string };

/** A webhook to be stored, in clear; by default without headers, and with the signed envelope. */
export type NewWebhook = { url: string; signingSecret: string; headers?: WebhookHeaders; format?: WebhookFormat };

/** Where deliveries go, and what they carry. */
type Address = { url: string; headers: WebhookHeaders; format: WebhookFormat };

type ChannelKey = { tenantId: string; id: string };

/**
 * How long the secret before a change signs as well, in milliseconds: a day, for receivers to be notified of the new
 * one.
 */
export const PREVIOUS_SECRET_MS = DAY_MS;

/**
 * What the row of a new webhook channel holds. Its host and the names of its headers can be shown; the rest is sealed
 * for this row alone (D-17).
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
 * Opens what a channel's row holds sealed. Throws when its key is not in the ring any more; a previous secret that
 * cannot be opened is none.
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

/** The webhook of a tenant's channel, to be opened; null where there is no such channel or it is no webhook. */
export async function findWebhook(
  database: Database,
  { tenantId, id }: ChannelKey,
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
 * Gives a tenant's webhook another signing secret from now on; the one before signs as well for a day, and one before
 * that no more. The row is changed at once, so that of two changes at the same time one comes before the other. False
 * where there is no such channel or it is no webhook.
 */
export async function rotateSigningSecret(
  database: Database,
  { tenantId, id, author }: ChannelKey & Authored,
  { signingSecret, nowMs }: { signingSecret: string; nowMs: number },
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    // The sealed text changes its column only, so that it works even where the old key has left the ring.
    const [rotated] = await run<{ name: string }>(
      `UPDATE channels SET sealed_previous_secret = sealed_signing_secret, previous_secret_until = $4,
       sealed_signing_secret = $3
       WHERE id = $1 AND tenant_id = $2 AND type = 'webhook' RETURNING name`,
      [id, tenantId, sealSigningSecret(database, id, signingSecret), nowMs + PREVIOUS_SECRET_MS],
    );
    if (rotated === undefined) return false;
    await recordChange(run, author, {
      tenantId,
      object: { kind: 'channel', id, name: rotated.name },
      changes: { signing_secret: 'changed' },
    });
    return true;
  });
}

/**
 * Gives a tenant's webhook another address, other headers and another format, from the next attempt on. What was wrong
 * with the channel is over: a test has arrived there. Throws a `ChannelRefusal`. False where the webhook is not
 * `sealed` any more, or groups while it is to have a format: it was changed meanwhile, or is gone.
 */
export async function replaceAddress(
  database: Database,
  { tenantId, id, author }: ChannelKey & Authored,
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
         ${HEALED}
       WHERE id = $1 AND tenant_id = $2 AND sealed_url = $3 AND sealed_headers IS NOT DISTINCT FROM $4
         AND ($9::jsonb IS NULL OR group_seconds = 0) RETURNING name`,
      [id, tenantId, sealed.url, sealed.headers, urlHost, sealedUrl, headerNames, sealedHeaders, jsonOrNull(format)],
    );
    if (channel === undefined) return false;
    await recordChange(run, author, {
      tenantId,
      object: { kind: 'channel', id, name: channel.name },
      changes: compareFields(addressFields(before), addressFields(after)),
    });
    return true;
  });
}

/** Hosts and the names of headers are shown, the rest of both is secret. */
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

/** After a rotation the old key may be gone: the new secret signs all the same. */
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
 * The row and field that a sealed value of a webhook is bound to. A previous secret stays bound to the field that it
 * came from.
 */
export function webhookContext(channelId: string, field: 'url' | 'headers' | 'signing_secret'): string {
  return `channel:${channelId}:${field}`;
}

function jsonOrNull(format: WebhookFormat): string | null {
  return format === null ? null : JSON.stringify(format);
}
