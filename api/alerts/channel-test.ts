import { buildChannelTest } from '../../core/alerts/channel-message.ts';
import type { Channel } from '../../core/alerts/channel.ts';
import { buildAlert } from '../../core/alerts/chat/alert.ts';
import type { ChatMessage } from '../../core/alerts/chat/message.ts';
import { MAX_WEBHOOK_HEADERS, mergeWebhookHeaders, type WebhookHeaders } from '../../core/alerts/webhook.ts';
import type { Problem } from '../../core/input.ts';
import { isLimited, requireRoom } from '../../models/alerts/channel-limits.ts';
import { disconnectChannel, findConnection, moveChat } from '../../models/alerts/chat-connections.ts';
import { openSlackWebhook } from '../../models/alerts/connect-links.ts';
import { insertTestDelivery } from '../../models/alerts/delivery-record.ts';
import {
  findWebhook,
  openWebhook,
  replaceAddress,
  type OpenedWebhook,
  type SealedWebhook,
} from '../../models/alerts/webhook-secrets.ts';
import type { Database } from '../../models/database.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { runOn } from '../../models/sql.ts';
import {
  NO_EMAIL,
  NO_TELEGRAM,
  SEALED_WEBHOOK,
  unsuccessful,
  type ChannelAttempt,
} from '../../notifications/attempt-result.ts';
import { buildEmail } from '../../notifications/email/alert.ts';
import { buildUnsubscribeLink } from '../../notifications/email/links.ts';
import type { Email } from '../../notifications/email/sending.ts';
import { testResultOf, type TestResult } from '../../notifications/webhook/sending.ts';
import { enqueueDeliveries, firstAttempt, type AbsenceLine } from '../../queues/enqueue-committed.ts';
import { accept, badRequest, conflict, notFound } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import { checkPresetUrl, mergeFormat, readAddressPatch, type AddressPatch } from './channel-input.ts';
import { getOwnChannel, throwRefusal } from './channels.ts';

/** `POST /channels/{id}/test`: sends a test through the same sender as alerts, and records it among the deliveries. */
export function testChannelHandler(
  dependencies: Parts<'database' | 'config' | 'makeId' | 'now' | 'sendTestDelivery' | 'sendTestMessage' | 'rateLimits'>,
): Handler<'testChannel'> {
  const { database, makeId, now, rateLimits } = dependencies;
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const channel = await getOwnChannel(dependencies, { tenantId, id: idOf(request) });
    await rateLimits.take('channelTest', channel.id);
    await rateLimits.take('test', tenantId);
    const deliveryId = makeId('dlv');
    const startedAtMs = now();
    const { error, attempt, message } =
      channel.type === 'webhook'
        ? await testWebhook(dependencies, channel, deliveryId)
        : await testChat(dependencies, channel);
    await insertTestDelivery(runOn(database.pool), {
      id: deliveryId,
      channelId: channel.id,
      message,
      startedAtMs,
      attempt,
    });
    if (error !== null) throw badRequest(error);
    response.json({ ok: true, status_code: attempt.statusCode, duration_ms: attempt.durationMs });
  };
}

/**
 * `PATCH /channels/{id}/webhook`: tests a new address before it is stored, as at creation (D-52). The test is recorded
 * among the deliveries, successful or not.
 */
export function updateWebhookHandler(
  dependencies: Parts<'database' | 'config' | 'makeId' | 'now' | 'sendTestDelivery' | 'rateLimits'>,
): Handler<'updateWebhook'> {
  const { database, sendTestDelivery, makeId, config, now, rateLimits } = dependencies;
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const key = { tenantId, id: idOf(request) };
    const { type, groupSeconds } = await getOwnChannel(dependencies, key);
    if (type !== 'webhook')
      throw badRequest(`url and headers apply to webhook channels only, but channel ${key.id} is of type ${type}`);
    const patch = accept(readAddressPatch(request.body));
    const sealed = await findWebhook(database, key, now());
    if (sealed === null) throw notFound('channel', key.id);
    const opened = openOrRefuse(database, sealed);
    const after = {
      url: patch.url ?? opened.url,
      headers: mergeOrRefuse(opened, patch),
      format: mergeFormat(opened.format, patch),
    };
    const problems: Problem[] = [];
    checkPresetUrl(after.format, after.url, problems);
    if (after.format !== null && groupSeconds > 0)
      problems.push({
        field: 'preset' in after.format ? 'preset' : 'template',
        message: 'preset and template must be left out of a webhook with group_seconds: set group_seconds to 0 first',
      });
    accept(problems.length === 0 ? { ok: true, value: null } : { ok: false, problems });
    await rateLimits.take('channelTest', key.id);
    await rateLimits.take('test', tenantId);
    const deliveryId = makeId('dlv');
    if (isLimited(after)) await requireRoom(runOn(database.pool), key, after).catch(throwRefusal);
    const startedAtMs = now();
    const { error, attempt, message } = await sendTestDelivery({
      ...opened,
      ...after,
      account: tenantId,
      deliveryId,
      publicUrl: config.publicUrl,
    });
    await insertTestDelivery(runOn(database.pool), {
      id: deliveryId,
      channelId: key.id,
      message,
      startedAtMs,
      attempt,
    });
    if (error !== null) throw badRequest(error);
    const isReplaced = await replaceAddress(
      database,
      { ...key, author: authorOf(response) },
      { sealed, before: opened, after },
    ).catch(throwRefusal);
    if (!isReplaced)
      throw conflict(`channel ${key.id} has just been changed by another request: send the change again`);
    response.json({ ok: true, status_code: attempt.statusCode, duration_ms: attempt.durationMs });
  };
}

