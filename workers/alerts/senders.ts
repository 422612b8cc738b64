import type { ChannelType } from '../../core/alerts/channel.ts';
import { buildAlert } from '../../core/alerts/chat/alert.ts';
import type { ChatMessage } from '../../core/alerts/chat/message.ts';
import { identifyEmail } from '../../core/alerts/email.ts';
import { webhookMessageOf } from '../../core/alerts/envelope.ts';
import { attachReport, buildReportTable } from '../../core/statistics/reports/message.ts';
import { openSlackWebhook } from '../../models/alerts/connect-links.ts';
import type { ClaimedAttempt } from '../../models/alerts/delivery-attempts.ts';
import type { Database } from '../../models/database.ts';
import { findReport, findZoneReport } from '../../models/statistics/reports.ts';
import {
  NO_EMAIL,
  NO_TELEGRAM,
  NOTHING_MORE,
  SEALED_WEBHOOK,
  unsuccessful,
  type ChannelAttempt,
  type WebhookAttempt,
} from '../../notifications/attempt-result.ts';
import type { EmailAlert, EmailReport } from '../../notifications/email/alert.ts';
import { buildUnsubscribeLink } from '../../notifications/email/links.ts';
import type { SendTelegram } from '../../notifications/telegram/sending.ts';
import type { WebhookDelivery } from '../../notifications/webhook/attempt.ts';

/** The parts that send deliveries. */
export type SendingParts = {
  database: Database;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
  sendWebhook: (delivery: WebhookDelivery) => Promise<WebhookAttempt>;
  /** Null while the installation has no bot. */
  sendTelegram: SendTelegram | null;
  sendSlack: (webhookUrl: string, message: ChatMessage) => Promise<ChannelAttempt>;
  /** Null while the installation has no mail server. */
  sendEmail: ((alert: EmailAlert) => Promise<ChannelAttempt>) | null;
  now: () => number;
};

/** `isLast` is false if another attempt follows a failed one. */
type Send = (claimed: ClaimedAttempt, parts: SendingParts & { isLast: boolean }) => Promise<ChannelAttempt>;

/** Sends a claimed delivery, by the type of its channel. */
export const SENDERS = {
  webhook: sendToWebhook,
  telegram: sendToTelegram,
  slack: sendToSlack,
  email: sendToEmail,
} as const satisfies Record<ChannelType, Send>;

async function sendToWebhook(
  { webhook, tenantId, deliveryId, attempt, resolvesUnknown, message }: ClaimedAttempt,
  { sendWebhook, isLast }: SendingParts & { isLast: boolean },
): Promise<ChannelAttempt> {
  // The operator can restore the key, so this is retried.
  if (webhook === null)
    return unsuccessful('retry', 'The URL of the channel cannot be decrypted with the current SECRET_KEYS');
  const sent = webhookMessageOf(message);
  if (sent === null) return unsuccessful('failed', `${message.event} is sent to chats only`);
  const delivery = { ...webhook, account: tenantId, deliveryId, attempt, isLast, resolvesUnknown, message: sent };
  return { ...NOTHING_MORE, ...(await sendWebhook(delivery)) };
}

async function sendToTelegram(claimed: ClaimedAttempt, { sendTelegram, now }: SendingParts): Promise<ChannelAttempt> {
  // The operator can configure the bot again.
  if (sendTelegram === null) return unsuccessful('retry', NO_TELEGRAM);
  if (claimed.connection === null) return unsuccessful('failed', 'The channel is not connected to a chat');
  const editedId =
    claimed.attemptsBefore === 0 && claimed.groupId !== claimed.deliveryId ? claimed.chatMessageId : null;
  return await sendTelegram(claimed.connection, alertOf(claimed, now()), editedId);
}

async function sendToSlack(
  claimed: ClaimedAttempt,
  { database, sendSlack, now }: SendingParts,
): Promise<ChannelAttempt> {
  const { channelId, connection } = claimed;
  if (connection === null) return unsuccessful('failed', 'The channel has no webhook');
  let webhookUrl: string;
  try {
    webhookUrl = openSlackWebhook(database, { channelId, sealedUrl: connection });
  } catch {
    // The operator can restore the key.
    return unsuccessful('retry', SEALED_WEBHOOK);
  }
  return await sendSlack(webhookUrl, alertOf(claimed, now()));
}

async function sendToEmail(
  claimed: ClaimedAttempt,
  { database, sendEmail, publicUrl, now }: SendingParts,
): Promise<ChannelAttempt> {
  const { channelId, connection } = claimed;
  // The operator can set it up again.
  if (sendEmail === null) return unsuccessful('retry', NO_EMAIL);
  if (connection === null) return unsuccessful('failed', 'The channel has no address');
  return await sendEmail({
    ...identifyEmail(claimed),
    account: claimed.tenantId,
    to: connection,
    message: alertOf(claimed, now()),
    unsubscribeUrl: buildUnsubscribeLink(channelId, publicUrl, database.secrets.seal),
    report: await readReport(database, claimed),
  });
}

/** Returns the table and the file of an email report; null for other messages, and if the report is gone. */
async function readReport(database: Database, { tenantId, message }: ClaimedAttempt): Promise<EmailReport | null> {
  if (message.event !== 'report') return null;
  const { id, period, period_start: startSeconds, timezone = 'UTC' } = message.report;
  const content =
    id === null
      ? await findZoneReport(database, { tenantId, timezone, period, startSeconds })
      : (await findReport(database, { tenantId, id }))?.content;
  if (content === null || content === undefined) return null;
  const { monitors } = content;
  return { table: buildReportTable(monitors), attachment: attachReport(monitors, { period, startSeconds, timezone }) };
}

function alertOf({ message, attemptsBefore, isOvertaken }: ClaimedAttempt, nowMs: number): ChatMessage {
  return buildAlert(message, nowMs, { isSentAgain: attemptsBefore > 0, isOvertaken });
}
