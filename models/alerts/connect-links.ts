import { systemAuthorOf, insertAuditEntry, systemActor, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type RowKey } from '../sql.ts';
import { HEALED, insertLossDeliveries, type LossTools, type LostChannel } from './channel-health.ts';
import { insertConnectCode, takeConnectCode, type CodedChannel, type StoredConnectCode } from './chat-connections.ts';
import type { NewDelivery } from './deliveries.ts';

/**
 * Status of a Slack channel's connect code; only an open one connects it. `unknown`: there is none, or its channel was
 * deleted since.
 */
type SlackCodeStatus = 'open' | 'used' | 'expired' | 'unknown';

/** An incoming webhook, in clear, and Slack's name of its channel (null = unknown). */
type SlackConnection = {
  fingerprint: Uint8Array;
  webhookUrl: string;
  teamName: string | null;
  channelName: string | null;
  nowMs: number;
};

/** Finds the status of the code with a fingerprint. It may change until it is used: `connectSlackChannel` decides. */
export async function findSlackCodeStatus(
  database: Database,
  code: { fingerprint: Uint8Array; nowMs: number },
): Promise<SlackCodeStatus> {
  const [row] = await runOn(database.pool)<{ status: SlackCodeStatus }>(
    `SELECT CASE WHEN k.used_at IS NOT NULL THEN 'used' WHEN k.expires_at <= $2 THEN 'expired'
     ELSE 'open' END AS status
     FROM connect_codes k JOIN channels c ON c.id = k.channel_id
     WHERE k.fingerprint = $1 AND c.type = 'slack'`,
    [code.fingerprint, Math.floor(code.nowMs / 1000)],
  );
  return row?.status ?? 'unknown';
}

/**
 * Uses up a code and connects its channel to a webhook, which is sealed: of two concurrent requests with one code one
 * wins. Null if the code was no longer open.
 */
export async function connectSlackChannel(
  database: Database,
  connection: SlackConnection & Authored,
): Promise<CodedChannel | null> {
  const { fingerprint, webhookUrl, teamName, channelName, nowMs, author } = connection;
  return await inTransaction(database, async (run) => {
    const taken = await takeConnectCode(run, { fingerprint, type: 'slack', nowMs });
    if (taken.outcome !== 'taken') return null;
    const { channel } = taken;
    const sealedUrl = database.secrets.seal(webhookUrl, slackContext(channel.id));
    await run(
      `UPDATE channels SET status = 'connected', sealed_url = $2, team_name = $3, channel_name = $4, ${HEALED}
       WHERE id = $1`,
      [channel.id, sealedUrl, teamName, channelName],
    );
    await insertAuditEntry(run, author, {
      tenantId: channel.tenantId,
      object: { kind: 'channel', id: channel.id, name: channel.name },
      changes: {
        status: ['pending', 'connected'],
        team_name: [null, teamName],
        channel_name: [null, channelName],
        url: 'changed',
      },
    });
    return channel;
  });
}

/** Opens the webhook of a Slack channel. Throws if its key is no longer in the ring. */
export function openSlackWebhook(
  database: Database,
  { channelId, sealedUrl }: { channelId: string; sealedUrl: string },
): string {
  return database.secrets.open(sealedUrl, slackContext(channelId));
}

/** Returns the context that a Slack channel's webhook is sealed with. */
export function slackContext(channelId: string): string {
  return `channel:${channelId}:slack_webhook`;
}

/** Status of a confirmation link. `unknown`: there is none, a newer one was sent, or its channel was deleted. */
type EmailCode = { status: 'open'; name: string; address: string } | { status: 'used' | 'expired' | 'unknown' };

/** Finds the status of the code with a fingerprint. It may change until it is used: `confirmEmailChannel` decides. */
export async function findEmailCode(
  database: Database,
  code: { fingerprint: Uint8Array; nowMs: number },
): Promise<EmailCode> {
  const [row] = await runOn(database.pool)<{ status: EmailCode['status']; name: string; address: string }>(
    `SELECT CASE WHEN k.used_at IS NOT NULL THEN 'used' WHEN k.expires_at <= $2 THEN 'expired'
     ELSE 'open' END AS status, c.name, c.address
     FROM connect_codes k JOIN channels c ON c.id = k.channel_id
     WHERE k.fingerprint = $1 AND c.type = 'email'`,
    [code.fingerprint, Math.floor(code.nowMs / 1000)],
  );
  if (row === undefined) return { status: 'unknown' };
  const { status, name, address } = row;
  return status === 'open' ? { status, name, address } : { status };
}