/** A caller who can change the address must not learn stored headers by redirecting them to their own server (D-69). */
function mergeOrRefuse(opened: OpenedWebhook, { url = opened.url, headers = {} }: AddressPatch): WebhookHeaders {
  const merged = mergeWebhookHeaders(opened.headers, headers);
  const kept = Object.keys(merged).filter((name) => !Object.hasOwn(headers, name));
  if (Object.keys(merged).length > MAX_WEBHOOK_HEADERS)
    throw badRequest(
      `headers must be at most ${MAX_WEBHOOK_HEADERS}, including those already stored, got ` +
        String(Object.keys(merged).length),
    );
  if (kept.length > 0 && new URL(url).origin !== new URL(opened.url).origin)
    throw badRequest(
      `headers must name ${kept.join(', ')} as well, with a value or null: stored headers are kept only while the ` +
        'scheme, host and port of url stay the same',
    );
  return merged;
}

async function testWebhook(
  { database, sendTestDelivery, config, now }: Parts<'database' | 'sendTestDelivery' | 'config' | 'now'>,
  { tenantId, id }: Channel,
  deliveryId: string,
): Promise<TestResult> {
  const webhook = await findWebhook(database, { tenantId, id }, now());
  if (webhook === null) throw notFound('channel', id);
  return await sendTestDelivery({
    ...openOrRefuse(database, webhook),
    account: tenantId,
    deliveryId,
    publicUrl: config.publicUrl,
  });
}

/** If a key has left the ring, the operator must restore it: deliveries report the same. */
function openOrRefuse(database: Database, webhook: SealedWebhook): OpenedWebhook {
  try {
    return openWebhook(database, webhook);
  } catch {
    throw badRequest('test delivery failed: The URL of the channel cannot be decrypted with the current SECRET_KEYS');
  }
}

async function testChat({ sendTestMessage }: Parts<'sendTestMessage'>, channel: Channel): Promise<TestResult> {
  const result = channel.status === 'connected' ? await sendTestMessage(channel) : null;
  if (result === null) throw conflict(`channel ${channel.id} is not connected: connect it first`);
  return result;
}

type Send = (connection: string, message: ChatMessage) => Promise<ChannelAttempt>;

type ChatTestDependencies = {
  database: Database;
  /** Base URL of links, without a trailing slash. */
  publicUrl: string;
  /** Null if the installation has no bot. */
  sendTelegram: Send | null;
  /** Takes the address in clear text. */
  sendSlack: Send;
  /** Null if the installation has no mail server. */
  sendEmail: ((email: Email) => Promise<ChannelAttempt>) | null;
  now: () => number;
  newId: (prefix: IdPrefix) => string;
  logger: AbsenceLine['log'];
} & Parts<'enqueueAttempts'>;

/**
 * Makes the function that sends a requested test message to a chat channel; it returns null if nothing is connected. A
 * chat that turns out to be lost is recorded and reported, as by an alert.
 */
export function createChatTest(dependencies: ChatTestDependencies): (channel: Channel) => Promise<TestResult | null> {
  const { database, publicUrl, newId, now, logger } = dependencies;
  return async (channel) => {
    const connection = await findConnection(database, channel);
    if (connection === null) return null;
    const message = buildChannelTest({ channel, nowMs: now(), publicUrl });
    const attempt = await sendTo(channel, { connection, message: buildAlert(message, now()) }, dependencies);
    const { movedTo, channelProblem } = attempt;
    if (movedTo !== null) await moveChat(runOn(database.pool), { from: connection, to: movedTo });
    if (channelProblem !== null) {
      const lost = { channelId: channel.id, connection: movedTo ?? connection, problem: channelProblem };
      const deliveries = (await disconnectChannel(database, lost, { newId, publicUrl, nowMs: now() })) ?? [];
      await enqueueDeliveries(dependencies, logger, deliveries.map(firstAttempt));
    }
    return testResultOf(attempt, message);
  };
}

async function sendTo(
  { id, type, tenantId: account }: Channel,
  { connection, message }: { connection: string; message: ChatMessage },
  { database, publicUrl, newId, sendTelegram, sendSlack, sendEmail }: ChatTestDependencies,
): Promise<ChannelAttempt> {
  if (type === 'email') {
    if (sendEmail === null) return unsuccessful('failed', NO_EMAIL);
    const unsubscribeUrl = buildUnsubscribeLink(id, publicUrl, database.secrets.seal);
    return await sendEmail(
      buildEmail({ account, to: connection, message, messageId: newId('dlv'), threadId: null, unsubscribeUrl }),
    );
  }
  if (type === 'telegram')
    return sendTelegram === null ? unsuccessful('failed', NO_TELEGRAM) : await sendTelegram(connection, message);
  const webhookUrl = openOrNull(database, { channelId: id, sealedUrl: connection });
  return webhookUrl === null ? unsuccessful('failed', SEALED_WEBHOOK) : await sendSlack(webhookUrl, message);
}

/** Opens the webhook of a Slack channel; null if its key has left the ring. */
function openOrNull(database: Database, sealed: { channelId: string; sealedUrl: string }): string | null {
  try {
    return openSlackWebhook(database, sealed);
  } catch {
    return null;
  }
}
