import type { AuditAction, AuditActor } from '../../core/accounts/audit-entry.ts';
import type { ChannelLoss } from '../../core/alerts/channel-message.ts';
import type { ChannelType, ChatChannel, ChatOutcome, ChatUpdate, ConnectedChannel } from '../../core/alerts/channel.ts';
import { systemAuthorOf, insertAuditEntry, systemActor } from '../accounts/audit-log.ts';
import type { Database } from '../database.ts';
import { inTransaction, runOn, type Run, type RowKey } from '../sql.ts';
import { HEALED, insertLossDeliveries, type LossTools, type LostChannel } from './channel-health.ts';
import type { NewDelivery } from './deliveries.ts';

/**
 * A channel whose chat is unreachable: `connection` is the one that the failed attempt used, `problem` the reason, as a
 * sentence for its owner.
 */
export type LostConnection = { channelId: string; connection: string; problem: string };

/** The channel of a connect code. `connection` is its previous one; null = none. */
export type CodedChannel = ConnectedChannel & { connection: string | null };

/**
 * The result of using a connect code. `taken`: it was unused until now; `used` has its channel as well, for a repeated
 * request.
 */
type TakenCode = { outcome: 'taken' | 'used'; channel: CodedChannel } | { outcome: 'expired' | 'unknown' };

type CodedRow = CodedChannel & { usedAt: number | null; expiresAt: number };
type LostRow = LostChannel & { tookAlerts: boolean };

/** Reasons shown to owners after a chat's members ended its alerts. */
const ENDED = {
  stopped: 'A member sent /stop in the chat',
  removed: 'The bot was blocked in the chat or removed from it',
} as const satisfies Partial<Record<ChannelLoss, string>>;

/**
 * The outcome of an update, and the deliveries that notify other chats of it: the caller adds their jobs once the
 * transaction is committed.
 */
type AppliedUpdate = { outcome: ChatOutcome; deliveries: readonly NewDelivery[] };

/**
 * Disconnects a chat channel with a reason: nothing is sent to it until its owner reconnects it. If it received alerts
 * until now, notifies the owner's other chats in the same transaction; returns those deliveries, whose jobs the caller
 * adds. Returns null if it has another connection than the attempt, or is not connected.
 */
export async function disconnectChannel(
  database: Database,
  lost: LostConnection,
  tools: LossTools,
): Promise<readonly NewDelivery[] | null> {
  return await inTransaction(database, async (run) => {
    const rows = await run<LostRow>(
      `UPDATE channels SET status = 'pending', last_error = $3, last_error_at = $4
       WHERE id = $1 AND status = 'connected' AND coalesce(chat_id, sealed_url, address) = $2
       RETURNING id, tenant_id AS "tenantId", name, type, enabled AS "tookAlerts"`,
      [lost.channelId, lost.connection, lost.problem, tools.nowMs],
    );
    for (const channel of rows)
      await recordConnection(
        run,
        {
          channel,
          actor: systemActor('Spotcheck'),
          action: 'channel.disconnected',
          changes: { status: ['connected', 'pending'], last_error: [null, lost.problem] },
        },
        tools,
      );
    return rows.length === 0
      ? null
      : await insertLossDeliveries(run, channelsIn(rows), { ...tools, loss: 'lost', lastError: lost.problem });
  });
}

/**
 * Pauses a channel until a time (Unix milliseconds) that its receiver asked for; a later one stays. Does nothing if the
 * channel has another address by now.
 */
export async function updateQuietUntil(
  run: Run,
  { channelId, sealedUrl, untilMs }: { channelId: string; sealedUrl: string | null; untilMs: number },
): Promise<void> {
  await run(
    `UPDATE channels SET quiet_until = greatest(coalesce(quiet_until, 0), $2)
     WHERE id = $1 AND sealed_url IS NOT DISTINCT FROM $3`,
    [channelId, untilMs, sealedUrl],
  );
}

