import { recordChange, type Authored } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn } from '../sql.ts';
import { HEALED } from './channel-health.ts';
import { takeConnectCode, type CodedChannel } from './chat-connections.ts';

/**
 * How a connect code of a Slack channel stands; only an open one connects it. `unknown`: there is none, or its channel
 * was deleted since.
 */
export type SlackCodeStatus = 'open' | 'used' | 'expired' | 'unknown';

/** An incoming webhook, in clear, and what Slack calls the channel that it leads to (null = it does not say). */
export type SlackConnection = {
  fingerprint: Uint8Array;
  webhookUrl: string;
  teamName: string | null;
  channelName: string | null;
  nowMs: number;
};

/** How the code with a fingerprint stands. It may change until it is used: `connectSlackChannel` decides. */
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
 * Uses up a code and connects its channel to a webhook, which is sealed: of two that come with one code one wins. Null
 * where the code was not open any more.
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
    await recordChange(run, author, {
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

/** Opens the webhook of a Slack channel. Throws when its key is not in the ring any more. */
export function openSlackWebhook(
  database: Database,
  { channelId, sealedUrl }: { channelId: string; sealedUrl: string },
): string {
  return database.secrets.open(sealedUrl, slackContext(channelId));
}

/** The row and field that the sealed webhook of a Slack channel is bound to. */
export function slackContext(channelId: string): string {
  return `channel:${channelId}:slack_webhook`;
}
