import type { Channel } from '../../core/alerts/channel.ts';
import { type ChatMessage, buildTestMessage } from '../../core/alerts/chat/message.ts';
import { disconnectChannel, findConnection, moveChat } from '../../models/alerts/chat-connections.ts';
import { openSlackWebhook } from '../../models/alerts/slack-connections.ts';
import type { Database } from '../../models/database.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { runOn } from '../../models/sql.ts';
import { NOTHING_MORE, type ChatAttempt } from '../../notifications/attempt-result.ts';
import { testResultOf, type TestResult } from '../../notifications/webhook/test-delivery.ts';
import { enqueueDeliveries, firstAttempt, type AbsenceLine } from '../../queues/enqueue-committed.ts';
import type { ApiDependencies } from '../dependencies.ts';

type Send = (connection: string, message: ChatMessage) => Promise<ChatAttempt>;

export type ChatTestDependencies = {
  database: Database;
  /** Base of links, without a slash at its end. */
  publicUrl: string;
  /** Null while the installation has no bot. */
  sendTelegram: Send | null;
  /** Takes the address in clear. */
  sendSlack: Send;
  now: () => number;
  newId: (prefix: IdPrefix) => string;
  logger: AbsenceLine['log'];
} & Pick<ApiDependencies, 'enqueueAttempts'>;

/**
 * Makes what sends a chat channel a short message that its owner asked for; null where nothing is connected. A chat
 * that turns out to be lost is recorded and reported, as by an alert.
 */
export function createChatTest(dependencies: ChatTestDependencies): (channel: Channel) => Promise<TestResult | null> {
  const { database, publicUrl, newId, now, logger } = dependencies;
  return async (channel) => {
    const connection = await findConnection(database, channel);
    if (connection === null) return null;
    const attempt = await sendTo(
      channel,
      { connection, message: buildTestMessage({ ...channel, publicUrl }) },
      dependencies,
    );
    const { movedTo, channelProblem } = attempt;
    if (movedTo !== null) await moveChat(runOn(database.pool), { from: connection, to: movedTo });
    if (channelProblem !== null) {
      const lost = { channelId: channel.id, connection: movedTo ?? connection, problem: channelProblem };
      const deliveries = (await disconnectChannel(database, lost, { newId, publicUrl, nowMs: now() })) ?? [];
      await enqueueDeliveries(dependencies, logger, deliveries.map(firstAttempt));
    }
    return testResultOf(attempt);
  };
}

async function sendTo(
  { id, type }: Channel,
  { connection, message }: { connection: string; message: ChatMessage },
  { database, sendTelegram, sendSlack }: ChatTestDependencies,
): Promise<ChatAttempt> {
  if (type === 'telegram')
    return sendTelegram === null
      ? unsent('This installation has no Telegram bot at the moment')
      : await sendTelegram(connection, message);
  const webhookUrl = openOrNull(database, { channelId: id, sealedUrl: connection });
  return webhookUrl === null
    ? unsent('The webhook of the channel cannot be read with the present SECRET_KEYS')
    : await sendSlack(webhookUrl, message);
}

/** A key that has left the ring is the operator's to bring back: deliveries say the same. */
function openOrNull(database: Database, sealed: { channelId: string; sealedUrl: string }): string | null {
  try {
    return openSlackWebhook(database, sealed);
  } catch {
    return null;
  }
}

function unsent(error: string): ChatAttempt {
  return { ...NOTHING_MORE, outcome: 'failed', statusCode: null, durationMs: 0, error, response: null };
}