/** Finds the connection of a tenant's chat channel, as in a claim; null if nothing is connected, or it is a webhook. */
export async function findConnection(database: Database, { tenantId, id }: RowKey): Promise<string | null> {
  const [row] = await runOn(database.pool)<{ connection: string | null }>(
    `SELECT coalesce(chat_id, sealed_url, address) AS connection FROM channels WHERE id = $1 AND tenant_id = $2
     AND type <> 'webhook' AND status = 'connected'`,
    [id, tenantId],
  );
  return row?.connection ?? null;
}

/** The stored part of a connect code. */
export type StoredConnectCode = { fingerprint: Buffer; expiresAtSeconds: number };

/** Stores the code of a connect link of a channel. */
export async function insertConnectCode(run: Run, channelId: string, code: StoredConnectCode): Promise<void> {
  await run('INSERT INTO connect_codes (fingerprint, channel_id, expires_at) VALUES ($1, $2, $3)', [
    code.fingerprint,
    channelId,
    code.expiresAtSeconds,
  ]);
}

/**
 * Uses up a connect code, for channels of one type, in the caller's transaction: only one of several concurrent
 * requests gets it (D-55). The channel stays locked until the transaction ends.
 */
export async function takeConnectCode(
  run: Run,
  code: { fingerprint: Uint8Array; type: ChannelType; nowMs: number },
): Promise<TakenCode> {
  const [row] = await run<CodedRow>(
    `SELECT c.id, c.tenant_id AS "tenantId", c.name, c.all_monitors AS "allMonitors", c.enabled,
            coalesce(c.chat_id, c.sealed_url, c.address) AS connection, k.used_at AS "usedAt",
            k.expires_at AS "expiresAt"
     FROM connect_codes k JOIN channels c ON c.id = k.channel_id
     WHERE k.fingerprint = $1 AND c.type = $2 FOR NO KEY UPDATE`,
    [code.fingerprint, code.type],
  );
  if (row === undefined) return { outcome: 'unknown' };
  const { usedAt, expiresAt, ...channel } = row;
  if (usedAt !== null) return { outcome: 'used', channel };
  const nowSeconds = Math.floor(code.nowMs / 1000);
  if (expiresAt <= nowSeconds) return { outcome: 'expired' };
  await run('UPDATE connect_codes SET used_at = $2 WHERE fingerprint = $1', [code.fingerprint, nowSeconds]);
  return { outcome: 'taken', channel };
}

/**
 * Applies an update from a Telegram chat, in the caller's transaction. If it ends the alerts of a chat, notifies the
 * owners' other chats in the same transaction. Repeating an update changes nothing more.
 */
export async function applyChatUpdate(run: Run, update: ChatUpdate, tools: LossTools): Promise<AppliedUpdate> {
  switch (update.kind) {
    case 'start': {
      const { chatId, fingerprint } = update;
      return {
        outcome:
          fingerprint === null
            ? await resumeChat(run, chatId, tools)
            : await connectChat(run, { chatId, fingerprint }, tools),
        deliveries: [],
      };
    }
    case 'stop': {
      const { channels, deliveries } = await disableChat(run, { chatId: update.chatId, loss: 'stopped' }, tools);
      return { outcome: { outcome: 'stopped', chatId: update.chatId, channels }, deliveries };
    }
    case 'removed':
      return {
        ...SILENT,
        deliveries: (await disableChat(run, { chatId: update.chatId, loss: 'removed' }, tools)).deliveries,
      };
    case 'moved':
      await moveChat(run, { from: update.chatId, to: update.to });
      return SILENT;
    case 'other':
      return SILENT;
    default:
      return update satisfies never;
  }
}

const SILENT: AppliedUpdate = { outcome: { outcome: 'silent' }, deliveries: [] };

/** Moves the Telegram channels of a chat to its new id. */
export async function moveChat(run: Run, { from, to }: { from: string; to: string }): Promise<void> {
  await run(`UPDATE channels SET chat_id = $2 WHERE chat_id = $1 AND type = 'telegram'`, [from, to]);
}

