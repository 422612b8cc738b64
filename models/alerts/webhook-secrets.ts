import { DAY_MS } from '../../core/time.ts';
import { recordChange, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn } from '../sql.ts';

/**
 * What a webhook is called and signed with. `previousSecret` signs as well until a day after a change of the secret;
 * null = there is none.
 */
export type OpenedWebhook = { url: string; signingSecret: string; previousSecret: string | null };

/** The same as it lies in the row of its channel. */
export type SealedWebhook = OpenedWebhook & { channelId: string };

type ChannelKey = { tenantId: string; id: string };

/**
 * How long the secret before a change signs as well, in milliseconds: a day, for receivers to be notified of the new
 * one.
 */
export const PREVIOUS_SECRET_MS = DAY_MS;

/** What the row of a new webhook channel holds: its host to be shown, the rest sealed for this row alone (D-17). */
export function sealWebhook(
  database: Database,
  id: string,
  { url, signingSecret }: { url: string; signingSecret: string },
) {
  return {
    urlHost: new URL(url).host,
    sealedUrl: database.secrets.seal(url, webhookContext(id, 'url')),
    sealedSigningSecret: sealSigningSecret(database, id, signingSecret),
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
  };
}

/** The webhook of a tenant's channel, to be opened; null where there is no such channel or it is no webhook. */
export async function findWebhook(
  database: Database,
  { tenantId, id }: ChannelKey,
  nowMs: number,
): Promise<SealedWebhook | null> {
  const [row] = await runOn(database.pool)<{ url: string; secret: string; previous: string | null }>(
    `SELECT sealed_url AS url, sealed_signing_secret AS secret, CASE
     WHEN previous_secret_until > $3 THEN sealed_previous_secret END AS previous
     FROM channels WHERE id = $1 AND tenant_id = $2 AND type = 'webhook'`,
    [id, tenantId, nowMs],
  );
  return row === undefined
    ? null
    : { channelId: id, url: row.url, signingSecret: row.secret, previousSecret: row.previous };
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
export function webhookContext(channelId: string, field: 'url' | 'signing_secret'): string {
  return `channel:${channelId}:${field}`;
}