/**
 * Uses up a code and connects its channel: of two concurrent requests with one code one wins. Null if it was not open.
 */
export async function confirmEmailChannel(
  database: Database,
  { fingerprint, nowMs, author }: { fingerprint: Uint8Array; nowMs: number } & Authored,
): Promise<CodedChannel | null> {
  return await inTransaction(database, async (run) => {
    const taken = await takeConnectCode(run, { fingerprint, type: 'email', nowMs });
    if (taken.outcome !== 'taken') return null;
    const { channel } = taken;
    await run(`UPDATE channels SET status = 'connected', ${HEALED} WHERE id = $1`, [channel.id]);
    await insertAuditEntry(run, author, {
      tenantId: channel.tenantId,
      object: { kind: 'channel', id: channel.id, name: channel.name },
      changes: { status: ['pending', 'connected'] },
    });
    return channel;
  });
}

/**
 * Replaces the codes of a tenant's unconfirmed email channel by the one that was just sent; false if it was confirmed
 * or deleted meanwhile.
 */
export async function replaceEmailCode(
  database: Database,
  { tenantId, id, author }: RowKey & Authored,
  code: StoredConnectCode,
): Promise<boolean> {
  return await inTransaction(database, async (run) => {
    const [channel] = await run<{ name: string }>(
      `SELECT name FROM channels WHERE id = $1 AND tenant_id = $2 AND type = 'email' AND status = 'pending'
       FOR NO KEY UPDATE`,
      [id, tenantId],
    );
    if (channel === undefined) return false;
    await run('DELETE FROM connect_codes WHERE channel_id = $1', [id]);
    await insertConnectCode(run, id, code);
    await insertAuditEntry(run, author, { tenantId, object: { kind: 'channel', id, name: channel.name } });
    return true;
  });
}

/** An email channel as its unsubscribe page names it; one that its owner disabled is still subscribed. */
type EmailChannel = { name: string; address: string; isSubscribed: boolean };

/** Finds the email channel of an unsubscribe link; null if it was deleted. */
export async function findEmailChannel(database: Database, channelId: string): Promise<EmailChannel | null> {
  const [row] = await runOn(database.pool)<EmailChannel>(
    `SELECT name, address, status = 'connected' AS "isSubscribed" FROM channels
     WHERE id = $1 AND type = 'email'`,
    [channelId],
  );
  return row ?? null;
}

/** Reason shown to owners. */
const UNSUBSCRIBED = 'A reader of this address unsubscribed';

/**
 * Disables an email channel for a reader, who must confirm the address again before anything more is sent there.
 * Notifies the owner's other chats in the same transaction; returns those deliveries, whose jobs the caller adds.
 * Notifies of nothing if its owner had disabled it, and changes nothing if it is not connected.
 */
export async function unsubscribeEmailChannel(
  database: Database,
  channelId: string,
  tools: LossTools & { address: string | null },
): Promise<readonly NewDelivery[]> {
  return await inTransaction(database, async (run) => {
    const rows = await run<LostChannel & { wasEnabled: boolean }>(
      `UPDATE channels c SET enabled = false, status = 'pending', last_error = $2, last_error_at = $3
       FROM (SELECT id, enabled FROM channels WHERE id = $1 AND type = 'email' AND status = 'connected'
             FOR NO KEY UPDATE) o
       WHERE c.id = o.id
       RETURNING c.id, c.tenant_id AS "tenantId", c.name, c.type, o.enabled AS "wasEnabled"`,
      [channelId, UNSUBSCRIBED, tools.nowMs],
    );
    for (const { id, tenantId, name, wasEnabled } of rows)
      await insertAuditEntry(run, systemAuthorOf(systemActor('Email'), 'channel.disabled', tools), {
        tenantId,
        object: { kind: 'channel', id, name },
        changes: {
          ...(wasEnabled && { enabled: [true, false] }),
          status: ['connected', 'pending'],
          last_error: [null, UNSUBSCRIBED],
        },
      });
    const lost = rows.filter(({ wasEnabled }) => wasEnabled);
    return await insertLossDeliveries(run, lost, { ...tools, loss: 'unsubscribed', lastError: UNSUBSCRIBED });
  });
}