async function connectChat(
  run: Run,
  { chatId, fingerprint }: { chatId: string; fingerprint: Uint8Array },
  tools: LossTools,
): Promise<ChatOutcome> {
  const taken = await takeConnectCode(run, { fingerprint, type: 'telegram', nowMs: tools.nowMs });
  if (!('channel' in taken)) return { outcome: `code_${taken.outcome}`, chatId };
  const { channel } = taken;
  if (taken.outcome === 'used')
    return channel.connection === chatId ? await resumeChat(run, chatId, tools) : { outcome: 'code_used', chatId };
  await run(`UPDATE channels SET chat_id = $2, status = 'connected', ${HEALED} WHERE id = $1`, [channel.id, chatId]);
  await recordConnection(run, { channel, actor: systemActor('Telegram'), ...CONNECTED }, tools);
  return { outcome: 'connected', chatId, channel };
}

/** Reconnects channels whose chat was unreachable for a while: a message from the chat shows that it is reachable. */
async function resumeChat(run: Run, chatId: string, tools: LossTools): Promise<ChatOutcome> {
  const resumed = await run<LostChannel>(
    `UPDATE channels SET status = 'connected', ${HEALED} WHERE chat_id = $1 AND type = 'telegram' AND status = 'pending'
     RETURNING id, tenant_id AS "tenantId", name, type`,
    [chatId],
  );
  for (const channel of resumed)
    await recordConnection(run, { channel, actor: systemActor('Telegram'), ...CONNECTED }, tools);
  const channels = await run<ChatChannel>(
    `SELECT name, all_monitors AS "allMonitors", enabled FROM channels WHERE chat_id = $1 AND type = 'telegram'
     ORDER BY created_at, id`,
    [chatId],
  );
  return { outcome: 'listed', chatId, channels };
}

/**
 * Disables the channels of a chat. Those that received no alerts before are not reported, because nothing changes for
 * them.
 */
async function disableChat(
  run: Run,
  { chatId, loss }: { chatId: string; loss: keyof typeof ENDED },
  tools: LossTools,
): Promise<{ channels: ChatChannel[]; deliveries: NewDelivery[] }> {
  const rows = await run<ChatChannel & LostRow>(
    `UPDATE channels SET enabled = false, last_error = $2, last_error_at = $3
     WHERE chat_id = $1 AND type = 'telegram' AND enabled
     RETURNING id, tenant_id AS "tenantId", name, type, all_monitors AS "allMonitors", enabled,
       status = 'connected' AS "tookAlerts"`,
    [chatId, ENDED[loss], tools.nowMs],
  );
  for (const channel of rows)
    await recordConnection(
      run,
      {
        channel,
        actor: systemActor('Telegram'),
        action: 'channel.disabled',
        changes: { enabled: [true, false], last_error: [null, ENDED[loss]] },
      },
      tools,
    );
  return {
    channels: rows.map(({ name, allMonitors, enabled }) => ({ name, allMonitors, enabled })),
    deliveries: await insertLossDeliveries(run, channelsIn(rows), { ...tools, loss, lastError: ENDED[loss] }),
  };
}

const CONNECTED = { action: 'channel.connected', changes: { status: ['pending', 'connected'] } } as const satisfies {
  action: AuditAction;
  changes: object;
};

type Connection = {
  channel: Pick<LostChannel, 'id' | 'tenantId' | 'name'>;
  actor: AuditActor;
  action: AuditAction;
  changes: Readonly<Record<string, readonly [unknown, unknown]>>;
};

/**
 * Records an event of a channel in its chat. Its author is not a caller but the chat's service, or Spotcheck itself.
 */
async function recordConnection(
  run: Run,
  { channel: { id, tenantId, name }, actor, action, changes }: Connection,
  tools: LossTools,
): Promise<void> {
  const object = { kind: 'channel' as const, id, name };
  await insertAuditEntry(run, systemAuthorOf(actor, action, tools), { tenantId, object, changes });
}

function channelsIn(rows: readonly LostRow[]): LostChannel[] {
  return rows
    .filter(({ tookAlerts }) => tookAlerts)
    .map(({ id, tenantId, name, type }) => ({ id, tenantId, name, type }));
}
